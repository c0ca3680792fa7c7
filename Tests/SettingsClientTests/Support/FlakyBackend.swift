import Dispatch
import SettingsModel
import Synchronization
import TestSupport

@testable import SettingsClient
@testable import SettingsHTTP

/// A backend that can be away, lose answers and refuse, as a test says.
final class FlakyBackend: SuiteBackend {
    /// The fate of a request.
    enum Fate: Sendable {
        case answered
        /// It does not arrive.
        case notSent
        /// It is done, and the answer is lost.
        case answerLost
        /// It is not done, if it is a write.
        case refused(Problem)
        /// The server answers that it can do nothing for so long.
        case unavailable(Duration)
    }

    private struct State {
        var isAway = false
        var fate: @Sendable () -> Fate = { .answered }
        /// News that followers did not get yet, as they are cut off too.
        var delaysNews = false
        var delayed: [@Sendable () -> Void] = []
    }

    private let inner: any SuiteBackend
    private let state = Mutex(State())
    private let decisions = DispatchQueue(label: "decisions of a test")
    /// Each write that was asked for: its request key, or with `!` in front, if it was not answered.
    let log = EventLog()

    /// A directory into which sessions of this backend may write, as caches do when they go.
    private let directory: TemporaryDirectory?

    init(_ inner: any SuiteBackend, retaining directory: TemporaryDirectory? = nil) {
        self.inner = inner
        self.directory = directory
    }

    var suite: SuiteName { inner.suite }

    /// The server is away from now on.
    func leave() {
        state.withLock { state in
            state.isAway = true
            state.delaysNews = true
        }
    }

    /// Followers get nothing until ``comeBack()``, though requests are answered.
    func delayNews() {
        state.withLock { $0.delaysNews = true }
    }

    /// The server is back.
    func comeBack() {
        state.withLock { $0.isAway = false }
        while true {
            let delayed = state.withLock { state in
                // Notices that arrive meanwhile are delivered after the delayed notices.
                if state.delayed.isEmpty { state.delaysNews = false }
                defer { state.delayed = [] }
                return state.delayed
            }
            if delayed.isEmpty { return }
            for news in delayed { news() }
        }
    }

    /// The fate of requests while the server is there.
    func decide(_ fate: @escaping @Sendable () -> Fate) {
        state.withLock { $0.fate = fate }
    }

    func load() async throws(BackendError) -> ObservedState {
        try await ask { () async throws(BackendError) in try await inner.load() }
    }

    func setting(_ key: KeyName) async throws(BackendError) -> SettingState {
        try await ask { () async throws(BackendError) in try await inner.setting(key) }
    }

    func send<Output>(_ call: DirectRequest<Output>) async throws(BackendError) -> Output {
        try await ask { () async throws(BackendError) in try await inner.send(call) }
    }

    func write(_ change: PendingChange) async throws(BackendError) -> WriteSummary {
        try await write(change.requestKey) { () async throws(BackendError) in try await inner.write(change) }
    }

    func schema() async throws(BackendError) -> SchemaDocument? {
        try await ask { () async throws(BackendError) in try await inner.schema() }
    }

    func setSchema(
        _ document: JSONValue, onConflict policy: ConflictPolicy, requestKey: RequestKey
    ) async throws(BackendError) -> WriteSummary {
        try await write(requestKey) { () async throws(BackendError) in
            try await inner.setSchema(document, onConflict: policy, requestKey: requestKey)
        }
    }

    func changes(since cursor: Cursor) async throws(BackendError) -> SettingsObservation {
        try await ask { () async throws(BackendError) in try await inner.changes(since: cursor) }
    }

    func follow(
        from cursor: Cursor, onFailure: @escaping @Sendable (BackendError) -> Void,
        _ handler: @escaping @Sendable (SettingsObservation) -> Void
    ) -> any BackendSubscription {
        inner.follow(from: cursor, onFailure: onFailure) { [weak self] observation in
            let isDelayed = self?.state.withLock { state in
                if state.delaysNews { state.delayed.append { handler(observation) } }
                return state.delaysNews
            }
            if isDelayed != true { handler(observation) }
        }
    }

    private func write(
        _ requestKey: RequestKey, _ body: () async throws(BackendError) -> WriteSummary
    ) async throws(BackendError) -> WriteSummary {
        do {
            let summary = try await ask(isWrite: true, body)
            log.add(requestKey.text)
            return summary
        } catch {
            log.add("!\(requestKey)")
            throw error
        }
    }

    private func ask<Value>(
        isWrite: Bool = false, _ body: () async throws(BackendError) -> Value
    ) async throws(BackendError) -> Value {
        // A test may block the decision.
        let (isAway, decide) = state.withLock { ($0.isAway, $0.fate) }
        let fate: Fate =
            if isAway {
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
