import Dispatch
import HTTPWire
import Platform
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsStorage
import TestSupport
import Testing

@testable import SettingsWeb

/// Requests with bodies that are parsed in the background, and answers that are rendered in the background.
/// `APIServer.blockParsing` delays the parsing.
@Suite(.ownThread)
struct LargeBodyTests {
    /// A JSON text that is long enough to be parsed in the background.
    static let longText = "\"" + String(repeating: "a", count: APIRequest.largeBodySize) + "\""

    /// A PATCH of a path below `/v1/suites/`.
    static func patch(_ path: String, _ body: String) -> String {
        "PATCH" + put(path, body).dropFirst(3)
    }

    /// A PUT of a path below `/v1/suites/`. `fields` are further header fields, each with its line break.
    static func put(_ path: String, _ body: String, _ fields: String = "") -> String {
        "PUT /v1/suites/\(path) HTTP/1.1\r\nHost: localhost\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    static func get(_ path: String) -> String {
        "GET /v1/suites/\(path) HTTP/1.1\r\nHost: localhost\r\n\r\n"
    }

    /// The number of keys of a suite that is rendered in the background. Each key costs at least four rendered units.
    static let keyCountOfLargeSuite = Int(Cost.loopLimit.microseconds / Cost.renderedUnit.microseconds) / 4 + 1

