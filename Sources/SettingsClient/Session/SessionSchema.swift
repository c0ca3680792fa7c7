internal import SettingsAPI
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// The part of a session's state that has the schema of the suite.
struct SchemaState: Sendable {
    /// The schema that was fetched last.
    fileprivate(set) var known = ServerSchema()
    /// The fetch in progress.
    fileprivate var fetching: (place: Cursor, result: Promise<Result<ServerSchema, BackendError>>)?
}

/// The schema of the suite at a place in history.
struct ServerSchema: Sendable {
    /// The commit that had set the schema when it was fetched, as the replica knew it.
    var place: Cursor?
    /// The commit that set the schema. Nil if there was no schema.
    var revision: Revision?
    var schema: Schema?

    /// Returns true if the schema was set by this commit.
    func isSet(at place: Cursor) -> Bool {
        self.place == place || self.place?.epoch == place.epoch && revision == place.revision
    }
}

extension SuiteSession.State {
    /// True if the known schema is the current schema.
    var isSchemaKnown: Bool {
        replica.schema.map { schema.known.isSet(at: $0) } ?? true
    }
}

extension SuiteSession {
    /// The schema that was fetched last.
    var knownSchema: ServerSchema { state.withLock { $0.schema.known } }

    func fetchSchemaInBackground() {
        guard let place = schema, !isPaused, state.withLock({ $0.schema.fetching?.place != place }) else { return }
        startTask { _ = try? await self.fetchSchema(at: place) }
    }

    /// Returns the schema that this commit set. Callers at the same time share one request.
    nonisolated(nonsending) func fetchSchema(at place: Cursor) async throws(BackendError) -> ServerSchema {
        typealias Join = (known: ServerSchema?, result: Promise<Result<ServerSchema, BackendError>>, isFirst: Bool)
        let join = state.withLock { state -> Join in
            let known = state.schema.known
            if known.isSet(at: place) { return (known, Promise(), false) }
            if let fetching = state.schema.fetching, fetching.place == place { return (nil, fetching.result, false) }
            let result = Promise<Result<ServerSchema, BackendError>>()
            state.schema.fetching = (place, result)
            return (nil, result, true)
        }
        if let known = join.known { return known }
        if join.isFirst { startTask { join.result.fulfill(await self.requestSchema(at: place)) } }
        guard let result = await join.result.value() else { throw .cancelled }
        return try result.get()
    }

    private func requestSchema(at place: Cursor) async -> Result<ServerSchema, BackendError> {
        var fetched = ServerSchema(place: place)
        var failure: DefaultsError?
        do throws(BackendError) {
            var document: SchemaDocument?
            if place.revision != .zero {
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
            // If the daemon refuses the schema, the keys are not compared with it.
            guard error.isFinal else {
                state.withLock { if $0.schema.fetching?.place == place { $0.schema.fetching = nil } }
                return .failure(error)
            }
        }
        state.withLock { [fetched] state in
            // A late answer must not replace a newer schema.
            if state.isSchemaKnown, state.replica.schema != place { return }
            let isChange = state.schema.known.schema != nil || fetched.schema != nil
            state.schema.known = fetched
            if state.schema.fetching?.place == place { state.schema.fetching = nil }
            // Each key is compared with another schema at its next read.
            if isChange { state.replica.touchAllKeys() }
        }
        if let failure { report(failure, nil, .check) }
        return .success(fetched)
    }
}
