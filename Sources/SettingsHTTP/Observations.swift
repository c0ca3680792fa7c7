public import SettingsAPI
public import SettingsModel

/// An endless sequence of the changes of suites.
///
/// The first element is the state of the suites or, if the program gives a cursor, the changes after the cursor. Then
/// the sequence returns every change of the observed suites and keys once and in order, even if connections end or the
/// daemon restarts. With `latest`, an element contains only the last change of each key. If the history of the daemon
/// does not reach back far enough, the next element is the state, and its `isReset` is true. The sequence ends when its
/// task is cancelled. The sequence throws only errors that a retry cannot fix.
public struct Observations: AsyncSequence, Sendable {
    /// The state of the observed suites, or changes.
    public typealias Element = SettingsObservation
    /// The error that ends the sequence.
    public typealias Failure = SettingsError

    let daemon: DaemonClient
    let watched: ObservedSubject
    let start: ResumePoint?
    /// The approximate maximum number of changes in one element; nil for the default of the daemon.
    let limit: Int?
    /// True to get only the last change of each key in an element.
    let latest: Bool
    /// The time for which the daemon waits for a change before it answers.
    let wait: Duration
    /// The name under which the sequence reports the states that the program has applied; nil to report nothing. When
    /// the program asks for the next element, it must have applied the element before.
    package var client: ClientName?
    /// Called with the first failure of an outage: a failed request at the start or after a successful request. Not
    /// called for an error that ends the sequence.
    package var onOutage: (@Sendable (SettingsError) -> Void)?

    /// Returns an iterator. It sends the first request when `next` is called.
    public func makeAsyncIterator() -> Iterator {
        Iterator(observations: self, progress: ObservationProgress(since: start))
    }

    /// An iterator with its own position in the history.
    public struct Iterator: AsyncIteratorProtocol {
        let observations: Observations
        var progress: ObservationProgress
        private var isOver = false

        init(observations: Observations, progress: ObservationProgress) {
            self.observations = observations
            self.progress = progress
        }

        /// Waits for the next state or changes. Returns nil after the task is cancelled.
        public mutating func next() async throws(SettingsError) -> SettingsObservation? {
            try await next(isolation: nil)
        }

        /// Waits for the next state or changes. Returns nil after the task is cancelled.
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
                    if case .again = step, progress.isFirstFailure { observations.onOutage?(error) }
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
        var report = ClientReport()
        if case .cursor(let cursor) = point { report.applied = cursor }
        return try await daemon.send(
            .observe(watched, since: point, wait: wait, limit: limit, latest: latest, by: client, report: report))
    }
}

extension DaemonClient {
    /// The time for which the daemon waits for a change before it answers.
    private static var observationWait: Duration { .seconds(60) }

    /// Returns a sequence of the changes of a suite, or of some of its keys. If the suite does not exist, the sequence
    /// waits for the suite.
    ///
    /// - Parameters:
    ///   - suite: the suite.
    ///   - point: the cursor or the revision after which the changes begin. Nil to begin with the present state.
    ///   - keys: the observed keys. Without keys and prefixes, all keys are observed.
    ///   - prefixes: all keys that begin with one of these texts are observed, too.
    ///   - limit: the approximate maximum number of changes in one element.
    ///   - latest: true to get only the last change of each key in an element.
    public func changes(
        of suite: SuiteName, since point: ResumePoint? = nil, keys: [KeyName] = [], prefixes: [String] = [],
        limit: Int? = nil, latest: Bool = false
    ) -> Observations {
        let watched = ObservedSubject(scope: .one(suite), keys: keys, prefixes: prefixes)
        return Observations(
            daemon: self, watched: watched, start: point, limit: limit, latest: latest, wait: Self.observationWait)
    }

    /// Returns a sequence of the changes of several suites, or of some of their keys. Each element lists the named
    /// suites that do not exist.
    ///
    /// - Parameters:
    ///   - suites: the names of suites.
    ///   - suitePrefixes: all suites whose names begin with one of these texts are observed, too, also suites that are
    ///     created later.
    ///   - point: the cursor or the revision after which the changes begin. Nil to begin with the present state.
    ///   - keys: the observed keys. Without keys and prefixes, all keys are observed.
    ///   - prefixes: all keys that begin with one of these texts are observed, too.
    ///   - limit: the approximate maximum number of changes in one element.
    ///   - latest: true to get only the last change of each key in an element.
    public func changes(
        of suites: [SuiteName], suitePrefixes: [String] = [], since point: ResumePoint? = nil, keys: [KeyName] = [],
        prefixes: [String] = [], limit: Int? = nil, latest: Bool = false
    ) -> Observations {
        let watched = ObservedSubject(scope: .several(suites, prefixes: suitePrefixes), keys: keys, prefixes: prefixes)
        return Observations(
            daemon: self, watched: watched, start: point, limit: limit, latest: latest, wait: Self.observationWait)
    }
}

