internal import SettingsAPI
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// The part of a session's state that says whether the suite is loaded, and whether the daemon has confirmed the
/// replica.
struct LoadingState: Sendable {
    typealias Attempt = Promise<Result<Void, BackendError>>

    private enum Phase: Sendable {
        case idle
        case attempting(Attempt)
        /// The loading task waits before the next attempt.
        case pausing(Promise<Void>, next: Attempt)
        case loaded
    }

    /// The next step of a caller that needs the suite.
    enum Step: Sendable {
        case loaded
        case failed(BackendError)
        /// The caller waits for the attempt. `mustStart` is true if the caller has to start the loading task.
        /// `isRunning` is true if the attempt has begun before.
        case wait(Attempt, mustStart: Bool, isRunning: Bool = false)
    }

    private var phase = Phase.idle
    var subscription: (any BackendSubscription)?
    /// True if the replica is from the cache file, and the daemon has not confirmed it.
    var isStale = false
    /// How often the daemon has confirmed the replica.
    var confirmations = 0
    /// Functions that are called when the daemon has confirmed the replica the next time.
    var onConfirmed: [@Sendable () -> Void] = []
    /// The last failed attempt. Nil if no attempt has failed, or after a success.
    private var failure: (error: BackendError, moment: ContinuousClock.Instant)?
    private var isFailureReported = false
    /// True if observers wait for the suite. The loading task then continues even after a refusal.
    private var hasWaitingObservers = false

    /// The time after a refusal during which a getter gets the error of the refusal and makes no attempt.
    private static let pauseAfterRefusal = Duration.seconds(1)

    var isLoaded: Bool { if case .loaded = phase { true } else { false } }

    /// The pause of the loading task. Another thread ends the pause by fulfilling the promise.
    var pause: Promise<Void>? { if case .pausing(let pause, _) = phase { pause } else { nil } }

    /// Returns the next step of a caller.
    ///
    /// - Parameter needsNewAttempt: true if the caller needs a new attempt after a failure. Otherwise the caller gets
    ///   the error of the failed attempt during the pause after the failure.
    mutating func nextStep(needsNewAttempt: Bool, at now: ContinuousClock.Instant) -> Step {
        switch phase {
        case .loaded: return .loaded
        case .attempting(let attempt): return .wait(attempt, mustStart: false, isRunning: true)
        case .pausing(let pause, let next):
            guard needsNewAttempt else { return failure.map { .failed($0.error) } ?? .wait(next, mustStart: false) }
            pause.fulfill(())
            return .wait(next, mustStart: false)
        case .idle:
            if !needsNewAttempt, let failure, failure.moment + Self.pauseAfterRefusal > now {
                return .failed(failure.error)
            }
            let attempt = Attempt()
            phase = .attempting(attempt)
            return .wait(attempt, mustStart: true)
        }
    }

    /// Requests the suite for observers. Returns true if the caller has to start the loading task.
    mutating func requestForObservers(at now: ContinuousClock.Instant) -> Bool {
        hasWaitingObservers = true
        if case .wait(_, let mustStart, _) = nextStep(needsNewAttempt: false, at: now) { return mustStart }
        guard case .idle = phase else { return false }
        phase = .attempting(Attempt())
        return true
    }

    /// Ends the attempt successfully. Returns its promise.
    mutating func endAttempt(_ subscription: any BackendSubscription) -> Attempt? {
        self.subscription = subscription
        failure = nil
        hasWaitingObservers = false
        defer { phase = .loaded }
        return attempt
    }

    /// Ends the attempt with an error. Returns its promise and the pause before the next attempt. The pause is nil if
    /// there is no next attempt.
    mutating func endAttempt(with error: BackendError, at now: ContinuousClock.Instant) -> (
        Attempt?, pause: Promise<Void>?
    ) {
        failure = (error, now)
        isFailureReported = false
        let attempt = attempt
        guard hasWaitingObservers || !error.isFinal else {
            phase = .idle
            return (attempt, nil)
        }
        let pause = Promise<Void>()
        phase = .pausing(pause, next: Attempt())
        return (attempt, pause)
    }

