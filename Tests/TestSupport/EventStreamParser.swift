internal import Glibc

/// A parser of server-sent events according to the HTML standard, for lines that end with LF alone.
///
/// The parser keeps the last event ID and the reconnection delay.
package struct EventStreamParser: Sendable {
    package struct Event: Equatable, Sendable {
        package var type: String
        package var data: String
        /// The last event ID at the time of the event.
        package var lastEventID: String

        package init(_ type: String, _ data: String, id: String = "") {
            self.type = type
            self.data = data
            lastEventID = id
        }
    }

    /// The value of `Last-Event-ID` for a reconnection. The parser updates the ID at each empty line, which ends a
    /// block of lines.
    package private(set) var lastEventID: String
    /// The reconnection delay in milliseconds.
    package private(set) var retry: Int?

    private var line: [UInt8] = []
    private var type: [UInt8] = []
    private var data: [UInt8] = []
    private var id: [UInt8] = []

    /// - Parameter lastEventID: The last event ID of the connection before this connection. According to the standard,
    ///   the end of the first block of lines sets the ID to the empty text, unless a line of the block has an ID.
    package init(lastEventID: String = "") {
        self.lastEventID = lastEventID
    }

    /// Parses more bytes and returns the events that they complete. An event without a final empty line is never
    /// returned.
    package mutating func feed(_ bytes: some Sequence<UInt8>) -> [Event] {
        var events: [Event] = []
        var rest = Array(bytes)[...]
        while let length = Self.lengthOfLine(in: rest) {
            line += rest.prefix(length)
            rest = rest.dropFirst(length + 1)
            if let event = endLine() { events.append(event) }
        }
        line += rest
        return events
    }

    /// The number of bytes before the first LF; nil if there is no LF. In a debug build, `memchr` is much faster than a
    /// search byte by byte.
    private static func lengthOfLine(in bytes: ArraySlice<UInt8>) -> Int? {
        bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, let end = memchr(base, 0x0A, bytes.count) else { return nil }
            return UnsafeRawPointer(end) - base
        }
    }

    private mutating func endLine() -> Event? {
        defer { line = [] }
        guard !line.isEmpty else { return endBlock() }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.count
        var value = line[colon...].dropFirst()
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        // A line that starts with a colon has an empty name and is a comment.
        switch String(decoding: line[..<colon], as: UTF8.self) {
        case "event": type = Array(value)
        case "data": data += value + [UInt8(ascii: "\n")]
        case "id" where !value.contains(0): id = Array(value)
        case "retry" where !value.isEmpty && value.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }:
            retry = Int(String(decoding: value, as: UTF8.self)) ?? .max
        default: break
        }
        return nil
    }

    private mutating func endBlock() -> Event? {
        defer { (type, data) = ([], []) }
        lastEventID = String(decoding: id, as: UTF8.self)
        guard !data.isEmpty else { return nil }
        let name = type.isEmpty ? "message" : String(decoding: type, as: UTF8.self)
        return Event(name, String(decoding: data.dropLast(), as: UTF8.self), id: lastEventID)
    }
}

/// A reader of an event stream on a connection, event by event.
package final class EventStreamReader {
    package let client: RawClient
    package let head: RawResponse
    package private(set) var parser = EventStreamParser()
    /// All events that were parsed. The events before the index `next` were returned to the test.
    private var parsed: [EventStreamParser.Event] = []
    private var next = 0
    /// All received bytes, for tests of the encoding.
    package private(set) var received: [UInt8] = []
    /// True if the end of the body was read.
    package private(set) var hasEnded = false

    /// Sends a request and reads the head of its answer.
    package init(_ client: RawClient, _ request: [UInt8]) throws {
        self.client = client
        try client.send(request)
        head = try client.readHead()
    }

    package var lastEventID: String { parser.lastEventID }

    /// Reads the next event; nil if the body ends first.
    package func event() throws -> EventStreamParser.Event? {
        while next == parsed.count {
            guard try readMore() else { return nil }
        }
        defer { next += 1 }
        return parsed[next]
    }

    /// Reads until the received data satisfies the condition.
    package func read(until isEnough: (EventStreamReader) -> Bool) throws {
        while !isEnough(self) {
            guard try readMore() else { throw RawClient.Failure.closed(String(decoding: received, as: UTF8.self)) }
        }
    }

    /// Reads another piece of the body. Returns false at the end of the body.
    private func readMore() throws -> Bool {
        guard !hasEnded, let piece = try client.readBodyPart(of: head) else {
            hasEnded = true
            return false
        }
        received += piece
        parsed += parser.feed(piece)
        return true
    }
}
