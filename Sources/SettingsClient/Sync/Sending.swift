internal import Dispatch
internal import SettingsAPI
internal import SettingsModel
internal import Synchronization

/// The outbox of a session: a store that one queue uses, so that no lock is held while the disk works.
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

    /// True once orphans were looked for.
    var isOpen: Bool { opened.load(ordering: .acquiring) }

    func open() { opened.store(true, ordering: .releasing) }
}

/// The part of a session's state that says when kept writes are sent, and which setters wait for theirs.
struct Sending: Sendable {
    /// A setter that waits for its write.
    struct Waiter: Sendable {
        let semaphore = DispatchSemaphore(value: 0)
        var result: Result<WriteSummary, BackendError>?
    }

    /// The number of writes that wait.
    var count = 0
    var endedCount = 0
    /// The reason why the first of them waits.
    var reason = ""
    /// True if an attempt is planned or running.
    private(set) var isPlanned = false
    /// The number of the last plan. An earlier one whose time comes does nothing.
    private(set) var plan = 0
    /// True if it was reported that the server takes nothing.
    var isStallReported = false
    /// True if setters wait for their writes to be sent. After one waited in vain they do not, until nothing waits.
    private var isPatient = true
    private var waiters: [RequestKey: Waiter] = [:]
    /// The unusable files that were reported.
    private var troubles: Set<OutboxStore.Trouble> = []

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

    /// Returns the troubles that were not reported before.
    mutating func new(_ troubles: [OutboxStore.Trouble]) -> [OutboxStore.Trouble] {
        troubles.filter { self.troubles.insert($0).inserted }
    }
}

/// Setters that wait.
extension Sending {
    /// Adds a waiter for a write, if setters wait.
    mutating func addWaiter(for requestKey: RequestKey) {
        if isPatient { waiters[requestKey] = Waiter() }
    }

    func waiter(for requestKey: RequestKey) -> Waiter? { waiters[requestKey] }

    /// The waiters without a result.
    var waitersInVain: [Waiter] { waiters.values.filter { $0.result == nil } }

    /// Notes the result of a write; true if a setter waits for it.
    mutating func answer(_ requestKey: RequestKey, _ result: Result<WriteSummary, BackendError>) -> Bool {
        guard waiters[requestKey] != nil else { return false }
        waiters[requestKey]?.result = result
        return true
    }

    /// Removes a waiter and returns its result; nil if its write has not ended.
    ///
    /// - Parameter isUp: true if the server answers, so the setter has waited because it is slow.
    mutating func removeWaiter(for requestKey: RequestKey, isUp: Bool) -> Result<WriteSummary, BackendError>? {
        guard let waiter = waiters.removeValue(forKey: requestKey) else { return nil }
        if waiter.result == nil, isUp { isPatient = false }
        return waiter.result
    }
}
