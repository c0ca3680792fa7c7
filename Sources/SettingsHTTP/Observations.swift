public import SettingsAPI
public import SettingsModel

/// An endless sequence of the changes in suites.
///
/// The first element is the state or, after a resume point, the changes since the resume point. Then the sequence returns
/// each commit to the watched suites and keys once and in order, also after an interruption. If the history of the daemon
/// does not reach back far enough, the sequence returns the state again, with `isReset`. The sequence ends when its task is
/// cancelled. It throws only errors that a retry would not correct.
public struct Observations: AsyncSequence, Sendable {
    /// A state, or changes.
    public typealias Element = SettingsObservation
    /// The error that ends the sequence before its time.
    public typealias Failure = SettingsError

    let client: DaemonClient
    let watched: Watched
    let start: ResumePoint?
    let limit: Int?
    let latest: Bool
    /// The time that the daemon may wait before each answer.
    let wait: Duration
    /// Called with the first error of each series of failures that the sequence retries.
    package var onOutage: (@Sendable (SettingsError) -> Void)?

    /// Begins to observe. The iterator sends no request before the first `next`.
    public func makeAsyncIterator() -> Iterator {
        Iterator(observations: self, progress: ObservationProgress(since: start))
    }

    /// The progress of one reader of the sequence.
    public struct Iterator: AsyncIteratorProtocol {
        let observations: Observations
        var progress: ObservationProgress
        private var isOver = false

        init(observations: Observations, progress: ObservationProgress) {
            self.observations = observations
            self.progress = progress
        }

        /// The next state or changes; nil after the task is cancelled.
        public mutating func next() async throws(SettingsError) -> SettingsObservation? {
            try await next(isolation: nil)
        }

        /// The next state or changes; nil after the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(SettingsError)
            -> SettingsObservation?
        {
            guard !isOver else { return nil }
            var generator = SystemRandomNumberGenerator()
            var pause = progress.pause
            while true {
                guard await Self.sleep(pause) else { break }
                let step: ObservationProgress.Step
                do throws(SettingsError) {
                    step = progress.step(try await observations.observe(since: progress.since))
                } catch {
                    if case .cancelled = error { break }
                    step = progress.step(error, using: &generator)
                    if case .again = step, progress.isFirstFailure(error) { observations.onOutage?(error) }
                }
                switch step {
                case .deliver(let observation): return observation
                case .again(let after): pause = after
                case .fail(let error):
                    isOver = true
                    throw error
                }
            }
            isOver = true
            return nil
        }

        /// False if the task is cancelled.
        private static func sleep(_ time: Duration) async -> Bool {
            guard time > .zero else { return !Task.isCancelled }
            do {
                try await Task.sleep(for: time)
                return true
            } catch {
                return false
            }
        }
    }

    private func observe(since point: ResumePoint?) async throws(SettingsError) -> SettingsObservation {
        try await client.send(.observe(watched, since: point, wait: wait, limit: limit, latest: latest))
    }
}

extension DaemonClient {
    /// The time that the daemon may wait before its answers.
    private static var usualWait: Duration { .seconds(60) }

    /// The changes of a suite or of some of its keys, from now on or after a resume point.
    ///
    /// If the suite does not exist, the sequence waits for the suite. `limit` is the approximate maximum number of changes
    /// in one element. With `latest`, an element contains only the last change of each key.
    public func changes(
        of suite: SuiteName, since point: ResumePoint? = nil, keys: [KeyName] = [], prefixes: [String] = [],
        limit: Int? = nil, latest: Bool = false
    ) -> Observations {
        let watched = Watched(scope: .one(suite), keys: keys, prefixes: prefixes)
        return Observations(
            client: self, watched: watched, start: point, limit: limit, latest: latest, wait: Self.usualWait)
    }

    /// The changes of several suites: the named suites, and all suites whose names begin with a prefix in `suitePrefixes`,
    /// including suites that are created later.
    public func changes(
        of suites: [SuiteName], suitePrefixes: [String] = [], since point: ResumePoint? = nil, keys: [KeyName] = [],
        prefixes: [String] = [], limit: Int? = nil, latest: Bool = false
    ) -> Observations {
        let watched = Watched(scope: .several(suites, prefixes: suitePrefixes), keys: keys, prefixes: prefixes)
        return Observations(
            client: self, watched: watched, start: point, limit: limit, latest: latest, wait: Self.usualWait)
    }
}

