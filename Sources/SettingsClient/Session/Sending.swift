internal import Platform
internal import SettingsAPI
internal import SettingsModel
internal import Synchronization

/// The part of a session's state that numbers the writes, and says what the sending task does.
struct Sending: Sendable {
    /// A caller that waits until every write up to a number has an answer.
    private struct Flush: Sendable {
        let number: Int64
        let result: Promise<Result<Void, BackendError>>
        /// The number of attempts to send a write that had begun before the caller waited.
        let attempts: Int
    }

    /// The number of the newest write.
    private(set) var lastNumber: Int64 = 0
    /// The number of the oldest write without an answer.
    private(set) var nextNumber: Int64 = 1
    /// The callers that wait for the result of their write.
    private var waiters: [Int64: Promise<WriteResult>] = [:]
    /// The functions that wait for the result of a write, however long that takes.
    private var handlers: [Int64: Promise<WriteResult>] = [:]
    /// Functions that return true if a value that a conflict has merged is a value of the key.
    private var validators: [Int64: @Sendable (JSONValue) -> Bool] = [:]
    /// The numbers of the writes in `waiters`.
    private var waiterNumbers: [ObjectIdentifier: Int64] = [:]
    /// The flushes in the order of their numbers.
    private var flushes = Deque<Flush>()
    private var attempts = 0
    /// Set while the suite is loaded. Writes with higher numbers wait for the end of the load.
    private var hold: (lastNumber: Int64, end: Promise<Void>)?
    /// The load, which waits for the answer to the first write.
    private var load: Flush?
    /// The number of writes that have no number yet, because the outbox is not open.
    var waitingForOutbox = 0
    private var isRunning = false
    /// True while an attempt to send the first write has no answer.
    private var isAttempting = false
    /// True if the queue has changed since the sending task read it.
    private var hasNews = false
    /// The pause of the sending task, which another thread can end.
    var pause: Promise<Void>?
    /// The reason why the first write waits. Nil if nothing prevents it from being sent.
    private(set) var obstacle: String?
    /// True if an issue has reported that writes wait.
    private var isStallReported = false
    /// True until the first write, if the environment names no directory for the outbox.
    var lacksDirectory = false
    /// The unusable files that were reported.
    private var reportedTroubles: Set<OutboxStore.Trouble> = []

    /// The number of writes without an answer.
    var count: Int { Int(lastNumber + 1 - nextNumber) }

    mutating func addWrite(
        waiter: Promise<WriteResult>? = nil, isPatient: Bool = false,
        isAllowed: (@Sendable (JSONValue) -> Bool)? = nil
    ) -> Int64 {
        lastNumber += 1
        if isPatient {
            handlers[lastNumber] = waiter
        } else if let waiter {
            waiters[lastNumber] = waiter
            waiterNumbers[ObjectIdentifier(waiter)] = lastNumber
        }
        validators[lastNumber] = isAllowed
        return lastNumber
    }

    /// Removes the waiter of a caller that waits no longer. A refusal of its write is then reported.
    ///
    /// Returns false if the write has no waiter, because its answer has arrived.
    mutating func removeWaiter(_ waiter: Promise<WriteResult>) -> Bool {
        guard let number = waiterNumbers.removeValue(forKey: ObjectIdentifier(waiter)) else { return false }
        waiters[number] = nil
        return true
    }

    /// Returns true if a merged value is a value of the key that the first write changes. Runs code of the program.
    var validator: @Sendable (JSONValue) -> Bool { validators[nextNumber] ?? { _ in true } }

    /// Notes a change of the queue. Returns true if the caller has to start the sending task.
    mutating func wake() -> Bool {
        hasNews = true
        defer { isRunning = true }
        return !isRunning
    }

    /// The sending task begins to look at the queue.
    mutating func beginLook() { hasNews = false }

    /// The sending task has found no write that it can send. Returns true if the task ends.
    mutating func endTask() -> Bool {
        guard !hasNews else { return false }
        isRunning = false
        return true
    }

