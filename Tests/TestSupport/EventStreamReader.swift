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