/// The progress of an observer in the history. A state machine without I/O, which decides on the step after an answer or a
/// failure.
package struct ObservationProgress: Sendable {
    /// The step after a request.
    package enum Step: Equatable, Sendable {
        /// Return the observation, then send the next request.
        case deliver(SettingsObservation)
        /// Send the next request after a pause.
        case again(after: Duration)
        case fail(SettingsError)
    }

    /// The shortest pause between an answer without news and the next request.
    package static let pace = Duration.milliseconds(2)

    /// The cursor of the last answer; before the first answer, the resume point of the caller.
    package private(set) var since: ResumePoint?
    /// The pause before the next request after a returned answer.
    package private(set) var pause = Duration.zero
    private var backOff = BackOff()
    /// The schemas and missing suites at `since`; nil before the first answer.
    private var known: Shape?

    /// Schemas and missing suites: the parts of an answer that are not changes of keys.
    fileprivate struct Shape: Equatable {
        var schemas: [SuiteName: Revision]
        var missing: [SuiteName]
    }

    package init(since: ResumePoint?) {
        self.since = since
    }

    /// Returns the step after an answer.
    package mutating func step(_ observation: SettingsObservation) -> Step {
        backOff.reset()
        since = .cursor(observation.cursor)
        pause = .zero
        guard case .changes(let news) = observation else {
            known = Shape(observation)
            return .deliver(observation)
        }
        // A daemon that stops asks for a pause until its restart.
        pause = BackOff.asked(milliseconds: news.retryAfterMs)
        var shape = Shape(observation)
        // For a watched prefix, an answer names only the suites that changed.
        if let known { shape.schemas.merge(known.schemas) { new, _ in new } }
        defer { known = shape }
        // The daemon answers without changes at the end of the wait. The first answer is returned in any case.
        guard shape == known, news.changes.isEmpty, !news.containsDrop else { return .deliver(observation) }
        return .again(after: max(pause, Self.pace))
    }

    /// Returns the step after a failure.
    package mutating func step(_ error: SettingsError, using generator: inout some RandomNumberGenerator) -> Step {
        let asked = BackOff.asked(milliseconds: error.problem?.retryAfterMs)
        if error.code == .unknownSuite, error.problem?.retryAfterMs != nil {
            // The suite does not exist, and the daemon has already waited for the suite.
            backOff.reset()
        } else if !error.isTransient {
            return .fail(error)
        }
        return .again(after: backOff.next(notBefore: asked, using: &generator))
    }

    /// True if `error`, the last failure, is the first failure of an outage. A missing suite is not an outage.
    fileprivate func isFirstFailure(_ error: SettingsError) -> Bool {
        backOff.failures == 1 && error.code != .unknownSuite
    }
}

extension ObservationProgress.Shape {
    fileprivate init(_ observation: SettingsObservation) {
        let schemaRevisions: [SuiteRevision]
        switch observation {
        case .state(let state):
            schemaRevisions = state.suites.map { SuiteRevision(suite: $0.suite, revision: $0.schemaRevision) }
            if case .several(_, let names) = state.scope { missing = names } else { missing = [] }
        case .changes(let changes):
            switch changes.scope {
            case .one(let schema, _): (schemaRevisions, missing) = ([schema], [])
            case .several(let list, _, let names): (schemaRevisions, missing) = (list, names)
            }
        }
        schemas = Dictionary(schemaRevisions.map { ($0.suite, $0.revision) }) { first, _ in first }
    }
}

extension ObservedChanges {
    /// True if a suite was dropped.
    fileprivate var containsDrop: Bool {
        switch scope {
        case .one(_, let isDropped): isDropped
        case .several(_, let dropped, _): !dropped.isEmpty
        }
    }
}

/// A backoff with jitter. The pauses grow with each failure, so that the clients of a restarted daemon do not reconnect at
/// the same time.
package struct BackOff: Sendable {
    package static let shortest = Duration.milliseconds(100)
    package static let longest = Duration.seconds(2)
    /// The longest pause that a server may ask for. The server may be a proxy that does not know the state of the daemon.
    package static let longestAsked = Duration.seconds(60)

    private(set) var failures = 0

    package init() {}

    /// Records a success. The next failure counts as the first failure.
    package mutating func reset() {
        failures = 0
    }

    /// The pause that a server asks for, limited to `longestAsked`.
    package static func asked(milliseconds: Int64?) -> Duration {
        min(.milliseconds(max(0, milliseconds ?? 0)), longestAsked)
    }

    /// Records a failure and returns the pause after the failure: at least half of the pause that the server asks for.
    package mutating func next(
        notBefore asked: Duration = .zero, using generator: inout some RandomNumberGenerator
    ) -> Duration {
        let whole = min(Self.longest, Self.shortest * (1 << min(failures, 10)))
        failures += 1
        let share = Double.random(in: 0.5...1, using: &generator)
        // The daemon asks all clients for the same pause, so this pause needs jitter, too.
        return max(whole * share, asked * (share + 0.5))
    }
}
