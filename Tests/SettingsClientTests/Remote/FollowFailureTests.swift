import ClientTestSupport
import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

/// Failures of long polls, and answers with another epoch.
@Suite(.ownThread)
struct FollowFailureTests {
    private let names: SampleNames

    init() throws {
        names = try SampleNames()
    }

    /// Returns a server with an empty suite that calls `answerLongPoll` for each long poll. Its answer to a request for
    /// `launchCount` has the epoch `f`; its other answers have the epoch `e`.
    private func server(_ answerLongPoll: @escaping @Sendable (ScriptedServer.Peer) -> Void) throws -> ScriptedServer {
        try ScriptedServer { _, peer, log in
            while let request = peer.readRequest() {
                if request.contains("since=") {
                    log.add("long poll")
                    answerLongPoll(peer)
                } else if request.contains("launchCount") {
                    peer.send(Self.answerOfAnotherEpoch)
                } else {
                    peer.send(ScriptedServer.emptySuite)
                }
            }
        }
    }

    private static let answerOfAnotherEpoch: String = {
        let body =
            #"{"suite":"app","key":"launchCount","value":1,"source":"stored","revision":5,"#
            + #""modified":"2026-01-01T00:00:00.000Z"}"#
        return "HTTP/1.1 200 X\r\nSettings-Cursor: f.5\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }()

    @Test
    func `A read with a new epoch fails at the deadline if no long poll delivers that epoch`() async throws {
        // The server does not answer long polls.
        let server = try server { _ = $0.read() }
        let backend = RemoteBackend(
            suite: names.app, server: SharedServer(server.address), timeout: .seconds(1))
        let state = try await backend.load()
        let subscription = backend.follow(from: state.cursor, onFailure: { _ in }) { _ in }
        defer { subscription.stop() }
        #expect(server.log.wait(for: "long poll"))
        await #expect {
            _ = try await backend.setting(names.launchCount)
        } throws: { error in
            if case .unreachable(let reason, _)? = error as? BackendError {
                reason.contains("new history")
            } else {
                false
            }
        }
    }

    @Test(arguments: [
        (421, "misdirected"), (403, "forbidden"), (429, "too_many_watchers"), (200, "<html>"),
    ])
    func `A refusal of a long poll, or a malformed answer, is reported as an issue about a read without a key`(
        status: Int, codeOrBody: String
    ) throws {
        let answer = ScriptedServer.answer(
            status == 200 ? codeOrBody : #"{"code":"\#(codeOrBody)","detail":"no"}"#, status: status)
        let server = try server { $0.send(answer) }
        let log = EventLog()
        let defaults = DefaultsAdapter(
            keyStore: ClientKeys(),
            session: SuiteSession(
                RemoteBackend(suite: names.app, server: SharedServer(server.address), timeout: .seconds(20))),
            arguments: [],
            log: DefaultsLog { _, _, metadata in
                log.add("\(metadata["attempt"] ?? "-") \(metadata["key"] ?? "-")")
            })
        #expect(defaults.launchCount == 0)
        // One issue about a read, without a key.
        #expect(log.wait(for: "read -"))
        #expect(log.all == ["read -"])
    }
}
