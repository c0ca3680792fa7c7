package import SettingsAPI
package import SettingsModel

/// Conversion of records (stored values of keys, with their revisions) to the settings of the API, and properties of
/// keys that depend on the schema of their suite, which is a named set of settings.
extension Suite {
    package func setting(_ key: KeyName) -> SettingState { setting(record(key)) }

    package func setting(_ record: KeyRecord) -> SettingState {
        var setting = SettingState(
            suite: id, key: record.key, value: effectiveValue(of: record), source: record.valueSource.source,
            revision: record.revision, modified: record.changeTime)
        setting.origin = record.origin
        setting.isSecret = isSecret(record)
        if record.valueSource == .invalid {
            setting.stored = setting.isSecret ? nil : record.stored
            setting.errors = violations(ofStoredValueIn: record)
        }
        return setting
    }

    /// The violations that make the stored value of a record invalid.
    package func violations(ofStoredValueIn record: KeyRecord) -> [Violation] {
        var steps = Int.max
        return violations(ofStoredValueIn: record, steps: &steps)
    }

    /// The violations that make the stored value of a record invalid. Subtracts the steps of the validation from
    /// `steps`, the number of steps that this validation and later validations of the same write may take together.
    func violations(ofStoredValueIn record: KeyRecord, steps: inout Int) -> [Violation] {
        guard let schema, let stored = record.stored else { return [] }
        let setting = StoredSetting(key: record.key, value: stored, isSecret: record.isSecret)
        let errors = schema.schema.conflict(of: setting, steps: &steps)?.errors ?? []
        return errors.map { error in
            var error = error
            error.suite = id.text
            return error
        }
    }

    /// True if the present schema, the schema at the time of the write or a schema in between declares the key secret.
    package func isSecret(_ record: KeyRecord) -> Bool { record.isSecret || isSecret(record.key) }

    /// True if the schema declares the key secret.
    func isSecret(_ key: KeyName) -> Bool { schema?.schema.isSecret(key.text) ?? false }

    /// True if the schema declares the key read-only, so that only callers with the right `override` may write it.
    package func isLocked(_ key: KeyName) -> Bool {
        var steps = Int.max
        return schema?.schema.isLocked(key.text, steps: &steps) ?? false
    }

    /// True if the schema admits the key. A suite without a schema admits any key.
    package func schemaAllows(_ key: KeyName) -> Bool { schema.map { $0.schema.key(key.text) != nil } ?? true }

    /// The keys whose records are marked as secret, because the present schema or an earlier schema declared the keys
    /// secret. `names` limits the result to some keys; nil for all keys.
    func markedSecrets(of names: Set<UTF8Text>? = nil) -> [KeyName] {
        var keys: [KeyName] = []
        forEachRecord(of: names) { if $0.isSecret { keys.append($0.key) } }
        return keys
    }

    /// All stored values, including invalid values, for validation against another schema.
    func storedSettings() -> [StoredSetting] {
        records.elements.compactMap { record in
            record.stored.map { StoredSetting(key: record.key, value: $0, isSecret: isSecret(record)) }
        }
    }

    /// The stored values of the given keys (nil: all keys), including invalid values.
    func storedValues(of names: Set<UTF8Text>? = nil) -> JSONObject {
        var values = JSONObject()
        forEachRecord(of: names) { record in
            if let stored = record.stored { values[record.name] = stored }
        }
        return values
    }

    private func forEachRecord(of names: Set<UTF8Text>?, _ body: (KeyRecord) -> Void) {
        guard let names else {
            records.forEach { record in
                body(record)
                return true
            }
            return
        }
        for name in names.ordered(by: <) {
            if let record = records.find(name.string) { body(record) }
        }
    }
}

/// The result of a search for a setting by the UTF-8 bytes of its suite and its key (`State.find`).
package struct FoundSetting {
    package let suite: SuiteName
    package let record: KeyRecord
    /// The cursor (the name of the history, and the number of the last commit) of the state that has the setting.
    package let cursor: Cursor
    let schema: SchemaVersion?
    /// The action that will revert the setting at a deadline; nil for nearly every setting.
    package var pendingRevert: PendingEntry?

    /// True if the present schema, the schema at the time of the write or a schema in between declares the key secret.
    package var isSecret: Bool { record.isSecret || schema?.schema.isSecret(record.name) ?? false }
}

extension Suite {
    /// The error for a key that the schema does not admit. If `suggestsSimilarKeys` is true, the error names similar
    /// keys that the caller may read. `restrictedGrants` is the grants (rights) of a caller that may not read
    /// everything; otherwise nil.
    package func unknownKey(
        _ key: KeyName, for restrictedGrants: Grants?, status: Int = 404, suggestsSimilarKeys: Bool = true
    ) -> Problem {
        let nearest = suggestsSimilarKeys ? suggestions(for: key.text, to: restrictedGrants) : []
        var problem = Problem(
            .unknownKey, status: status, "the schema of suite \(id) has no key \(key)" + State.hint(nearest))
        problem.didYouMean = nearest
        return problem
    }

    private func suggestions(for key: String, to restrictedGrants: Grants?) -> [String] {
        guard let schema = schema?.schema else { return [] }
        guard let restrictedGrants, !restrictedGrants.canReadAll(of: id) else { return schema.suggestions(for: key) }
        let readable = schema.keys.lazy.map(\.name).filter { restrictedGrants.allows(.read, on: name, .key($0)) }
        return NameSuggestion.nearest(to: key, among: readable)
    }

    /// The error for a write of a key that the schema declares read-only.
    package func lockedKey(_ key: KeyName) -> Problem {
        Problem(
            .locked,
            "\(key) of suite \(id) is locked (readOnly in the schema); a caller that has the right override can write it "
                + "with ?override=locked")
    }

    /// The error for a read or a change of a value that does not exist.
    package func notSet(_ key: KeyName) -> Problem {
        Problem(.notSet, "\(key) of suite \(id) is not set and has no default")
    }

    /// The error for a stored value that the schema does not allow.
    package func invalidStored(_ record: KeyRecord) -> Problem {
        let errors = violations(ofStoredValueIn: record)
        let reason = errors.first.map { ": \($0.sentence)" } ?? ""
        var problem = Problem(
            .invalidStored, "the stored value of \(record.key) in suite \(id) does not match the schema\(reason)")
        problem.errors = errors
        problem.stored = isSecret(record) ? nil : record.stored
        return problem
    }
}

extension Violation {
    /// Returns the violation with the name of the suite, and with `bodyLocation` as the prefix of its JSON Pointer.
    ///
    /// - Parameter bodyLocation: the location of the value in the body of a request; the root if the value is the whole
    ///   body, or if the value is a stored value.
    func located(inSuite suite: SuiteName, bodyLocation: JSONPointer = .root) -> Violation {
        var violation = self
        violation.suite = suite.text
        if bodyLocation != .root { violation.pointer = JSONPointer(bodyLocation.tokens + violation.pointer.tokens) }
        return violation
    }
}
