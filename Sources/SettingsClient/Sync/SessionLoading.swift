internal import Dispatch
internal import SettingsAPI
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// The part of a session's state that says whether the suite is loaded and confirmed.
struct Loading: Sendable {
    var following: (any Following)?
    /// True if the replica comes from the cache, and the server has not confirmed it.
    var isStale = false
    /// Work that waits for the server to confirm the replica, with its key.
    var deferred: [(key: KeyName, body: @Sendable () -> Void)] = []
    /// The failure of the last attempt.
    private var failure: (error: BackendError, moment: ContinuousClock.Instant)?
    /// True if a getter has reported that failure.
    private var isFailureReported = false
    /// True if the suite is to be loaded as soon as possible, even after a refusal.
    private var isWanted = false
    /// True if an attempt is planned.
    private var isRetrying = false

    /// How long getters do not try again after the server refused the suite.
    private static let pauseAfterRefusal = Duration.seconds(1)

    /// Returns the error to throw instead of trying; nil to try. After a timeout only the background retries.
    ///
    /// - Parameter moment: the time from which a caller waits that insists: it tries unless an attempt has failed since.
    func obstacle(since moment: ContinuousClock.Instant?) -> BackendError? {
        guard let failure else { return nil }
        if let moment { return failure.moment >= moment ? failure.error : nil }
        if failure.error.isVerdict, failure.moment + Self.pauseAfterRefusal <= .now { return nil }
        return failure.error
    }

    /// Notes that an attempt failed. True if the caller is to plan another one.
    mutating func fail(_ error: BackendError) -> Bool {
        failure = (error, .now)
        isFailureReported = false
        return needsRetry()
    }

    mutating func succeed(_ following: any Following) {
        self.following = following
        failure = nil
        isWanted = false
    }

    /// Has the suite loaded as soon as possible. True if the caller is to plan an attempt.
    mutating func want() -> Bool {
        isWanted = failure != nil
        return needsRetry()
    }

    private mutating func needsRetry() -> Bool {
        guard !isRetrying, let failure, isWanted || !failure.error.isVerdict else { return false }
        isRetrying = true
        return true
    }

    /// Notes that a planned attempt was made. True if the caller is to plan another one.
    mutating func retried() -> Bool {
        isRetrying = false
        return needsRetry()
    }

    /// True if an error is to be reported: each failure once, as a program reads far more often.
    mutating func isToBeReported(_ error: DefaultsError) -> Bool {
        guard let failure, DefaultsError(failure.error) == error else { return true }
        defer { isFailureReported = true }
        return !isFailureReported
    }
}

/// Loading the suite, and following it from there.
extension SuiteSession {
    /// True if the suite is loaded and followed.
    var isLoaded: Bool { loaded.load(ordering: .acquiring) }

    /// True if the replica comes from the cache, and the server has not confirmed it.
    var isStale: Bool { state.withLock { $0.loading.isStale } }

    /// Loads and follows the suite. The first caller does it, others wait for that.
    ///
    /// - Parameters:
    ///   - key: the one key that the caller wants. A failure does not matter if the program's own writes determine it.
    ///   - moment: the time from which a caller waits that insists: it tries even if an attempt failed before that. All
    ///     callers that wait while an attempt fails share its failure.
    func load(for key: KeyName? = nil, unlessFailedSince moment: ContinuousClock.Instant? = nil) throws(BackendError) {
        do {
            if try becomeLoaded(unlessFailedSince: moment) { letObserversBegin() }
        } catch {
            guard let key, isKnown(key) else { throw error }
        }
    }

    /// Loads the suite after an acknowledged write. Before it, a caller would wait twice while the server is away. Observers
    /// begin later, on a queue, as the calling thread may have the turn of a key.
    func loadAfterWriting() {
        guard !isLoaded, (try? becomeLoaded(unlessFailedSince: .now)) == true else { return }
        retrying.async { [weak self] in self?.letObserversBegin() }
    }

    /// Has the suite loaded as soon as possible, for observers that wait for it.
    func loadWhenPossible() {
        if state.withLock({ $0.loading.want() }) { retryLater(after: BackOff()) }
    }

    /// True if this call has loaded it.
    private func becomeLoaded(unlessFailedSince moment: ContinuousClock.Instant?) throws(BackendError) -> Bool {
        guard !isLoaded else { return false }
        if let error = obstacle(since: moment) { throw error }
        let isLoading = BackendError.unreachable("the suite is being loaded", outcome: .notDone)
        return try loadingTurn.take(orThrow: isLoading) { () throws(BackendError) in
            guard !isLoaded else { return false }
            if let error = obstacle(since: moment) { throw error }
            try attemptToLoad()
            return true
        }
    }

    private func obstacle(since moment: ContinuousClock.Instant?) -> BackendError? {
        state.withLock { $0.loading.obstacle(since: moment) }
    }

