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
        var isHolding = false
        var held: [@Sendable () -> Void] = []
    }

    private let inner: any SuiteBackend
    private let state = Mutex(State())
    /// Each write that was asked for: its request key, or with `!` in front, if it was not answered.
    let log = EventLog()

    /// A directory into which sessions of this backend may write, as caches do when they go.
    private let directory: TemporaryDirectory?

    init(_ inner: any SuiteBackend, holding directory: TemporaryDirectory? = nil) {
        self.inner = inner
        self.directory = directory
    }

    var suite: SuiteName { inner.suite }

    /// The server is away from now on.
    func leave() {
        state.withLock { state in
            state.isAway = true
            state.isHolding = true
        }
    }

    /// Followers get nothing until ``comeBack()``, though requests are answered.
    func holdNews() {
        state.withLock { $0.isHolding = true }
    }

    /// The server is back.
    func comeBack() {
        state.withLock { $0.isAway = false }
        while true {
            let held = state.withLock { state in
                // What comes meanwhile is delivered after what was held.
                if state.held.isEmpty { state.isHolding = false }
                defer { state.held = [] }
                return state.held
            }
            if held.isEmpty { return }
            for news in held { news() }
        }
    }

    /// The fate of requests while the server is there.
    func decide(_ fate: @escaping @Sendable () -> Fate) {
        state.withLock { $0.fate = fate }
    }

    func load() throws(BackendError) -> ObservedState {
        try ask { () throws(BackendError) in try inner.load() }
    }

    func setting(_ key: KeyName) throws(BackendError) -> SettingState {
        try ask { () throws(BackendError) in try inner.setting(key) }
    }

    func send<Output>(_ call: PastCall<Output>) throws(BackendError) -> Output {
        try ask { () throws(BackendError) in try inner.send(call) }
    }

    func write(_ change: PendingChange) throws(BackendError) -> WriteSummary {
        try write(change.requestKey) { () throws(BackendError) in try inner.write(change) }
    }

    func schema() throws(BackendError) -> SchemaDocument? {
        try ask { () throws(BackendError) in try inner.schema() }
    }

    func setSchema(
        _ document: JSONValue, onConflict policy: ConflictPolicy, requestKey: RequestKey
    ) throws(BackendError) -> WriteSummary {
        try write(requestKey) { () throws(BackendError) in
            try inner.setSchema(document, onConflict: policy, requestKey: requestKey)
        }
    }

    func news(since place: Cursor) throws(BackendError) -> SettingsObservation {
        try ask { () throws(BackendError) in try inner.news(since: place) }
    }

    func follow(
        from cursor: Cursor, onTrouble: @escaping @Sendable (BackendError) -> Void,
        _ handler: @escaping @Sendable (SettingsObservation) -> Void
    ) -> any Following {
        inner.follow(from: cursor, onTrouble: onTrouble) { [weak self] observation in
            let isHeld = self?.state.withLock { state in
                if state.isHolding { state.held.append { handler(observation) } }
                return state.isHolding
            }
            if isHeld != true { handler(observation) }
        }
    }

    private func write(
        _ requestKey: RequestKey, _ body: () throws(BackendError) -> WriteSummary
    ) throws(BackendError) -> WriteSummary {
        do {
            let summary = try ask(isWrite: true, body)
            log.add(requestKey.text)
            return summary
        } catch {
            log.add("!\(requestKey)")
            throw error
        }
    }

    private func ask<Value>(
        isWrite: Bool = false, _ body: () throws(BackendError) -> Value
    ) throws(BackendError) -> Value {
        switch state.withLock({ $0.isAway ? { .notSent } : $0.fate })() {
        case .answered: return try body()
        case .notSent: throw .unreachable("nobody is there", outcome: .notDone)
        case .answerLost:
            _ = try body()
            throw .unreachable("the answer was lost")
        case .unavailable(let duration): throw .unavailable("not now", retryAfter: duration)
        case .refused(let problem) where isWrite: throw .refused(problem)
        case .refused: return try body()
        }
    }
}
