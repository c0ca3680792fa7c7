package import SettingsAPI
package import SettingsModel

/// Settings in the form of the API.
extension Suite {
    package func setting(_ key: KeyName) -> SettingState {
        setting(record(key))
    }

    package func setting(_ record: KeyRecord) -> SettingState {
        var setting = SettingState(
            suite: id, key: record.key, value: effectiveValue(of: record), source: record.standing.source,
            revision: record.revision, modified: record.modified.milliseconds == 0 ? nil : record.modified)
        setting.origin = record.origin
        setting.isSecret = isSecret(record)
        if record.standing == .invalid {
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

    /// Lists the violations. Takes the steps of checking from those that are left.
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

    /// True if the record is of a secret: by the schema, or by one that was in force since it was written.
    package func isSecret(_ record: KeyRecord) -> Bool {
        record.isSecret || isSecret(record.key)
    }

    /// True if the schema calls the key a secret.
    func isSecret(_ key: KeyName) -> Bool {
        schema?.schema.isSecret(key.text) ?? false
    }

    /// True if the schema lets only administrators write the key.
    package func isLocked(_ key: KeyName) -> Bool {
        var steps = Int.max
        return schema?.schema.isLocked(key.text, steps: &steps) ?? false
    }

    /// True if the suite may hold the key: any if it is open, else those that the schema admits.
    package func admits(_ key: KeyName) -> Bool {
        schema.map { $0.schema.key(key.text) != nil } ?? true
    }

    /// The keys with stored values that are secrets whatever the schema says, of those that are wanted; nil for all.
    func markedSecrets(of names: Set<UTF8Text>? = nil) -> [KeyName] {
        var keys: [KeyName] = []
        forEachRecord(of: names) { if $0.isSecret { keys.append($0.key) } }
        return keys
    }

    /// Everything that is stored, valid or not, to be validated against another schema.
    func storedSettings() -> [StoredSetting] {
        records.elements.compactMap { record in
            record.stored.map { StoredSetting(key: record.key, value: $0, isSecret: isSecret(record)) }
        }
    }

    /// What is stored, valid or not, of the keys that are wanted; nil for all.
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

/// A record that was found by the bytes of its names, with what shows it.
package struct FoundSetting {
    package let suite: SuiteName
    package let record: KeyRecord
    package let cursor: Cursor
    let schema: SchemaVersion?

    /// True if the schema calls the key a secret, or did when it was written.
    package var isSecret: Bool { record.isSecret || schema?.schema.isSecret(record.name) ?? false }
}

extension Suite {
    /// The error for a key that the schema does not admit.
    package func unknownKey(
        _ key: KeyName, for reader: Grants?, status: Int = 404, suggests: Bool = true
    ) -> Problem {
        let nearest = suggests ? suggestions(for: key.text, to: reader) : []
        var problem = Problem(
            .unknownKey, status: status, "the schema of suite \(id) has no key \(key)" + State.hint(nearest))
        problem.didYouMean = nearest
        return problem
    }

    private func suggestions(for key: String, to reader: Grants?) -> [String] {
        guard let schema = schema?.schema else { return [] }
        guard let reader, !reader.canReadAll(of: id) else { return schema.suggestions(for: key) }
        let shown = schema.keys.lazy.map(\.name).filter { reader.allows(.read, on: name, .key($0)) }
        return NameSuggestion.nearest(to: key, among: shown)
    }

    package func lockedKey(_ key: KeyName) -> Problem {
        Problem(.locked, "\(key) of suite \(id) is read-only; an administrator writes it with ?override=locked")
    }

    package func notSet(_ key: KeyName) -> Problem {
        Problem(.notSet, "\(key) of suite \(id) is not set and has no default")
    }

    /// The error for a stored value that the schema does not allow.
    package func invalidStored(_ record: KeyRecord) -> Problem {
        let errors = violations(ofStoredValueIn: record)
        let reason = errors.first.map { ": \($0.sentence)" } ?? ""
        var problem = Problem(
            .invalidStored, "what is stored under \(record.key) of suite \(id) does not fit the schema\(reason)")
        problem.errors = errors
        problem.stored = isSecret(record) ? nil : record.stored
        return problem
    }
}

extension Violation {
    /// The violation of a value at a place in a request about a suite.
    func inSuite(_ suite: SuiteName, under place: JSONPointer) -> Violation {
        var violation = self
        violation.suite = suite.text
        if place != .root { violation.pointer = JSONPointer(place.tokens + violation.pointer.tokens) }
        return violation
    }
}
