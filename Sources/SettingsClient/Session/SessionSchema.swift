internal import SettingsAPI
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// The part of a session's state about the schema of the suite.
struct SchemaState: Sendable {
    /// The schema that was fetched last.
    fileprivate(set) var known = ServerSchema()
    /// The request in progress, with the commit that has set the requested schema.
    fileprivate var fetching: (cursor: Cursor, result: Promise<Result<ServerSchema, BackendError>>)?
}

/// A schema of the suite that was fetched from the daemon.
struct ServerSchema: Sendable {
    /// The commit that has set the schema, according to the replica at the time of the request.
    var cursor: Cursor?
    /// The commit that has set the schema, according to the answer. Nil if the suite had no schema.
    var revision: Revision?
    var schema: Schema?

    /// Returns true if the commit at this cursor has set the schema.
    func isSet(at cursor: Cursor) -> Bool {
        self.cursor == cursor || self.cursor?.epoch == cursor.epoch && revision == cursor.revision
    }
}

extension SuiteSession.State {
    /// True if the schema of the suite was fetched, or the suite is not loaded.
    var isSchemaKnown: Bool {
        replica.schemaCursor.map { schema.known.isSet(at: $0) } ?? true
    }
}

extension SuiteSession {
    /// The schema that was fetched last.
    var knownSchema: ServerSchema { state.withLock { $0.schema.known } }

    /// Fetches the current schema, unless the session is fetching it, or pauses after a request without an answer.
    func fetchSchemaInBackground() {
        guard let cursor = schemaCursor, !isPaused, state.withLock({ $0.schema.fetching?.cursor != cursor }) else {
            return
        }
        startTask { _ = try? await self.fetchSchema(at: cursor) }
    }

    /// Returns the schema that the commit at this cursor has set. Concurrent callers share a request.
    nonisolated(nonsending) func fetchSchema(at cursor: Cursor) async throws(BackendError) -> ServerSchema {
        typealias SharedRequest = (
            known: ServerSchema?, result: Promise<Result<ServerSchema, BackendError>>, isFirst: Bool
        )
        let request = state.withLock { state -> SharedRequest in
            let known = state.schema.known
            if known.isSet(at: cursor) { return (known, Promise(), false) }
            if let fetching = state.schema.fetching, fetching.cursor == cursor { return (nil, fetching.result, false) }
            let result = Promise<Result<ServerSchema, BackendError>>()
            state.schema.fetching = (cursor, result)
            return (nil, result, true)
        }
        if let known = request.known { return known }
        if request.isFirst { startTask { request.result.fulfill(await self.requestSchema(at: cursor)) } }
        guard let result = await request.result.value() else { throw .cancelled }
        return try result.get()
    }

    private func requestSchema(at cursor: Cursor) async -> Result<ServerSchema, BackendError> {
        var fetched = ServerSchema(cursor: cursor)
        var failure: DefaultsError?
        do throws(BackendError) {
            var document: SchemaDocument?
            if cursor.revision != .zero {
                document = try await read { () async throws(BackendError) in try await backend.schema() }
            }
            fetched.revision = document?.revision
            do throws(SchemaError) {
                fetched.schema = try document.map { document throws(SchemaError) in
                    try Schema(stored: document.document)
                }
            } catch {
                failure = .unusableSchema(error)
            }
        } catch {
            // If a retry would be refused, too (`isFinal`), the suite counts as a suite without a schema. Other errors
            // end the call.
            guard error.isFinal else {
                state.withLock { if $0.schema.fetching?.cursor == cursor { $0.schema.fetching = nil } }
                return .failure(error)
            }
        }
        state.withLock { [fetched] state in
            // A late answer must not replace a newer schema.
            if state.isSchemaKnown, state.replica.schemaCursor != cursor { return }
            let isChange = state.schema.known.schema != nil || fetched.schema != nil
            state.schema.known = fetched
            if state.schema.fetching?.cursor == cursor { state.schema.fetching = nil }
            // The next read of each key compares the key with the new schema.
            if isChange { state.replica.invalidateAllKeys() }
        }
        if let failure { report(failure, nil, .check) }
        return .success(fetched)
    }
}
