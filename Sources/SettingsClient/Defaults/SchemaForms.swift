internal import SettingsHTTP
public import SettingsModel

// What a program and the server say of the same keys: publishing it, and holding the one against the other.

extension DefaultsAdapter where KeyStore: DefaultsKeyStore {
    /// Says to the server what the suite may hold: these keys, each with its type, limits and default. Says whether
    /// that changed anything; the schema in force is not written again.
    ///
    ///     try await Defaults.publishSchema { \.username; \.launchCount; \.player.volume }
    ///
    /// Throws if the keys make no schema, as when two types have one name or a store within the store lacks a prefix.
    /// Throws also if something is stored that the schema does not allow: the error names each such key. With
    /// `onConflict`, such values can be kept or taken away instead.
    ///
    /// - Parameters:
    ///   - additionalProperties: what keys that are not listed may hold; by default there may be none.
    ///   - policy: what becomes of stored values that the schema does not allow.
    ///   - keys: the paths of the keys.
    @discardableResult
    public nonisolated(nonsending) func publishSchema(
        additionalProperties: JSONValue = false, onConflict policy: ConflictPolicy = .refuse,
        @KeyListBuilder<KeyStore> keys: () -> [ListedKey<KeyStore>]
    ) async throws(DefaultsError) -> Bool {
        try await publishSchema(
            of: listed(keys()), additionalProperties: additionalProperties, onConflict: policy)
    }

    /// The same for all keys that the store holds in stored properties. Throws if there are none.
    @discardableResult
    public nonisolated(nonsending) func publishSchema(
        additionalProperties: JSONValue = false, onConflict policy: ConflictPolicy = .refuse
    ) async throws(DefaultsError) -> Bool {
        try await publishSchema(
            of: storedKeys(), additionalProperties: additionalProperties, onConflict: policy)
    }

    /// Throws if these keys and the server's schema disagree: which of them, and on what. Fine if there is no schema.
    ///
    ///     try await Defaults.checkSchema { \.username; \.player.volume }
    public nonisolated(nonsending) func checkSchema(
        @KeyListBuilder<KeyStore> keys: () -> [ListedKey<KeyStore>]
    ) async throws(DefaultsError) {
        try await checkSchema(of: listed(keys()))
    }

    /// The same for all keys that the store holds in stored properties. Throws if there are none.
    public nonisolated(nonsending) func checkSchema() async throws(DefaultsError) {
        try await checkSchema(of: storedKeys())
    }

    private nonisolated(nonsending) func publishSchema(
        of keys: [any AnyDefaultsKey], additionalProperties: JSONValue, onConflict policy: ConflictPolicy
    ) async throws(DefaultsError) -> Bool {
        let schema: Schema
        do {
            schema = try Schema(keys: keys, additionalProperties: additionalProperties)
        } catch {
            throw .unusableSchema(error)
        }
        let shadowed = schema.keysShadowedByAdapter
        if !shadowed.isEmpty { core.report(.shadowedKeys(shadowed), nil, .check) }
        return try await core.offload { [core] () throws(DefaultsError) in
            try core.publish(schema, onConflict: policy)
        }
    }

    private nonisolated(nonsending) func checkSchema(of keys: [any AnyDefaultsKey]) async throws(DefaultsError) {
        let differences = try await core.offload { [core] () throws(DefaultsError) in try core.differences(of: keys) }
        if !differences.isEmpty { throw .disagreement(differences) }
    }

    private func listed(_ keys: [ListedKey<KeyStore>]) throws(DefaultsError) -> [any AnyDefaultsKey] {
        do {
            return try listedKeys(keys, of: root.store)
        } catch {
            throw .unusableSchema(error)
        }
    }

    private func storedKeys() throws(DefaultsError) -> [any AnyDefaultsKey] {
        do {
            return try SettingsModel.storedKeys(of: root.store)
        } catch {
            throw .unusableSchema(error)
        }
    }
}

extension AdapterCore {
    /// Puts a schema to the server unless it is in force already.
    func publish(_ schema: Schema, onConflict policy: ConflictPolicy) throws(DefaultsError) -> Bool {
        do throws(BackendError) {
            if try session.backend.schema()?.document == schema.document { return false }
            let summary = try session.setSchema(schema.document, onConflict: policy)
            guard summary.changed else { return false }
        } catch {
            throw DefaultsError(error)
        }
        // What it changed is seen here when this returns, unless the server went away meanwhile.
        try? synchronize()
        return true
    }

    /// What keys and the schema in force now disagree on.
    func differences(of keys: [any AnyDefaultsKey]) throws(DefaultsError) -> [SchemaDifference] {
        let document: SchemaDocument?
        do {
            document = try session.backend.schema()
        } catch {
            throw DefaultsError(error)
        }
        guard let document else { return [] }
        let schema: Schema
        do {
            schema = try Schema(kept: document.document)
        } catch {
            throw .unusableSchema(error)
        }
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
