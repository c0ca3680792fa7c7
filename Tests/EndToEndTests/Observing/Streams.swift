import SettingsModel
import TestSupport
import Testing

extension TestDaemon {
    /// Begins a stream, on a connection of its own.
    func stream(_ request: Request, since id: String? = nil, receiveBuffer: Int32? = nil) throws -> EventStreamReader {
        var request = request
        request.fields.append("Accept: text/event-stream")
        if let id { request.fields.append("Last-Event-ID: \(id)") }
        return try EventStreamReader(RawClient(port: port, receiveBuffer: receiveBuffer), request.bytes)
    }
}

/// What a stream tells of a commit.
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
