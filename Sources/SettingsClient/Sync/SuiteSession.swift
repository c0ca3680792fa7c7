internal import Dispatch
internal import SettingsModel
internal import Synchronization

/// A suite as this program knows it: the replica, how it is loaded and followed, and the program's own writes on their way.
///
/// Calls that ask the server block the calling thread. Nothing is locked while they do.
final class SuiteSession: Sendable {
    /// What an adapter does for its session. Handlers run with nothing locked, on any thread.
    struct Handlers: Sendable {
        /// Reports an issue that no call of the adapter's throws, later and on a queue.
        var report: @Sendable (DefaultsIssue) -> Void = { _ in }
        /// Lets observers begin that wait for the suite.
        var onLoaded: @Sendable () -> Void = {}
    }

    let backend: any SuiteBackend
    let requestKeys = RequestKeySource()
    let absence = Absence()
    let loading = Mutex(Loading())
    /// Held while the suite is loaded.
    let attempting = Mutex<Void>(())
    let loaded = Atomic(false)
    /// Where loading is tried again while the server is away.
    let retrying = DispatchQueue(label: "settings loading", qos: .utility)
    let serverSchema = Mutex(ServerSchema())
    /// Held while the schema is asked for.
    let askingSchema = Mutex<Void>(())

    private let shared = Mutex(Shared())

    private struct Shared {
        var replica = ReplicaState()
        var handlers = Handlers()
        var listeners: [UInt64: @Sendable ([ReplicaNews]) -> Void] = [:]
        var nextListener: UInt64 = 0
        /// True while a thread delivers news; other threads leave theirs to it, which keeps the order.
        var isTelling = false
    }

    init(_ backend: any SuiteBackend) {
        self.backend = backend
        backend.hear { [weak self] news in
            guard let self else { return }
            let leavesOpen = news.leavesOpen(in: self)
            apply(news)
            if leavesOpen { refresh() }
            if let issue = news.issue(in: suite) { report(issue) }
        }
    }

    deinit {
        loading.withLock { $0.following }?.stop()
    }

    var suite: SuiteName { backend.suite }

    /// Says what the adapter does for the session. To be called before all else.
    func join(_ handlers: Handlers) {
        shared.withLock { $0.handlers = handlers }
    }

    func report(_ issue: DefaultsIssue) {
        shared.withLock { $0.handlers }.report(issue)
    }

    func observersMayBegin() {
        shared.withLock { $0.handlers }.onLoaded()
    }
}

/// Reading the replica, which never blocks.
extension SuiteSession {
    func visible(_ key: KeyName) -> VisibleSetting {
        shared.withLock { $0.replica.visible(key) }
    }

    /// Several keys as they are at one time.
    func visible(_ keys: [KeyName]) -> [KeyName: VisibleSetting] {
        shared.withLock { shared in
            Dictionary(keys.map { ($0, shared.replica.visible($0)) }, uniquingKeysWith: { $1 })
        }
    }

    func isKnown(_ key: KeyName) -> Bool {
        shared.withLock { $0.replica.isKnown(key) }
    }

    func cell(for key: KeyName) -> KeyCell {
        shared.withLock { $0.replica.cell(for: key) }
    }

    /// Lends a cell to a caller that does not keep it.
    func withCell<Result, Failure: Error>(
        for key: KeyName, _ body: (KeyCell) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // When this is left, the cell is released.
        defer { shared.withLock { $0.replica.forget(key) } }
        return try body(cell(for: key))
    }

    /// The schema in force, as far as the server told.
    var schema: SchemaPlace? {
        shared.withLock { $0.replica.schema }
    }

    /// The place in history up to which everything is known.
    var cursor: Cursor? {
        shared.withLock { $0.replica.cursor }
    }

    /// The keys that have or had something.
    var keys: [KeyName] {
        shared.withLock { Array($0.replica.entries.keys) }
    }

    func leavesOpen(_ summary: WriteSummary, removalOf keys: [KeyName]?) -> Bool {
        shared.withLock { $0.replica.leavesOpen(summary, removalOf: keys) }
    }

    /// What must still hold for a change that was computed from this value to be done: the revision, where it is known,
    /// else the value itself.
    func guardTest(for key: KeyName, base: JSONValue?) -> Transaction.Condition.Test {
        let visible = visible(key)
        if let revision = visible.revision, visible.value == base { return .revision(revision) }
        return base.map { .value($0) } ?? .stored(false)
    }
}

/// Changing the replica, and delivering what readers see of that.
extension SuiteSession {
    /// Changes the replica, then calls the listeners, outside the lock.
    func change<Result: Sendable>(_ body: (inout ReplicaState) -> Result) -> Result {
        let (result, isTeller) = shared.withLock { shared in
            let result = body(&shared.replica)
            if shared.listeners.isEmpty { shared.replica.news.removeAll() }
            let isTeller = !shared.replica.news.isEmpty && !shared.isTelling
            if isTeller { shared.isTelling = true }
            return (result, isTeller)
        }
        if isTeller { tell() }
        return result
    }

    func apply(_ observation: SettingsObservation) {
        change { replica in
            switch observation {
            case .state(let state): replica.adopt(state)
            case .changes(let changes): replica.apply(changes)
            }
        }
    }

    /// Calls the handler with all that changes for readers from here on, in order, until the number it returns is given
    /// to ``stopListening(_:)``. What happened just before may be delivered, too. The handler hands over to its own
    /// queue: a write may be under way around it.
    func listenForNews(_ handler: @escaping @Sendable ([ReplicaNews]) -> Void) -> UInt64 {
        shared.withLock { shared in
            shared.nextListener += 1
            shared.listeners[shared.nextListener] = handler
            return shared.nextListener
        }
    }

    func stopListening(_ listener: UInt64) {
        shared.withLock { $0.listeners[listener] = nil }
    }

    var listenerCount: Int {
        shared.withLock { $0.listeners.count }
    }

    private func tell() {
        while true {
            let (news, listeners) = shared.withLock { shared in
                let news = shared.replica.news
                shared.replica.news.removeAll()
                if news.isEmpty { shared.isTelling = false }
                return (news, shared.listeners.sorted { $0.key < $1.key }.map(\.value))
            }
            guard !news.isEmpty else { return }
            for listener in listeners { listener(news) }
        }
    }
}
