internal import SettingsAPI
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// The schema of the server as it was fetched last.
struct ServerSchema: Sendable {
    /// The schema that was in force when it was fetched.
    var asked: Cursor?
    /// The commit that set the schema; nil if there was none.
    var revision: Revision?
    var schema: Schema?

    /// True if it is the schema of this identity.
    func holds(at place: Cursor) -> Bool {
        asked == place || asked?.epoch == place.epoch && revision == place.revision
    }
}

extension SuiteSession {
    /// The schema as it was fetched last.
    var knownSchema: ServerSchema { state.withLock { $0.schema } }

    /// Fetches the schema in force, once; nil while there is no answer. Throws, once, if this program cannot compile it.
    func serverSchema(at place: Cursor) throws(DefaultsError) -> ServerSchema? {
        let isFetching = DefaultsError.unreachable("the schema is being fetched")
        return try schemaTurn.take(orThrow: isFetching) { () throws(DefaultsError) -> ServerSchema? in
            let known = knownSchema
            if known.holds(at: place) { return known }
            if isPaused { return nil }
            var fetched = ServerSchema(asked: place)
            var failure: DefaultsError?
            if place.revision != .zero {
                var document: SchemaDocument?
                do throws(BackendError) {
                    document = try read { () throws(BackendError) in try backend.schema() }
                } catch {
                    // A refusal is remembered like no schema at all.
                    guard error.isVerdict else { return nil }
                }
                fetched.revision = document?.revision
                do throws(SchemaError) {
                    fetched.schema = try document.map { document throws(SchemaError) in
                        try Schema(stored: document.document)
                    }
                } catch {
                    failure = .unusableSchema(error)
                }
            }
            state.withLock { [fetched] in $0.schema = fetched }
            if let failure { throw failure }
            return fetched
        }
    }
}