    /// A schema that is long enough to be parsed in the background.
    static let schema =
        #"{"additionalProperties":false,"properties":{"#
        + (0..<2000).map { #""key\#($0)":{"type":"integer","default":\#($0)}"# }.joined(separator: ",") + "}}"

    @Test(
        "While a large body is parsed, other connections of the loop get answers",
        arguments: ["app/keys/a", "app", "app/schema"])
    func others(target: String) throws {
        let bodies = ["app": "{\"a\":\(Self.longText)}", "app/schema": Self.schema]
        let body = bodies[target] ?? Self.longText
        let server = try APIServer()
        let (writer, other) = (try server.connect(), try server.connect())
        server.blockParsing()
        try writer.send(Self.put(target, body))
        // The suite does not exist before the large write.
        for _ in 0..<3 { #expect(try other.exchange(Self.get("app")).status == 404) }
        #expect(try other.exchange(Self.put("other/keys/a", "1")).status == 201)
        server.unblockParsing()
        #expect(try writer.readResponse().status < 300)
        #expect(try other.exchange(Self.get("app")).status == 200)
    }

    @Test("The writes of a connection take effect in the order of the requests, also if a body is large")
    func order() throws {
        let server = try APIServer()
        let client = try server.connect()
        server.blockParsing()
        try client.send(
            Self.put("app/keys/a", "1") + Self.put("app/keys/a", Self.longText) + Self.put("app/keys/a", "2")
                + Self.put("app/keys/a", Self.longText) + Self.get("app/keys/a?raw") + Self.put("app/keys/a", "3")
                + Self.get("app/keys/a?raw"))
        #expect(try client.readResponse().status == 201)
        server.awaitPublication()
        // The second body is not parsed yet, so the third write waits, too.
        #expect(server.store.state.revision == Revision(1))
        server.unblockParsing()
        // The second to the fourth PUT, and then the first GET.
        for _ in 0..<3 { #expect(try client.readResponse().status == 200) }
        #expect(try client.readResponse().text == Self.longText.dropFirst().dropLast())
        #expect(try client.readResponse().status == 200)
        #expect(try client.readResponse().text == "3")
    }

    @Test("A large body that is not JSON, not a schema of a suite, or compressed is refused")
    func mistakes() throws {
        let server = try APIServer()
        let client = try server.connect()
        let unclosedArray = "[" + String(repeating: " ", count: APIRequest.largeBodySize)
        #expect(try client.exchange(Self.put("app/keys/a", unclosedArray)).status == 400)
        let schemaOfArray = #"{"type":"array","x-note":\#(Self.longText)}"#
        #expect(try client.exchange(Self.put("app/schema", schemaOfArray)).status == 422)
        #expect(try client.exchange(Self.put("app/keys/a", Self.longText, "Content-Encoding: gzip\r\n")).status == 415)
    }

    @Test("A large body that was received completely is answered before the server stops")
    func stop() throws {
        let server = try APIServer()
        let client = try server.connect()
        server.blockParsing()
        try client.send(Self.put("app/keys/a", Self.longText))
        try server.awaitQueuedJobs(1)
        let stopped = DispatchSemaphore(value: 0)
        server.stop(within: 60) { stopped.signal() }
        server.awaitPublication()
        server.unblockParsing()
        #expect(try client.readResponse().status == 201)
        client.close()
        #expect(stopped.wait(timeout: .now() + .seconds(Deadline.patience)) == .success)
        #expect(server.store.state.revision == Revision(1))
    }

    /// The number of bodies like `megabyte` that the daemon receives from one client while no body is parsed. One more
    /// body would exceed the share of a client, which is half of the memory for large bodies.
    private static let admittedCount = 13
    private static let megabyte = "\"" + String(repeating: "a", count: 1_000_000) + "\""

    @Test("While a client uses half of the memory for bodies, a small body is accepted, and another large body waits")
    func waitingBytes() throws {
        let time = ManualClock()
        let server = try APIServer(clock: time.clock)
        server.blockParsing()
        let waiting = try (0..<Self.admittedCount).map { _ in try server.connect() }
        for (number, client) in waiting.enumerated() {
            try client.send(Self.put("app/keys/k\(number)", Self.megabyte))
            try server.awaitQueuedJobs(number + 1)
        }
        let late = try server.connect()
        // The daemon does not read this connection, so sending the whole body would block.
        try late.send(String(Self.put("app/keys/late", Self.megabyte).prefix(100_000)))
        #expect(try server.connect().exchange(Self.put("app/keys/small", "1")).status == 201)
        #expect(!late.isReadable(withinMilliseconds: 100))
        // The daemon refuses a body that has waited 10 seconds for memory.
        time.advance(seconds: 11)
        server.checkDeadlines()
        let refused = try late.readResponse()
        #expect(
            refused.status == 503 && refused.text.contains("\"overloaded\"") && refused.text.contains("\"not_done\""))
        #expect(refused.field("Retry-After") != nil)
        server.unblockParsing()
        for client in waiting { #expect(try client.readResponse().status == 201) }
        let other = try server.connect()
        #expect(try other.exchange(Self.put("app/keys/late", Self.megabyte)).status == 201)
    }

    @Test("A body of a second client is parsed before the later bodies of a client that has used up its memory")
    func fairness() throws {
        let server = try APIServer()
        // The test is a trusted proxy, so `X-Forwarded-For` determines the client.
        var policies = Policies()
        policies.proxies.ranges = [try #require(AddressRange("127.0.0.1"))]
        server.policies.replacePolicies(with: policies)
        server.blockParsing()
        let firstClientConnections = try (0..<Self.admittedCount).map { _ in try server.connect() }
        for (number, client) in firstClientConnections.enumerated() {
            try client.send(Self.put("many/keys/k\(number)", Self.megabyte, "X-Forwarded-For: 192.0.2.1\r\n"))
            try server.awaitQueuedJobs(number + 1)
        }
        let further = try server.connect()
        let request = Self.put("many/keys/further", Self.megabyte, "X-Forwarded-For: 192.0.2.1\r\n")
        // The daemon does not receive this body before another body of the client is parsed.
        try further.send(String(request.prefix(100_000)))
        let other = try server.connect()
        try other.send(Self.put("other/keys/k", Self.megabyte, "X-Forwarded-For: 192.0.2.2\r\n"))
        try server.awaitQueuedJobs(Self.admittedCount + 1)
        server.unblockParsing()
        // The scheduler takes one body of each client in turn, so the body of the second client is parsed second.
        #expect(try JSONValue(parsing: other.readResponse().text)["revision"] == 2)
        try further.send(String(request.dropFirst(100_000)))
        for client in firstClientConnections + [further] { #expect(try client.readResponse().status == 201) }
    }

    @Test("A large write whose connection closes before its body is parsed has no effect")
    func gone() throws {
        let server = try APIServer()
        server.blockParsing()
        let (leaving, staying) = (try server.connect(), try server.connect())
        try leaving.send(Self.put("app/keys/a", Self.longText))
        try server.awaitQueuedJobs(1)
        try staying.send(Self.put("app/keys/b", Self.longText))
        try server.awaitQueuedJobs(2)
        leaving.reset()
        // These requests run on the same event loop, so the loop has handled the reset before it answers them.
        for _ in 0..<2 { #expect(try server.connect().exchange(Self.get("app")).status == 404) }
        server.unblockParsing()
        #expect(try staying.readResponse().status == 201)
        #expect(server.store.state.revision == Revision(1))
    }

    @Test("An expensive answer is refused while too many answers for the client wait")
    func refusedAnswers() throws {
        let server = try APIServer()
        let members = (0..<Self.keyCountOfLargeSuite).map { #""key\#($0)":1"# }.joined(separator: ",")
        let writer = try server.connect()
        #expect(try writer.exchange(Self.patch("app", "{\(members)}")).status < 300)
        let gate = DispatchSemaphore(value: 0)
        let scheduler = server.renderingScheduler
        scheduler.submit(WorkScheduler.Work { _ in gate.patientWait() })
        // Waits until the blocking job runs: a running job does not count as queued.
        try server.awaitQueuedJobs(0)
        // The queries of this test differ, because equal requests share one rendered answer.
        let leaving = try server.connect()
        try leaving.send(Self.get("app?prefix=k"))
        let staying = try server.connect()
        try staying.send(Self.get("app"))
        try server.awaitQueuedJobs(2)
        // The scheduler drops the work of this request, whose client is gone.
        leaving.reset()
        // The client of all connections of this test: an address without a port.
        let client = ClientKey.address(.tcp(try #require(IPAddress("127.0.0.1")), port: 0))
        while !scheduler.isFull(for: client) { scheduler.submit(WorkScheduler.Work(client: client) { _ in }) }
        let refused = try writer.exchange(Self.get("app?prefix=key"))
        #expect(refused.status == 503 && refused.text.contains("\"overloaded\""))
        #expect(refused.field("Retry-After") == "1")
        #expect(try writer.exchange(Self.get("app/keys/key1")).status == 200)
        gate.signal()
        let whole = try JSONValue(parsing: staying.readResponse().text)
        #expect(whole["values"]?.object?.count == Self.keyCountOfLargeSuite)
        #expect(try writer.exchange(Self.get("app")).status == 200)
    }
}
