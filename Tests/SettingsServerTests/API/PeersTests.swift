import Platform
import SettingsAPI
import SettingsModel
import SettingsWeb
import Synchronization
import TestSupport
import Testing

@testable import SettingsStorage

/// Fresh reads: a request with `Settings-Fresh: true` waits until the daemon has the newest commits of all daemons that
/// share its log. The test takes the role of the shared log and reports the end of the log. The field
/// `Settings-Stale` of an answer is the number of seconds since the last contact of the daemon with the log.
@Suite(.ownThread)
struct PeersTests {
    /// Stands for the shared log and the other daemons. The daemon under test asks for the end of the log, and the test
    /// answers with `reportEndOfLog`.
    private final class Others: Sendable {
        private let questions = Mutex<[@Sendable (Cursor?) -> Void]>([])

        func ask(_ completion: @escaping @Sendable (Cursor?) -> Void) { questions.withLock { $0.append(completion) } }

        var questionCount: Int { questions.withLock { $0.count } }

        /// Answers all questions with the end of the log; nil if the end is unknown.
        func reportEndOfLog(_ end: Cursor?) {
            for completion in questions.withLock({ $0 }) { completion(end) }
        }

        var peers: Peers {
            Peers(
                findEndOfLog: { self.ask($0) },
                // The answer to `GET /v1/cluster`.
                describe: { $0(.success(["daemons": 3, "cursor": .string("e0.7")])) },
                metrics: { LogMetrics.Contents() })
        }
    }

    private func request(_ line: String, _ fields: String..., body: String = "") -> [UInt8] {
        let lines = ["\(line) HTTP/1.1", "Host: localhost", "Content-Length: \(body.utf8.count)"] + fields
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
    }

    private func json(_ answer: RawResponse) throws -> JSONValue { try JSONValue(parsing: answer.body) }

    private func cursor(_ number: Int64) throws -> Cursor {
        Cursor(epoch: try #require(Epoch("e0")), revision: try #require(Revision(number)))
    }

    @Test("A fresh read waits until the daemon has the commits that other daemons had when the request arrived")
    func fresh() throws {
        let others = Others()
        let server = try APIServer(peers: others.peers)
        let (reader, writer) = (try server.connect(), try server.connect())
        try reader.send(request("GET /v1/suites/app/keys/a", "Settings-Fresh: true"))
        try eventually { others.questionCount == 1 }
        others.reportEndOfLog(try cursor(2))
        for value in 1...2 {
            #expect(!reader.isReadable)
            try writer.send(request("PUT /v1/suites/app/keys/a", body: "\(value)"))
            #expect(try writer.readResponse().status < 300)
        }
        #expect(try json(reader.readResponse())["value"] == 2)
        #expect(server.watcherCount == 0)
    }

    @Test("A fresh read of a daemon that misses no commit is answered when the end of the log is known")
    func current() throws {
        let others = Others()
        let server = try APIServer(peers: others.peers)
        let client = try server.connect()
        // The daemon already has the revision 0, so the request waits for the end of the log only.
        try client.send(request("GET /v1/suites", "Settings-Fresh: true", "Settings-At-Least: e0.0"))
        try eventually { others.questionCount == 1 }
        #expect(!client.isReadable)
        others.reportEndOfLog(try cursor(0))
        #expect(try client.readResponse().status == 200)
    }

    @Test("A fresh read returns 503 behind with the current cursor if the end of the log is unknown")
    func unknown() throws {
        let others = Others()
        let server = try APIServer(peers: others.peers)
        let client = try server.connect()
        try client.send(request("GET /v1/suites", "Settings-Fresh: true"))
        try eventually { others.questionCount == 1 }
        others.reportEndOfLog(nil)
        let answer = try client.readResponse()
        #expect(answer.status == 503)
        #expect(try json(answer)["code"] == "behind")
        #expect(try json(answer)["cursor"] == "e0.0")
        // The test reports an end after the answer 503: no request waits for the end any longer.
        others.reportEndOfLog(try cursor(0))
        try client.send(request("GET /v1/cluster"))
        #expect(try json(client.readResponse()) == ["daemons": 3, "cursor": "e0.7"])
    }

    @Test("After `setStale(5)`, each answer has the field `Settings-Stale: 5` until the next call of `setStale`")
    func stale() throws {
        let server = try APIServer()
        let client = try server.connect()
        func staleness() throws -> String? {
            try client.send(request("GET /v1/suites"))
            return try client.readResponse().field("Settings-Stale")
        }
        #expect(try staleness() == nil)
        server.policies.setStale(5)
        try eventually { try staleness() == "5" }
        server.policies.setStale(6)
        try eventually { try staleness() == "6" }
        server.policies.setStale(nil)
        try eventually { try staleness() == nil }
    }
}
