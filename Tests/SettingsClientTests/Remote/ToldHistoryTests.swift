import Dispatch
import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

@Suite(.ownThread)
struct ToldHistoryTests {
    private let first: Epoch
    private let second: Epoch

    init() throws {
        first = try #require(Epoch("first"))
        second = try #require(Epoch("second"))
    }

    @Test("It is the other one when that has been told, not before")
    func moving() {
        let history = ToldHistory(first)
        history.tell(of: first) { #expect(history.isAt(first)) }
        #expect(history.isAt(first) && history.moves == 0)
        history.tell(of: second) {
            #expect(!history.isAt(first) && !history.isAt(second) && history.moves == 0)
        }
        #expect(history.isAt(second) && history.moves == 1)
    }

    @Test("Who waits for a move goes on with it, or at the deadline")
    func waiting() {
        let history = ToldHistory(first)
        history.wait(forMoveAfter: 0, until: .now + .milliseconds(1))
        #expect(history.isAt(first))
        let log = EventLog()
        for number in 0..<4 {
            DispatchQueue(label: "waiting \(number)").async { [second] in
                log.add("waits")
                history.wait(forMoveAfter: 0, until: .now + .seconds(60))
                if history.isAt(second) { log.add("told") }
            }
        }
        #expect(log.wait(for: "waits", times: 4))
        history.tell(of: second) {}
        #expect(log.wait(for: "told", times: 4))
        history.wait(forMoveAfter: 0, until: .now + .seconds(60))
        #expect(history.isAt(second), "a move that has been is not waited for")
    }
}
