import ClientTestSupport
import SettingsModel
import TestSupport
import Testing

@testable import SettingsHTTP

/// Tests of listings whose next page does not advance.
@Suite(.ownThread)
struct PagingTests {
    private let names: SampleNames

    init() throws {
        names = try SampleNames()
    }

    /// A server that returns the given names as `next`, in order, and then repeats the last name. After 1000 requests
    /// it returns no `next`, so that a client that follows every page fails instead of running for ever.
    private func server(_ next: [String]) throws -> ScriptedServer {
        try ScriptedServer { _, peer, log in
            while let request = peer.readRequest() {
                // The count spans all connections because the async client may use several connections.
                let number = log.count("request of a page")
                log.add("request of a page")
                let list = request.contains("/keys") ? #""suite":"app","keys":[]"# : #""suites":[]"#
                let name = next[min(number, next.count - 1)]
                let nextMember = number < 1000 ? #","next":"\#(name)""# : ""
                peer.send(ScriptedServer.answer(#"{"revision":1,\#(list)\#(nextMember)}"#))
            }
        }
    }

    /// In the third list, `Z` does not advance after `b`, because names are ordered by their bytes.
    @Test(
        "A client stops with an error when a page of a listing does not advance",
        arguments: [["a", "b", "b"], ["a", "b", "a"], ["B", "b", "Z"]])
    func listingDoesNotAdvance(next: [String]) async throws {
        func expectMalformedAnswer(_ error: SettingsError?) {
            guard case .malformedAnswer(_, .notDone)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
        for isBlocking in [true, false] {
            let (suiteServer, keyServer) = (try server(next), try server(next))
            if isBlocking {
                expectMalformedAnswer(
                    #expect(throws: SettingsError.self) { try suiteServer.client().blocking.send(.allSuites()) })
                expectMalformedAnswer(
                    #expect(throws: SettingsError.self) {
                        try keyServer.client().blocking.send(.allKeys(of: names.app))
                    })
            } else {
                expectMalformedAnswer(
                    await #expect(throws: SettingsError.self) { try await suiteServer.client().send(.allSuites()) })
                expectMalformedAnswer(
                    await #expect(throws: SettingsError.self) {
                        try await keyServer.client().send(.allKeys(of: names.app))
                    })
            }
            // The third page does not advance.
            #expect(suiteServer.log.count("request of a page") == 3 && keyServer.log.count("request of a page") == 3)
        }
    }
}
