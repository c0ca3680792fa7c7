import ClientTestSupport
import Glibc
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsHTTP

/// Following one suite, from answer to answer.
@Suite(.ownThread)
struct FollowingTests {
    private let names: SampleNames

    init() throws {
        names = try SampleNames()
    }

    private func change(_ revision: Int) -> String {
        #"{"suite":"app","key":"theme","old":null,"new":\#(revision),"oldSource":"stored","source":"stored","#
            + #""revision":\#(revision),"modified":"2026-01-01T00:00:00.000Z"}"#
    }

    private func changes(_ revisions: Int..., more: Bool = false) -> String {
        let last = revisions.last ?? 0
        return ScriptedServer.answer(
            #"{"revision":\#(last),"cursor":"e.\#(last)","schemaRevision":{"app":0},"more":\#(more),"#
                + #""changes":[\#(revisions.map(change).joined(separator: ","))]}"#)
    }

    private func quiet(_ revision: Int) -> String {
        ScriptedServer.answer(
            #"{"revision":\#(revision),"cursor":"e.\#(revision)","schemaRevision":{"app":0},"more":false,"changes":[]}"#
        )
    }

    private func state(_ revision: Int, _ value: Int, epoch: String = "e") -> String {
        ScriptedServer.answer(
            #"{"revision":\#(revision),"cursor":"\#(epoch).\#(revision)","schemaRevision":{"app":0},"reset":true,"#
                + #""values":{"app":{"theme":\#(value)}},"changes":[]}"#)
    }

    /// Answers observers with these, one after the other, then lets them wait.
    private func server(_ answers: [String]) throws -> ScriptedServer {
        let rest = Rest(answers)
        return try ScriptedServer { _, peer, log in
            while let request = peer.readRequest() {
                let since = request.split(separator: "since=").dropFirst().first?.prefix { $0 != "&" && $0 != " " }
                log.add(since.map { "since \($0)" } ?? "anew")
                guard let answer = rest.next() else {
                    _ = peer.read()
                    break
                }
                guard !answer.isEmpty else { return }
                peer.send(answer)
            }
            log.add("left")
        }
    }

    private final class Rest: Sendable {
        private let answers: Mutex<[String]>

        init(_ answers: [String]) {
            self.answers = Mutex(answers.reversed())
        }

        func next() -> String? { answers.withLock { $0.popLast() } }
    }

    private func follow(
        _ server: ScriptedServer, _ log: EventLog, by shared: SharedServer? = nil,
        pace: Duration = .milliseconds(2), longPause: Duration = .seconds(5)
    ) throws -> any BackendSubscription {
        let cursor = try #require(Cursor("e.1"))
        let watched = ObservedSubject(scope: .several([names.app]))
        let shared = shared ?? SharedServer(server.address)
        let follower = RemoteFollower(watched, shared, from: cursor, pace: pace, longPause: longPause)
        return try #require(
            follower.follow(from: cursor) {
                switch $0 {
                case .state(let state): log.add("state \(state.suites.first?.values.first?.value ?? .null)")
                case .changes(let news): for change in news.changes { log.add("\(change.new ?? .null)") }
                }
            })
    }

    @Test("A subscriber that joins from an earlier cursor or another epoch misses no change, and neither do the others")
    func oneJoinsFromEarlier()
        throws
    {
        let server = try ScriptedServer { [self] _, peer, log in
            while let request = peer.readRequest() {
                if request.contains("since=e.3&") {
                    log.add("earlier")
                    peer.send(changes(4, 6))
                } else if request.contains("since=d.9&") {
                    log.add("other")
                    peer.send(state(7, 70))
                } else if request.contains("since=e.6&"), log.count("other") > 0 {
                    peer.send(changes(7))
                } else {
                    log.add("waiting")
                    if peer.read() == nil { return log.add("left") }
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
        // The state is for the third alone: the others get the changes that lead there.
        #expect(log.wait { Set($0.suffix(4)) == ["first e.7", "second e.7", "third e.7"] })
        #expect(server.log.wait(for: "waiting", times: 3))
        let fourth = try join("fourth", at: "e.8")
        for following in [first, second, third, fourth] { following.stop() }
        #expect(server.log.wait(for: "left", times: 3))
        #expect(server.log.count("waiting") == 3, "who is ahead asks for nothing more")
    }

    @Test
    func `The follower pauses between requests for changes that follow each other closely`() throws {
        let count = 50
        let server = try server((2...(count + 1)).map { changes($0) })
        let log = EventLog()
        let begin = ContinuousClock.now
        let follower = try follow(server, log, pace: .milliseconds(2))
        defer { follower.stop() }
        #expect(server.log.wait(for: "since e.\(count + 1)"))
        #expect(ContinuousClock.now - begin >= .milliseconds(2) * count)
        #expect(log.all == (2...(count + 1)).map { "\($0)" })
    }

    @Test
    func `Further pages of changes are asked for without a pause`() throws {
        let count = 1000
        let server = try server((2...count).map { changes($0, more: true) } + [changes(count + 1)])
        let log = EventLog()
        let begin = ContinuousClock.now
        let follower = try follow(server, log, pace: .seconds(1))
        defer { follower.stop() }
        #expect(server.log.wait(for: "since e.\(count + 1)"))
        #expect(ContinuousClock.now - begin < .seconds(count))
    }

    @Test
    func `The follower continues from each answer, and at once if more changes exist`() throws {
        let server = try server([changes(2, 3, more: true), changes(4), changes(5, 6)])
        let log = EventLog()
        let following = try follow(server, log)
        #expect(log.wait(for: "6"))
        #expect(log.all == ["2", "3", "4", "5", "6"])
        #expect(server.log.wait(for: "since e.6"))
        let asked = server.log.all.filter { $0.hasPrefix("since") }
        #expect(asked == ["since e.1", "since e.3", "since e.4", "since e.6"])
        #expect(server.log.count("connection") == 1)
        following.stop()
        #expect(server.log.wait(for: "left"))
    }

    @Test
    func `A reset is delivered, within an epoch and with a new epoch`() throws {
        let server = try server([changes(2), state(90, 9), changes(91), state(3, 30, epoch: "f")])
        let log = EventLog()
        let following = try follow(server, log)
        #expect(server.log.wait(for: "since f.3"))
        #expect(log.all == ["2", "state 9", "91", "state 30"])
        following.stop()
    }

    @Test
    func `An answer without changes advances the cursor`() throws {
        let server = try server([changes(2), quiet(40), quiet(41)])
        let log = EventLog()
        let watched = ObservedSubject(scope: .several([names.app]))
        let cursor = try #require(Cursor("e.1"))
        let follower = RemoteFollower(watched, SharedServer(server.address), from: cursor)
        let following = follower.follow(from: cursor) { log.add("\($0.cursor)") }
        defer { following?.stop() }
        #expect(log.wait(for: "e.41"))
        #expect(log.all == ["e.2", "e.40", "e.41"])
    }

    @Test
    func `Connections that end are opened again, and no change is repeated`() throws {
        let server = try server([changes(2), "", "", changes(3), "", changes(4)])
        let log = EventLog()
        let following = try follow(server, log)
        #expect(log.wait(for: "4"))
        #expect(log.all == ["2", "3", "4"])
        following.stop()
        #expect(server.log.wait(for: "left"))
    }

    @Test
    func `A malformed answer is followed by a later request`() throws {
        let refusal = ScriptedServer.answer(#"{"code":"misdirected","detail":"no"}"#, status: 421)
        let server = try server([changes(2), ScriptedServer.answer("<html>"), refusal, changes(3)])
        let log = EventLog()
        let following = try follow(server, log, longPause: .milliseconds(1))
        #expect(log.wait(for: "3"))
        #expect(log.all == ["2", "3"])
        following.stop()
    }

    @Test(arguments: [429, 502, 503, 504])
    func `A pause that a proxy asks for ends with the first answer of any request`(status: Int) throws {
        let page = ScriptedServer.answer("later", status: status, more: "Retry-After: 3600\r\n")
        let server = try server([page, changes(2)])
        let shared = SharedServer(server.address)
        let log = EventLog()
        let following = try follow(server, log, by: shared)
        defer { following.stop() }
        try eventually {
            shared.recordAnswer()
            return log.count("2") > 0
        }
        #expect(log.all == ["2"])
    }

    @Test
    func `A busy daemon is not asked before its retry time`() {
        for code in [ErrorCode.tooManyWatchers, .tooManyConnections, .tooManyRequests, .overloaded, .behind] {
            #expect(SettingsError.problem(Problem(code, "x"), revision: nil).isOverload)
        }
        let others: [SettingsError] = [
            .late(outcome: .notDone), .unreachable("x", outcome: .notDone),
            .problem(Problem(.shuttingDown, "x"), revision: nil),
            .problem(Problem(status: 429, body: nil), revision: nil),
            .problem(Problem(status: 503, body: nil), revision: nil),
        ]
        for error in others { #expect(!error.isOverload, "\(error)") }
    }

    @Test
    func `A failure to follow is reported once, until it works again`() throws {
        let refusal = ScriptedServer.answer(#"{"code":"misdirected","detail":"no"}"#, status: 421)
        let text = ScriptedServer.answer("<html>")
        let server = try server([text, "", refusal, "", changes(2), quiet(3), refusal, text, changes(4)])
        let log = EventLog()
        let watched = ObservedSubject(scope: .several([names.app]))
        let cursor = try #require(Cursor("e.1"))
        let follower = RemoteFollower(
            watched, SharedServer(server.address), from: cursor, longPause: .milliseconds(1))
        let following = follower.follow(from: cursor, onFailure: { _ in log.add("trouble") }) {
            log.add("\($0.cursor)")
        }
        defer { following?.stop() }
        #expect(log.wait(for: "e.4"))
        #expect(log.all == ["trouble", "e.2", "e.3", "trouble", "e.4"])
    }

    /// A server that always has one more change to tell.
    private func busyServer() throws -> ScriptedServer {
        try ScriptedServer { _, peer, log in
            var revision = 1
            while peer.readRequest() != nil {
                revision += 1
                log.add("asked")
                peer.send(changes(revision, more: true))
            }
            log.add("left")
        }
    }

    @Test
    func `A stopped follower sends no more requests`() throws {
        let server = try busyServer()
        let log = EventLog()
        let following = try follow(server, log)
        #expect(log.wait { $0.count >= 10 })
        following.stop()
        following.stop()
        let received = log.all.count
        #expect(server.log.wait(for: "left"))
        let asked = server.log.count("asked")
        // The same thread reads for another one meanwhile.
        let (other, otherLog) = (try busyServer(), EventLog())
        let another = try follow(other, otherLog)
        #expect(otherLog.wait { $0.count >= 100 })
        another.stop()
        #expect(log.all.count <= received + 1)
        #expect(server.log.count("asked") <= asked + 1 && server.log.count("connection") <= 2)
    }

    @Test
    func `A follower stopped in its pause after a failure sends no more requests`() throws {
        let server = try server([""])
        let log = EventLog()
        let following = try follow(server, log)
        #expect(server.log.wait { $0.contains { $0.hasPrefix("since") } })
        following.stop()
        let (other, otherLog) = (try busyServer(), EventLog())
        let another = try follow(other, otherLog)
        #expect(otherLog.wait { $0.count >= 100 })
        another.stop()
        #expect(log.all.isEmpty && server.log.all.count { $0.hasPrefix("since") } <= 2)
    }

    @Test
    func `A suite that is created, dropped and created again is followed`() throws {
        let daemon = try ServedDaemon()
        let client = try daemon.client().blocking
        let world = World(at: try daemon.address(.unix), names.app)
        let defaults = world.adapter()
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
        #expect(log.wait(for: "loginTries 1"))
        #expect(!defaults.isSet(\.loginTries))
        defaults.launchCount += 5
        #expect(defaults.launchCount == 5 && defaults.isSet(\.launchCount))
        #expect(world.drainIssues() == [])
    }

    @Test
    func `Handlers of a follower are not called from within a call`() async throws {
        let daemon = try ServedDaemon()
        let backend = RemoteBackend(
            suite: names.app, server: SharedServer(try daemon.address(.unix)), timeout: .seconds(20))
        let log = EventLog()
        let state = try await backend.load()
        let caller = pthread_self()
        let following = backend.follow(from: state.cursor, onFailure: { _ in }) { _ in
            log.add(pthread_equal(pthread_self(), caller) != 0 ? "within" : "beside")
        }
        for number in 0..<100 {
            let operation = Transaction.Operation(suite: names.app, key: names.count, .set(.integer(Int64(number))))
            _ = try await backend.write(
                PendingChange(action: .transaction(Transaction(do: [operation])), requestKey: .unique()))
        }
        #expect(log.wait(for: "beside"))
        following.stop()
        #expect(log.count("within") == 0)
    }
}
