internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// Server-sent events as text. JSON as it is written here has no line ends, so each event has one line of data.
enum EventText {
    /// The beginning of a stream: how long to wait before reconnecting. No empty line follows, which would make a client
    /// that reconnected forget its last id.
    static let opening = Array("retry: 1000\n".utf8)

    /// The end of a stream when the daemon stops: clients reconnect at random times, clients of live streams from their cursor.
    static func closing(at place: Cursor?, retryAfterMs: Int) -> [UInt8] {
        let retry = Array("retry: \(retryAfterMs)\n".utf8)
        return place.map { retry + id($0) } ?? retry
    }

    /// An id alone.
    static func id(_ cursor: Cursor) -> [UInt8] {
        Array("id: \(cursor)\n\n".utf8)
    }

    static func text(of event: StreamEvent) -> [UInt8] {
        Array("event: \(event.name)\nid: \(event.cursor)\ndata: ".utf8) + event.jsonBytes() + Array("\n\n".utf8)
    }

    /// OpenFeature's event after a commit, whose revision is the tag of the suite since.
    static func refetch(_ subject: WatchSubject, after commit: Commit, in epoch: Epoch) -> [UInt8] {
        let tag = EntityTag(commit.revision, digest: subject.reader?.digest)
        return refetch(Cursor(epoch: epoch, revision: commit.revision), tag, commit.time)
    }

    /// OpenFeature's event to a client whose cursor is older than the history.
    static func refetch(_ subject: WatchSubject, on state: State) -> [UInt8] {
        refetch(state.cursor, state.suite(subject.suites[0])?.tag(for: subject.reader) ?? EntityTag(.zero), state.time)
    }

    private static func refetch(_ cursor: Cursor, _ tag: EntityTag, _ time: Timestamp) -> [UInt8] {
        let etag = String(decoding: JSONValue.string(tag.description).bytes(), as: UTF8.self)
        let data =
            "{\"type\":\"refetchEvaluation\",\"etag\":\(etag),\"lastModified\":\(time.milliseconds / 1000)}"
        return Array("event: message\nid: \(cursor)\ndata: \(data)\n\n".utf8)
    }
}
