package import SettingsAPI
internal import SettingsModel

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
        // Of suites that are watched by a prefix, only those are told of that something happened to.
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
