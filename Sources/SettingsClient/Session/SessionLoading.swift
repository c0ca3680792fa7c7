internal import SettingsAPI
internal import SettingsHTTP
internal import SettingsModel
internal import Synchronization

/// The part of a session's state that says whether the suite is loaded, and whether the daemon has confirmed the replica.
struct Loading: Sendable {
    typealias Attempt = Promise<Result<Void, BackendError>>

    private enum Phase: Sendable {
        /// No task loads the suite.
        case idle
        /// A task loads the suite.
        case attempting(Attempt)
        /// The task waits before the attempt.
        case pausing(Promise<Void>, next: Attempt)
        case loaded
    }

    /// The next step of a caller that needs the suite.
    enum Step: Sendable {
        case loaded
        case failed(BackendError)
        /// The caller waits for the attempt. `isRunning` is true if the attempt began before.
        case wait(Attempt, mustStart: Bool, isRunning: Bool = false)
    }

    private var phase = Phase.idle
    var following: (any Following)?
    /// True if the replica comes from the cache, and the daemon has not confirmed it.
    var isStale = false
    /// Functions that wait until the daemon confirms the replica.
    var onConfirmed: [@Sendable () -> Void] = []
    /// The failure of the last attempt.
    private var failure: (error: BackendError, moment: ContinuousClock.Instant)?
    /// True if a getter has reported that failure.
    private var isFailureReported = false
    /// True if observers wait for the suite, so that the task goes on even after a refusal.
    private var isWanted = false

    /// How long getters do not try again after the daemon refused the suite.
    private static let pauseAfterRefusal = Duration.seconds(1)

    var isLoaded: Bool { if case .loaded = phase { true } else { false } }

    /// The pause of the task that loads, which another thread can end.
    var pause: Promise<Void>? { if case .pausing(let pause, _) = phase { pause } else { nil } }

    /// Returns the next step of a caller.
    ///
    /// - Parameter insists: true if the caller needs an attempt that ends from now on, not an earlier failure.
    mutating func join(insists: Bool, at now: ContinuousClock.Instant) -> Step {
        switch phase {
        case .loaded: return .loaded
        case .attempting(let attempt): return .wait(attempt, mustStart: false, isRunning: true)
        case .pausing(let pause, let next):
            guard insists else { return failure.map { .failed($0.error) } ?? .wait(next, mustStart: false) }
            pause.fulfill(())
            return .wait(next, mustStart: false)
        case .idle:
            if !insists, let failure, failure.moment + Self.pauseAfterRefusal > now { return .failed(failure.error) }
            let attempt = Attempt()
            phase = .attempting(attempt)
            return .wait(attempt, mustStart: true)
        }
    }

    /// Asks for the suite on behalf of observers. Returns true if the caller has to start the task.
    mutating func want(at now: ContinuousClock.Instant) -> Bool {
        isWanted = true
        if case .wait(_, let mustStart, _) = join(insists: false, at: now) { return mustStart }
        guard case .idle = phase else { return false }
        phase = .attempting(Attempt())
        return true
    }

    /// Ends the attempt without an error. Returns its promise.
    mutating func succeed(_ following: any Following) -> Attempt? {
        self.following = following
        failure = nil
        isWanted = false
        defer { phase = .loaded }
        return attempt
    }

    /// Ends the attempt with an error. Returns its promise, and the pause before the next attempt if there is one.
    mutating func fail(_ error: BackendError, at now: ContinuousClock.Instant) -> (Attempt?, pause: Promise<Void>?) {
        failure = (error, now)
        isFailureReported = false
        let attempt = attempt
        guard isWanted || !error.isFinal else {
            phase = .idle
            return (attempt, nil)
        }
        let pause = Promise<Void>()
        phase = .pausing(pause, next: Attempt())
        return (attempt, pause)
    }

    /// Begins the attempt after a pause.
    mutating func endPause() {
        if case .pausing(_, let next) = phase { phase = .attempting(next) }
    }

    /// Ends the task without another attempt, because the adapter is gone.
    mutating func stop() -> Attempt? {
        defer { phase = .idle }
        if case .pausing(_, let next) = phase { return next }
        return attempt
    }

    private var attempt: Attempt? { if case .attempting(let attempt) = phase { attempt } else { nil } }

