internal import Platform
internal import SettingsEngine

/// The queue of writes that wait for the decide stage, which checks each write, and computes its commit or its refusal.
///
/// Cheap writes and costly writes (at least 1 ms of deciding, see ``PendingWrite/isCostly``) have different rules:
///
/// - Cheap writes are served round-robin over clients, and first come, first served within a client.
/// - Costly writes are served if no cheap write waits. Otherwise a costly write waits until twenty times its estimated
///   time has passed since its arrival, and until twenty times the duration of the last costly write has passed since
///   that write was decided. Each wait is at most ``WriteLimits/maximumYield``, so a costly write never starves. Costly
///   writes are also served round-robin over clients.
///
/// While cheap writes wait, costly writes therefore get at most about a twentieth of the decide stage's time,
/// regardless of the number of clients that send costly writes. The share is larger if a costly write takes longer than
/// a twentieth of ``WriteLimits/maximumYield``.
///
/// Cheap writes may overtake a costly write. The writes of a connection still keep their order, because an event loop
/// accepts no other request of the connection until a costly write is answered.
struct WriteQueue: Sendable {
    private struct Client: Sendable {
        var cheap = Deque<PendingWrite>()
        var costly = Deque<PendingWrite>()
        var bytes = 0

        var isEmpty: Bool { cheap.isEmpty && costly.isEmpty }
    }

    /// While cheap writes are served, a costly write waits for this multiple of its estimated time, and for this
    /// multiple of the duration of the last costly write.
    private static let yieldFactor: UInt64 = 20

    /// Writes that were dequeued before but must be decided again. They are served before all other writes.
    private var front = Deque<PendingWrite>()
    private var clients: [ClientKey?: Client] = [:]
    /// The clients with cheap writes. The queue serves the first client next.
    private var cheapClients = Deque<ClientKey?>()
    /// The clients with costly writes. The queue serves the first client next.
    private var costlyClients = Deque<ClientKey?>()
    /// The earliest monotonic time at which a costly write may be served while cheap writes wait.
    private var yieldEnd: UInt64 = 0

    private(set) var count = 0
    private(set) var bytes = 0
    /// The sum of the estimated times of the queued writes, in nanoseconds.
    private(set) var estimatedTime: UInt64 = 0

    var isEmpty: Bool { count == 0 }

    /// Adds a write. Returns false if the queued requests would exceed the limit in bytes. Also returns false if both
    /// the client and other clients have queued writes, and the requests of the client would exceed half of the limit.
    mutating func append(_ write: PendingWrite, within limit: Int) -> Bool {
        let size = write.request.size
        guard bytes + size <= limit else { return false }
        let index = clients.index(forKey: write.client)
        let ownBytes = index.map { clients.values[$0].bytes } ?? 0
        guard ownBytes == 0 || ownBytes == bytes || ownBytes + size <= limit / 2 else { return false }
        let isFirst: Bool
        if let index {
            isFirst = write.isCostly ? clients.values[index].costly.isEmpty : clients.values[index].cheap.isEmpty
            if write.isCostly {
                clients.values[index].costly.append(write)
            } else {
                clients.values[index].cheap.append(write)
            }
            clients.values[index].bytes += size
        } else {
            isFirst = true
            clients[write.client] =
                write.isCostly ? Client(costly: [write], bytes: size) : Client(cheap: [write], bytes: size)
        }
        if isFirst {
            if write.isCostly { costlyClients.append(write.client) } else { cheapClients.append(write.client) }
        }
        recordAdded(write)
        return true
    }

    /// Puts dequeued writes back to the front of their clients' queues, in their order.
    mutating func requeue(_ writes: some BidirectionalCollection<PendingWrite>) {
        for write in writes.reversed() {
            let client = clients[write.client] ?? Client()
            if write.isCostly {
                if client.costly.isEmpty { costlyClients.prepend(write.client) }
                clients[write.client, default: Client()].costly.prepend(write)
            } else {
                if client.cheap.isEmpty { cheapClients.prepend(write.client) }
                clients[write.client, default: Client()].cheap.prepend(write)
            }
            clients[write.client]?.bytes += write.request.size
            recordAdded(write)
        }
    }

    /// Puts dequeued writes back to the front of the whole queue, in their order.
    mutating func returnToFront(_ writes: some BidirectionalCollection<PendingWrite>) {
        for write in writes.reversed() {
            front.prepend(write)
            recordAdded(write)
        }
    }
}