    /// Begins the next attempt.
    mutating func endPause() {
        if case .pausing(_, let next) = phase { phase = .attempting(next) }
    }

    /// Records that the loading task ends without another attempt, because the adapter was released. Returns the
    /// promise of the attempt that callers wait for.
    mutating func stop() -> Attempt? {
        defer { phase = .idle }
        if case .pausing(_, let next) = phase { return next }
        return attempt
    }

    private var attempt: Attempt? { if case .attempting(let attempt) = phase { attempt } else { nil } }

    /// Returns true if an error must be reported. The error of a failed attempt is reported once, although many reads
    /// return this error.
    mutating func mustReport(_ error: DefaultsError) -> Bool {
        guard let failure, DefaultsError(failure.error) == error else { return true }
        defer { isFailureReported = true }
        return !isFailureReported
    }
}

/// The load of the suite, and the subscription to its changes.
extension SuiteSession {
    /// True if the suite is loaded and the session follows its changes.
    var isLoaded: Bool { loaded.load(ordering: .acquiring) }

    /// True if the replica is from the cache file, and the daemon has not confirmed it.
    var isStale: Bool { state.withLock { $0.loading.isStale } }

    /// Loads the suite, and blocks the calling thread until it is loaded or the attempt fails.
    ///
    /// - Parameter key: the key that the caller reads. If the session knows the value of the key, the call does not
    ///   wait.
    func load(for key: KeyName? = nil, until deadline: ContinuousClock.Instant) throws(BackendError) {
        guard !isLoaded else { return }
        guard !ClientThread.shared.isCurrent else {
            throw .unreachable(
                "the conversion of a value cannot load a suite; load the suite before the conversion, with ready()",
                outcome: .notDone)
        }
        openOutbox()
        if let key, isKnown(key) {
            startLoading()
            return
        }
        switch nextStep(needsNewAttempt: false) {
        case .loaded: return
        case .failed(let error): throw error
        case .wait(let attempt, _, _):
            guard let result = attempt.wait(until: deadline) else { throw .timedOut }
            try result.get()
        }
    }

    /// Loads the suite without blocking a thread. Ends the pause after a failed attempt.
    nonisolated(nonsending) func load(until deadline: ContinuousClock.Instant? = nil) async throws(BackendError) {
        guard !isLoaded else { return }
        guard case .wait(let attempt, _, let isRunning) = nextStep(needsNewAttempt: true) else { return }
        guard let result = await attempt.value(until: deadline) else { throw Task.isCancelled ? .cancelled : .timedOut }
        // An attempt that began before the call may have failed because of an earlier outage, so the call makes a
        // second attempt.
        guard case .failure = result, isRunning, case .wait(let next, _, _) = nextStep(needsNewAttempt: true) else {
            return try result.get()
        }
        guard let result = await next.value(until: deadline) else { throw Task.isCancelled ? .cancelled : .timedOut }
        try result.get()
    }

    /// Starts loading in the background, unless the suite is loaded or the session pauses after a failed attempt.
    func startLoading() {
        if !isLoaded { _ = nextStep(needsNewAttempt: false) }
    }

    /// Loads the suite in the background for observers. Repeats a failed attempt, even after a refusal.
    func loadForObservers() {
        if state.withLock({ $0.loading.requestForObservers(at: options.clock.now) }) {
            startTask { await self.loadUntilSuccess() }
        }
    }

    private func nextStep(needsNewAttempt: Bool) -> LoadingState.Step {
        let step = state.withLock { $0.loading.nextStep(needsNewAttempt: needsNewAttempt, at: options.clock.now) }
        if case .wait(_, mustStart: true, _) = step { startTask { await self.loadUntilSuccess() } }
        return step
    }

