import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsHTTP

@Suite(.ownThread)
struct WriteRepeatsTests {
    private var generator = SeededGenerator(seed: 3)

    enum After: Sendable {
        case never, atOnce, later
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let error: SettingsError
        let first: After
        /// After an attempt that may have been done.
        let second: After
        /// The outcome of the write after it, if nothing more is tried.
        let outcome: SettingsError.Outcome

        init(_ error: SettingsError, first: After, second: After, _ outcome: SettingsError.Outcome) {
            self.error = error
            self.first = first
            self.second = second
            self.outcome = outcome
        }

        var testDescription: String { error.description }
    }

    private static func problem(_ code: ErrorCode, _ outcome: SettingsError.Outcome? = nil) -> SettingsError {
        var problem = Problem(code, "x")
        problem.outcome = outcome
        return .problem(problem, revision: nil)
    }

    static let rows = [
        Row(.unreachable("x", outcome: .notDone), first: .later, second: .later, .unknown),
        Row(.unreachable("x", outcome: .unknown), first: .atOnce, second: .later, .unknown),
        Row(.late(outcome: .notDone), first: .never, second: .never, .unknown),
        Row(.late(outcome: .unknown), first: .never, second: .never, .unknown),
        Row(.malformedAnswer("x", outcome: .unknown), first: .never, second: .never, .unknown),
        Row(.unusableToken("x", outcome: .notDone), first: .never, second: .never, .unknown),
        Row(problem(.overloaded, .notDone), first: .later, second: .later, .unknown),
        Row(problem(.shuttingDown, .notDone), first: .later, second: .later, .unknown),
        Row(problem(.tooManyConnections), first: .later, second: .later, .unknown),
        Row(.problem(Problem(status: 403, body: nil), revision: nil), first: .never, second: .never, .unknown),
        Row(problem(.storageFailed, .unknown), first: .later, second: .later, .unknown),
        Row(problem(.invalidValue), first: .never, second: .never, .notDone),
        Row(problem(.preconditionFailed), first: .never, second: .never, .notDone),
        Row(problem(.insufficientStorage), first: .never, second: .never, .notDone),
    ]

    private func kind(_ pause: Duration?) -> After {
        pause.map { $0 == .zero ? .atOnce : .later } ?? .never
    }

    @Test("The error has the reason of the last failed connection, also after a timeout")
    mutating func reason() {
        var repeats = WriteRetries()
        _ = repeats.pause(after: .unreachable("no trust", outcome: .notDone), using: &generator)
        #expect(repeats.summary(of: .late(outcome: .notDone)) == .unreachable("no trust", outcome: .notDone))
        #expect(repeats.summary(of: .late(outcome: .unknown)) == .unreachable("no trust", outcome: .unknown))
        _ = repeats.pause(after: .unreachable("cut", outcome: .unknown), using: &generator)
        #expect(repeats.summary(of: .late(outcome: .notDone)) == .unreachable("cut", outcome: .unknown))
        #expect(
            WriteRetries().summary(of: .late(outcome: .notDone)) == .late(outcome: .notDone)
        )
    }

    @Test("The error of an attempt decides if a write is repeated, and its outcome", arguments: rows)
    mutating func failures(_ row: Row) {
        var fresh = WriteRetries()
        #expect(kind(fresh.pause(after: row.error, using: &generator)) == row.first)
        #expect(fresh.summary(of: row.error) == row.error)
        var repeats = WriteRetries()
        _ = repeats.pause(after: .unreachable("lost", outcome: .unknown), using: &generator)
        #expect(kind(repeats.pause(after: row.error, using: &generator)) == row.second)
        #expect(repeats.summary(of: row.error).outcome == row.outcome)
    }

    @Test("A server with a retry time is not asked before this time")
    mutating func asked() {
        var problem = Problem(.overloaded, "x")
        problem.retryAfterMs = 5000
        var repeats = WriteRetries()
        let pause = repeats.pause(after: .problem(problem, revision: nil), using: &generator)
        #expect(pause.map { $0 >= .seconds(5) } ?? false)
    }
}
