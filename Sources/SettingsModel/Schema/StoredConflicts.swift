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
    public func conflict(of key: KeyName, storing value: JSONValue) -> SchemaConflict? {
        guard let keySchema = self.key(key.text) else {
            let hint = NameSuggestion.phrase(for: key.text, among: keys.lazy.map(\.name))
            let violation = Violation(
                key: key.text, keyword: "additionalProperties", detail: "is not a key of the schema\(hint)")
            return SchemaConflict(key: key, stored: value, errors: [violation])
        }
        let violations = keySchema.violations(of: value)
        guard !violations.isEmpty else { return nil }
        return SchemaConflict(key: key, stored: keySchema.isSecret ? nil : value, errors: violations)
    }

    /// Everything of a suite's stored values that does not fit this schema.
    public func conflicts(storing values: some Sequence<(key: KeyName, value: JSONValue)>) -> StoredConflicts {
        var conflicts: [SchemaConflict] = []
        var stored = JSONObject()
        for (key, value) in values {
            if let conflict = conflict(of: key, storing: value) { conflicts.append(conflict) }
            if hasSuiteRules { stored[key.text] = value }
        }
        let effective = hasSuiteRules ? effectiveValues(stored: stored) : [:]
        return StoredConflicts(keys: conflicts, suite: suiteViolations(of: effective))
    }
}
