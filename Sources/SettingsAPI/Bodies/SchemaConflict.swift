public import SettingsModel

/// A stored value, or a suite as a whole, that a schema does not allow.
public struct SchemaConflict: Equatable, Sendable {
    /// The key; nil for the suite as a whole.
    public var key: KeyName?
    /// The stored value. Nil for a secret, for the suite as a whole, and for a key that only violates a rule about the
    /// suite.
    public var stored: JSONValue?
    /// The violations, at least one.
    public var errors: [Violation]

    package init(key: KeyName?, stored: JSONValue?, errors: [Violation]) {
        self.key = key
        self.stored = stored
        self.errors = errors
    }
}

extension SchemaConflict: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        try self.init(reader, key: reader.optional("key"))
    }

    /// Reads a member of a map whose names are keys.
    init(json: JSONValue, ofKey key: KeyName) throws(BodyError) {
        try self.init(ObjectReader(json), key: key)
    }

    private init(_ reader: ObjectReader, key: KeyName?) throws(BodyError) {
        self.init(key: key, stored: try reader.optional("stored"), errors: try reader.list("errors"))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("key", key)
        writeReason(to: &writer)
    }

    /// Writes the stored value and the violations, without the key.
    func writeReason(to writer: inout JSONWriter) {
        writer.member("stored", stored)
        writer.member("errors", errors)
    }
}

/// The stored values of a suite that a new schema does not allow.
package struct StoredConflicts: Equatable, Sendable {
    /// The keys that the schema does not allow, and the keys with values that it does not allow, in the given order.
    package let keys: [SchemaConflict]
    /// Further keys with conflicts, without the violations.
    package var unlisted: [KeyName] = []
    /// The violations of the rules about the suite as a whole.
    package let suite: [Violation]

    package init(keys: [SchemaConflict], unlisted: [KeyName] = [], suite: [Violation] = []) {
        self.keys = keys
        self.unlisted = unlisted
        self.suite = suite
    }

    /// True if there is no conflict.
    package var isEmpty: Bool {
        keys.isEmpty && suite.isEmpty && unlisted.isEmpty
    }

    /// The conflicts of keys, followed by the conflicts of the suite as a whole. Does not contain ``unlisted``.
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

/// A stored value to validate against a schema.
package struct StoredSetting: Equatable, Sendable {
    package let key: KeyName
    package let value: JSONValue
    /// True if the value is a secret independently of the schema.
    package let isSecret: Bool

    package init(key: KeyName, value: JSONValue, isSecret: Bool = false) {
        self.key = key
        self.value = value
        self.isSecret = isSecret
    }
}

extension Schema {
    /// Returns the conflict of a stored value; nil if the schema allows the value. The conflict does not contain the
    /// value of a secret.
    package func conflict(of setting: StoredSetting, suggestsName: Bool = false) -> SchemaConflict? {
        var steps = Int.max
        return conflict(of: setting, suggestsName: suggestsName, steps: &steps)
    }

    /// Returns the conflict. Subtracts the steps of the validation from `steps`, a budget for all values.
    package func conflict(
        of setting: StoredSetting, suggestsName: Bool = false, steps: inout Int
    ) -> SchemaConflict? {
        guard let keySchema = key(setting.key.text, steps: &steps) else {
            let hint =
                suggestsName
                ? NameSuggestion.phrase(for: setting.key.text, amongOrdered: keys.lazy.map { $0.name }) : ""
            let violation = Violation(
                key: setting.key.text, keyword: "additionalProperties", detail: "the schema has no such key\(hint)")
            return SchemaConflict(
                key: setting.key, stored: setting.isSecret ? nil : setting.value, errors: [violation])
        }
        let isSecret = setting.isSecret || keySchema.isSecret
        let violations = keySchema.violations(of: setting.value, isSecret: isSecret, steps: &steps)
        guard !violations.isEmpty else { return nil }
        return SchemaConflict(key: setting.key, stored: isSecret ? nil : setting.value, errors: violations)
    }

    /// Returns the conflicts of the stored values of a suite. The first thousand conflicts contain their violations,
    /// and the first 16 conflicts suggest similar names. `unlisted` contains the other keys with conflicts. Subtracts
    /// the steps of the validation from `steps`. If the budget is exhausted, the list can be incomplete.
    package func conflicts(storing settings: some Sequence<StoredSetting>, steps: inout Int) -> StoredConflicts {
        let mostSuggestions = 16
        let mostListed = 1000
        var conflicts: [SchemaConflict] = []
        var unlisted: [KeyName] = []
        var stored = JSONObject()
        var secrets: [KeyName] = []
        for setting in settings where steps > 0 {
            if conflicts.count == mostListed {
                let key = key(setting.key.text, steps: &steps)
                if !(key?.allows(setting.value, steps: &steps) ?? false) { unlisted.append(setting.key) }
            } else if let conflict = conflict(
                of: setting, suggestsName: conflicts.count < mostSuggestions, steps: &steps)
            {
                conflicts.append(conflict)
            }
            guard hasSuiteRules else { continue }
            stored[setting.key.text] = setting.value
            if setting.isSecret { secrets.append(setting.key) }
        }
        guard hasSuiteRules else { return StoredConflicts(keys: conflicts, unlisted: unlisted, suite: []) }
        let violations = suiteViolations(of: effectiveValues(stored: stored), secrets: secrets, steps: &steps)
        return StoredConflicts(keys: conflicts, unlisted: unlisted, suite: violations)
    }
}
