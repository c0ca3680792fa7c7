internal import SettingsAPI
internal import SettingsHTTP
public import SettingsKeys
internal import Synchronization

// Publishing the schema of the program's keys, and comparing it with the schema of the daemon.

extension DefaultsAdapter where KeyStore: DefaultsKeyStore {
    /// Publishes a schema with the type, the limits and the default of each listed key. Returns true if the schema of
    /// the suite has changed. Sends no write if the suite already has this schema.
    ///
    ///     try await Defaults.publishSchema { \.username; \.launchCount; \.player.volume }
    ///
    /// Throws if the keys cannot form a schema, for example because two keys of different types have the same name, or
    /// because a nested store has no prefix. With the policy `refuse`, the method also throws if a stored value does
    /// not match the schema. The error names the keys of these values.
    ///
    /// - Parameters:
    ///   - additionalProperties: the schema of keys that are not listed. By default, other keys are not allowed.
    ///   - policy: determines what happens to stored values that the schema does not allow.
    ///   - keys: the paths of the keys.
    @discardableResult
    public nonisolated(nonsending) func publishSchema(
        additionalProperties: JSONValue = false, onConflict policy: ConflictPolicy = .refuse,
        @KeyListBuilder<KeyStore> keys: () -> [ListedKey<KeyStore>]
    ) async throws(DefaultsError) -> Bool {
        try await publishSchema(of: listed(keys()), additionalProperties: additionalProperties, onConflict: policy)
    }

    /// Publishes the schema of all keys in stored properties of the store. Throws if there are no such keys.
    ///
    /// - Parameters:
    ///   - additionalProperties: the schema of other keys. By default, other keys are not allowed.
    ///   - policy: determines what happens to stored values that the schema does not allow.
    @discardableResult
    public nonisolated(nonsending) func publishSchema(
        additionalProperties: JSONValue = false, onConflict policy: ConflictPolicy = .refuse
    ) async throws(DefaultsError) -> Bool {
        try await publishSchema(of: storedKeys(), additionalProperties: additionalProperties, onConflict: policy)
    }

    /// Compares the listed keys with the schema of the daemon. If there are differences, throws an error that lists
    /// them. Does not throw if the suite has no schema.
    ///
    ///     try await Defaults.checkSchema { \.username; \.player.volume }
    public nonisolated(nonsending) func checkSchema(
        @KeyListBuilder<KeyStore> keys: () -> [ListedKey<KeyStore>]
    ) async throws(DefaultsError) {
        try await checkSchema(of: listed(keys()))
    }

    /// Compares all keys in stored properties of the store with the schema of the daemon. Throws if there are
    /// differences, or if there are no such keys.
    public nonisolated(nonsending) func checkSchema() async throws(DefaultsError) {
        try await checkSchema(of: storedKeys())
    }

    private nonisolated(nonsending) func publishSchema(
        of keys: [any AnyDefaultsKey], additionalProperties: JSONValue, onConflict policy: ConflictPolicy
    ) async throws(DefaultsError) -> Bool {
        let schema = try throwingUnusableSchema { () throws(SchemaError) in
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

    /// Returns the keys at the listed key paths.
    private func listed(_ keys: [ListedKey<KeyStore>]) throws(DefaultsError) -> [any AnyDefaultsKey] {
        let store = Self.scope(of: self).keyStore
        return try throwingUnusableSchema { () throws(SchemaError) in try listedKeys(keys, of: store) }
    }

    private func storedKeys() throws(DefaultsError) -> [any AnyDefaultsKey] {
        let store = Self.scope(of: self).keyStore
        return try throwingUnusableSchema { () throws(SchemaError) in try SettingsKeys.storedKeys(of: store) }
    }
}

/// Runs a function, and converts its error into a `DefaultsError`.
private func throwingUnusableSchema<Result>(_ body: () throws(SchemaError) -> Result) throws(DefaultsError) -> Result {
    do {
        return try body()
    } catch {
        throw .unusableSchema(error)
    }
}

extension AdapterCore {
    /// Sets the schema of the suite, unless the suite already has this schema. Returns true if the schema has changed.
    fileprivate nonisolated(nonsending) func publish(
        _ schema: Schema, onConflict policy: ConflictPolicy
    ) async throws(DefaultsError) -> Bool {
        let isChange = try await throwingDefaultsError { () async throws(BackendError) in
            if try await session.backend.schema()?.document == schema.document { return false }
            // The daemon checks the stored values against the schema, so the queued writes must reach the daemon first.
            try await session.flush(until: session.deadline)
            let summary = try await session.backend.setSchema(
                schema.document, onConflict: policy, requestKey: .unique())
            return summary.changed
        }
        // After the method returns, the calling code expects the new schema in the replica. An error of the
        // synchronization is ignored, because the daemon has already set the schema.
        if isChange { try? await synchronize() }
        return isChange
    }

    /// Returns the differences between keys and the current schema of the daemon.
    fileprivate nonisolated(nonsending) func differences(
        of keys: [any AnyDefaultsKey]
    ) async throws(DefaultsError) -> [SchemaDifference] {
        let document = try await throwingDefaultsError { () async throws(BackendError) in
            try await session.backend.schema()
        }
        guard let document else { return [] }
        let schema = try throwingUnusableSchema { () throws(SchemaError) in try Schema(stored: document.document) }
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

/// The last comparison of a key with the schema of the daemon.
struct KeyComparison: Sendable {
    /// The commit that set the compared schema. Nil before the first comparison.
    var schema: Cursor?
    var differences: [SchemaDifference] = []
}

/// Comparing a key with the schema of the daemon: before the first read of the key, and again when the schema changes.
extension DefaultsReference {
    /// Returns the differences between the key and the current schema, and reports new differences. Returns no
    /// differences while the schema is unknown, so that getters return the known values in the meantime.
    @discardableResult
    func compareWithSchema() -> [SchemaDifference] { knownDifferences() ?? [] }

    /// Returns the differences between the key and the current schema, and reports new differences. Returns nil if the
    /// client must first fetch the schema. Returns no differences if the suite is not loaded, and during the pause
    /// after a request without an answer, in which getters send no requests.
    func knownDifferences() -> [SchemaDifference]? {
        guard let cursor = core.session.schemaCursor else { return [] }
        if let known = resolved.schemaComparison.withLock({ $0.schema == cursor ? $0.differences : nil }) {
            return known
        }
        let fetched = core.session.knownSchema
        if fetched.isSet(at: cursor) { return differences(from: fetched.schema, at: cursor) }
        return core.session.isPaused ? [] : nil
    }

    /// Compares the key with a schema, records the comparison, and reports new differences.
    private func differences(from schema: Schema?, at cursor: Cursor) -> [SchemaDifference] {
        // The comparison encodes the default, which may run code of the program, so no lock is held. The error of a
        // default without a JSON form is ignored, because `KeyTable` has reported the error when it resolved the key.
        let differences = (try? schema?.differences(from: resolved.key)) ?? []
        resolved.schemaComparison.withLock { $0 = KeyComparison(schema: cursor, differences: differences) }
        let isNew = core.reportedDifferences.withLock { reported in
            defer { reported[UTF8Text(name)] = differences.isEmpty ? nil : differences }
            return !differences.isEmpty && reported[UTF8Text(name)] != differences
        }
        if isNew { report(.disagreement(differences), .check) }
        return differences
    }
}

extension [SchemaDifference] {
    /// Throws if one of the differences means that the schema allows no value of the key's type.
    func throwIfTypesDiffer() throws(DefaultsError) {
        let differences = filter { $0.aspect == .type }
        if !differences.isEmpty { throw .disagreement(differences) }
    }
}
