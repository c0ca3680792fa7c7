import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// Requests that wait until clients have applied a state. `daemon.report` sends the report of a client about the suite
/// `app`. A target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct ConvergenceTests {
    let daemon: TestDaemon
    /// The cursors after the first and the second commit of the suite `app`.
    let first, second: String

    init() throws {
        // Clients are gone two seconds after their last report.
        daemon = try TestDaemon { $0.clientForgetTime = 2_000_000_000 }
        first = try daemon.sendOK("PUT app/keys/a 1").cursorText
        second = try daemon.sendOK("PUT app/keys/a 2").cursorText
    }

    /// Sends a request that waits until this share of the clients has applied the second commit.
    private func wait(_ share: String = "1", seconds: Int = 300) throws -> WaitingClient {
        try WaitingClient(daemon, Request("GET app/clients?for=\(second)&share=\(share)&wait=\(seconds)"))
    }

    /// Expects an answer with at least the members in `body`.
    private func expect(_ answer: RawResponse, _ body: String, sourceLocation: SourceLocation = #_sourceLocation) throws
    {
        let pattern = try JSONValue(parsing: body)
        #expect(answer.status == 200, sourceLocation: sourceLocation)
        #expect(pattern.isFound(in: answer.json), "\(answer.text)", sourceLocation: sourceLocation)
    }

    @Test("Without clients, the state is converged at once")
    func empty() throws {
        let answer = try daemon.send(Request("GET app/clients?for=\(second)&wait=300"))
        try expect(
            answer,
            #"{"suite":"app","for":"\#(second)","converged":true,"present":0,"applied":0,"failed":0,"missing":[]}"#)
        #expect(answer.json?["failures"] == nil)
        #expect(answer.json?["sources"] == nil, "`sources` lists the other daemons of a cluster")
    }

    static let shares = [("1", false), ("0.95", false), ("0.51", false), ("0.5", true), ("0.500", true), ("0", true)]

    @Test("The share of the clients is rounded up to a number of clients", arguments: shares)
    func share(share: String, isConverged: Bool) throws {
        try daemon.report("a", applied: second)
        try daemon.report("b", applied: first)
        try expect(
            try daemon.send(Request("GET app/clients?for=\(second)&share=\(share)")),
            #"{"converged":\#(isConverged),"present":2,"applied":1,"failed":0,"missing":["b"]}"#)
    }

    @Test("A wait is answered after the report with which the share is reached, and not before")
    func reports() throws {
        let client = try daemon.connect()
        for name in ["a", "b"] { try daemon.report(name, applied: first) }
        let peer = try wait()
        try daemon.report("a", applied: second)
        #expect(!peer.client.isReadable(withinMilliseconds: 150))
        let start = ContinuousClock.now
        _ = try client.ask(Request(#"PUT app/clients/b {"applied":"\#(second)"}"#))
        try expect(try peer.answer(), #"{"converged":true,"present":2,"applied":2,"missing":[]}"#)
        let time = ContinuousClock.now - start
        #expect(time < .seconds(Deadline.patience))
        try daemon.awaitWatchers(0)
    }

    @Test("A report by a long poll ends a wait")
    func longPoll() throws {
        try daemon.report("a", applied: first)
        let peer = try wait("0.9")
        let poll = try daemon.connect()
        try poll.send(Request("GET app/observe?since=\(second)&wait=300&client=a&applied=\(second)").bytes)
        try expect(try peer.answer(), #"{"converged":true,"present":1,"applied":1}"#)
    }

    @Test("A failure ends a wait, and the answer has the reason")
    func failure() throws {
        for name in ["a", "b"] { try daemon.report(name, applied: first) }
        let peer = try wait()
        try daemon.report("b", #"{"failed":"\#(second)","reason":"no memory"}"#)
        try expect(
            try peer.answer(),
            #"{"converged":false,"present":2,"applied":0,"failed":1,"missing":["a"],"failures":[{"name":"b","reason":"no memory"}]}"#
        )
    }

    @Test(
        "A failure ends a wait only if its state is not before the target and its client has not applied the target")
    func otherFailures() throws {
        try daemon.report("a", #"{"failed":"\#(first)"}"#)
        let peer = try wait()
        #expect(!peer.client.isReadable(withinMilliseconds: 150))
        let third = try daemon.sendOK("PUT app/keys/a 3").cursorText
        try daemon.report("b", #"{"applied":"\#(second)","failed":"\#(third)"}"#)
        #expect(!peer.client.isReadable(withinMilliseconds: 150), "the client b has applied the target of the wait")
        try daemon.report("a", #"{"failed":"\#(third)"}"#)
        try expect(try peer.answer(), #"{"converged":false,"applied":1,"failed":1,"failures":[{"name":"a"}]}"#)
    }

    @Test("At the end of the wait, the answer names the missing clients")
    func timeout() throws {
        for name in ["b", "a", "é"] { try daemon.report(name.replacing("é", with: "%C3%A9"), applied: first) }
        let answer = try wait(seconds: 1).answer()
        try expect(answer, #"{"converged":false,"present":3,"applied":0,"missing":["a","b","é"]}"#)
    }

    @Test("A client that is gone no longer counts")
    func gone() throws {
        try daemon.report("a", applied: first)
        try expect(try wait().answer(), #"{"converged":true,"present":0,"applied":0}"#)
    }

    @Test("At most 100 missing clients are named, the first by name")
    func names() throws {
        let client = try daemon.connect()
        // The clients report in the reverse order of their names, `n1149` to `n1000`.
        for number in 0..<150 {
            let answer = try client.ask(Request(#"PUT app/clients/n\#(1149 - number) {"applied":"\#(first)"}"#))
            #expect(answer.status == 200)
        }
        let answer = try daemon.send(Request("GET app/clients?for=\(second)"))
        try expect(answer, #"{"converged":false,"present":150}"#)
        #expect(answer.json?["missing"]?.array?.map(\.string) == (1000..<1100).map { "n\($0)" })
    }

    @Test("A half-close ends a wait with the current result, and a close ends a wait without an answer")
    func close() throws {
        try daemon.report("a", applied: first)
        let (half, closed) = (try wait(), try wait())
        half.client.endSending()
        try expect(try half.answer(), #"{"converged":false,"missing":["a"]}"#)
        closed.client.close()
        try daemon.awaitWatchers(0)
    }

    @Test("A drop of the suite ends a wait with 404")
    func drop() throws {
        try daemon.report("a", applied: first)
        let peer = try wait()
        try daemon.sendOK("DELETE app?drop")
        #expect(try peer.answer().json?["code"] == "unknown_suite")
    }

    @Test("The stop of the daemon ends a wait with the current result")
    func stop() throws {
        // The client `a` is present, because its long poll waits.
        let poll = try WaitingClient(
            daemon, Request("GET app/observe?since=\(second)&wait=300&client=a&applied=\(first)"))
        let peer = try wait()
        daemon.stop()
        let answer = try peer.answer()
        try expect(answer, #"{"converged":false,"present":1,"missing":["a"]}"#)
        #expect(answer.field("Connection") == "close")
        #expect(try poll.answer().status == 200)
    }
}