/// The position of an observer in the history: a state machine without I/O that decides the next step after an answer
/// or a failure.
package struct ObservationProgress: Sendable {
    package enum Step: Equatable, Sendable {
        /// Deliver the observation, and then send the next request.
        case deliver(SettingsObservation)
        /// Send the next request after a pause, without delivering anything.
        case again(after: Duration)
        case fail(SettingsError)
    }

    /// The shortest pause between an answer without changes and the next request. It limits the rate of requests if a
    /// server does not wait before it answers.
    package static let shortestPause = Duration.milliseconds(2)

    /// The cursor of the last answer. Before the first answer, the point at which the program wants to begin.
    package private(set) var since: ResumePoint?
    /// The pause before the next request after an answer that was delivered.
    package private(set) var pause = Duration.zero
    private var backOff = BackOff()
    /// The schemas and missing suites according to the answers. Nil before the first answer.
    private var known: SuiteSummary?

    /// The schemas and the missing suites in an answer. If they change, the answer is delivered even if no key has
    /// changed.
    fileprivate struct SuiteSummary: Equatable {
        /// The revision of the schema of each suite.
        var schemas: [SuiteName: Revision]
        var missing: [SuiteName]
    }

    package init(since: ResumePoint?) {
        self.since = since
    }

    /// Records an answer, and returns the next step.
    package mutating func step(_ observation: SettingsObservation) -> Step {
        backOff.reset()
        since = .cursor(observation.cursor)
        pause = .zero
        guard case .changes(let observed) = observation else {
            known = SuiteSummary(observation)
            return .deliver(observation)
        }
        // A daemon that shuts down answers at once, and asks the client to wait before the next request.
        pause = BackOff.requestedPause(milliseconds: observed.retryAfterMs)
        var summary = SuiteSummary(observation)
        // If a suite only matches a prefix, an answer contains the schema of the suite only if the suite has changed.
        // So the other schemas stay known.
        if let known { summary.schemas.merge(known.schemas) { new, _ in new } }
        defer { known = summary }
        // If nothing has changed during the wait, there is nothing to deliver. The first answer is always delivered.
        guard summary == known, observed.changes.isEmpty, !observed.containsDrop else { return .deliver(observation) }
        return .again(after: max(pause, Self.shortestPause))
    }

    /// Records a failure, and returns the next step.
    package mutating func step(_ error: SettingsError, using generator: inout some RandomNumberGenerator) -> Step {
        let requestedPause = BackOff.requestedPause(milliseconds: error.problem?.retryAfterMs)
        if error.code == .unknownSuite, error.problem?.retryAfterMs != nil {
            // The suite does not exist. The daemon has already waited for the suite, and asks for a retry. Because the
            // daemon has answered, this is not a failure of `backOff`.
            backOff.reset()
            var pauses = BackOff()
            return .again(after: pauses.next(notBefore: requestedPause, using: &generator))
        }
        guard error.isTransient else { return .fail(error) }
        return .again(after: backOff.next(notBefore: requestedPause, using: &generator))
    }

    /// True if the last failure is the first failure at the start or after an answer. A missing suite is not a failure,
    /// because the daemon has answered.
    var isFirstFailure: Bool { backOff.failures == 1 }
}

extension ObservationProgress.SuiteSummary {
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
    /// True if the changes contain the removal of a suite.
    fileprivate var containsDrop: Bool {
        switch scope {
        case .one(_, let isDropped): isDropped
        case .several(_, let dropped, _): !dropped.isEmpty
        }
    }
}

/// Computes the pauses between attempts. The pauses grow with each failure, and a part of each pause is random, so that
/// the clients of a daemon that restarts do not all connect at the same time.
package struct BackOff: Sendable {
    package static let shortest = Duration.milliseconds(100)
    package static let longest = Duration.seconds(2)
    /// The longest pause that a server can ask for. Without this limit, a wrong answer of a proxy could stop the
    /// client for a long time.
    package static let longestRequestedPause = Duration.seconds(60)

    /// The number of failures since the last success.
    private(set) var failures = 0

    package init() {}

    /// Records a success. The pause after the next failure is the shortest pause again.
    package mutating func reset() {
        failures = 0
    }

    /// Returns the pause that a server asks for, at most `longestRequestedPause`.
    package static func requestedPause(milliseconds: Int64?) -> Duration {
        min(.milliseconds(max(0, milliseconds ?? 0)), longestRequestedPause)
    }

    /// Records a failure, and returns the pause after it.
    ///
    /// - Parameter requestedPause: the pause that the server asks for.
    package mutating func next(
        notBefore requestedPause: Duration = .zero, using generator: inout some RandomNumberGenerator
    ) -> Duration {
        let maximum = min(Self.longest, Self.shortest * (1 << min(failures, 10)))
        failures += 1
        let fraction = Double.random(in: 0.5...1, using: &generator)
        // The daemon asks all clients for the same pause. So the pause is extended by up to a half at random.
        return max(maximum * fraction, requestedPause * (fraction + 0.5))
    }
}
