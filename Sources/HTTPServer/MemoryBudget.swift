internal import Synchronization

/// A budget for the memory of everything that is on its way: bodies being read, answers not yet taken, long answers being
/// made. Data, history and open connections are not part of it.
///
/// Charging never fails, so that what is counted is what is there. Code that can wait asks for room first. While more is
/// charged than there is, event loops close their largest and slowest connections.
package final class MemoryBudget: Sendable {
    private let limit: Atomic<Int>
    private let charged = Atomic(0)
    private let reserved = Atomic(0)
    /// The long bodies that wait for memory, over all loops.
    private let line = Mutex<(places: [UInt64], last: UInt64)>(([], 0))
    private let loops = Mutex<(all: [@Sendable (_ ofBodies: Bool) -> Void], next: Int)>(([], 0))

    /// - Parameter limit: the bytes that everything may take.
    package init(limit: Int) {
        self.limit = Atomic(limit)
    }

    /// Sets another limit. What is charged already stays.
    package func renew(limit: Int) { self.limit.store(limit, ordering: .relaxed) }

    /// What may be charged: an eighth is left for what is not counted, as the buffers of the C library.
    package var room: Int {
        let limit = limit.load(ordering: .relaxed)
        return limit - limit / 8
    }

    /// The part of the room for long bodies, so that those which have come find room to be parsed.
    private var roomForBodies: Int { room / 8 }

    /// The bytes that are charged.
    package var used: Int { charged.load(ordering: .relaxed) }

    /// True if more is charged than there is.
    package var isExceeded: Bool { used > room }

    /// Adds an event loop, by a closure that has it close the slow connection which has held the most for the longest.
    func add(_ loop: @escaping @Sendable (_ ofBodies: Bool) -> Void) {
        loops.withLock { $0.all.append(loop) }
    }

    /// Has one event loop close a slow connection, for work that waits for memory; each time the next loop. From any thread.
    ///
    /// - Parameter ofBodies: true to close a connection only if its long body has been slow since it began.
    package func relieve(ofBodies: Bool = false) {
        let loop = loops.withLock { loops -> (@Sendable (Bool) -> Void)? in
            guard !loops.all.isEmpty else { return nil }
            loops.next = (loops.next + 1) % loops.all.count
            return loops.all[loops.next]
        }
        loop?(ofBodies)
    }

    /// Charges bytes until the charge is released.
    package func charge(_ bytes: Int = 0) -> Charge {
        let charge = Charge(of: self)
        charge.resize(to: bytes)
        return charge
    }

    /// Charges bytes if there is room. More than the whole budget counts as all of it.
    ///
    /// - Parameters:
    ///   - held: bytes that are charged already and part of these.
    ///   - part: how much may be charged then; nil for the whole budget.
    package func chargeIfRoom(_ bytes: Int, beside held: Int = 0, of part: Int? = nil) -> Charge? {
        let room = part ?? room
        let wanted = min(bytes, room)
        guard used - held + wanted <= room else { return nil }
        return charge(max(0, wanted - held))
    }

    /// Charges all of a long body before it is read, if no other waits before it and there is room beside those that are
    /// read. One that is longer than all of that room takes all of it.
    ///
    /// - Parameter place: where it waits; nil if it does not wait yet.
    func reserve(_ bytes: Int, at place: Place? = nil) -> Charge? {
        guard line.withLock({ $0.places.first }) == place?.number else { return nil }
        let bytes = min(bytes, roomForBodies)
        var others = reserved.load(ordering: .relaxed)
        while others + bytes <= roomForBodies {
            let (exchanged, now) = reserved.compareExchange(
                expected: others, desired: others + bytes, ordering: .relaxed)
            guard !exchanged else {
                let charge = Charge(of: self, reserved: bytes)
                charge.resize(to: bytes)
                return charge
            }
            others = now
        }
        return nil
    }

    /// Takes the last place in the line of long bodies.
    func wait() -> Place {
        let number = line.withLock { line in
            line.last += 1
            line.places.append(line.last)
            return line.last
        }
        return Place(number, of: self)
    }

    /// A place in the line of long bodies that wait for memory, as long as it lives.
    final class Place: Sendable {
        fileprivate let number: UInt64
        private let budget: MemoryBudget

        fileprivate init(_ number: UInt64, of budget: MemoryBudget) {
            self.number = number
            self.budget = budget
        }

        deinit {
            budget.line.withLock { line in
                // Mostly it is the first.
                if let index = line.places.firstIndex(of: number) { line.places.remove(at: index) }
            }
        }
    }

    /// Bytes that are charged for as long as the object lives. Its owner alone resizes it.
    package final class Charge: Sendable {
        private let budget: MemoryBudget
        private let amount = Atomic(0)
        /// The bytes that it takes of the room for long bodies, as long as it lives.
        let reserved: Int

        fileprivate init(of budget: MemoryBudget, reserved: Int = 0) {
            self.budget = budget
            self.reserved = reserved
        }

        package var bytes: Int { amount.load(ordering: .relaxed) }

        package func resize(to bytes: Int) {
            let change = bytes - amount.exchange(bytes, ordering: .relaxed)
            if change != 0 { budget.charged.add(change, ordering: .relaxed) }
        }

        deinit {
            resize(to: 0)
            budget.reserved.subtract(reserved, ordering: .relaxed)
        }
    }
}
