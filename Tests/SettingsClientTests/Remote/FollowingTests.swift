import ClientTestSupport
import Glibc
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsHTTP

/// Following a suite: the client sends one long poll after another and applies the changes.
@Suite(.ownThread)
struct FollowingTests {
    private let names: SampleNames

    init() throws {
        names = try SampleNames()
    }

    /// Returns the JSON of a change that stores the revision as the value of `theme`.
    private func change(_ revision: Int) -> String {
        #"{"suite":"app","key":"theme","old":null,"new":\#(revision),"oldSource":"stored","source":"stored","#
            + #""revision":\#(revision),"modified":"2026-01-01T00:00:00.000Z"}"#
    }

    /// Returns an answer with one change for each revision. If `more` is true, the answer says that more changes exist.
    private func changes(_ revisions: Int..., more: Bool = false) -> String {
        let last = revisions.last ?? 0
        return ScriptedServer.answer(
            #"{"revision":\#(last),"cursor":"e.\#(last)","schemaRevision":{"app":0},"more":\#(more),"#
                + #""changes":[\#(revisions.map(change).joined(separator: ","))]}"#)
    }

    /// Returns an answer without changes, which moves the cursor to a revision.
    private func noChanges(_ revision: Int) -> String {
        ScriptedServer.answer(
            #"{"revision":\#(revision),"cursor":"e.\#(revision)","schemaRevision":{"app":0},"more":false,"changes":[]}"#
        )
    }

    /// Returns a reset: an answer with the whole state.
    private func state(_ revision: Int, _ value: Int, epoch: String = "e") -> String {
        ScriptedServer.answer(
            #"{"revision":\#(revision),"cursor":"\#(epoch).\#(revision)","schemaRevision":{"app":0},"reset":true,"#
                + #""values":{"app":{"theme":\#(value)}},"changes":[]}"#)
    }

    /// Returns a server that answers long polls with these answers in order, and does not answer any further request.
    /// For an empty answer, the server closes the connection. The log has `connection` for each connection, `since
    /// CURSOR` for each long poll, `without cursor` for any other request, and `closed` for each connection that the
    /// client closes.
    private func server(_ answers: [String]) throws -> ScriptedServer {
        let remaining = RemainingAnswers(answers)
        return try ScriptedServer { _, peer, log in
            while let request = peer.readRequest() {
                let since = request.split(separator: "since=").dropFirst().first?.prefix { $0 != "&" && $0 != " " }
                log.add(since.map { "since \($0)" } ?? "without cursor")
                guard let answer = remaining.next() else {
                    _ = peer.read()
                    break
                }
                guard !answer.isEmpty else { return }
                peer.send(answer)
            }
            log.add("closed")
        }
    }

    private final class RemainingAnswers: Sendable {
        private let answers: Mutex<[String]>

        init(_ answers: [String]) {
            self.answers = Mutex(answers.reversed())
        }

        func next() -> String? { answers.withLock { $0.popLast() } }
    }

    /// Follows the suite from the cursor `e.1`, and adds each value of `theme` to the log. The follower waits for
    /// `pace` between two requests, and for `longPause` after a refusal or a malformed answer.
    private func follow(
        _ server: ScriptedServer, _ log: EventLog, by shared: SharedServer? = nil,
        pace: Duration = .milliseconds(2), longPause: Duration = .seconds(5)
    ) throws -> any BackendSubscription {
        let cursor = try #require(Cursor("e.1"))
        let shared = shared ?? SharedServer(server.address)
        let follower = RemoteFollower(names.app, shared, from: cursor, pace: pace, longPause: longPause)
        return try #require(
            follower.follow(from: cursor) {
                switch $0 {
                case .state(let state): log.add("state \(state.suites.first?.values.first?.value ?? .null)")
                case .changes(let observed): for change in observed.changes { log.add("\(change.new ?? .null)") }
                }
            })
    }

    @Test("All subscribers get all changes if one subscriber joins from an earlier cursor or another epoch")
    func joining() throws {
        let server = try ScriptedServer { [self] _, peer, log in
            while let request = peer.readRequest() {
                if request.contains("since=e.3&") {
                    log.add("earlier")
                    peer.send(changes(4, 6))
                } else if request.contains("since=d.9&") {
                    log.add("other epoch")
                    peer.send(state(7, 70))
                } else if request.contains("since=e.6&"), log.count("other epoch") > 0 {
                    peer.send(changes(7))
                } else {
                    log.add("waiting")
                    if peer.read() == nil { return log.add("closed") }
                }
            }
        }
        let shared = SharedServer(server.address)
        let log = EventLog()
        func join(_ name: String, at text: String) throws -> RemoteFollower.Subscription {
            let cursor = try #require(Cursor(text))
            return shared.follow(names.app, from: cursor, onFailure: { _ in }) { log.add("\(name) \($0.cursor)") }
        }
        let first = try join("first", at: "e.5")
        #expect(server.log.wait(for: "waiting"))
        let second = try join("second", at: "e.3")
        #expect(log.wait { Set($0) == ["first e.6", "second e.6"] })
        #expect(server.log.wait(for: "waiting", times: 2))
        let third = try join("third", at: "d.9")
        // Only the third subscriber gets the state. Then all subscribers get the changes up to the revision of the
        // state, so the log has `third e.7` twice.
        #expect(log.wait { Set($0.suffix(4)) == ["first e.7", "second e.7", "third e.7"] })
        #expect(server.log.wait(for: "waiting", times: 3))
        let fourth = try join("fourth", at: "e.8")
        for subscription in [first, second, third, fourth] { subscription.stop() }
        #expect(server.log.wait(for: "closed", times: 3))
        #expect(server.log.count("waiting") == 3, "a subscriber with a later cursor causes no further request")
    }

    @Test
    func `The follower pauses between requests for changes that follow each other closely`() throws {
        let count = 50
        let server = try server((2...(count + 1)).map { changes($0) })
        let log = EventLog()
        let begin = ContinuousClock.now
        let subscription = try follow(server, log, pace: .milliseconds(2))
        defer { subscription.stop() }
        #expect(server.log.wait(for: "since e.\(count + 1)"))
        #expect(ContinuousClock.now - begin >= .milliseconds(2) * count)
        #expect(log.all == (2...(count + 1)).map { "\($0)" })
    }

    @Test
    func `The follower requests further pages of changes without a pause`() throws {
        let count = 1000
        let server = try server((2...count).map { changes($0, more: true) } + [changes(count + 1)])
        let log = EventLog()
        let begin = ContinuousClock.now
        let subscription = try follow(server, log, pace: .seconds(1))
        defer { subscription.stop() }
        #expect(server.log.wait(for: "since e.\(count + 1)"))
        #expect(ContinuousClock.now - begin < .seconds(count))
    }

    @Test
    func `The follower continues from the cursor of each answer, on one connection`() throws {
        let server = try server([changes(2, 3, more: true), changes(4), changes(5, 6)])
        let log = EventLog()
        let subscription = try follow(server, log)
        #expect(log.wait(for: "6"))
        #expect(log.all == ["2", "3", "4", "5", "6"])
        #expect(server.log.wait(for: "since e.6"))
        let requests = server.log.all.filter { $0.hasPrefix("since") }
        #expect(requests == ["since e.1", "since e.3", "since e.4", "since e.6"])
        #expect(server.log.count("connection") == 1)
        subscription.stop()
        #expect(server.log.wait(for: "closed"))
    }

    @Test
    func `A reset is delivered, within an epoch and with a new epoch`() throws {
        let server = try server([changes(2), state(90, 9), changes(91), state(3, 30, epoch: "f")])
        let log = EventLog()
        let subscription = try follow(server, log)
        #expect(server.log.wait(for: "since f.3"))
        #expect(log.all == ["2", "state 9", "91", "state 30"])
        subscription.stop()
    }

    @Test
    func `An answer without changes advances the cursor`() throws {
        let server = try server([changes(2), noChanges(40), noChanges(41)])
        let log = EventLog()
        let cursor = try #require(Cursor("e.1"))
        let follower = RemoteFollower(names.app, SharedServer(server.address), from: cursor)
        let subscription = follower.follow(from: cursor) { log.add("\($0.cursor)") }
        defer { subscription?.stop() }
        #expect(log.wait(for: "e.41"))
        #expect(log.all == ["e.2", "e.40", "e.41"])
    }

    @Test
    func `After a closed connection, the follower connects again, and no change is delivered twice`() throws {
        let server = try server([changes(2), "", "", changes(3), "", changes(4)])
        let log = EventLog()
        let subscription = try follow(server, log)
        #expect(log.wait(for: "4"))
        #expect(log.all == ["2", "3", "4"])
        subscription.stop()
        #expect(server.log.wait(for: "closed"))
    }

    @Test
    func `After a malformed answer or a refusal, the follower sends another request`() throws {
        let refusal = ScriptedServer.answer(#"{"code":"misdirected","detail":"no"}"#, status: 421)
        let server = try server([changes(2), ScriptedServer.answer("<html>"), refusal, changes(3)])
        let log = EventLog()
        let subscription = try follow(server, log, longPause: .milliseconds(1))
        #expect(log.wait(for: "3"))
        #expect(log.all == ["2", "3"])
        subscription.stop()
    }

    @Test(arguments: [429, 502, 503, 504])
    func `A pause after the Retry-After of a proxy ends with the first answer to any request`(status: Int) throws {
        let page = ScriptedServer.answer("later", status: status, more: "Retry-After: 3600\r\n")
        let server = try server([page, changes(2)])
        let shared = SharedServer(server.address)
        let log = EventLog()
        let subscription = try follow(server, log, by: shared)
        defer { subscription.stop() }
        try eventually {
            // Records the answer to another request.
            shared.recordAnswer()
            return log.count("2") > 0
        }
        #expect(log.all == ["2"])
    }

    @Test
    func `Only refusals of an overloaded daemon count as overload`() {
        for code in [ErrorCode.tooManyWatchers, .tooManyConnections, .tooManyRequests, .overloaded, .behind] {
            #expect(SettingsError.problem(Problem(code, "x"), revision: nil).isOverload)
        }
        let others: [SettingsError] = [
            .timeout(outcome: .notDone), .unreachable("x", outcome: .notDone),
            .problem(Problem(.shuttingDown, "x"), revision: nil),
            // Answers of a proxy, without an error code of the daemon.
            .problem(Problem(status: 429, body: nil), revision: nil),
            .problem(Problem(status: 503, body: nil), revision: nil),
        ]
        for error in others { #expect(!error.isOverload, "\(error)") }
    }

    @Test
    func `A failure to follow is reported once until the next success`() throws {
        let refusal = ScriptedServer.answer(#"{"code":"misdirected","detail":"no"}"#, status: 421)
        let text = ScriptedServer.answer("<html>")
        let server = try server([text, "", refusal, "", changes(2), noChanges(3), refusal, text, changes(4)])
        let log = EventLog()
        let cursor = try #require(Cursor("e.1"))
        let follower = RemoteFollower(
            names.app, SharedServer(server.address), from: cursor, longPause: .milliseconds(1))
        let subscription = follower.follow(from: cursor, onFailure: { _ in log.add("failure") }) {
            log.add("\($0.cursor)")
        }
        defer { subscription?.stop() }
        #expect(log.wait(for: "e.4"))
        #expect(log.all == ["failure", "e.2", "e.3", "failure", "e.4"])
    }

    /// Returns a server that answers each long poll at once with one change, and says that more changes exist.
    private func busyServer() throws -> ScriptedServer {
        try ScriptedServer { _, peer, log in
            var revision = 1
            while peer.readRequest() != nil {
                revision += 1
                log.add("request")
                peer.send(changes(revision, more: true))
            }
            log.add("closed")
        }
    }

    @Test
    func `A stopped follower sends no more requests`() throws {
        let server = try busyServer()
        let log = EventLog()
        let subscription = try follow(server, log)
        #expect(log.wait { $0.count >= 10 })
        subscription.stop()
        subscription.stop()  // Has no effect.
        let received = log.all.count
        #expect(server.log.wait(for: "closed"))
        let requestCount = server.log.count("request")
        // One thread drives all long polls. During 100 requests of another follower, this thread has the time to send
        // another request of the stopped follower.
        let (otherServer, otherLog) = (try busyServer(), EventLog())
        let otherSubscription = try follow(otherServer, otherLog)
        #expect(otherLog.wait { $0.count >= 100 })
        otherSubscription.stop()
        // One request may have been on its way when the follower was stopped.
        #expect(log.all.count <= received + 1)
        #expect(server.log.count("request") <= requestCount + 1 && server.log.count("connection") <= 2)
    }

    @Test
    func `A follower stopped in its pause after a failure sends no more requests`() throws {
        let server = try server([""])
        let log = EventLog()
        let subscription = try follow(server, log)
        #expect(server.log.wait { $0.contains { $0.hasPrefix("since") } })
        subscription.stop()
        let (otherServer, otherLog) = (try busyServer(), EventLog())
        let otherSubscription = try follow(otherServer, otherLog)
        #expect(otherLog.wait { $0.count >= 100 })
        otherSubscription.stop()
        // The request whose connection was closed may have been repeated once before the pause.
        #expect(log.all.isEmpty && server.log.all.count { $0.hasPrefix("since") } <= 2)
    }

    @Test
    func `A suite that is created, dropped and created again is followed`() throws {
        let daemon = try ServedDaemon()
        let client = try daemon.client().blocking
        let fixture = SuiteFixture(at: try daemon.address(.unix), names.app)
        let defaults = fixture.adapter()
        let log = EventLog()
        _ = defaults.core.session.listen { changes in
            for change in changes { log.add("\(change.key) \(change.visible.value.map { "\($0)" } ?? "-")") }
        }
        #expect(defaults.launchCount == 0)
        try client.send(.merge(["launchCount": 1, "username": "me"], into: names.app))
        #expect(log.wait(for: "launchCount 1") && defaults.username == "me")
        try client.send(.drop(names.app))
        #expect(log.wait(for: "launchCount -"))
        #expect(log.wait(for: "username -"))
        #expect(defaults.launchCount == 0 && defaults.username == nil && !defaults.isSet(\.username))
        let schema = try Schema(of: ClientKeys.self) {
            \.launchCount; \.loginTries
        }
        try client.send(.setSchema(schema.document, of: names.app))
        // The default of `loginTries`, which the schema now contains.
        #expect(log.wait(for: "loginTries 1"))
        #expect(!defaults.isSet(\.loginTries))
        defaults.launchCount += 5
        #expect(defaults.launchCount == 5 && defaults.isSet(\.launchCount))
        #expect(fixture.drainIssues() == [])
    }

    @Test
    func `Handlers of a follower never run on the thread that calls the backend`() async throws {
        let daemon = try ServedDaemon()
        let backend = RemoteBackend(
            suite: names.app, server: SharedServer(try daemon.address(.unix)), timeout: .seconds(20))
        let log = EventLog()
        let state = try await backend.load()
        let caller = pthread_self()
        let subscription = backend.follow(from: state.cursor, onFailure: { _ in }) { _ in
            log.add(pthread_equal(pthread_self(), caller) != 0 ? "caller's thread" : "other thread")
        }
        for number in 0..<100 {
            let operation = Transaction.Operation(
                suite: names.app, key: names.launchCount, .set(.integer(Int64(number))))
            _ = try await backend.write(
                PendingChange(action: .transaction(Transaction(do: [operation])), requestKey: .unique()))
        }
        #expect(log.wait(for: "other thread"))
        subscription.stop()
        #expect(log.count("caller's thread") == 0)
    }
}
