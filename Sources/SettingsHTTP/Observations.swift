public import SettingsAPI
public import SettingsModel

/// A sequence of what happens in suites, without end.
///
/// The first element is the state, or with a place to go on from, the changes since. Every commit to the watched suites and
/// keys follows in order, none missing, none twice, over any interruption; where history does not reach back far enough,
/// the state again, with `isReset`. The sequence ends when its task is cancelled, and throws only errors that a retry would
/// not help against.
public struct Observations: AsyncSequence, Sendable {
    /// A state, or changes.
    public typealias Element = SettingsObservation
    /// The error that ends the sequence before its time.
    public typealias Failure = SettingsError

    let client: DaemonClient
    let watched: Watched
    let place: ResumePoint?
    let limit: Int?
    let latest: Bool
    /// How long the daemon is asked to wait with each answer.
    let wait: Duration
    /// Called with the first of failures in a row that are retried.
    package var onOutage: (@Sendable (SettingsError) -> Void)?

    /// Begins to observe: nothing is asked before the first `next`.
    public func makeAsyncIterator() -> Iterator {
        Iterator(observations: self, place: ObservedPlace(since: place))
    }

    /// The place of one reader of the sequence.
    public struct Iterator: AsyncIteratorProtocol {
        let observations: Observations
        var place: ObservedPlace
        private var isOver = false

        init(observations: Observations, place: ObservedPlace) {
            self.observations = observations
            self.place = place
        }

        /// The next thing that happened; nil once the task is cancelled.
        public mutating func next() async throws(SettingsError) -> SettingsObservation? {
            try await next(isolation: nil)
        }

