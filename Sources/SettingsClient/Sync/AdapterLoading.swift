internal import Dispatch
internal import SettingsModel
internal import Synchronization

/// How far loading the suite has come.
struct Loading: Sendable {
    var following: (any Following)?
    /// Why the last attempt came to nothing.
    private(set) var failure: Failure?
    /// Whether a getter has reported that.
    private var isFailureTold = false
    /// Whether somebody tries again in the background.
    private var isRetrying = false

    struct Failure: Sendable {
        let error: BackendError
        let moment: ContinuousClock.Instant
    }

    /// How long getters do not try again after the suite was refused.
    private static let pauseAfterRefusal = Duration.seconds(1)

    /// Why whoever wants the suite need not try. Where nobody answered, each attempt may take long, so it is left to the
    /// background; a refusal comes at once.
    ///
    /// - Parameter moment: since when whoever wants it waits; they try again unless that has failed since. Nil for those
    ///   who would rather not wait.
    func obstacle(since moment: ContinuousClock.Instant?) -> BackendError? {
        guard let failure else { return nil }
        if let moment { return failure.moment >= moment ? failure.error : nil }
        if failure.error.isVerdict, failure.moment + Self.pauseAfterRefusal <= .now { return nil }
        return failure.error
    }

    mutating func fail(_ error: BackendError) {
        failure = Failure(error: error, moment: .now)
        isFailureTold = false
    }

    mutating func succeed(_ following: any Following) {
        self.following = following
        failure = nil
    }

    /// Whether an error is to be reported: each failure once, as a program reads far more often.
    mutating func isToBeTold(_ error: DefaultsError) -> Bool {
        guard let failure, DefaultsError(failure.error) == error else { return true }
        defer { isFailureTold = true }
        return !isFailureTold
    }

    /// Whether the caller is the one to try again in the background.
    mutating func beginRetrying() -> Bool {
        defer { isRetrying = true }
        return !isRetrying
    }

    /// Whether the caller need not try again, as the suite is there or was refused.
    mutating func endRetrying() -> Bool {
        isRetrying = failure.map { !$0.error.isVerdict } ?? false
        return !isRetrying
    }
}

/// Having the suite there.
extension AdapterCore {
    /// Whether the suite is loaded and followed.
    var isLoaded: Bool { loaded.load(ordering: .acquiring) }

    /// Has the suite loaded and followed. The first caller does it, others wait for that.
    ///
    /// - Parameter moment: since when the caller waits, if they insist: they try though it failed before that. All who
    ///   wait while it fails share the failure.
    func load(unlessFailedSince moment: ContinuousClock.Instant? = nil) throws(DefaultsError) {
        do throws(BackendError) {
            // It may ask, and report: nothing is locked meanwhile.
            if try becomeLoaded(unlessFailedSince: moment) { beginObserving() }
        } catch {
            throw DefaultsError(error)
        }
    }

    /// The same after a write that was acknowledged: not before it, as the backend may take writes that it cannot send yet,
    /// and whoever writes would wait twice for somebody who does not answer. Here the gate of a key may be held, so those who
    /// observe begin a little later.
    func loadAfterWriting() {
        guard !isLoaded, (try? becomeLoaded(unlessFailedSince: .now)) == true else { return }
        retrying.async { [weak self] in self?.beginObserving() }
    }

    /// True if it was the caller who had to do it.
    private func becomeLoaded(unlessFailedSince moment: ContinuousClock.Instant?) throws(BackendError) -> Bool {
        guard !isLoaded else { return false }
        if let error = obstacle(since: moment) { throw error }
        return try attempting.withLock { _ throws(BackendError) in
            guard !isLoaded else { return false }
            if let error = obstacle(since: moment) { throw error }
            try attemptToLoad()
            return true
        }
    }

    /// The same for somebody who wants one key. It need not be loaded where the program's own writes say what is there.
    func load(
        for key: KeyName, unlessFailedSince moment: ContinuousClock.Instant? = nil
    ) throws(DefaultsError) {
        do {
            try load(unlessFailedSince: moment)
        } catch {
            guard replica.isKnown(key) else { throw error }
        }
    }

    private func obstacle(since moment: ContinuousClock.Instant?) -> BackendError? {
        loading.withLock { $0.obstacle(since: moment) }
    }

    private func attemptToLoad() throws(BackendError) {
        let state: ObservedState
        do throws(BackendError) {
            state = try beginning()
        } catch {
            loading.withLock { $0.fail(error) }
            if !error.isVerdict, loading.withLock({ $0.beginRetrying() }) { retryLater(after: BackOff()) }
            throw error
        }
        replica.apply(.state(state))
        let following = backend.follow(from: state.cursor) { [weak replica, absence] observation in
            guard let replica else { return }
            replica.apply(observation)
            absence.end(in: replica, isWhole: !observation.isPartial)
        }
        loading.withLock { $0.succeed(following) }
        loaded.store(true, ordering: .releasing)
    }

    /// The suite as it is, or else as it was known last.
    private func beginning() throws(BackendError) -> ObservedState {
        do {
            return try backend.load()
        } catch {
            guard !error.isVerdict, let state = backend.lastKnown() else { throw error }
            absence.beginStale()
            return state
        }
    }

    /// Tries again from time to time, until somebody answers: whoever reads or writes meanwhile is not held up.
    private func retryLater(after backOff: BackOff) {
        var backOff = backOff
        var generator = SystemRandomNumberGenerator()
        let pause = backOff.next(using: &generator)
        retrying.asyncAfter(deadline: .after(pause)) { [weak self, backOff] in
            guard let self else { return }
            try? load(unlessFailedSince: .now)
            if !loading.withLock({ $0.endRetrying() }) { retryLater(after: backOff) }
        }
    }

    /// Reports that something could not be read; that the suite could not be loaded, once for each time that was tried.
    func reportUnread(_ error: DefaultsError, _ key: String?) {
        if loading.withLock({ $0.isToBeTold(error) }) { report(error, key, .read) }
    }
}
