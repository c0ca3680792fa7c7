import Dispatch
import SettingsModel
import Synchronization
import TestSupport

@testable import SettingsClient
@testable import SettingsHTTP

/// A backend that forwards requests to another backend. A test can disconnect the other backend, drop answers, refuse
/// writes and delay notifications. A notification is a call of a handler that was passed to `follow`.
final class FlakyBackend: SuiteBackend {
    /// The result of a request.
    enum Fate: Sendable {
        case answered
        /// The request does not reach the other backend.
        case notSent
        /// The other backend carries out the request, but the caller gets no answer.
        case answerLost
        /// A call of `write` or `setSchema` is refused. Other requests, including each direct request, are answered.
        case refused(Problem)
        /// The request does not reach the other backend. The answer is that the server is unavailable, with this retry
        /// time.
        case unavailable(Duration)
    }

    private struct State {
        var isConnected = true
        var fate: @Sendable () -> Fate = { .answered }
        var delaysNotifications = false
        /// The delayed notifications, in order.
        var delayed: [@Sendable () -> Void] = []
    }

    private let inner: any SuiteBackend
    private let state = Mutex(State())
    /// The queue on which the function of a test decides the result of a request. The function may block.
    private let decisions = DispatchQueue(label: "decisions of a test")
    /// The log has the request key of each answered write, and `!` with the request key for each other write. A write
    /// counts as answered if it succeeds and the caller gets the result. The log omits direct requests that write.
    let log = EventLog()
    /// The request keys of the answered writes, in order.
    var answeredWrites: [String] { log.all.filter { !$0.hasPrefix("!") } }

    /// The directory of the outbox and cache files. The backend retains the directory, because the client saves the
    /// cache file when the adapter of this backend is deallocated.
    private let directory: TemporaryDirectory?

    init(_ inner: any SuiteBackend, retaining directory: TemporaryDirectory? = nil) {
        self.inner = inner
        self.directory = directory
    }

    var suite: SuiteName { inner.suite }

    /// Waits until this number of writes is answered. Returns false after `Deadline.patience` seconds.
    func waitForAnsweredWrites(_ count: Int) -> Bool {
        log.wait { _ in answeredWrites.count == count }
    }

    /// Makes all requests fail, and delays the notifications.
    func disconnect() {
        state.withLock { state in
            state.isConnected = false
            state.delaysNotifications = true
        }
    }

    /// Delays the notifications until ``reconnect()``. Requests are still answered.
    func delayNotifications() {
        state.withLock { $0.delaysNotifications = true }
    }

    /// Lets requests reach the other backend again, and delivers the delayed notifications.
    func reconnect() {
        state.withLock { $0.isConnected = true }
        while true {
            let delayed = state.withLock { state in
                // A notification that arrives during the delivery is delayed, too, so that the order is kept.
                if state.delayed.isEmpty { state.delaysNotifications = false }
                defer { state.delayed = [] }
                return state.delayed
            }
            if delayed.isEmpty { return }
            for deliver in delayed { deliver() }
        }
    }

    /// Sets the function that decides the result of each request while the backend is connected.
    func setFate(_ fate: @escaping @Sendable () -> Fate) {
        state.withLock { $0.fate = fate }
    }

    func load() async throws(BackendError) -> ObservedState {
        try await perform { () async throws(BackendError) in try await inner.load() }
    }

    func setting(_ key: KeyName) async throws(BackendError) -> SettingState {
        try await perform { () async throws(BackendError) in try await inner.setting(key) }
    }

    func send<Output>(_ call: DirectRequest<Output>) async throws(BackendError) -> Output {
        try await perform { () async throws(BackendError) in try await inner.send(call) }
    }

    func write(_ change: PendingChange) async throws(BackendError) -> WriteSummary {
        try await write(change.requestKey) { () async throws(BackendError) in try await inner.write(change) }
    }

    func schema() async throws(BackendError) -> SchemaDocument? {
        try await perform { () async throws(BackendError) in try await inner.schema() }
    }

    func setSchema(
        _ document: JSONValue, onConflict policy: ConflictPolicy, requestKey: RequestKey
    ) async throws(BackendError) -> WriteSummary {
        try await write(requestKey) { () async throws(BackendError) in
            try await inner.setSchema(document, onConflict: policy, requestKey: requestKey)
        }
    }

    func changes(since cursor: Cursor) async throws(BackendError) -> SettingsObservation {
        try await perform { () async throws(BackendError) in try await inner.changes(since: cursor) }
    }

    func follow(
        from cursor: Cursor, onFailure: @escaping @Sendable (BackendError) -> Void,
        _ handler: @escaping @Sendable (SettingsObservation) -> Void
    ) -> any BackendSubscription {
        inner.follow(from: cursor, onFailure: onFailure) { [weak self] observation in
            let isDelayed = self?.state.withLock { state in
                if state.delaysNotifications { state.delayed.append { handler(observation) } }
                return state.delaysNotifications
            }
            if isDelayed != true { handler(observation) }
        }
    }

    private func write(
        _ requestKey: RequestKey, _ body: () async throws(BackendError) -> WriteSummary
    ) async throws(BackendError) -> WriteSummary {
        do {
            let summary = try await perform(isWrite: true, body)
            log.add(requestKey.text)
            return summary
        } catch {
            log.add("!\(requestKey)")
            throw error
        }
    }

    private func perform<Value>(
        isWrite: Bool = false, _ body: () async throws(BackendError) -> Value
    ) async throws(BackendError) -> Value {
        let (isConnected, decide) = state.withLock { ($0.isConnected, $0.fate) }
        let fate: Fate =
            if !isConnected {
                .notSent
            } else {
                await withCheckedContinuation { continuation in
                    decisions.async { continuation.resume(returning: decide()) }
                }
            }
        switch fate {
        case .answered: return try await body()
        case .notSent: throw .unreachable("nobody is there", outcome: .notDone)
        case .answerLost:
            _ = try await body()
            throw .unreachable("the answer was lost")
        case .unavailable(let duration): throw .unavailable("not now", retryAfter: duration)
        case .refused(let problem) where isWrite: throw .refused(problem)
        case .refused: return try await body()
        }
    }
}