/// Methods that dequeue writes.
extension WriteQueue {
    /// Removes the writes of the next slice, which are the writes that the decide stage takes at once: at least one
    /// write, and as many as the limits allow.
    mutating func dequeue(
        atMost maximumCount: Int, bytes maximumBytes: Int, now: UInt64, _ limits: WriteLimits
    ) -> [PendingWrite] {
        var capacity = SliceCapacity(count: maximumCount, bytes: maximumBytes, time: limits.sliceTime)
        var dequeued: [PendingWrite] = []
        dequeued.reserveCapacity(min(count, maximumCount))
        while let write = front.first, capacity.admit(write) {
            _ = front.popFirst()
            dequeued.append(write)
        }
        if front.isEmpty, cheapClients.isEmpty {
            while dequeueCostly(into: &dequeued, &capacity) {}
        } else if front.isEmpty {
            if isCostlyWriteDue(now, limits) { dequeueCostly(into: &dequeued, &capacity) }
            dequeueCheap(into: &dequeued, &capacity)
        }
        for write in dequeued {
            count -= 1
            bytes -= write.request.size
            estimatedTime -= write.estimatedTime
        }
        return dequeued
    }

    /// Records when costly writes were decided, and how many nanoseconds deciding them took. These times determine how
    /// long the next costly write waits.
    mutating func recordCostlyWrites(endedAt end: UInt64, duration: UInt64, _ limits: WriteLimits) {
        yieldEnd = end + Self.yieldTime(forCost: duration, limits)
    }

    private func isCostlyWriteDue(_ now: UInt64, _ limits: WriteLimits) -> Bool {
        guard now >= yieldEnd, let client = costlyClients.first, let write = clients[client]?.costly.first else {
            return false
        }
        return now >= write.arrival + Self.yieldTime(forCost: write.estimatedTime, limits)
    }

    /// Returns the nanoseconds for which a costly write waits while cheap writes are served.
    private static func yieldTime(forCost time: UInt64, _ limits: WriteLimits) -> UInt64 {
        // The inner minimum prevents an overflow.
        min(min(time, limits.maximumYield) * yieldFactor, limits.maximumYield)
    }

    /// Dequeues a costly write. Returns false if no costly write waits, or if the slice has no capacity for the write.
    @discardableResult
    private mutating func dequeueCostly(into dequeued: inout [PendingWrite], _ capacity: inout SliceCapacity) -> Bool {
        guard let client = costlyClients.first, let index = clients.index(forKey: client),
            let write = clients.values[index].costly.first, capacity.admit(write)
        else { return false }
        _ = costlyClients.popFirst()
        _ = clients.values[index].costly.popFirst()
        clients.values[index].bytes -= write.request.size
        if !clients.values[index].costly.isEmpty { costlyClients.append(client) }
        if clients.values[index].isEmpty { clients.remove(at: index) }
        dequeued.append(write)
        return true
    }

    /// Dequeues cheap writes, one of each client in turn, until the slice is full or no cheap write is left.
    private mutating func dequeueCheap(into dequeued: inout [PendingWrite], _ capacity: inout SliceCapacity) {
        while let client = cheapClients.first, let index = clients.index(forKey: client) {
            let isOnlyClient = cheapClients.count == 1
            repeat {
                guard let write = clients.values[index].cheap.first, capacity.admit(write) else { return }
                _ = clients.values[index].cheap.popFirst()
                clients.values[index].bytes -= write.request.size
                dequeued.append(write)
            } while isOnlyClient && !clients.values[index].cheap.isEmpty
            _ = cheapClients.popFirst()
            if !clients.values[index].cheap.isEmpty { cheapClients.append(client) }
            if clients.values[index].isEmpty { clients.remove(at: index) }
        }
    }

    private mutating func recordAdded(_ write: PendingWrite) {
        count += 1
        bytes += write.request.size
        estimatedTime += write.estimatedTime
    }

    private struct SliceCapacity {
        private var count: Int
        private var bytes: Int
        private var time: UInt64
        private var hasAdmittedWrite = false

        init(count: Int, bytes: Int, time: UInt64) {
            (self.count, self.bytes, self.time) = (count, bytes, time)
        }

        /// Subtracts a write. Returns false if the slice has no capacity for it. Always admits the first write, so that
        /// a write that is larger than a slice is also decided.
        mutating func admit(_ write: PendingWrite) -> Bool {
            let (size, estimate) = (write.request.size, write.estimatedTime)
            guard !hasAdmittedWrite || count > 0 && size <= bytes && estimate <= time else { return false }
            (count, bytes, time) = (count - 1, bytes - size, time - min(time, estimate))
            hasAdmittedWrite = true
            return true
        }
    }
}
