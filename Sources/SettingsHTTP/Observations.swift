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

    let client: SettingsClient
    let watched: Watched
    let place: ResumePoint?
    let limit: Int?
    let latest: Bool
    /// How long the daemon is asked to wait with each answer.
    let wait: Duration

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

extension SettingsClient {
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
