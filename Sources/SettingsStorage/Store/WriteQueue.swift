internal import Platform
internal import SettingsEngine

/// The queue in front of the decide stage.
///
/// The order has one rule for cheap and one rule for costly writes (see ``PendingWrite/isCostly``):
///
/// - Cheap writes are served round-robin over callers, and first come, first served within a caller.
/// - Costly writes go when no cheap write waits. Otherwise cheap writes go first for twenty times the estimated time of the costly
///   write after its arrival, and for twenty times the measured time of the last costly write after its end. Each time is at most
///   ``WriteLimits/longestYield``, so a costly write never starves. Costly writes, too, are served round-robin over callers.
///
/// Costly writes therefore take at most about a twentieth of the decide stage while cheap writes wait, however many callers send
/// costly writes.
///
/// A connection that has sent a costly write sends nothing else until the answer, so the order within a connection is kept.
struct WriteQueue: Sendable {
    private struct Caller: Sendable {
        var cheap = Deque<PendingWrite>()
        var costly = Deque<PendingWrite>()
        var bytes = 0

        var isEmpty: Bool { cheap.isEmpty && costly.isEmpty }
    }

    /// Cheap writes go first for this many times the time of a costly write.
    private static let yieldFactor: UInt64 = 20

    /// Writes that go before all others, because they were taken before.
    private var front = Deque<PendingWrite>()
    private var callers: [ClientKey?: Caller] = [:]
    /// The callers with cheap writes. The queue serves the first caller next.
    private var cheapCallers = Deque<ClientKey?>()
    /// The callers with costly writes. The queue serves the first caller next.
    private var costlyCallers = Deque<ClientKey?>()
    /// The earliest time at which a costly write may go before a cheap write.
    private var yieldEnd: UInt64 = 0

    private(set) var count = 0
    private(set) var bytes = 0
    /// The sum of the estimated times.
    private(set) var estimatedTime: UInt64 = 0

    var isEmpty: Bool { count == 0 }

    /// Adds a write. Returns false if the queue is full, or if the caller fills half of it while other callers wait.
    mutating func append(_ write: PendingWrite, within limit: Int) -> Bool {
        let size = write.request.size
        guard bytes + size <= limit else { return false }
        let index = callers.index(forKey: write.caller)
        let ownBytes = index.map { callers.values[$0].bytes } ?? 0
        guard ownBytes == 0 || ownBytes == bytes || ownBytes + size <= limit / 2 else { return false }
        let isFirst: Bool
        if let index {
            isFirst = write.isCostly ? callers.values[index].costly.isEmpty : callers.values[index].cheap.isEmpty
            if write.isCostly {
                callers.values[index].costly.append(write)
            } else {
                callers.values[index].cheap.append(write)
            }
            callers.values[index].bytes += size
        } else {
            isFirst = true
            callers[write.caller] =
                write.isCostly ? Caller(costly: [write], bytes: size) : Caller(cheap: [write], bytes: size)
        }
        if isFirst {
            if write.isCostly { costlyCallers.append(write.caller) } else { cheapCallers.append(write.caller) }
        }
        noteAdded(write)
        return true
    }

    /// Puts writes that were taken back to the front of the queues of their callers, in their order.
    mutating func putBack(_ writes: some BidirectionalCollection<PendingWrite>) {
        for write in writes.reversed() {
            let caller = callers[write.caller] ?? Caller()
            if write.isCostly {
                if caller.costly.isEmpty { costlyCallers.prepend(write.caller) }
                callers[write.caller, default: Caller()].costly.prepend(write)
            } else {
                if caller.cheap.isEmpty { cheapCallers.prepend(write.caller) }
                callers[write.caller, default: Caller()].cheap.prepend(write)
            }
            callers[write.caller]?.bytes += write.request.size
            noteAdded(write)
        }
    }

    /// Puts writes that were taken back in front of all others, in their order.
    mutating func returnToFront(_ writes: some BidirectionalCollection<PendingWrite>) {
        for write in writes.reversed() {
            front.prepend(write)
            noteAdded(write)
        }
    }
}

