internal import Platform
internal import SettingsEngine

/// The queue in front of the decide stage.
///
/// The order has one rule for cheap and one rule for costly writes (see ``PendingWrite/isCostly``):
///
/// - Cheap writes are served round-robin over callers, and first come, first served within a caller.
/// - A costly write goes when no cheap write waits. Otherwise cheap writes go first for twenty times the estimated time of the costly
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
    /// Removes the writes that are decided next: several cheap writes, or one costly write.
    ///
    /// - Parameters:
    ///   - most: the most writes.
    ///   - mostBytes: the most bytes of requests, except that one write is always taken.
    mutating func take(atMost most: Int, bytes mostBytes: Int, now: UInt64, _ limits: WriteLimits) -> [PendingWrite] {
        var room = Room(count: most, bytes: mostBytes)
        var taken: [PendingWrite] = []
        taken.reserveCapacity(min(count, most))
        while let write = front.first, room.admit(write) {
            _ = front.popFirst()
            taken.append(write)
        }
        if taken.isEmpty, cheapCallers.isEmpty || isCostlyWriteDue(now, limits) {
            if let write = takeCostly() { taken.append(write) }
        } else if front.isEmpty {
            takeCheap(into: &taken, &room)
        }
        for write in taken {
            count -= 1
            bytes -= write.request.size
            estimatedTime -= write.estimatedTime
        }
        return taken
    }

    /// Notes that a costly write was decided, after which cheap writes go first for a while.
    mutating func noteCostlyWrite(endedAt end: UInt64, after time: UInt64, _ limits: WriteLimits) {
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

    private mutating func takeCostly() -> PendingWrite? {
        guard let caller = costlyCallers.popFirst(), let index = callers.index(forKey: caller),
            let write = callers.values[index].costly.popFirst()
        else { return nil }
        callers.values[index].bytes -= write.request.size
        if !callers.values[index].costly.isEmpty { costlyCallers.append(caller) }
        if callers.values[index].isEmpty { callers.remove(at: index) }
        return write
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
        private var isUntouched = true

        init(count: Int, bytes: Int) {
            (self.count, self.bytes) = (count, bytes)
        }

        /// Returns false if there is no room for a write. The first write is always admitted.
        mutating func admit(_ write: PendingWrite) -> Bool {
            let size = write.request.size
            guard isUntouched || count > 0 && size <= bytes else { return false }
            (count, bytes, isUntouched) = (count - 1, bytes - size, false)
            return true
        }
    }
}
