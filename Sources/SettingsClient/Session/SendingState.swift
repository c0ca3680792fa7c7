internal import Platform
internal import SettingsAPI
internal import SettingsModel
internal import Synchronization

/// The part of a session's state about the queue: the numbers of the writes, the callers that wait for the writes, and
/// the state of the sending task.
struct SendingState: Sendable {
    /// A caller that waits until every write up to a number has an answer.
    private struct Flush: Sendable {
        let number: Int64
        let result: Promise<Result<Void, BackendError>>
        /// The number of attempts that had begun when the flush was added. Only the failure of a later attempt ends the
        /// flush.
        let attempts: Int
    }

    /// The number of the newest write.
    private(set) var lastNumber: Int64 = 0
    /// The number of the oldest write without an answer.
    private(set) var nextNumber: Int64 = 1
    /// The promises of callers that wait with a timeout, by the number of the write.
    private var waiters: [Int64: Promise<WriteResult>] = [:]
    /// The promises of callers that wait without a timeout, by the number of the write.
    private var waitersWithoutTimeout: [Int64: Promise<WriteResult>] = [:]
    /// Functions that return true if the key of a write allows a merged value, by the number of the write. After a
    /// conflict, the session computes a merged value from a change in place and the value of another program.
    private var validators: [Int64: @Sendable (JSONValue) -> Bool] = [:]
    /// The number of the write of each promise in `waiters`, by the identity of the promise.
    private var waiterNumbers: [ObjectIdentifier: Int64] = [:]
    /// The flushes in the order of their numbers.
    private var flushes = Deque<Flush>()
    /// The number of attempts to send a write that have begun.
    private var attempts = 0
    /// Set while the suite is being loaded. Writes with numbers above `lastSendable` are not sent until `end` is
    /// fulfilled.
    private var hold: (lastSendable: Int64, end: Promise<Void>)?
    /// The flush with which the load waits for the answer to the first write. Nil if the load does not wait.
    private var loadFlush: Flush?
    /// The count of writes that have no number yet, because the outbox is not open.
    var unnumberedCount = 0
    /// True while the sending task runs.
    private var isRunning = false
    /// True while an attempt to send the first write has no answer.
    private var isAttempting = false
    /// True if the queue has changed since the sending task read it.
    private var hasChanged = false
    /// The pause of the sending task. Another thread ends the pause by fulfilling the promise.
    var pause: Promise<Void>?
    /// The reason why the last attempt to send the first write failed. Nil if no attempt has failed.
    private(set) var blockingReason: String?
    /// True if the session has reported that the first write waits.
    private var isStallReported = false
    /// True if the outbox has no directory, and the session has not reported this yet. The first write reports it.
    var lacksDirectory = false
    /// The unusable files that were reported.
    private var reportedProblems: Set<OutboxStore.FileProblem> = []

    /// The count of writes without an answer.
    var count: Int { Int(lastNumber + 1 - nextNumber) }

    /// Adds a write. Returns the number of the write.
    mutating func addWrite(
        waiter: Promise<WriteResult>? = nil, waitsWithoutTimeout: Bool = false,
        isAllowed: (@Sendable (JSONValue) -> Bool)? = nil
    ) -> Int64 {
        lastNumber += 1
        if waitsWithoutTimeout {
            waitersWithoutTimeout[lastNumber] = waiter
        } else if let waiter {
            waiters[lastNumber] = waiter
            waiterNumbers[ObjectIdentifier(waiter)] = lastNumber
        }
        validators[lastNumber] = isAllowed
        return lastNumber
    }

    /// Removes the waiter of a caller whose timeout is over. If the daemon refuses the write later, the session reports
    /// the refusal as an issue.
    ///
    /// Returns false if no write has this waiter, because the sending task has removed the waiter, or because the write
    /// has no number yet.
    mutating func removeWaiter(_ waiter: Promise<WriteResult>) -> Bool {
        guard let number = waiterNumbers.removeValue(forKey: ObjectIdentifier(waiter)) else { return false }
        waiters[number] = nil
        return true
    }

    /// A function that returns true if the key of the first write allows a merged value. The function runs code of the
    /// program, so the caller must not hold a lock.
    var validator: @Sendable (JSONValue) -> Bool { validators[nextNumber] ?? { _ in true } }

    /// Records a change of the queue. Returns true if the caller has to start the sending task.
    mutating func wakeTask() -> Bool {
        hasChanged = true
        defer { isRunning = true }
        return !isRunning
    }

    /// Called by the sending task before it reads the queue.
    mutating func beginQueueRead() { hasChanged = false }

    /// Called by the sending task if it finds no write to send. Returns false if the task must read the queue again,
    /// because the queue has changed since the task read it.
    mutating func endTask() -> Bool {
        guard !hasChanged else { return false }
        isRunning = false
        return true
    }

