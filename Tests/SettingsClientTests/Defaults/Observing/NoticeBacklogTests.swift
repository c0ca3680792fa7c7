import SettingsAPI
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

@Suite(.ownThread)
struct NoticeBacklogTests {
    private func saw(_ key: String, _ value: Int64) throws -> ObserverNotice {
        ObserverNotice(isBeginning: false, settings: [try setting(key, value)])
    }

    private func setting(_ key: String, _ value: Int64) throws -> ObservedSetting {
        ObservedSetting(
            key: try KeyName(key), visible: VisibleSetting(value: .integer(value), source: .stored, revision: nil))
    }

    private func take(_ backlog: inout NoticeBacklog) -> [ObserverNotice] {
        var notices: [ObserverNotice] = []
        while let notice = backlog.popFirst() { notices.append(notice) }
        return notices
    }

    @Test("As long as there is room it is all there, in order")
    func room() throws {
        var backlog = NoticeBacklog(bound: 4)
        for number in 1...4 { backlog.append(try saw("a", Int64(number))) }
        #expect(try take(&backlog) == (1...4).map { try saw("a", $0) })
        #expect(backlog.count == 0 && backlog.popFirst() == nil)
    }

    @Test("Beyond the bound the newest of each key is kept, in the order in which they came")
    func thinning() throws {
        var backlog = NoticeBacklog(bound: 4)
        for number in 1...3 { backlog.append(try saw("a", Int64(number))) }
        backlog.append(try saw("b", 1))
        backlog.append(try saw("c", 1))
        backlog.append(try saw("a", 4))
        #expect(try take(&backlog) == [saw("a", 3), saw("b", 1), saw("c", 1), saw("a", 4)])
    }

    @Test("The beginning stays, as it holds the first old values")
    func beginnings() throws {
        var backlog = NoticeBacklog(bound: 3)
        let began = ObserverNotice(isBeginning: true, settings: [try setting("a", 1)])
        backlog.append(began)
        for number in 1...3 { backlog.append(try saw("a", Int64(number))) }
        #expect(try take(&backlog) == [began, saw("a", 2), saw("a", 3)])
    }

    @Test("It is bounded by twice the keys that there are, whatever comes and however it is taken")
    func bound() throws {
        var backlog = NoticeBacklog(bound: 10)
        var largest = 0
        for number in 0..<10_000 {
            backlog.append(try saw("\(number % 50)", Int64(number)))
            largest = max(largest, backlog.count)
            if number % 3 == 0 { _ = backlog.popFirst() }
        }
        #expect(largest <= 100)
        let rest = take(&backlog)
        #expect(rest.last == (try saw("49", 9999)))
    }
}
