internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// The schema of the server, as far as the client has it.
struct ServerSchema: Sendable {
    /// When it was asked for, by what had been told of it then.
    var asked: SchemaPlace?
    /// The commit that set what was answered; nil if there was none.
    var revision: Revision?
    var schema: Schema?
    /// Until when it is not asked for again, as there was no answer.
    var pause: ContinuousClock.Instant?

    /// True if it is the one that is in force at a place.
    func holds(at place: SchemaPlace) -> Bool {
        asked == place || asked?.epoch == place.epoch && revision == place.revision
    }

    var isPaused: Bool { pause.map { $0 > .now } ?? false }

    static let pauseAfterSilence = Duration.seconds(1)
}

extension SuiteSession {
    /// The schema as it was fetched last.
    var knownSchema: ServerSchema { serverSchema.withLock { $0 } }

    /// Fetches the schema in force, once for each; nil while there is no answer. Throws, once, if it is no schema that
    /// this program understands.
    func serverSchema(at place: SchemaPlace) throws(DefaultsError) -> ServerSchema? {
        try askingSchema.withLock { _ throws(DefaultsError) in
            var server = knownSchema
            if server.holds(at: place) { return server }
            if server.isPaused { return nil }
            let fetched = Result { () throws(DefaultsError) in try fetch(&server, at: place) }
            serverSchema.withLock { [server] in $0 = server }
            return try fetched.get() ? server : nil
        }
    }

    private func fetch(_ server: inout ServerSchema, at place: SchemaPlace) throws(DefaultsError) -> Bool {
        var document: SchemaDocument?
        if place.revision != .zero {
            do {
                document = try backend.schema()
            } catch {
                server.pause = ContinuousClock.now + ServerSchema.pauseAfterSilence
                return false
            }
        }
        server.pause = nil
        server.asked = place
        server.revision = document?.revision
        server.schema = nil
        guard let document else { return true }
        do {
            server.schema = try Schema(kept: document.document)
        } catch {
            throw .unusableSchema(error)
        }
        return true
    }
}
