import ClientTestSupport
import SettingsModel
import TestSupport
import Testing

@testable import SettingsHTTP

/// Pages that lead nowhere.
@Suite(.ownThread)
struct PagingTests {
    private let names: SampleNames

    init() throws {
        names = try SampleNames()
    }

    /// A server whose pages lead to these, one after the other and then to the last of them, nearly for ever.
    private func server(_ next: [String]) throws -> ScriptedServer {
        try ScriptedServer { _, peer, log in
            while let request = peer.readRequest() {
                // The connection may be another one: a task may have to wait for its next turn until this one is closed.
                let number = log.count("asked")
                log.add("asked")
                let list = request.contains("/keys") ? #""suite":"app","keys":[]"# : #""suites":[]"#
                let name = next[min(number, next.count - 1)]
                let next = number < 1000 ? #","next":"\#(name)""# : ""
                peer.send(ScriptedServer.answer(#"{"revision":1,\#(list)\#(next)}"#))
            }
        }
    }

    @Test(
        "A listing that does not go on is not followed",
        arguments: [["a", "b", "b"], ["a", "b", "a"], ["B", "b", "Z"]])
    func listingDoesNotGo(next: [String]) async throws {
        func check(_ error: SettingsError?) {
            guard case .malformedAnswer(_, .notDone)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
        for isBlocking in [true, false] {
            let (one, two) = (try server(next), try server(next))
            if isBlocking {
                check(#expect(throws: SettingsError.self) { try one.client().blocking.send(.allSuites()) })
                check(#expect(throws: SettingsError.self) { try two.client().blocking.send(.allKeys(of: names.app)) })
            } else {
                check(await #expect(throws: SettingsError.self) { try await one.client().send(.allSuites()) })
                check(
                    await #expect(throws: SettingsError.self) { try await two.client().send(.allKeys(of: names.app)) })
            }
            #expect(one.log.count("asked") == 3 && two.log.count("asked") == 3)
        }
    }
}
