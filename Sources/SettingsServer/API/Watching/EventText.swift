internal import SettingsModel

/// Server-sent events as text. JSON as it is written here has no line ends, so each event has one line of data.
enum EventText {
    /// How the stream begins: how long to wait before coming back. It is not followed by an empty line, which would make a
    /// reader that came back with an identifier forget it.
    static let opening = Array("retry: 1000\n".utf8)

    /// How it ends when the daemon goes down: all come back, but not at once, and those that are at the present with their
    /// place in it.
    static func closing(at place: Cursor?, retryAfterMs: Int) -> [UInt8] {
        let retry = Array("retry: \(retryAfterMs)\n".utf8)
        return place.map { retry + id($0) } ?? retry
    }

    /// That nothing has happened up to here.
    static func id(_ cursor: Cursor) -> [UInt8] {
        Array("id: \(cursor)\n\n".utf8)
    }

    static func text(of event: StreamEvent) -> [UInt8] {
        Array("event: \(event.name)\nid: \(event.cursor)\ndata: ".utf8) + event.jsonBytes() + Array("\n\n".utf8)
    }
}
