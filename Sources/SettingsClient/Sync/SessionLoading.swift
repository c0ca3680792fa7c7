internal import Dispatch
internal import SettingsHTTP
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

/// Loading the suite, and following it from there.
extension SuiteSession {
    /// True if the suite is loaded and followed.
    var isLoaded: Bool { loaded.load(ordering: .acquiring) }

    /// Loads and follows the suite. The first caller does it, others wait for that.
    ///
    /// - Parameter moment: since when the caller waits, if it insists: it tries though an attempt before that failed. All
    ///   callers that wait while an attempt fails share its failure.
    func load(unlessFailedSince moment: ContinuousClock.Instant? = nil) throws(BackendError) {
        // Observers may ask and report as they begin: nothing is locked meanwhile.
        if try becomeLoaded(unlessFailedSince: moment) { observersMayBegin() }
    }

    /// Loads the suite after a write that was acknowledged. Not before it: the write may be kept while the server is away,
    /// and its caller would wait twice. A write to a key may be under way here, so observers begin a little later.
    func loadAfterWriting() {
        guard !isLoaded, (try? becomeLoaded(unlessFailedSince: .now)) == true else { return }
        retrying.async { [weak self] in self?.observersMayBegin() }
    }

    /// Loads the suite for a caller that wants one key. It need not be loaded where the program's own writes say what is
    /// there.
    func load(
        for key: KeyName, unlessFailedSince moment: ContinuousClock.Instant? = nil
    ) throws(BackendError) {
        do {
            try load(unlessFailedSince: moment)
        } catch {
            guard isKnown(key) else { throw error }
        }
    }

    /// True if it was the caller that had to do it.
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
        apply(.state(state))
        let following = backend.follow(from: state.cursor) { [weak self] observation in
            guard let self else { return }
            apply(observation)
            absence.end(in: self, isWhole: !observation.isPartial)
        }
        loading.withLock { $0.succeed(following) }
        loaded.store(true, ordering: .releasing)
    }

    /// The suite as it is, or else as the cache has it.
    private func beginning() throws(BackendError) -> ObservedState {
        do {
            return try backend.load()
        } catch {
            guard !error.isVerdict, let state = backend.lastKnown() else { throw error }
            absence.beginStale()
            return state
        }
    }

    /// Tries again from time to time until the server answers, so that no reader or writer has to.
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

    /// True if an error of loading has not been reported since the attempt that caused it.
    func isToBeReported(_ error: DefaultsError) -> Bool {
        loading.withLock { $0.isToBeTold(error) }
    }
}

/// Asking the server, on the calling thread.
extension SuiteSession {
    /// Asks for one setting, with what a state does not tell: its source and its revision.
    ///
    /// - Parameter isNewest: true if the answer is taken in though the replica knows the setting as of the same place.
    func ask(for key: KeyName, isNewest: Bool = true) throws(BackendError) -> SettingState {
        let setting = try backend.setting(key)
        change { $0.learn(setting, fromRefusal: isNewest) }
        return setting
    }

    /// Sends the writes that are kept, and brings the replica to where the server is, by every change that leads there:
    /// observers miss none.
    func synchronize(since moment: ContinuousClock.Instant = .now) throws(BackendError) {
        try load(unlessFailedSince: moment)
        try backend.sendKept()
        try catchUp()
        absence.end(in: self)
    }

    /// Brings the replica to where the server is.
    func catchUp() throws(BackendError) {
        var hasMore = true
        while hasMore, let place = cursor {
            let news = try backend.news(since: place)
            apply(news)
            hasMore = news.isPartial
            if hasMore, cursor == place {
                throw .unreachable("the daemon says that there are more changes, and does not tell them")
            }
        }
    }

    /// Has the replica brought soon to where the server is.
    func refresh() {
        loading.withLock { $0.following }?.refresh()
    }

    /// Sets the schema, after the writes that are kept.
    func setSchema(_ document: JSONValue, onConflict policy: ConflictPolicy) throws(BackendError) -> WriteSummary {
        try backend.setSchema(document, onConflict: policy, requestKey: requestKeys.next())
    }
}

extension SettingsObservation {
    /// True if more has happened than this tells.
    var isPartial: Bool {
        if case .changes(let changes) = self { changes.hasMore } else { false }
    }
}