    /// Makes attempts until an attempt succeeds, the daemon refuses the suite and no observers wait for the suite, or
    /// the adapter is released. Runs on the client thread.
    private func loadUntilSuccess() async {
        var backOff = BackOff()
        var generator = SystemRandomNumberGenerator()
        while true {
            do throws(BackendError) {
                let subscription = try await loadAndFollow()
                let attempt = state.withLock { $0.loading.endAttempt(subscription) }
                loaded.store(true, ordering: .releasing)
                attempt?.fulfill(.success(()))
                startWaitingObservers()
                trackHandlers()
                if state.withLock({ $0.isClosed }) { subscription.stop() }
                return
            } catch {
                let (attempt, pause) = state.withLock { $0.loading.endAttempt(with: error, at: options.clock.now) }
                attempt?.fulfill(.failure(error))
                guard let pause else { return }
                let clock = options.clock
                await clock.wait(for: pause, until: clock.now + backOff.next(using: &generator))
                let isClosed = state.withLock { $0.isClosed }
                guard !isClosed else {
                    state.withLock { $0.loading.stop() }?.fulfill(.failure(error))
                    return
                }
                state.withLock { $0.loading.endPause() }
            }
        }
    }

    /// Loads the suite and subscribes to its changes. If the daemon does not answer, loads the suite from the cache
    /// file.
    private func loadAndFollow() async throws(BackendError) -> any BackendSubscription {
        openOutbox()
        let firstState: ObservedState
        do {
            firstState = try await loadState()
            // The first read of each key compares the key with the schema, and must not wait for the schema.
            if let cursor = schemaCursor { _ = try? await fetchSchema(at: cursor) }
        } catch {
            guard !error.isFinal, let cached = cache?.read() else { throw error }
            mutate { state in
                state.replica.adopt(cached)
                state.applying.recordChange(at: state.replica.cursor)
                state.saving.savedVersion = state.replica.version
                state.loading.isStale = true
            }
            firstState = cached
        }
        return backend.follow(
            from: firstState.cursor, onFailure: { [weak self] in self?.report(DefaultsError($0), nil, .read) }
        ) { [weak self] observation in
            guard let self else { return }
            recordAnswer()
            apply(observation)
            if !observation.isPartial { markConfirmed() }
        }
    }

    /// Loads the suite from the daemon, while the sending task sends no writes. Otherwise the loaded state could
    /// contain the effect of a write that the client then applies again (see ``holdSending()``).
    private func loadState() async throws(BackendError) -> ObservedState {
        defer { resumeSending() }
        let hasAttemptFailed = await !holdSending()
        var loaded = try await read { () async throws(BackendError) in try await backend.load() }
        if hasAttemptFailed {
            // The attempt to send the first write of the queue had failed, but then the daemon answered the load. So
            // the daemon can probably answer the write now. The suite is loaded again after the answer to the write.
            _ = await holdSending()
            loaded = try await read { () async throws(BackendError) in try await backend.load() }
        }
        apply(.state(loaded))
        return loaded
    }

    /// Returns true if an error must be reported. The error of a failed attempt to load is reported once.
    func mustReport(_ error: DefaultsError) -> Bool {
        state.withLock { $0.loading.mustReport(error) }
    }

    /// How often the daemon has confirmed the replica.
    var confirmations: Int { state.withLock { $0.loading.confirmations } }

    /// Calls a function as soon as the daemon has confirmed the replica more often than `number` times.
    func whenConfirmed(after number: Int, _ body: @escaping @Sendable () -> Void) {
        let isConfirmed = state.withLock { state in
            let isConfirmed = state.loading.confirmations > number
            if !isConfirmed { state.loading.onConfirmed.append(body) }
            return isConfirmed
        }
        if isConfirmed { callThenInvalidateAllKeys([body]) }
    }

