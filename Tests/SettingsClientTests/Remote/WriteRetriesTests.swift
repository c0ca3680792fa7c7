import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsHTTP

/// `WriteRetries` decides when a write is sent again with the same request key. Its `pause` is nil if the write is not
/// sent again, and its `summary` is the error that the program gets.
@Suite(.ownThread)
struct WriteRetriesTests {
    private var generator = SeededGenerator(seed: 3)

    /// The time at which a failed write is sent again.
    enum Retry: Sendable {
        case never, immediately, later
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let error: SettingsError
        /// The retry after a first attempt with the error.
        let first: Retry
        /// The retry after a second attempt with the error. The outcome of the first attempt is unknown.
        let second: Retry
        /// The outcome of the write if the second attempt is the last attempt.
        let outcome: SettingsError.Outcome

        init(_ error: SettingsError, first: Retry, second: Retry, _ outcome: SettingsError.Outcome) {
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
        Row(.unreachable("x", outcome: .unknown), first: .immediately, second: .later, .unknown),
        Row(.timeout(outcome: .notDone), first: .never, second: .never, .unknown),
        Row(.timeout(outcome: .unknown), first: .never, second: .never, .unknown),
        Row(.malformedAnswer("x", outcome: .unknown), first: .never, second: .never, .unknown),
        Row(.unusableToken("x", outcome: .notDone), first: .never, second: .never, .unknown),
        Row(problem(.overloaded, .notDone), first: .later, second: .later, .unknown),
        Row(problem(.shuttingDown, .notDone), first: .later, second: .later, .unknown),
        Row(problem(.tooManyConnections), first: .later, second: .later, .unknown),
        Row(.problem(Problem(status: 403, body: nil), revision: nil), first: .never, second: .never, .unknown),
        Row(problem(.storageFailed, .unknown), first: .later, second: .later, .unknown),
        // A daemon that has carried out the first attempt would repeat its first answer, so these refusals mean that no
        // attempt was carried out.
        Row(problem(.invalidValue), first: .never, second: .never, .notDone),
        Row(problem(.preconditionFailed), first: .never, second: .never, .notDone),
        Row(problem(.insufficientStorage), first: .never, second: .never, .notDone),
    ]

    private func retry(after pause: Duration?) -> Retry {
        pause.map { $0 == .zero ? .immediately : .later } ?? .never
    }

    @Test("The error has the reason of the last failed connection, even after a timeout")
    mutating func reason() {
        var retries = WriteRetries()
        _ = retries.pause(after: .unreachable("untrusted certificate", outcome: .notDone), using: &generator)
        #expect(
            retries.summary(of: .timeout(outcome: .notDone))
                == .unreachable("untrusted certificate", outcome: .notDone))
        #expect(
            retries.summary(of: .timeout(outcome: .unknown))
                == .unreachable("untrusted certificate", outcome: .unknown))
        _ = retries.pause(after: .unreachable("closed", outcome: .unknown), using: &generator)
        #expect(retries.summary(of: .timeout(outcome: .notDone)) == .unreachable("closed", outcome: .unknown))
        #expect(
            WriteRetries().summary(of: .timeout(outcome: .notDone)) == .timeout(outcome: .notDone)
        )
    }

    @Test("The error of an attempt determines if a write is sent again, and the outcome of the write", arguments: rows)
    mutating func failures(_ row: Row) {
        var fresh = WriteRetries()
        #expect(retry(after: fresh.pause(after: row.error, using: &generator)) == row.first)
        #expect(fresh.summary(of: row.error) == row.error)
        var retries = WriteRetries()
        _ = retries.pause(after: .unreachable("lost", outcome: .unknown), using: &generator)
        #expect(retry(after: retries.pause(after: row.error, using: &generator)) == row.second)
        #expect(retries.summary(of: row.error).outcome == row.outcome)
    }

    @Test("A write is not sent again before the retry time of the server")
    mutating func retryTime() {
        var problem = Problem(.overloaded, "x")
        problem.retryAfterMs = 5000
        var retries = WriteRetries()
        let pause = retries.pause(after: .problem(problem, revision: nil), using: &generator)
        #expect(pause.map { $0 >= .seconds(5) } ?? false)
    }
}
