/// A timer wheel: a ring of ticks (short intervals of time). Each tick has the identifiers of the connections whose
/// deadlines are in the tick.
///
/// The wheel returns each inserted identifier once: after the tick of its deadline, or earlier if the ring has too few
/// ticks for the deadline. The wheel cannot move or remove an identifier. If the wheel returns an identifier before its
/// deadline, or the deadline was moved to a later time, the calling code inserts the identifier again. Therefore moving
/// a deadline, which happens with each request, only changes the copy of the deadline that the calling code has.
struct DeadlineWheel {
    /// The time of a deadline that never passes.
    static let never = UInt64.max

    /// The length of a tick in nanoseconds. The wheel returns an identifier at most this long after its deadline.
    let tickLength: UInt64
    /// The number of ticks in the ring. If a deadline is more ticks away, the wheel returns the identifier too early.
    private let tickCount: UInt64
    private var ring: [[UInt64]]
    /// The first tick that `insert` may use. All earlier ticks have passed and are empty.
    private var current: UInt64
    private var identifierCount = 0
    /// The first tick with identifiers; `never` if the wheel is empty.
    private(set) var earliest = never

    init(now: UInt64, tickLength: UInt64, tickCount: Int) {
        self.tickLength = tickLength
        self.tickCount = UInt64(tickCount)
        ring = [[UInt64]](repeating: [], count: tickCount)
        current = now / tickLength
    }

    /// The first time at which `removeExpired` returns identifiers; `never` if the wheel is empty.
    var wakeTime: UInt64 {
        earliest == Self.never ? Self.never : (earliest + 1) * tickLength
    }

    /// Inserts an identifier, and returns the number of the tick with which the wheel will return the identifier.
    mutating func insert(_ identifier: UInt64, at deadline: UInt64, now: UInt64) -> UInt64 {
        current = max(current, min(now / tickLength, earliest))
        let insertedTick = min(max(deadline / tickLength, current), current + tickCount - 1)
        ring[Int(insertedTick % tickCount)].append(identifier)
        identifierCount += 1
        if insertedTick < earliest { earliest = insertedTick }
        return insertedTick
    }

    /// Removes and returns the identifiers of the first tick with identifiers, if this tick has passed; otherwise
    /// returns nil. `tick` is the number of the tick: the time of the tick divided by `tickLength`.
    mutating func removeExpired(now: UInt64) -> (tick: UInt64, identifiers: [UInt64])? {
        guard earliest != Self.never, earliest < now / tickLength else { return nil }
        let expiredTick = earliest
        let slot = Int(expiredTick % tickCount)
        let identifiers = ring[slot]
        ring[slot] = []
        identifierCount -= identifiers.count
        current = expiredTick + 1
        earliest = Self.never
        if identifierCount > 0 {
            earliest = current
            while ring[Int(earliest % tickCount)].isEmpty { earliest += 1 }
        }
        return (expiredTick, identifiers)
    }
}