        /// The next thing that happened; nil once the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(SettingsError)
            -> SettingsObservation?
        {
            guard !isOver else { return nil }
            var generator = SystemRandomNumberGenerator()
            var pause = place.pause
            while true {
                guard await Self.sleep(pause) else { break }
                let step: ObservedPlace.Step
                do throws(SettingsError) {
                    step = place.step(try await observations.ask(since: place.since))
                } catch {
                    if case .cancelled = error { break }
                    step = place.step(error, using: &generator)
                    if case .again = step, place.isFirstFailure(error) { observations.onOutage?(error) }
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

    private func ask(since place: ResumePoint?) async throws(SettingsError) -> SettingsObservation {
        try await client.send(.observe(watched, since: place, wait: wait, limit: limit, latest: latest))
    }
}

extension DaemonClient {
    /// How long the daemon is asked to wait with its answers.
    private static var usualWait: Duration { .seconds(60) }

    /// Everything that happens in a suite, or to some of its keys, from now on or after a place in history.
    ///
    /// A suite that does not exist is waited for. `limit` bounds the changes of one element, about; `latest` tells each key
    /// once in an element.
    public func changes(
        of suite: SuiteName, since place: ResumePoint? = nil, keys: [KeyName] = [], prefixes: [String] = [],
        limit: Int? = nil, latest: Bool = false
    ) -> Observations {
        let watched = Watched(scope: .one(suite), keys: keys, prefixes: prefixes)
        return Observations(
            client: self, watched: watched, place: place, limit: limit, latest: latest, wait: Self.usualWait)
    }

    /// The same of several suites: those that are named, and all whose names begin with one of `suitePrefixes`, as they come
    /// and go.
    public func changes(
        of suites: [SuiteName], suitePrefixes: [String] = [], since place: ResumePoint? = nil, keys: [KeyName] = [],
        prefixes: [String] = [], limit: Int? = nil, latest: Bool = false
    ) -> Observations {
        let watched = Watched(scope: .several(suites, prefixes: suitePrefixes), keys: keys, prefixes: prefixes)
        return Observations(
            client: self, watched: watched, place: place, limit: limit, latest: latest, wait: Self.usualWait)
    }
}

/// The place of an observer in history: a state machine without I/O that says what to do after an answer or a failure.
package struct ObservedPlace: Sendable {
    /// What to do after a request.
    package enum Step: Equatable, Sendable {
        /// Hand this out, then go on.
        case deliver(SettingsObservation)
        /// Ask again after so long.
        case again(after: Duration)
        case fail(SettingsError)
    }

    /// The shortest pause between an answer without news and the next request.
    package static let pace = Duration.milliseconds(2)

    /// The last place that was handed out or passed without news.
    package private(set) var since: ResumePoint?
    /// The pause before the next request after an answer that was handed out.
    package private(set) var pause = Duration.zero
    private var backOff = BackOff()
    /// The schemas and missing suites at that place; nil if nothing is known yet.
    private var known: Shape?

    /// Schemas and missing suites: news that are no change of a key.
    fileprivate struct Shape: Equatable {
        var schemas: [SuiteName: Revision]
        var missing: [SuiteName]
    }

    package init(since: ResumePoint?) {
        self.since = since
    }

    /// An answer has come.
    package mutating func step(_ observation: SettingsObservation) -> Step {
        backOff.reset()
        since = .cursor(observation.cursor)
        pause = .zero
        guard case .changes(let news) = observation else {
            known = Shape(observation)
            return .deliver(observation)
        }
        // The daemon is going down and says when it will be back.
        pause = BackOff.asked(milliseconds: news.retryAfterMs)
        var shape = Shape(observation)
        // For a watched prefix, an answer names only the suites that changed.
        if let known { shape.schemas.merge(known.schemas) { told, _ in told } }
        defer { known = shape }
        // The wait was over and nothing had happened. Without anything known before, the answer itself is news.
        guard shape == known, news.changes.isEmpty, !news.tellsOfDrop else { return .deliver(observation) }
        return .again(after: max(pause, Self.pace))
    }

    /// There was no answer.
    package mutating func step(_ error: SettingsError, using generator: inout some RandomNumberGenerator) -> Step {
        let asked = BackOff.asked(milliseconds: error.problem?.retryAfterMs)
        if error.code == .unknownSuite, error.problem?.retryAfterMs != nil {
            // A suite that does not exist yet, or no more, is waited for. The daemon has done its part of that.
            backOff.reset()
        } else if !error.isTransient {
            return .fail(error)
        }
        return .again(after: backOff.next(notBefore: asked, using: &generator))
    }

    /// True if a failure, the last one, began an outage. A suite that does not exist yet is none.
    fileprivate func isFirstFailure(_ error: SettingsError) -> Bool {
        backOff.failures == 1 && error.code != .unknownSuite
    }
}

extension ObservedPlace.Shape {
    fileprivate init(_ observation: SettingsObservation) {
        let told: [SuiteRevision]
        switch observation {
        case .state(let state):
            told = state.suites.map { SuiteRevision(suite: $0.suite, revision: $0.schemaRevision) }
            if case .several(_, let names) = state.scope { missing = names } else { missing = [] }
        case .changes(let changes):
            switch changes.scope {
            case .one(let schema, _): (told, missing) = ([schema], [])
            case .several(let list, _, let names): (told, missing) = (list, names)
            }
        }
        schemas = Dictionary(told.map { ($0.suite, $0.revision) }) { first, _ in first }
    }
}

extension ObservedChanges {
    /// True if a suite was dropped.
    fileprivate var tellsOfDrop: Bool {
        switch scope {
        case .one(_, let isDropped): isDropped
        case .several(_, let dropped, _): !dropped.isEmpty
        }
    }
}

/// A backoff with jitter: pauses that grow with each failure, so that the clients of a daemon that restarts do not come back
/// at once.
package struct BackOff: Sendable {
    package static let shortest = Duration.milliseconds(100)
    package static let longest = Duration.seconds(2)
    /// The longest pause that a server may ask for: it may be a proxy that knows nothing of the daemon behind it.
    package static let longestAsked = Duration.seconds(60)

    private(set) var failures = 0

    package init() {}

    /// Something worked: the next failure is the first again.
    package mutating func reset() {
        failures = 0
    }

    /// The pause that a server asks for, bounded.
    package static func asked(milliseconds: Int64?) -> Duration {
        min(.milliseconds(max(0, milliseconds ?? 0)), longestAsked)
    }

    /// Returns the pause after one more failure, about as long as the server asks for at least.
    package mutating func next(
        notBefore asked: Duration = .zero, using generator: inout some RandomNumberGenerator
    ) -> Duration {
        let whole = min(Self.longest, Self.shortest * (1 << min(failures, 10)))
        failures += 1
        let share = Double.random(in: 0.5...1, using: &generator)
        // The daemon asks all clients for the same pause, so that has jitter too.
        return max(whole * share, asked * (share + 0.5))
    }
}
