internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// The text format of server-sent events. The JSON writer emits no line breaks, so each event has one `data` line. The
/// id of an event is a cursor: an epoch, which names a history, and a revision, which is the number of a commit.
enum EventText {
    /// The beginning of a stream: the milliseconds until a client reconnects. No empty line follows: an empty line
    /// would make the beginning an event without an id, and a client that has reconnected would forget its last id.
    static let opening = Array("retry: 1000\n".utf8)

    /// The end of a stream: the milliseconds until the client reconnects, and the cursor if the client has all events.
    static func closing(at cursor: Cursor?, retryAfterMs: Int) -> [UInt8] {
        let retry = Array("retry: \(retryAfterMs)\n".utf8)
        return cursor.map { retry + idField($0) } ?? retry
    }

    /// An id without data. The client sends the id as `Last-Event-ID` when it reconnects.
    static func idField(_ cursor: Cursor) -> [UInt8] { Array("id: \(cursor)\n\n".utf8) }

    static func text(of event: StreamEvent) -> [UInt8] {
        Array("event: \(event.name)\nid: \(event.cursor)\ndata: ".utf8) + event.jsonBytes() + Array("\n\n".utf8)
    }

    /// OpenFeature's event after a commit, which asks the client to fetch the flags again. The event contains the new
    /// entity tag of the suite: the revision and, for a caller that may not read everything, a digest of its grants.
    static func refetch(_ subject: WatchSubject, after commit: Commit, in epoch: Epoch) -> [UInt8] {
        let tag = EntityTag(commit.revision, digest: subject.restrictedGrants?.digest)
        return refetch(Cursor(epoch: epoch, revision: commit.revision), tag, commit.time)
    }

    /// OpenFeature's event if no commit is sent: the suite does not exist, or was created while the stream waited for
    /// the suite, or the history no longer has all commits after the cursor of the client. In these cases, a stream of
    /// settings sends the state or the event `missing`. The subject of OpenFeature's stream is one suite.
    static func refetch(_ subject: WatchSubject, on state: State) -> [UInt8] {
        refetch(
            state.cursor, state.suite(subject.suites[0])?.tag(for: subject.restrictedGrants) ?? EntityTag(.zero),
            state.time)
    }

    private static func refetch(_ cursor: Cursor, _ tag: EntityTag, _ time: Timestamp) -> [UInt8] {
        let etag = String(decoding: JSONValue.string(tag.description).bytes(), as: UTF8.self)
        let data = "{\"type\":\"refetchEvaluation\",\"etag\":\(etag),\"lastModified\":\(time.milliseconds / 1000)}"
        return Array("event: message\nid: \(cursor)\ndata: \(data)\n\n".utf8)
    }
}
