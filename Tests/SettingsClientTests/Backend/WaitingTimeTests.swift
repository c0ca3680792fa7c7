import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

@Suite(.ownThread)
struct WaitingTimeTests {
    @Test("Requests of one getter or setter share a timeout, with the time spent before")
    func requestsOneGetterSetter() {
        let deadline = WaitingTime.sharing(spent: .seconds(100)) {
            WaitingTime.sharing { WaitingTime.deadline(after: .zero) }
        }
        #expect(deadline <= ContinuousClock.now - .seconds(100))
    }

    @Test("A task that the log of issues starts counts its timeouts from its own requests") func taskLogIssuesStarts()
        async throws
    {
        let (deadlines, told) = AsyncStream.makeStream(of: ContinuousClock.Instant.self)
        let board = IssueBoard { _ in
            Task { told.yield(WaitingTime.deadline(after: .zero)) }
        }
        let issue = DefaultsIssue(suite: try SuiteName("app"), key: nil, attempt: .read, error: .unreachable("x"))
        let start = ContinuousClock.now
        WaitingTime.sharing(spent: .seconds(100)) { board.report(issue) }
        var iterator = deadlines.makeAsyncIterator()
        let first = await iterator.next()
        let deadline = try #require(first)
        #expect(deadline >= start)
    }
}
