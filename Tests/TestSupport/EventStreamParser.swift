/// A parser of server-sent events, as the HTML standard has them, in lines that end with LF alone.
///
/// It keeps what a reader has to: the last event ID and how long to wait before coming back.
package struct EventStreamParser: Sendable {
    package struct Event: Equatable, Sendable {
        package var type: String
        package var data: String
        /// The last event ID at that moment.
        package var lastEventID: String

        package init(_ type: String, _ data: String, id: String = "") {
            self.type = type
            self.data = data
            lastEventID = id
        }
    }

    /// What to send as `Last-Event-ID` when coming back. Only the end of a block moves it.
    package private(set) var lastEventID: String
    /// In milliseconds.
    package private(set) var retry: Int?

    private var line: [UInt8] = []
    private var type: [UInt8] = []
    private var data: [UInt8] = []
    private var id: [UInt8] = []

    /// - Parameter lastEventID: where the reader was when it came back. Only what this stream says counts from the first
    ///   end of a block on, as the standard has it.
    package init(lastEventID: String = "") {
        self.lastEventID = lastEventID
    }

    /// The events that end with these bytes. An event that is not ended by an empty line never comes.
    package mutating func feed(_ bytes: some Sequence<UInt8>) -> [Event] {
        var events: [Event] = []
        for byte in bytes {
            if byte != UInt8(ascii: "\n") {
                line.append(byte)
            } else if let event = endLine() {
                events.append(event)
            }
        }
        return events
    }

    private mutating func endLine() -> Event? {
        defer { line = [] }
        guard !line.isEmpty else { return endBlock() }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.count
        var value = line[colon...].dropFirst()
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        // A line that begins with a colon has no name, and is a comment.
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

/// The reader of a stream of events: what comes on a connection, event by event.
package final class EventStreamReader {
    package let client: RawClient
    package let head: RawResponse
    package private(set) var parser = EventStreamParser()
    private var ready: [EventStreamParser.Event] = []
    private var next = 0
    /// Everything that came, for tests of the form.
    package private(set) var received: [UInt8] = []
    /// True if the body has ended as it should.
    package private(set) var hasEnded = false

    /// Sends a request, and reads the head of its answer.
    package init(_ client: RawClient, _ request: [UInt8]) throws {
        self.client = client
        try client.send(request)
        head = try client.readHead()
    }

    package var lastEventID: String { parser.lastEventID }

    /// The next event; nil if the body ends before it.
    package func event() throws -> EventStreamParser.Event? {
        while next == ready.count {
            guard try readMore() else { return nil }
        }
        defer { next += 1 }
        return ready[next]
    }

    /// Reads up to a moment when what has come is as wanted, events or not.
    package func read(until isEnough: (EventStreamReader) -> Bool) throws {
        while !isEnough(self) {
            guard try readMore() else { throw RawClient.Failure.closed(String(decoding: received, as: UTF8.self)) }
        }
    }

    /// Reads one more piece of the body; false at its end.
    private func readMore() throws -> Bool {
        guard !hasEnded, let piece = try client.readBodyPart(of: head) else {
            hasEnded = true
            return false
        }
        received += piece
        ready += parser.feed(piece)
        return true
    }
}