    /// Ends the task although writes are left. Returns all callers that wait.
    mutating func stopTask() -> [Promise<WriteResult>] {
        isRunning = false
        defer { handlers = [:] }
        return removeWaiters() + handlers.values
    }

    /// Removes the waiter of the first write, whose answer has arrived.
    mutating func takeFirstWaiter() -> Promise<WriteResult>? {
        guard let waiter = waiters.removeValue(forKey: nextNumber) else {
            return handlers.removeValue(forKey: nextNumber)
        }
        waiterNumbers[ObjectIdentifier(waiter)] = nil
        return waiter
    }

    /// Ends the first write. Returns the finished flushes.
    mutating func endFirst() -> [Promise<Result<Void, BackendError>>] {
        validators[nextNumber] = nil
        nextNumber += 1
        obstacle = nil
        isAttempting = false
        isStallReported = false
        return removeFlushes { [nextNumber] in $0.number < nextNumber }
    }

    mutating func beginAttempt() {
        isAttempting = true
        attempts += 1
    }

    /// Notes that the first write has to wait. Returns the flushes that do not wait with it, because an attempt was made for
    /// them.
    mutating func block(by reason: String) -> [Promise<Result<Void, BackendError>>] {
        obstacle = reason
        isAttempting = false
        return removeFlushes { [attempts] in $0.attempts < attempts }
    }

    /// Removes the flushes for which a condition holds. It holds for a flush only if it holds for all earlier flushes.
    private mutating func removeFlushes(while condition: (Flush) -> Bool) -> [Promise<Result<Void, BackendError>>] {
        var removed: [Promise<Result<Void, BackendError>>] = []
        if let load, condition(load) {
            removed.append(load.result)
            self.load = nil
        }
        while let first = flushes.first, condition(first) {
            removed.append(first.result)
            _ = flushes.popFirst()
        }
        return removed
    }

    /// True if a caller waits for another attempt.
    var needsAttempt: Bool { !flushes.isEmpty || load != nil }

    /// Removes all waiters, because waiting does not help.
    mutating func removeWaiters() -> [Promise<WriteResult>] {
        defer { (waiters, waiterNumbers) = ([:], [:]) }
        return Array(waiters.values)
    }

    /// Waits for all present writes. Returns nil if there are none.
    mutating func addFlush() -> Promise<Result<Void, BackendError>>? {
        guard count > 0 else { return nil }
        let flush = Flush(number: lastNumber, result: Promise(), attempts: attempts)
        flushes.append(flush)
        return flush.result
    }

    /// Lets no write be sent until the end of a load, except the first one if the load waits for it.
    mutating func beginHold(afterFirst: Bool) -> Promise<Result<Void, BackendError>>? {
        // The attempt in progress is enough. Another attempt would come before the pause that the daemon may ask for.
        let attempts = isAttempting ? attempts - 1 : attempts
        load = afterFirst && count > 0 ? Flush(number: nextNumber, result: Promise(), attempts: attempts) : nil
        hold = (load == nil ? nextNumber - 1 : nextNumber, hold?.end ?? Promise())
        return load?.result
    }

    /// Returns the promise of the end of the load if the write has to wait for that.
    func hold(ofWrite number: Int64) -> Promise<Void>? {
        hold.flatMap { number > $0.lastNumber ? $0.end : nil }
    }

    mutating func endHold() -> Promise<Void>? {
        defer { hold = nil }
        return hold?.end
    }

    /// Returns the report that writes wait. Returns nil if it was made.
    mutating func stallReport(_ reason: String) -> String? {
        if isStallReported { return nil }
        isStallReported = true
        return count == 1 ? "a write waits: \(reason)" : "\(count) writes wait: \(reason)"
    }

    /// Returns the troubles that were not reported before.
    mutating func newTroubles(_ troubles: [OutboxStore.Trouble]) -> [OutboxStore.Trouble] {
        troubles.filter { reportedTroubles.insert($0).inserted }
    }
}

extension Sending {
    /// True if a caller waits for the result of the first write.
    var hasWaiterForFirst: Bool { waiters[nextNumber] != nil || handlers[nextNumber] != nil }
}
