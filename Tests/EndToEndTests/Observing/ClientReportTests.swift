import Foundation
import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// Clients that report which state of a suite they have applied. Helpers of `TestDaemon`: `report` sends a report about
/// the suite `app`, `clients` returns the clients of `app` by name, and `clientStates` returns their states as a text.
/// A target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct ClientReportTests {
    @Test("A client that long-polls is behind after a commit until its next poll reports the commit")
    func longPoll() throws {
        let daemon = try TestDaemon()
        let first = try daemon.sendOK("PUT app/keys/a 1").cursorText
        let peer = try WaitingClient(
            daemon, Request("GET app/observe?since=\(first)&wait=300&client=web&applied=\(first)"))
        let client = try #require(try daemon.clients()["web"])
        #expect(client["status"] == "current" && client["applied"]?.string == first, "\(client)")
        #expect(client["missingCommits"] == 0 && client["secondsBehind"] == nil)
        let second = try daemon.sendOK("PUT app/keys/a 2").cursorText
        #expect(try peer.answer().cursorText == second)
        let behind = try #require(try daemon.clients()["web"])
        #expect(behind["status"] == "behind" && behind["missingCommits"] == 1, "\(behind)")
        #expect(behind["secondsBehind"]?.integer != nil)
        try daemon.sendOK(Request("GET app/observe?since=\(second)&wait=0&client=web&applied=\(second)"))
        #expect(try daemon.clientStates() == "web:current")
        #expect(try daemon.clients()["web"]?["since"] == client["since"], "`since` is the time of the first report")
    }

    @Test("A client with an event stream reports with PUT")
    func stream() throws {
        let daemon = try TestDaemon()
        let first = try daemon.sendOK("PUT app/keys/a 1").cursorText
        let stream = try daemon.stream(Request("GET app/observe?client=web"))
        _ = try stream.event()
        #expect(try daemon.clientStates() == "web:behind")
        let answer = try daemon.report("web", applied: first)
        #expect(answer.json?["status"] == "current" && answer.json?["missingCommits"] == 0, "\(answer.text)")
        try daemon.sendOK("PUT app/keys/a 2")
        #expect(try daemon.clientStates() == "web:behind")
    }

    static let reads = ["app?wait=1", "app/keys/a?wait=1"]

    @Test("A GET with wait reports like a long poll", arguments: reads)
    func read(target: String) throws {
        let daemon = try TestDaemon()
        let first = try daemon.sendOK("PUT app/keys/a 1").cursorText
        try daemon.sendOK(Request("GET \(target)&client=web&applied=\(first)"))
        #expect(try daemon.clientStates() == "web:current")
    }

    @Test("A watch of several suites reports for each of the suites")
    func severalSuites() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT net/keys/a 1")
        let cursor = try daemon.sendOK("PUT app/keys/a 1").cursorText
        try daemon.sendOK(Request("GET /v1/observe?suite=app&suite=net&wait=0&client=web&applied=\(cursor)"))
        try daemon.sendOK("PUT net/keys/a 2")
        #expect(try daemon.clientStates() == "web:current")
        #expect(try daemon.clientStates(of: "net") == "web:behind")
    }

    @Test("A report of a future revision counts as the current revision, so the next commit makes the client behind")
    func future() throws {
        let daemon = try TestDaemon()
        let cursor = try daemon.sendOK("PUT app/keys/a 1").cursorText
        let answer = try daemon.report("web", applied: cursor + "000")
        #expect(answer.json?["applied"]?.string == cursor && answer.json?["status"] == "current", "\(answer.text)")
        try daemon.sendOK("PUT app/keys/a 2")
        #expect(try daemon.clientStates() == "web:behind")
    }

    @Test("A client has the status `failed` until it reports that it has applied the failed state or a later state")
    func failure() throws {
        let daemon = try TestDaemon()
        let first = try daemon.sendOK("PUT app/keys/a 1").cursorText
        try daemon.report("web", applied: first)
        let second = try daemon.sendOK("PUT app/keys/a 2").cursorText
        let failed = try daemon.report("web", #"{"failed":"\#(second)","reason":"port in use"}"#)
        #expect(failed.json?["status"] == "failed" && failed.json?["applied"]?.string == first, "\(failed.text)")
        #expect(failed.json?["failure"] == ["cursor": .string(second), "reason": "port in use"])
        try daemon.report("web", applied: first)
        #expect(try daemon.clientStates() == "web:failed")
        let poll = try daemon.sendOK(Request("GET app/observe?since=\(second)&wait=0&client=web&applied=\(second)"))
        #expect(poll.status == 200)
        #expect(try daemon.clients()["web"]?["failure"] == nil && daemon.clientStates() == "web:current")
        try daemon.sendOK(Request("GET app/observe?wait=0&client=web&failed=\(second)&reason=late"))
        #expect(try daemon.clientStates() == "web:current", "the client has applied the state already")
    }

    @Test("A report with a cursor of another history removes the applied state")
    func otherHistory() throws {
        let daemon = try TestDaemon()
        let cursor = try daemon.sendOK("PUT app/keys/a 1").cursorText
        for body in [#"{"applied":"other.9"}"#, #"{"failed":"other.9"}"#] {
            try daemon.report("web", applied: cursor)
            let answer = try daemon.report("web", body)
            #expect(answer.json?["status"] == "behind" && answer.json?["applied"] == nil, "\(answer.text)")
        }
        try daemon.report("web", #"{"applied":"other.9","failed":"\#(cursor)"}"#)
        #expect(try daemon.clientStates() == "web:failed")
    }

    @Test("A client that watches some keys stays current after a commit of other keys")
    func filter() throws {
        let daemon = try TestDaemon()
        let first = try daemon.sendOK(#"PATCH app {"a":1,"b":1}"#).cursorText
        let peer = try WaitingClient(
            daemon, Request("GET app/observe?key=a&since=\(first)&wait=300&client=web&applied=\(first)"))
        let second = try daemon.sendOK("PUT app/keys/b 2").cursorText
        #expect(try daemon.clientStates() == "web:current")
        #expect(try daemon.clients("?behind=\(second)").isEmpty)
        let converged = try daemon.sendOK(Request("GET app/clients?for=\(second)")).json
        #expect(converged?["converged"] == true && converged?["applied"] == 1, "\(converged ?? .null)")
        try daemon.report("web")
        #expect(try daemon.clientStates() == "web:current", "a report without a watch keeps the watched keys")
        let third = try daemon.sendOK("PUT app/keys/a 3").cursorText
        #expect(try peer.answer().cursorText == third)
        #expect(try daemon.clients()["web"]?["missingCommits"] == 1 && daemon.clientStates() == "web:behind")
        let missing = try daemon.sendOK(Request("GET app/clients?for=\(third)")).json
        #expect(missing?["converged"] == false && missing?["missing"] == ["web"], "\(missing ?? .null)")
    }

    @Test("The parameter behind lists the clients that have not applied a state, in the order of their names")
    func behind() throws {
        let daemon = try TestDaemon()
        let first = try daemon.sendOK("PUT app/keys/a 1").cursorText
        let second = try daemon.sendOK("PUT app/keys/a 2").cursorText
        for (name, cursor) in [("c", first), ("b", second), ("a", first)] { try daemon.report(name, applied: cursor) }
        try daemon.report("d")  // A report without a state.
        #expect(try daemon.clientStates("?behind=\(second)") == "a:behind c:behind d:behind")
        #expect(try daemon.clientStates("?behind=\(first)") == "d:behind")
        let listed = try daemon.sendOK("GET app/clients").json?["clients"]?.array ?? []
        #expect(listed.map { $0["name"]?.string } == ["a", "b", "c", "d"])
    }

    @Test("A client is gone after clients.forgetSeconds without a report, unless its watch waits")
    func gone() throws {
        // Clients are gone one second after their last report.
        let daemon = try TestDaemon { $0.clientForgetTime = 1_000_000_000 }
        let cursor = try daemon.sendOK("PUT app/keys/a 1").cursorText
        let peer = try WaitingClient(
            daemon, Request("GET app/observe?since=\(cursor)&wait=300&client=web&applied=\(cursor)"))
        try daemon.report("job", applied: cursor)
        try eventually { try daemon.clientStates() == "job:gone web:current" }
        let converged = try daemon.sendOK(Request("GET app/clients?for=\(cursor)")).json
        #expect(converged?["present"] == 1 && converged?["applied"] == 1, "\(converged ?? .null)")
        peer.client.close()
        try eventually { try daemon.clientStates() == "job:gone web:gone" }
        try daemon.report("job")
        #expect(try daemon.clientStates() == "job:current web:gone", "the client keeps its applied state")
    }

    @Test("If a suite is dropped and created again, its clients are behind until they report")
    func drop() throws {
        let daemon = try TestDaemon()
        let cursor = try daemon.sendOK("PUT app/keys/a 1").cursorText
        let stream = try daemon.stream(Request("GET app/observe?client=stream&applied=\(cursor)"))
        _ = try stream.event()
        try daemon.report("web", applied: cursor)
        try daemon.sendOK("DELETE app?drop")
        #expect(try daemon.send("GET app/clients").status == 404)
        let created = try daemon.sendOK("PUT app/keys/a 1").cursorText
        #expect(try daemon.clientStates() == "stream:behind web:behind")
        try daemon.report("web", applied: created)
        #expect(try daemon.clientStates() == "stream:behind web:current")
    }

    @Test("A report is not audited, makes no commit, and follows the earlier writes of its connection")
    func order() throws {
        let directory = try TemporaryDirectory()
        let daemon = try TestDaemon(in: directory, data: directory.path + "/data") {
            $0.auditFile = directory.path + "/audit"
        }
        let cursor = try daemon.sendOK("PUT app/keys/a 1").cursorText
        // The cursor ends with the revision 1.
        let next = String(cursor.dropLast()) + "2"
        let client = try daemon.connect()
        try client.send(
            Request("PUT app/keys/a 2").bytes + Request(#"PUT app/clients/web {"applied":"\#(next)"}"#).bytes)
        #expect(try client.readResponse().cursorText == next)
        let answer = try client.readResponse()
        #expect(answer.cursorText == next && answer.json?["status"] == "current", "\(answer.text)")
        daemon.stop()
        let lines = try String(contentsOfFile: directory.path + "/audit", encoding: .utf8).split(separator: "\n")
        #expect(lines.count == 2, "one line for each of the two writes")
    }

    @Test(
        "The metrics count the clients of each suite by state, and the times until a share of the clients has applied a commit"
    )
    func metrics() throws {
        let daemon = try TestDaemon()
        let first = try daemon.sendOK("PUT app/keys/a 1").cursorText
        for name in ["a", "b"] { try daemon.report(name, applied: first) }
        let second = try daemon.sendOK("PUT app/keys/a 2").cursorText
        try daemon.report("a", applied: second)
        try daemon.report("b", #"{"failed":"\#(second)"}"#)
        func expect(_ lines: String...) throws {
            let text = try daemon.sendOK("GET /metrics").text
            for line in lines { #expect(text.contains("\nsettingsd_\(line)\n"), "\(line)") }
        }
        // The daemon drops clients if there are too many. The metric of convergence counts commits that clients had yet
        // to apply, here only the second commit. One of the two clients is a share of 50 %.
        try expect(
            #"clients{suite="app",state="current"} 1"#, #"clients{suite="app",state="behind"} 0"#,
            #"clients{suite="app",state="failed"} 1"#, #"clients{suite="app",state="gone"} 0"#,
            "clients_dropped_total 0", #"convergence_seconds_count{share="50"} 1"#,
            #"convergence_seconds_count{share="95"} 0"#)
        try daemon.report("b", applied: second)
        try expect(
            #"convergence_seconds_count{share="50"} 1"#, #"convergence_seconds_count{share="95"} 1"#,
            #"convergence_seconds_count{share="100"} 1"#)
    }
}