    /// Returns true if an error is to be reported. A program reads far more often than attempts fail, so each failure is
    /// reported once.
    mutating func isNews(_ error: DefaultsError) -> Bool {
        guard let failure, DefaultsError(failure.error) == error else { return true }
        defer { isFailureReported = true }
        return !isFailureReported
    }
}

/// Loading the suite, and following it from there.
extension SuiteSession {
    /// True if the suite is loaded and followed.
    var isLoaded: Bool { loaded.load(ordering: .acquiring) }

    /// True if the replica comes from the cache, and the daemon has not confirmed it.
    var isStale: Bool { state.withLock { $0.loading.isStale } }

    /// Loads the suite, and blocks the calling thread until it is loaded or the attempt fails.
    ///
    /// - Parameter key: the key that the caller reads. A failure does not matter if the program's own writes determine it.
    func load(for key: KeyName? = nil, until deadline: ContinuousClock.Instant) throws(BackendError) {
        guard !isLoaded else { return }
        guard !ClientThread.shared.isCurrent else { throw .unreachable("the suite is being loaded", outcome: .notDone) }
        openOutbox()
        if let key, isKnown(key) {
            startLoading()
            return
        }
        switch join(insists: false) {
        case .loaded: return
        case .failed(let error): throw error
        case .wait(let attempt, _, _):
            guard let result = attempt.wait(until: deadline) else { throw .timedOut }
            try result.get()
        }
    }

    /// Loads the suite without blocking a thread. Begins an attempt even if an earlier attempt failed just before.
    nonisolated(nonsending) func load(until deadline: ContinuousClock.Instant? = nil) async throws(BackendError) {
        guard !isLoaded else { return }
        guard case .wait(let attempt, _, let isRunning) = join(insists: true) else { return }
        guard let result = await attempt.value(until: deadline) else { throw Task.isCancelled ? .cancelled : .timedOut }
        // An attempt that began before the call may have failed because of an earlier outage.
        guard case .failure = result, isRunning, case .wait(let next, _, _) = join(insists: true) else {
            return try result.get()
        }
        guard let result = await next.value(until: deadline) else { throw Task.isCancelled ? .cancelled : .timedOut }
        try result.get()
    }

    /// Starts loading in the background, unless the suite is loaded or an attempt failed just before.
    func startLoading() {
        if !isLoaded { _ = join(insists: false) }
    }

    /// Loads the suite in the background until that succeeds, for observers that wait for it.
    func loadForObservers() {
        if state.withLock({ $0.loading.want(at: options.clock.now) }) { startTask { await self.loadUntilSuccess() } }
    }

    private func join(insists: Bool) -> Loading.Step {
        let step = state.withLock { $0.loading.join(insists: insists, at: options.clock.now) }
        if case .wait(_, mustStart: true, _) = step { startTask { await self.loadUntilSuccess() } }
        return step
    }

    /// Makes attempts until one succeeds, the daemon refuses the suite, or the adapter is gone. Runs on the client thread.
    private func loadUntilSuccess() async {
        var backOff = BackOff()
        var generator = SystemRandomNumberGenerator()
        while true {
            do throws(BackendError) {
                let following = try await loadAndFollow()
                let attempt = state.withLock { $0.loading.succeed(following) }
                loaded.store(true, ordering: .releasing)
                attempt?.fulfill(.success(()))
                startWaitingObservers()
                if state.withLock({ $0.hasLeft }) { following.stop() }
                return
            } catch {
                let (attempt, pause) = state.withLock { $0.loading.fail(error, at: options.clock.now) }
                attempt?.fulfill(.failure(error))
                guard let pause else { return }
                let clock = options.clock
                await clock.wait(for: pause, until: clock.now + backOff.next(using: &generator))
                let isOver = state.withLock { $0.hasLeft }
                guard !isOver else {
                    state.withLock { $0.loading.stop() }?.fulfill(.failure(error))
                    return
                }
                state.withLock { $0.loading.endPause() }
            }
        }
    }

    private func loadAndFollow() async throws(BackendError) -> any Following {
        openOutbox()
        let beginning: ObservedState
        do {
            beginning = try await loadState()
            // Each key is compared with the schema at its first read.
            if let place = schema { _ = try? await fetchSchema(at: place) }
        } catch {
            guard !error.isFinal, let cached = cache?.read() else { throw error }
            mutate { state in
                state.replica.adopt(cached)
                state.saving.savedVersion = state.replica.version
                state.loading.isStale = true
            }
            beginning = cached
        }
        return backend.follow(
            from: beginning.cursor, onTrouble: { [weak self] in self?.report(DefaultsError($0), nil, .read) }
        ) { [weak self] observation in
            guard let self else { return }
            noteAnswer()
            apply(observation)
            if !observation.isPartial { confirm() }
        }
    }

