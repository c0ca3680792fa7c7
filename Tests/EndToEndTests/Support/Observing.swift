import SettingsModel
import TestSupport
import Testing

/// A client whose request waits for its answer.
struct WaitingClient {
    let client: RawClient

    /// Sends the request and returns when the daemon counts it as a watcher.
    ///
    /// - Parameter metrics: The request for the metrics, which have the number of watchers.
    init(_ daemon: TestDaemon, _ request: Request, metrics: Request = "GET /metrics") throws {
        let counter = try daemon.connect()
        let before = try counter.watcherCount(metrics.bytes)
        client = try daemon.connect()
        try client.send(request.bytes)
        while try counter.watcherCount(metrics.bytes) == before {
            guard !client.isReadable else { throw AnsweredAtOnce(answer: try client.readHead()) }
        }
    }

    /// The error of a request that the daemon answered instead of waiting.
    struct AnsweredAtOnce: Error {
        let answer: RawResponse
    }

    /// Reads the answer.
    func answer() throws -> RawResponse {
        try client.readResponse()
    }
}

extension TestDaemon {
    /// Waits until the daemon counts this many watchers. The daemon answers each request for the metrics after the
    /// requests that arrived before it, so the loop ends after few requests. `Deadline.patience` is the time in seconds
    /// after which a test gives up.
    func awaitWatchers(_ count: Int) throws {
        let (metrics, start) = (try connect(), ContinuousClock.now)
        while true {
            let found = try metrics.watcherCount()
            if found == count { return }
            try #require(
                ContinuousClock.now - start < .seconds(Deadline.patience),
                "the daemon counts \(found) watchers, not \(count)")
        }
    }

    /// The current cursor.
    func cursor() throws -> String {
        let answer = try send("GET /v1")
        return try #require(answer.field("Settings-Cursor"))
    }
}

extension TestDaemon {
    /// Opens an event stream on a new connection, after the cursor `lastEventID` if it is not nil.
    func stream(_ request: Request, lastEventID: String? = nil, receiveBuffer: Int32? = nil) throws -> EventStreamReader
    {
        var request = request
        request.fields.append("Accept: text/event-stream")
        if let lastEventID { request.fields.append("Last-Event-ID: \(lastEventID)") }
        return try EventStreamReader(RawClient(port: port, receiveBuffer: receiveBuffer), request.bytes)
    }
}

/// A commit received as an event of a stream.
struct StreamedCommit {
    let id: String
    let changes: [JSONValue]
}

extension EventStreamReader {
    /// Reads an event, which must have this type, this ID and at least the members in `body`; returns its data.
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

    /// Reads an event, which must be a commit.
    func commit(sourceLocation: SourceLocation = #_sourceLocation) throws -> StreamedCommit {
        let event = try event()
        let found = try #require(event, sourceLocation: sourceLocation)
        try #require(found.type == "commit", "\(found.data.prefix(300))", sourceLocation: sourceLocation)
        let data = try JSONValue(parsing: found.data)
        try #require(data["cursor"]?.string == found.lastEventID, sourceLocation: sourceLocation)
        return StreamedCommit(id: found.lastEventID, changes: data["changes"]?.array ?? [])
    }
}

extension RawResponse {
    /// The cursor of the answer, which can be sent as `since`.
    var cursorText: String { field("Settings-Cursor") ?? "" }
}
