/// What of a suite's stored values does not fit a schema that somebody wants to set.
public struct StoredConflicts: Hashable, Sendable {
    /// The keys whose values do not fit by themselves, in the order given: those that the schema does not admit, and
    /// those whose values it does not allow.
    public let keys: [SchemaConflict]
    /// What the effective values together break of the rules about the suite as a whole.
    public let suite: [Violation]

    /// Whether everything fits.
    public var isEmpty: Bool {
        keys.isEmpty && suite.isEmpty
    }
}

extension Schema {
    /// The conflict between a stored value and this schema; nil if the value fits.
    ///
    /// The value of a secret is not told: neither of one by this schema nor of one by the schema that this replaces.
    public func conflict(
        of key: KeyName, storing value: JSONValue, replacing current: Schema? = nil
    ) -> SchemaConflict? {
        let wasSecret = current?.key(key.text)?.isSecret ?? false
        guard let keySchema = self.key(key.text) else {
            let violation = Violation(
                key: key.text, keyword: "additionalProperties", detail: "is not a key of the schema")
            return SchemaConflict(key: key, stored: wasSecret ? nil : value, errors: [violation])
        }
        let violations = keySchema.violations(of: value, isSecret: wasSecret || keySchema.isSecret)
        guard !violations.isEmpty else { return nil }
        return SchemaConflict(key: key, stored: wasSecret || keySchema.isSecret ? nil : value, errors: violations)
    }

    /// Everything of a suite's stored values that does not fit this schema. The first few keys that it does not admit
    /// are told with the names that were probably meant.
    public func conflicts(
        storing values: some Sequence<(key: KeyName, value: JSONValue)>, replacing current: Schema? = nil
    ) -> StoredConflicts {
        var conflicts: [SchemaConflict] = []
        var stored = JSONObject()
        for (key, value) in values {
            if let conflict = conflict(of: key, storing: value, replacing: current) {
                conflicts.append(conflicts.count < Self.mostHints ? hinting(conflict) : conflict)
            }
            if hasSuiteRules { stored[key.text] = value }
        }
        let effective = hasSuiteRules ? effectiveValues(stored: stored) : [:]
        return StoredConflicts(keys: conflicts, suite: suiteViolations(of: effective))
    }

    private static let mostHints = 16

    private func hinting(_ conflict: SchemaConflict) -> SchemaConflict {
        var conflict = conflict
        conflict.errors = conflict.errors.map { violation in
            guard violation.keyword == "additionalProperties", violation.pointer == .root, key(conflict.key.text) == nil
            else { return violation }
            let hint = NameSuggestion.phrase(for: conflict.key.text, amongOrdered: keys.lazy.map { $0.name })
            return Violation(key: violation.key, keyword: violation.keyword, detail: violation.detail + hint)
        }
        return conflict
    }
}