    private func attemptToLoad() throws(BackendError) {
        let beginning: ObservedState
        do throws(BackendError) {
            beginning = try loadOrRestore()
        } catch {
            if state.withLock({ $0.loading.fail(error) }) { retryLater(after: BackOff()) }
            throw error
        }
        let following = backend.follow(
            from: beginning.cursor, onTrouble: { [weak self] in self?.report(DefaultsError($0), nil, .read) }
        ) { [weak self] observation in
            guard let self else { return }
            noteAnswer()
            apply(observation)
            if !observation.isPartial { confirm() }
        }
        state.withLock { $0.loading.succeed(following) }
        loaded.store(true, ordering: .releasing)
    }

    /// Takes in the suite from the server, or else from the cache.
    private func loadOrRestore() throws(BackendError) -> ObservedState {
        adoptOrphans()
        do {
            let beginning = try read { () throws(BackendError) in try backend.load() }
            apply(.state(beginning))
            return beginning
        } catch {
            guard !error.isVerdict, let beginning = cache?.read() else { throw error }
            mutate { state in
                state.replica.adopt(beginning)
                state.saving.savedVersion = state.replica.version
                state.loading.isStale = true
            }
            return beginning
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
            if state.withLock({ $0.loading.retried() }) { retryLater(after: backOff) }
        }
    }

    /// True if an error of loading has not been reported since the attempt that caused it.
    func isToBeReported(_ error: DefaultsError) -> Bool {
        state.withLock { $0.loading.isToBeReported(error) }
    }

    /// Runs a body once the server has confirmed the replica, and has readers of the key look again then.
    func whenConfirmed(_ key: KeyName, _ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.loading.deferred.append((key, body)) }
    }

    /// Notes that the replica is what the server has.
    private func confirm() {
        let deferred = state.withLock { state in
            state.loading.isStale = false
            defer { state.loading.deferred = [] }
            return state.loading.deferred
        }
        guard !deferred.isEmpty else { return }
        for (_, body) in deferred { body() }
        change { $0.touch(deferred.map(\.key)) }
    }
}

/// Asking the server, on the calling thread.
extension SuiteSession {
    /// Asks for one setting, with what a state does not tell: its source and its revision.
    ///
    /// - Parameter isNewest: true to take the answer in even if the replica knows the setting as of the same revision.
    func ask(for key: KeyName, isNewest: Bool = true) throws(BackendError) -> SettingState {
        let setting = try read { () throws(BackendError) in try backend.setting(key) }
        change { $0.learn(setting, fromRefusal: isNewest) }
        return setting
    }

    /// True if there was no answer a moment ago, so plain getters do not ask.
    var isPaused: Bool { state.withLock { $0.availability.isAway() } }

    /// Sends the writes that are kept, and brings the replica to where the server is, by every change that leads there:
    /// observers miss none.
    func synchronize(since moment: ContinuousClock.Instant = .now) throws(BackendError) {
        try load(unlessFailedSince: moment)
        try sendKept()
        try catchUp()
        confirm()
    }

    /// Brings the replica up to date.
    func catchUp() throws(BackendError) {
        var hasMore = true
        while hasMore, let place = cursor {
            let news = try read { () throws(BackendError) in try backend.news(since: place) }
            apply(news)
            hasMore = news.isPartial
            if hasMore, cursor == place {
                throw .unreachable("the daemon says that there are more changes, and does not tell them")
            }
        }
    }

    /// Has the follower bring the replica up to date soon.
    func refresh() {
        state.withLock { $0.loading.following }?.refresh()
    }

    /// Runs a request that reads, and notes if there was an answer.
    func read<Value>(_ request: () throws(BackendError) -> Value) throws(BackendError) -> Value {
        do {
            let value = try request()
            noteAnswer()
            return value
        } catch {
            if error.isVerdict { noteAnswer() } else { noteSilence() }
            throw error
        }
    }

    /// Notes an answer. If the server was away, kept writes are sent at once.
    func noteAnswer(toWrite isWrite: Bool = false) {
        let plan = state.withLock { state in
            state.availability.noteAnswer(toWrite: isWrite) ? state.sending.planNext(isUrgent: true) : nil
        }
        if let plan { startSending(plan) }
    }

    /// Notes that a read had no answer. While writes are refused, their answers say more.
    private func noteSilence() {
        var generator = SystemRandomNumberGenerator()
        state.withLock { state in
            if case .refusing = state.availability.phase { return }
            _ = state.availability.noteFailure(isAnswer: false, using: &generator)
        }
    }
}

extension SettingsObservation {
    /// True if more has happened than this tells.
    var isPartial: Bool {
        if case .changes(let changes) = self { changes.hasMore } else { false }
    }
}