/// Taking writes.
extension WriteQueue {
    /// Removes the writes that are decided next. Together they are estimated to take no longer than a slice.
    ///
    /// - Parameters:
    ///   - most: the most writes.
    ///   - mostBytes: the most bytes of requests, except that one write is always taken.
    mutating func take(atMost most: Int, bytes mostBytes: Int, now: UInt64, _ limits: WriteLimits) -> [PendingWrite] {
        var room = Room(count: most, bytes: mostBytes, time: limits.sliceTime)
        var taken: [PendingWrite] = []
        taken.reserveCapacity(min(count, most))
        while let write = front.first, room.admit(write) {
            _ = front.popFirst()
            taken.append(write)
        }
        if front.isEmpty, cheapCallers.isEmpty {
            while takeCostly(into: &taken, &room) {}
        } else if front.isEmpty {
            if isCostlyWriteDue(now, limits) { takeCostly(into: &taken, &room) }
            takeCheap(into: &taken, &room)
        }
        for write in taken {
            count -= 1
            bytes -= write.request.size
            estimatedTime -= write.estimatedTime
        }
        return taken
    }

    /// Notes that costly writes were decided, after which cheap writes go first for a while.
    mutating func noteCostlyWrites(endedAt end: UInt64, after time: UInt64, _ limits: WriteLimits) {
        yieldEnd = end + Self.yield(to: time, limits)
    }

    private func isCostlyWriteDue(_ now: UInt64, _ limits: WriteLimits) -> Bool {
        guard now >= yieldEnd, let caller = costlyCallers.first, let write = callers[caller]?.costly.first else {
            return false
        }
        return now >= write.arrival + Self.yield(to: write.estimatedTime, limits)
    }

    private static func yield(to time: UInt64, _ limits: WriteLimits) -> UInt64 {
        min(min(time, limits.longestYield) * yieldFactor, limits.longestYield)
    }

    /// Takes a costly write. Returns false if there is no room for it.
    @discardableResult
    private mutating func takeCostly(into taken: inout [PendingWrite], _ room: inout Room) -> Bool {
        guard let caller = costlyCallers.first, let index = callers.index(forKey: caller),
            let write = callers.values[index].costly.first, room.admit(write)
        else { return false }
        _ = costlyCallers.popFirst()
        _ = callers.values[index].costly.popFirst()
        callers.values[index].bytes -= write.request.size
        if !callers.values[index].costly.isEmpty { costlyCallers.append(caller) }
        if callers.values[index].isEmpty { callers.remove(at: index) }
        taken.append(write)
        return true
    }

    private mutating func takeCheap(into taken: inout [PendingWrite], _ room: inout Room) {
        while let caller = cheapCallers.first, let index = callers.index(forKey: caller) {
            let isAlone = cheapCallers.count == 1
            repeat {
                guard let write = callers.values[index].cheap.first, room.admit(write) else { return }
                _ = callers.values[index].cheap.popFirst()
                callers.values[index].bytes -= write.request.size
                taken.append(write)
            } while isAlone && !callers.values[index].cheap.isEmpty
            _ = cheapCallers.popFirst()
            if !callers.values[index].cheap.isEmpty { cheapCallers.append(caller) }
            if callers.values[index].isEmpty { callers.remove(at: index) }
        }
    }

    private mutating func noteAdded(_ write: PendingWrite) {
        count += 1
        bytes += write.request.size
        estimatedTime += write.estimatedTime
    }

    /// What may still be taken.
    private struct Room {
        private var count: Int
        private var bytes: Int
        private var time: UInt64
        private var isUntouched = true

        init(count: Int, bytes: Int, time: UInt64) {
            (self.count, self.bytes, self.time) = (count, bytes, time)
        }

        /// Returns false if there is no room for a write. The first write is always admitted.
        mutating func admit(_ write: PendingWrite) -> Bool {
            let (size, estimate) = (write.request.size, write.estimatedTime)
            guard isUntouched || count > 0 && size <= bytes && estimate <= time else { return false }
            (count, bytes, time) = (count - 1, bytes - size, time - min(time, estimate))
            isUntouched = false
            return true
        }
    }
}