    /// Records that the daemon has confirmed the replica, and calls the waiting functions.
    private func markConfirmed() {
        let functions = state.withLock { state in
            state.loading.isStale = false
            state.loading.confirmations += 1
            defer { state.loading.onConfirmed = [] }
            return state.loading.onConfirmed
        }
        callThenInvalidateAllKeys(functions)
    }

    /// Calls functions that may allow another attempt to move the value of a renamed key. The next read of the key
    /// makes the attempt, so no read may use a cached value.
    private func callThenInvalidateAllKeys(_ functions: [@Sendable () -> Void]) {
        guard !functions.isEmpty else { return }
        for function in functions { function() }
        change { $0.invalidateAllKeys() }
    }
}

extension SuiteSession {
    /// Reads a setting with its source and its revision, which a state of the suite does not contain.
    ///
    /// - Parameter replacesKnownRevision: see ``ReplicaState/record(_:replacesKnownRevision:)``.
    nonisolated(nonsending) func fetch(
        _ key: KeyName, replacesKnownRevision: Bool = true
    ) async throws(BackendError) -> SettingState {
        let setting = try await read { () async throws(BackendError) in try await backend.setting(key) }
        change { $0.record(setting, replacesKnownRevision: replacesKnownRevision) }
        return setting
    }

    /// True during the pause after a request without an answer, or after a temporary refusal of a read. Getters then
    /// send no requests.
    var isPaused: Bool { state.withLock { $0.availability.isUnreachable(at: options.clock.now) } }

    /// Waits until the daemon has answered all writes, and then applies all changes that the replica lacks.
    nonisolated(nonsending) func synchronize(until deadline: ContinuousClock.Instant) async throws(BackendError) {
        try await load(until: deadline)
        try await flush(until: deadline)
        try await catchUp()
        if let cursor = schemaCursor { _ = try? await fetchSchema(at: cursor) }
        markConfirmed()
    }

    /// Reads all changes after the cursor of the replica, and applies them.
    nonisolated(nonsending) func catchUp() async throws(BackendError) {
        var hasMore = true
        while hasMore, let cursor {
            let observation = try await read { () async throws(BackendError) in try await backend.changes(since: cursor)
            }
            apply(observation)
            hasMore = observation.isPartial
            if hasMore, self.cursor == cursor {
                throw .unreachable("the daemon announced more changes, but did not send them")
            }
        }
    }

    /// Asks the follower to update the replica soon.
    func refresh() {
        state.withLock { $0.loading.subscription }?.refresh()
    }

    /// Runs a request that reads, and records whether the daemon is available.
    nonisolated(nonsending) func read<Value>(
        _ request: nonisolated(nonsending) () async throws(BackendError) -> Value
    ) async throws(BackendError) -> Value {
        do {
            let value = try await request()
            recordAnswer()
            return value
        } catch {
            if error.isFinal { recordAnswer() } else if error != .cancelled { recordFailedRead() }
            throw error
        }
    }

    /// Records an answer. If the daemon was unreachable, ends the pause of the sending task. In the phase in which the
    /// daemon refuses writes, an answer to a read has no effect.
    func recordAnswer(toWrite isWrite: Bool = false) {
        let pause = state.withLock { state in
            state.availability.recordAnswer(toWrite: isWrite) ? state.sending.pause : nil
        }
        pause?.fulfill(())
    }

    /// Records that a read had no answer or a temporary refusal. Does nothing in the phase in which the daemon refuses
    /// writes, so that this phase and its pause do not change.
    private func recordFailedRead() {
        var generator = SystemRandomNumberGenerator()
        state.withLock { state in
            if case .refusing = state.availability.phase { return }
            _ = state.availability.recordFailure(isReachable: false, at: options.clock.now, using: &generator)
        }
    }
}

extension SettingsObservation {
    /// True if the daemon has more changes, which the next request returns.
    var isPartial: Bool {
        if case .changes(let changes) = self { changes.hasMore } else { false }
    }
}
