import SettingsModel
import TestSupport
import Testing

/// A client whose request waits for its answer.
struct WaitingPeer {
    let client: RawClient

    /// Sends the request and returns once the daemon has it waiting.
    ///
    /// - Parameter metrics: how to ask for the number of those that wait.
    init(_ daemon: TestDaemon, _ request: Request, metrics: Request = "GET /metrics") throws {
        let counter = try daemon.connect()
        let before = try counter.watcherCount(metrics.bytes)
        client = try daemon.connect()
        try client.send(request.bytes)
        while try counter.watcherCount(metrics.bytes) == before {
            guard !client.hasNews else { throw Answered(answer: try client.readHead()) }
        }
    }

    /// It was answered instead.
    struct Answered: Error {
        let answer: RawResponse
    }

    /// The answer, which must not have come before.
    func answer() throws -> RawResponse {
        try client.readResponse()
    }
}

extension TestDaemon {
    /// Waits until so many requests wait. Each count is answered only when the daemon has done what came before it, so that
    /// few are needed.
    func awaitWatchers(_ count: Int) throws {
        let (metrics, start) = (try connect(), ContinuousClock.now)
        while true {
            let found = try metrics.watcherCount()
            if found == count { return }
            try #require(ContinuousClock.now - start < .seconds(Deadline.patience), "\(found) wait, not \(count)")
        }
    }

    /// The place in history.
    func cursor() throws -> String {
        let answer = try send("GET /v1")
        return try #require(answer.field("Settings-Cursor"))
    }
}

extension TestDaemon {
    /// Begins a stream, on a connection of its own.
    func stream(_ request: Request, since id: String? = nil, receiveBuffer: Int32? = nil) throws -> EventStreamReader {
        var request = request
        request.fields.append("Accept: text/event-stream")
        if let id { request.fields.append("Last-Event-ID: \(id)") }
        return try EventStreamReader(RawClient(port: port, receiveBuffer: receiveBuffer), request.bytes)
    }
}

/// A commit as an event of a stream.
struct ToldCommit {
    let id: String
    let changes: [JSONValue]
}

extension EventStreamReader {
    /// Reads an event that must be this one; returns its data.
    @discardableResult
    func expect(
        _ type: String, _ id: String, _ body: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> JSONValue {
        let event = try event()
        let found = try #require(event, sourceLocation: sourceLocation)
        #expect(found.type == type, "\(found.data)", sourceLocation: sourceLocation)
        #expect(found.lastEventID == id, "\(found.data)", sourceLocation: sourceLocation)
        let data = try JSONValue(parsing: found.data)
        #expect(try JSONValue(parsing: body).isFound(in: data), "\(found.data)", sourceLocation: sourceLocation)
        return data
    }

    /// Reads an event that must be a commit.
    func commit(sourceLocation: SourceLocation = #_sourceLocation) throws -> ToldCommit {
        let event = try event()
        let found = try #require(event, sourceLocation: sourceLocation)
        try #require(found.type == "commit", "\(found.data.prefix(300))", sourceLocation: sourceLocation)
        let data = try JSONValue(parsing: found.data)
        try #require(data["cursor"]?.string == found.lastEventID, sourceLocation: sourceLocation)
        return ToldCommit(id: found.lastEventID, changes: data["changes"]?.array ?? [])
    }
}

extension RawResponse {
    /// The place in history that it is true at, to be sent as `since`.
    var cursorText: String { field("Settings-Cursor") ?? "" }
}