    /// Marks the task as ended although there are writes in the queue. Removes and returns the waiters of all writes.
    mutating func stopTask() -> [Promise<WriteResult>] {
        isRunning = false
        defer { waitersWithoutTimeout = [:] }
        return removeWaiters() + waitersWithoutTimeout.values
    }

    /// Removes and returns the waiter of the first write, because its answer has arrived.
    mutating func removeFirstWaiter() -> Promise<WriteResult>? {
        guard let waiter = waiters.removeValue(forKey: nextNumber) else {
            return waitersWithoutTimeout.removeValue(forKey: nextNumber)
        }
        waiterNumbers[ObjectIdentifier(waiter)] = nil
        return waiter
    }

    /// Ends the first write, because its answer has arrived. Removes and returns the flushes that have now finished.
    mutating func endFirstWrite() -> [Promise<Result<Void, BackendError>>] {
        validators[nextNumber] = nil
        nextNumber += 1
        blockingReason = nil
        isAttempting = false
        isStallReported = false
        return removeFlushes { [nextNumber] in $0.number < nextNumber }
    }

    mutating func beginAttempt() {
        isAttempting = true
        attempts += 1
    }

    /// Records that the attempt to send the first write has failed. Removes and returns the flushes that were added
    /// before the attempt began. The caller fulfills the flushes with the error. Later flushes wait for another
    /// attempt.
    mutating func blockFirstWrite(because reason: String) -> [Promise<Result<Void, BackendError>>] {
        blockingReason = reason
        isAttempting = false
        return removeFlushes { [attempts] in $0.attempts < attempts }
    }

    /// Removes and returns the first flushes that satisfy a condition. If a flush satisfies the condition, all earlier
    /// flushes must also satisfy it.
    private mutating func removeFlushes(while condition: (Flush) -> Bool) -> [Promise<Result<Void, BackendError>>] {
        var removed: [Promise<Result<Void, BackendError>>] = []
        if let loadFlush, condition(loadFlush) {
            removed.append(loadFlush.result)
            self.loadFlush = nil
        }
        while let first = flushes.first, condition(first) {
            removed.append(first.result)
            _ = flushes.popFirst()
        }
        return removed
    }

    /// True if a flush or the load waits for another attempt, so that the sending task should not pause.
    var needsAttempt: Bool { !flushes.isEmpty || loadFlush != nil }

    /// Removes and returns all waiters with a timeout. The session calls this method if the outage has lasted longer
    /// than the timeout of the session, or if the first write waits until a person acts, for example corrects the
    /// token. ``stopTask()`` also calls it.
    mutating func removeWaiters() -> [Promise<WriteResult>] {
        defer { (waiters, waiterNumbers) = ([:], [:]) }
        return Array(waiters.values)
    }

    /// Adds a flush of all present writes. Returns nil if there are no writes.
    mutating func addFlush() -> Promise<Result<Void, BackendError>>? {
        guard count > 0 else { return nil }
        let flush = Flush(number: lastNumber, result: Promise(), attempts: attempts)
        flushes.append(flush)
        return flush.result
    }

    /// Holds all writes until the end of a load. With `afterFirst`, the sending task still sends the first write, and
    /// the returned promise is fulfilled with the result. Returns nil if the load does not have to wait.
    mutating func beginHold(afterFirst: Bool) -> Promise<Result<Void, BackendError>>? {
        // The failure of an attempt after `attempts` ends the wait. `attempts - 1`: the failure of the attempt in
        // progress also ends the wait. Otherwise the load would wait for one more attempt, which the sending task would
        // make without the pause that the daemon may ask for.
        let attempts = isAttempting ? attempts - 1 : attempts
        loadFlush = afterFirst && count > 0 ? Flush(number: nextNumber, result: Promise(), attempts: attempts) : nil
        hold = (loadFlush == nil ? nextNumber - 1 : nextNumber, hold?.end ?? Promise())
        return loadFlush?.result
    }

    /// Returns a promise that is fulfilled at the end of the load. Returns nil if the write does not have to wait.
    func hold(ofWrite number: Int64) -> Promise<Void>? {
        hold.flatMap { number > $0.lastSendable ? $0.end : nil }
    }

    /// Ends the hold. Returns the promise that the caller fulfills.
    mutating func endHold() -> Promise<Void>? {
        defer { hold = nil }
        return hold?.end
    }

    /// Returns the message that writes wait. Returns nil if the session has reported this for the first write before.
    mutating func stallReport(_ reason: String) -> String? {
        if isStallReported { return nil }
        isStallReported = true
        return count == 1 ? "a write waits: \(reason)" : "\(count) writes wait: \(reason)"
    }

    /// Returns the problems that the session has not reported before.
    mutating func newProblems(_ problems: [OutboxStore.FileProblem]) -> [OutboxStore.FileProblem] {
        problems.filter { reportedProblems.insert($0).inserted }
    }
}

extension SendingState {
    /// True if a caller waits for the answer to the first write.
    var isFirstWriteAwaited: Bool { waiters[nextNumber] != nil || waitersWithoutTimeout[nextNumber] != nil }
}
