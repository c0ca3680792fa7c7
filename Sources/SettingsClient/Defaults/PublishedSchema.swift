internal import SettingsAPI
internal import SettingsHTTP
public import SettingsKeys
internal import Synchronization

// The schema that a program's keys make, and the one that the server has: publishing, comparing.

extension DefaultsAdapter where KeyStore: DefaultsKeyStore {
    /// Publishes the schema of these keys: the type, limits and default of each. True if that changed anything; the schema
    /// in force is not written again.
    ///
    ///     try await Defaults.publishSchema { \.username; \.launchCount; \.player.volume }
    ///
    /// Throws if the keys make no schema, as when two types have one name or a store within the store lacks a prefix.
    /// Throws also if a stored value does not fit the schema: the error names each such key. With
    /// `onConflict`, such values can be kept or removed instead.
    ///
    /// - Parameters:
    ///   - additionalProperties: the schema of keys that are not listed; by default there may be none.
    ///   - policy: what to do with stored values that the schema does not allow.
    ///   - keys: the paths of the keys.
    @discardableResult
    public nonisolated(nonsending) func publishSchema(
        additionalProperties: JSONValue = false, onConflict policy: ConflictPolicy = .refuse,
        @KeyListBuilder<KeyStore> keys: () -> [ListedKey<KeyStore>]
    ) async throws(DefaultsError) -> Bool {
        try await publishSchema(of: listed(keys()), additionalProperties: additionalProperties, onConflict: policy)
    }

    /// Publishes the schema of all keys that the store holds in stored properties. Throws if there are none.
    @discardableResult
    public nonisolated(nonsending) func publishSchema(
        additionalProperties: JSONValue = false, onConflict policy: ConflictPolicy = .refuse
    ) async throws(DefaultsError) -> Bool {
        try await publishSchema(of: storedKeys(), additionalProperties: additionalProperties, onConflict: policy)
    }

    /// Throws if these keys and the server's schema disagree: which of them, and on what. Without a schema there is nothing
    /// to disagree with.
    ///
    ///     try await Defaults.checkSchema { \.username; \.player.volume }
    public nonisolated(nonsending) func checkSchema(
        @KeyListBuilder<KeyStore> keys: () -> [ListedKey<KeyStore>]
    ) async throws(DefaultsError) {
        try await checkSchema(of: listed(keys()))
    }

    /// Checks all keys that the store holds in stored properties. Throws if there are none.
    public nonisolated(nonsending) func checkSchema() async throws(DefaultsError) {
        try await checkSchema(of: storedKeys())
    }

    private nonisolated(nonsending) func publishSchema(
        of keys: [any AnyDefaultsKey], additionalProperties: JSONValue, onConflict policy: ConflictPolicy
    ) async throws(DefaultsError) -> Bool {
        let schema = try usable { () throws(SchemaError) in
            try Schema(keys: keys, additionalProperties: additionalProperties)
        }
        let shadowed = schema.keysShadowedByAdapter
        if !shadowed.isEmpty { core.report(.shadowedKeys(shadowed), nil, .check) }
        return try await core.publish(schema, onConflict: policy)
    }

    private nonisolated(nonsending) func checkSchema(of keys: [any AnyDefaultsKey]) async throws(DefaultsError) {
        let differences = try await core.differences(of: keys)
        if !differences.isEmpty { throw .disagreement(differences) }
    }

    private func listed(_ keys: [ListedKey<KeyStore>]) throws(DefaultsError) -> [any AnyDefaultsKey] {
        let store = Self.scope(of: self).keyStore
        return try usable { () throws(SchemaError) in try listedKeys(keys, of: store) }
    }

    private func storedKeys() throws(DefaultsError) -> [any AnyDefaultsKey] {
        let store = Self.scope(of: self).keyStore
        return try usable { () throws(SchemaError) in try SettingsKeys.storedKeys(of: store) }
    }
}

private func usable<Result>(_ body: () throws(SchemaError) -> Result) throws(DefaultsError) -> Result {
    do {
        return try body()
    } catch {
        throw .unusableSchema(error)
    }
}

extension AdapterCore {
    /// Puts a schema to the server unless it is in force already.
    fileprivate nonisolated(nonsending) func publish(
        _ schema: Schema, onConflict policy: ConflictPolicy
    ) async throws(DefaultsError) -> Bool {
        let isChange = try await throwingDefaultsError { () async throws(BackendError) in
            if try await session.backend.schema()?.document == schema.document { return false }
            // The schema is to be checked against the writes that the queue contains.
            try await session.flush(until: session.deadline)
            let summary = try await session.backend.setSchema(
                schema.document, onConflict: policy, requestKey: .unique())
            return summary.changed
        }
        // The effects are visible here when this returns, unless the daemon went away meanwhile.
        if isChange { try? await synchronize() }
        return isChange
    }

    /// The differences between keys and the schema in force now.
    fileprivate nonisolated(nonsending) func differences(
        of keys: [any AnyDefaultsKey]
    ) async throws(DefaultsError) -> [SchemaDifference] {
        let document = try await throwingDefaultsError { () async throws(BackendError) in
            try await session.backend.schema()
        }
        guard let document else { return [] }
        let schema = try usable { () throws(SchemaError) in try Schema(stored: document.document) }
        var differences: [SchemaDifference] = []
        for key in keys {
            do {
                differences += try schema.differences(from: key)
            } catch {
                throw .unusableKey(key.name, error)
            }
        }
        return differences
    }
}

/// The result of comparing a key with the schema of a place in history.
struct KeyAgreement: Sendable {
    var schema: Cursor?
    var differences: [SchemaDifference] = []
}

/// Each key is compared with the server's schema before its first read, and again when the schema is another.
extension DefaultsReference {
    /// The differences between a key and the current schema. They are reported once. While the schema is not known there are
    /// none, and known values are read all the same.
    func differences() -> [SchemaDifference] { knownDifferences() ?? [] }

    /// The differences between a key and the current schema. Nil while the schema is not known.
    func knownDifferences() -> [SchemaDifference]? {
        guard let place = core.session.schema else { return [] }
        if let known = resolved.agreement.withLock({ $0.schema == place ? $0.differences : nil }) { return known }
        let server = core.session.knownSchema
        if server.isSet(at: place) { return differences(from: server.schema, at: place) }
        return core.session.isPaused ? [] : nil
    }

    private func differences(from schema: Schema?, at place: Cursor) -> [SchemaDifference] {
        // Encoding the key's default may run code of the program, so nothing is locked. A key whose default has no JSON is
        // reported as one that cannot be used.
        let differences = (try? schema?.differences(from: resolved.key)) ?? []
        resolved.agreement.withLock { $0 = KeyAgreement(schema: place, differences: differences) }
        let isNews = core.reportedDifferences.withLock { reported in
            defer { reported[UTF8Text(name)] = differences.isEmpty ? nil : differences }
            return !differences.isEmpty && reported[UTF8Text(name)] != differences
        }
        if isNews { report(.disagreement(differences), .check) }
        return differences
    }
}

extension AdapterCore {
    /// Throws if these are such that no value that the server may hold is one of the key's type.
    func refuseAnotherType(_ differences: [SchemaDifference]) throws(DefaultsError) {
        let differences = differences.filter { $0.aspect == .type }
        if !differences.isEmpty { throw .disagreement(differences) }
    }
}
