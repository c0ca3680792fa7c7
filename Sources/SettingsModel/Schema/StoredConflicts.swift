/// What of a suite's stored values does not fit a schema that is to be set.
package struct StoredConflicts: Hashable, Sendable {
    /// The keys whose values do not fit by themselves, in the order given: those that the schema does not admit, and
    /// those whose values it does not allow.
    package let keys: [SchemaConflict]
    /// What the effective values together break of the rules about the suite as a whole.
    package let suite: [Violation]

    /// True if everything fits.
    package var isEmpty: Bool {
        keys.isEmpty && suite.isEmpty
    }

    /// All of them by key; what is about no key in particular comes last.
    package var all: [SchemaConflict] {
        var conflicts = keys
        for violation in suite {
            let key = violation.key.flatMap { try? KeyName($0) }
            if let index = conflicts.lastIndex(where: { $0.key == key }) {
                conflicts[index].errors.append(violation)
            } else {
                conflicts.append(SchemaConflict(key: key, stored: nil, errors: [violation]))
            }
        }
        return conflicts.filter { $0.key != nil } + conflicts.filter { $0.key == nil }
    }
}

/// A stored value that is validated against a schema.
package struct StoredSetting: Hashable, Sendable {
    /// The key.
    package let key: KeyName
    /// What is stored.
    package let value: JSONValue
    /// True if it is a secret, whatever the schema says, so that nothing of it may be told.
    package let isSecret: Bool

    /// A stored value.
    package init(key: KeyName, value: JSONValue, isSecret: Bool = false) {
        self.key = key
        self.value = value
        self.isSecret = isSecret
    }
}

extension Schema {
    /// The conflict between a stored value and this schema; nil if the value fits. The value of a secret is not told.
    package func conflict(of setting: StoredSetting) -> SchemaConflict? {
        guard let keySchema = self.key(setting.key.text) else {
            let violation = Violation(
                key: setting.key.text, keyword: "additionalProperties", detail: "is not a key of the schema")
            return SchemaConflict(
                key: setting.key, stored: setting.isSecret ? nil : setting.value, errors: [violation])
        }
        let isSecret = setting.isSecret || keySchema.isSecret
        let violations = keySchema.violations(of: setting.value, isSecret: isSecret)
        guard !violations.isEmpty else { return nil }
        return SchemaConflict(key: setting.key, stored: isSecret ? nil : setting.value, errors: violations)
    }

    /// Everything of a suite's stored values that does not fit this schema. The first few keys that it does not admit
    /// are told with the names that were probably meant.
    package func conflicts(storing settings: some Sequence<StoredSetting>) -> StoredConflicts {
        var conflicts: [SchemaConflict] = []
        var stored = JSONObject()
        var secrets: [KeyName] = []
        for setting in settings {
            if let conflict = conflict(of: setting) {
                conflicts.append(conflicts.count < Self.mostHints ? hinting(conflict, of: setting.key) : conflict)
            }
            guard hasSuiteRules else { continue }
            stored[setting.key.text] = setting.value
            if setting.isSecret { secrets.append(setting.key) }
        }
        guard hasSuiteRules else { return StoredConflicts(keys: conflicts, suite: []) }
        let violations = suiteViolations(of: effectiveValues(stored: stored), secrets: secrets)
        return StoredConflicts(keys: conflicts, suite: violations)
    }

    private static let mostHints = 16

    private func hinting(_ conflict: SchemaConflict, of key: KeyName) -> SchemaConflict {
        var conflict = conflict
        conflict.errors = conflict.errors.map { violation in
            guard violation.keyword == "additionalProperties", violation.pointer == .root, self.key(key.text) == nil
            else { return violation }
            let hint = NameSuggestion.phrase(for: key.text, amongOrdered: keys.lazy.map { $0.name })
            return Violation(key: violation.key, keyword: violation.keyword, detail: violation.detail + hint)
        }
        return conflict
    }
}
