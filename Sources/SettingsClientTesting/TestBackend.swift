internal import SettingsAPI
internal import SettingsClient
internal import SettingsHTTP
internal import SettingsKeys
internal import Synchronization

/// A suite in memory whose requests succeed or fail according to the condition of a ``TestDaemon``.
final class TestBackend: SuiteBackend {
    private struct State {
        var condition = TestDaemon.Condition.available
        var actionsBeforeNextWrite: [@Sendable () -> Void] = []
        /// True while observations are delayed, because the daemon is away, or because the backend is still delivering
        /// earlier observations.
        var delaysObservations = false
        var delayedObservations: [@Sendable () -> Void] = []
    }

    /// The suite that the requests read and change.
    let memory: InMemoryBackend
    let clock: any SessionClock
    private let state = Mutex(State())

    init(_ memory: InMemoryBackend, _ clock: any SessionClock) {
        self.memory = memory
        self.clock = clock
    }

    var suite: SuiteName { memory.suite }

    func setCondition(_ condition: TestDaemon.Condition) {
        let isAway = if case .away = condition { true } else { false }
        state.withLock { state in
            state.condition = condition
            if isAway { state.delaysObservations = true }
        }
        if !isAway { deliverDelayedObservations() }
    }

    /// Calls a function immediately before the backend decides the next write of a client.
    func runBeforeNextWrite(_ action: @escaping @Sendable () -> Void) {
        state.withLock { $0.actionsBeforeNextWrite.append(action) }
    }

    /// Delivers the delayed observations in their order. Observations that arrive during the delivery are delayed, too,
    /// and the method delivers them afterwards.
    private func deliverDelayedObservations() {
        while true {
            let delayed = state.withLock { state -> [@Sendable () -> Void] in
                // The test may have set the condition `away` again.
                if case .away = state.condition { return [] }
                if state.delayedObservations.isEmpty { state.delaysObservations = false }
                defer { state.delayedObservations = [] }
                return state.delayedObservations
            }
            if delayed.isEmpty { return }
            for deliver in delayed { deliver() }
        }
    }

    /// Answers a request according to the condition of the daemon.
    private func request<Value>(
        isWrite: Bool = false, _ answer: () throws(BackendError) -> Value
    ) async throws(BackendError) -> Value {
        switch state.withLock({ $0.condition }) {
        case .available: break
        case .away: throw .unreachable("the test daemon is away", outcome: .notDone)
        // No event fulfills this promise, so the wait takes the whole delay.
        case .slow(let delay): await clock.wait(for: Promise(), until: clock.now + delay)
        case .refusing(let code, let text, let includesReads):
            if isWrite || includesReads { throw .refused(Problem(code, text)) }
        }
        if isWrite {
            let actions = state.withLock { state in
                defer { state.actionsBeforeNextWrite = [] }
                return state.actionsBeforeNextWrite
            }
            for action in actions { action() }
        }
        return try answer()
    }

    func load() async throws(BackendError) -> ObservedState {
        try await request { () throws(BackendError) in try memory.load() }
    }

    func setting(_ key: KeyName) async throws(BackendError) -> SettingState {
        try await request { () throws(BackendError) in try memory.setting(key) }
    }

    func write(_ change: PendingChange) async throws(BackendError) -> WriteSummary {
        try await request(isWrite: true) { () throws(BackendError) in try memory.write(change) }
    }

    func schema() async throws(BackendError) -> SchemaDocument? {
        try await request { () throws(BackendError) in try memory.schema() }
    }

    func setSchema(
        _ document: JSONValue, onConflict policy: ConflictPolicy, requestKey: RequestKey
    ) async throws(BackendError) -> WriteSummary {
        try await request(isWrite: true) { () throws(BackendError) in
            try memory.setSchema(document, onConflict: policy, requestKey: requestKey)
        }
    }

    func changes(since cursor: Cursor) async throws(BackendError) -> SettingsObservation {
        try await request { () throws(BackendError) in try memory.changes(since: cursor) }
    }

    func send<Output>(_ call: DirectRequest<Output>) async throws(BackendError) -> Output {
        try await request(isWrite: call.isWrite) { () throws(BackendError) in try memory.send(call) }
    }

    func follow(
        from cursor: Cursor, onFailure: @escaping @Sendable (BackendError) -> Void,
        _ handler: @escaping @Sendable (SettingsObservation) -> Void
    ) -> any BackendSubscription {
        memory.follow(from: cursor, onFailure: onFailure) { [weak self] observation in
            let isDelayed = self?.state.withLock { state in
                if state.delaysObservations { state.delayedObservations.append { handler(observation) } }
                return state.delaysObservations
            }
            if isDelayed != true { handler(observation) }
        }
    }
}