    private func loadState() async throws(BackendError) -> ObservedState {
        defer { resumeSending() }
        let isFirstWriteAnswered = await holdSending()
        var loaded = try await read { () async throws(BackendError) in try await backend.load() }
        if !isFirstWriteAnswered {
            // The daemon may have come back between the two requests. Then it can answer the write now.
            _ = await holdSending()
            loaded = try await read { () async throws(BackendError) in try await backend.load() }
        }
        apply(.state(loaded))
        return loaded
    }

    /// Returns true if an error of loading has not been reported since the attempt that caused it.
    func isNews(_ error: DefaultsError) -> Bool {
        state.withLock { $0.loading.isNews(error) }
    }

    /// Calls a function once the daemon has confirmed the replica.
    func whenConfirmed(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.loading.onConfirmed.append(body) }
    }

    /// Notes that the replica is the state of the daemon.
    private func confirm() {
        let functions = state.withLock { state in
            state.loading.isStale = false
            defer { state.loading.onConfirmed = [] }
            return state.loading.onConfirmed
        }
        guard !functions.isEmpty else { return }
        for function in functions { function() }
        // Cached readings do not try what was waited for.
        change { $0.touchAllKeys() }
    }
}

/// Requests that read.
extension SuiteSession {
    /// Reads one setting with its source and its revision, which a state does not contain.
    ///
    /// - Parameter isNewest: true to take the answer over even if the replica has the setting at the same revision.
    nonisolated(nonsending) func fetch(
        _ key: KeyName, isNewest: Bool = true
    ) async throws(BackendError) -> SettingState {
        let setting = try await read { () async throws(BackendError) in try await backend.setting(key) }
        change { $0.learn(setting, fromRefusal: isNewest) }
        return setting
    }

    /// True if the daemon did not answer a moment ago. Getters then make no requests.
    var isPaused: Bool { state.withLock { $0.availability.isAway(at: options.clock.now) } }

    /// Waits until the daemon has all writes, and brings the replica up to date with every change in between.
    nonisolated(nonsending) func synchronize(until deadline: ContinuousClock.Instant) async throws(BackendError) {
        try await load(until: deadline)
        try await flush(until: deadline)
        try await catchUp()
        if let place = schema { _ = try? await fetchSchema(at: place) }
        confirm()
    }

    /// Brings the replica up to date.
    nonisolated(nonsending) func catchUp() async throws(BackendError) {
        var hasMore = true
        while hasMore, let place = cursor {
            let news = try await read { () async throws(BackendError) in try await backend.news(since: place) }
            apply(news)
            hasMore = news.isPartial
            if hasMore, cursor == place {
                throw .unreachable("the daemon announces more changes but does not send them")
            }
        }
    }

    /// Lets the follower bring the replica up to date soon.
    func refresh() {
        state.withLock { $0.loading.following }?.refresh()
    }

    /// Runs a request that reads, and notes whether there was an answer.
    nonisolated(nonsending) func read<Value>(
        _ request: nonisolated(nonsending) () async throws(BackendError) -> Value
    ) async throws(BackendError) -> Value {
        do {
            let value = try await request()
            noteAnswer()
            return value
        } catch {
            if error.isFinal { noteAnswer() } else if error != .cancelled { noteSilence() }
            throw error
        }
    }

    /// Notes an answer. If the daemon was away, the queue is sent at once.
    func noteAnswer(toWrite isWrite: Bool = false) {
        let pause = state.withLock { state in
            state.availability.noteAnswer(toWrite: isWrite) ? state.sending.pause : nil
        }
        pause?.fulfill(())
    }

    /// Notes that a read had no answer. While the daemon refuses writes, the answers to writes say more.
    private func noteSilence() {
        var generator = SystemRandomNumberGenerator()
        state.withLock { state in
            if case .refusing = state.availability.phase { return }
            _ = state.availability.noteFailure(isAnswer: false, at: options.clock.now, using: &generator)
        }
    }
}

extension SettingsObservation {
    /// True if more has happened than the observation contains.
    var isPartial: Bool {
        if case .changes(let changes) = self { changes.hasMore } else { false }
    }
}
