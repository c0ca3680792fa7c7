internal import SettingsModel

/// Server-sent events as text. JSON as it is written here has no line ends, so each event has one line of data.
enum EventText {
    /// How the stream begins: how long to wait before coming back.
    static let opening = Array("retry: 1000\n\n".utf8)

    /// How it ends when the daemon goes down: all come back, but not at once.
    static func closing(retryAfterMs: Int) -> [UInt8] {
        Array("retry: \(retryAfterMs)\n\n".utf8)
    }

    /// That nothing has happened up to here.
    static func id(_ cursor: Cursor) -> [UInt8] {
        Array("id: \(cursor)\n\n".utf8)
    }

    static func append(_ event: StreamEvent, to text: inout [UInt8]) {
        text.append(contentsOf: "event: \(event.name)\nid: \(event.cursor)\ndata: ".utf8)
        text.append(contentsOf: event.jsonBytes())
        text.append(contentsOf: "\n\n".utf8)
    }
}
