internal import Dispatch
internal import SettingsAPI
internal import SettingsModel
internal import Synchronization

/// The outbox of a session: its store, which only a queue of the session's touches, so that nothing is locked while the
/// disk works.
final class Outbox: Sendable {
    private let disk: DispatchQueue
    /// Nil while a block on the queue has it.
    private let store: Mutex<OutboxStore?>
    private let opened = Atomic(false)

    init(_ store: OutboxStore, on disk: DispatchQueue) {
        self.store = Mutex(store)
        self.disk = disk
    }

    /// Uses the store, on the queue.
    func use<Result, Failure: Error>(
        _ body: (inout OutboxStore) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try disk.sync { () -> Swift.Result<Result, Failure> in
            guard var store = store.withLock({ $0.take() }) else {
                preconditionFailure("the queue is serial, and no block on it uses the store within another use")
            }
            defer { self.store.withLock { [store] in $0 = store } }
            return Swift.Result { () throws(Failure) in try body(&store) }
        }.get()
    }

    /// True once the files that earlier programs left were looked for.
    var isOpen: Bool { opened.load(ordering: .acquiring) }

    func open() { opened.store(true, ordering: .releasing) }
}

/// What a session knows of the writes that wait in its outbox.
struct Sending: Sendable {
    /// A setter that waits for its write.
    struct Waiter: Sendable {
        let semaphore = DispatchSemaphore(value: 0)
        var result: Result<WriteSummary, BackendError>?
    }

    /// How many writes wait.
    var count = 0
    /// How many have ended.
    var endedCount = 0
    /// Why the first of them waits.
    var reason = ""
    /// True if an attempt is planned or under way.
    private(set) var isPlanned = false
    /// The attempt that was planned last; an earlier one whose time comes does nothing.
    private(set) var plan = 0
    /// True if it was reported that the server takes nothing.
    var isStallReported = false
    /// True if setters wait for what they write to be sent: not after one waited in vain, until nothing is left.
    private var isPatient = true
    private var waiters: [RequestKey: Waiter] = [:]
    /// Files that cannot be used, as far as that was reported.
    private var troubles: Set<OutboxFolder.Trouble> = []

    /// Plans an attempt and returns its number; nil if there is nothing to send or, unless it is urgent, one is planned.
    mutating func planNext(isUrgent: Bool = false) -> Int? {
        guard count > 0, isUrgent || !isPlanned else { return nil }
        isPlanned = true
        plan += 1
        return plan
    }

    /// Notes that there is nothing to send.
    mutating func endPlan() {
        isPlanned = false
    }

    /// Notes that the first write has ended and so many are left.
    mutating func endFirst(left: Int) {
        count = left
        endedCount += 1
        isStallReported = false
        guard left == 0 else { return }
        isPatient = true
        isPlanned = false
    }

    /// The troubles that were not reported before.
    mutating func new(_ troubles: [OutboxFolder.Trouble]) -> [OutboxFolder.Trouble] {
        troubles.filter { self.troubles.insert($0).inserted }
    }
}

/// Setters that wait.
extension Sending {
    /// Has the setter of a write wait, if setters do.
    mutating func addWaiter(for requestKey: RequestKey) {
        if isPatient { waiters[requestKey] = Waiter() }
    }

    func waiter(for requestKey: RequestKey) -> Waiter? { waiters[requestKey] }

    /// All that know no result.
    var waitersInVain: [Waiter] { waiters.values.filter { $0.result == nil } }

    /// Notes the result of a write; true if a setter waits for it.
    mutating func answer(_ requestKey: RequestKey, _ result: Result<WriteSummary, BackendError>) -> Bool {
        guard waiters[requestKey] != nil else { return false }
        waiters[requestKey]?.result = result
        return true
    }

    /// Ends a setter's waiting; nil if its write has not ended.
    ///
    /// - Parameter isUp: true if the server answers, so the setter waited because it is slow.
    mutating func removeWaiter(for requestKey: RequestKey, isUp: Bool) -> Result<WriteSummary, BackendError>? {
        guard let waiter = waiters.removeValue(forKey: requestKey) else { return nil }
        if waiter.result == nil, isUp { isPatient = false }
        return waiter.result
    }
}
