import SettingsModel
import TestSupport
import Testing

@testable import SettingsHTTP

/// Tests of the next step of an observer after an answer or a failure, without a daemon.
@Suite(.ownThread)
struct ObservationProgressTests {
    private var generator = SeededGenerator(seed: 7)

    private func observation(_ text: String) throws -> SettingsObservation {
        try SettingsObservation(json: try JSONValue(parsing: text))
    }

    /// An answer of the daemon without changes. `more` contains further JSON members after a comma.
    private func noChanges(_ revision: Int, schemaRevision: Int = 0, more: String = "") throws -> SettingsObservation {
        try observation(
            #"{"suite":"a","revision":\#(revision),"cursor":"e.\#(revision)","schemaRevision":\#(schemaRevision),"#
                + #""changes":[]\#(more)}"#)
    }

    private func problem(_ code: ErrorCode, retryAfterMs: Int64? = nil) -> SettingsError {
        var problem = Problem(code, "x")
        problem.retryAfterMs = retryAfterMs
        return .problem(problem, revision: nil)
    }

    @Test("An observer skips an answer without news, and its position advances") func answerWithoutNews() throws {
        var progress = ObservationProgress(since: .revision(.zero))
        // The observer does not know the suite yet, so even an answer without changes is news.
        #expect(progress.step(try noChanges(3)) == .deliver(try noChanges(3)))
        #expect(progress.step(try noChanges(5)) == .again(after: ObservationProgress.shortestPause))
        #expect(progress.since?.description == "e.5")
        #expect(
            progress.step(try noChanges(6, schemaRevision: 6)) == .deliver(try noChanges(6, schemaRevision: 6)))
        // The removal of the suite is always news, so an observer delivers even two equal answers.
        let dropped = try noChanges(7, schemaRevision: 6, more: #","dropped":true"#)
        #expect(progress.step(dropped) == .deliver(dropped))
        #expect(progress.step(dropped) == .deliver(dropped))
    }

    @Test("An answer with the state (all values) is always delivered, and later answers are compared with the state")
    func stateIsDelivered() throws {
        let state = try observation(
            #"{"suite":"a","revision":9,"cursor":"f.9","schemaRevision":4,"values":{},"reset":true,"changes":[]}"#)
        var progress = ObservationProgress(since: nil)
        #expect(progress.step(state) == .deliver(state))
        #expect(progress.step(try noChanges(10, schemaRevision: 4)) == .again(after: ObservationProgress.shortestPause))
        #expect(progress.step(state) == .deliver(state))
    }

    @Test("For an observer of several suites, a suite that begins to exist is news") func suiteAppears()
        throws
    {
        func several(_ revision: Int, _ rest: String) throws -> SettingsObservation {
            try observation(#"{"revision":\#(revision),"cursor":"e.\#(revision)","changes":[],\#(rest)}"#)
        }
        var progress = ObservationProgress(since: nil)
        let first = try several(1, #""schemaRevision":{"a":0},"missing":["b"]"#)
        #expect(progress.step(first) == .deliver(first))
        let second = try several(2, #""schemaRevision":{"a":0},"missing":["b"]"#)
        #expect(progress.step(second) == .again(after: ObservationProgress.shortestPause))
        let third = try several(3, #""schemaRevision":{"a":0,"b":0}"#)
        #expect(progress.step(third) == .deliver(third))
    }

    @Test("An observer pauses between requests to a server that answers immediately without news")
    func immediateAnswers() throws {
        var progress = ObservationProgress(since: nil)
        _ = progress.step(try noChanges(1))
        guard case .again(let pause) = progress.step(try noChanges(1)) else {
            Issue.record("the observer delivered an answer without news")
            return
        }
        #expect(pause >= .milliseconds(1) && pause <= .milliseconds(10))
    }

    @Test("An observer waits for the retry delay of a daemon that shuts down") func daemonShutsDown() throws {
        var progress = ObservationProgress(since: nil)
        _ = progress.step(try noChanges(1))
        #expect(
            progress.step(try noChanges(1, more: #","retryAfterMs":250"#))
                == .again(after: .milliseconds(250)))
        let newSchema = try noChanges(2, schemaRevision: 2, more: #","retryAfterMs":250"#)
        #expect(progress.step(newSchema) == .deliver(newSchema))
        #expect(progress.pause == .milliseconds(250))
        _ = progress.step(try noChanges(3, schemaRevision: 3))
        #expect(progress.pause == .zero)
    }

    @Test("An observer retries only after failures that a retry can fix") mutating func transientFailures() {
        // If the daemon has waited for a suite that does not exist, it asks for a retry with `retryAfterMs`.
        let transient: [SettingsError] = [
            .unreachable("x", outcome: .notDone), .timeout(outcome: .notDone), problem(.tooManyWatchers),
            problem(.shuttingDown), problem(.overloaded), problem(.behind), problem(.unknownSuite, retryAfterMs: 1000),
        ]
        for error in transient {
            var progress = ObservationProgress(since: nil)
            guard case .again(let time) = progress.step(error, using: &generator) else {
                Issue.record("the observer gave up after \(error)")
                continue
            }
            // From half of the shortest backoff (100 ms), to 1.5 times the longest requested pause (1000 ms).
            #expect(time >= .milliseconds(50) && time <= .milliseconds(1500))
        }
        let permanent: [SettingsError] = [
            problem(.badRequest), problem(.unknownPath), problem(.misdirected), problem(.forbidden),
            problem(.unknownSuite), .malformedAnswer("x", outcome: .notDone), .unusableToken("x", outcome: .notDone),
        ]
        for error in permanent {
            var progress = ObservationProgress(since: nil)
            #expect(progress.step(error, using: &generator) == .fail(error))
        }
    }

    @Test("An observer obeys Retry-After up to an upper bound") mutating func retryAfterBounded() throws {
        for milliseconds in [3_600_000, Int64.max] {
            var progress = ObservationProgress(since: nil)
            let refusal = problem(.overloaded, retryAfterMs: milliseconds)
            guard case .again(let pause) = progress.step(refusal, using: &generator) else {
                Issue.record("the observer gave up after a refusal with Retry-After")
                continue
            }
            // The bound is 60 s. After a refusal, up to half of the pause is added at random.
            #expect(pause >= .seconds(60) && pause <= .seconds(90))
            _ = progress.step(try noChanges(1))
            let shuttingDown = try noChanges(1, more: #","retryAfterMs":\#(milliseconds)"#)
            #expect(progress.step(shuttingDown) == .again(after: .seconds(60)))
        }
    }

    @Test("Only the first failure of an outage counts as first, and the answer unknown_suite ends the outage")
    mutating func firstFailure() throws {
        let missing = problem(.unknownSuite, retryAfterMs: 1000)
        let outage = SettingsError.unreachable("x", outcome: .notDone)
        let steps: [(error: SettingsError, isFirst: Bool)] = [
            (missing, false), (missing, false), (outage, true), (outage, false), (missing, false), (outage, true),
        ]
        var progress = ObservationProgress(since: nil)
        for (index, step) in steps.enumerated() {
            _ = progress.step(step.error, using: &generator)
            #expect(progress.isFirstFailure == step.isFirst, "step \(index)")
        }
        _ = progress.step(try noChanges(1))
        _ = progress.step(outage, using: &generator)
        #expect(progress.isFirstFailure)
    }

    @Test("The backoff grows to an upper bound, has jitter, and restarts after a success")
    mutating func backoff() {
        for _ in 0..<100 {
            var backOff = BackOff()
            for failures in 0..<20 {
                let fullDelay = min(BackOff.longest, BackOff.shortest * (1 << min(failures, 10)))
                let time = backOff.next(using: &generator)
                #expect(time >= fullDelay / 2 && time <= fullDelay)
            }
            let requested = Duration.seconds(30)
            let time = backOff.next(notBefore: requested, using: &generator)
            #expect(time >= requested && time <= requested * 1.5)
            backOff.reset()
            #expect(backOff.next(using: &generator) <= BackOff.shortest)
        }
        #expect(BackOff.longest <= .seconds(2), "a waiting program must soon notice that the daemon runs again")
        let times = Set((0..<20).map { _ in BackOff().firstDelay(using: &generator) })
        #expect(times.count > 10, "with jitter, most of the 20 delays differ")
    }
}

extension BackOff {
    fileprivate func firstDelay(using generator: inout SeededGenerator) -> Duration {
        var backOff = self
        return backOff.next(using: &generator)
    }
}
