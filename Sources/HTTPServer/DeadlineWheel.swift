/// A ring of ticks that returns names when their deadlines pass. Moving a deadline, which happens with each request, costs
/// nothing.
///
/// A name is filed under the tick of its deadline and comes out once. If the deadline has moved meanwhile, the caller files
/// the name again. `now` is always an argument.
struct DeadlineWheel {
    static let never = UInt64.max

    /// The length of a tick in nanoseconds. A name comes out that late at most.
    let tick: UInt64
    /// The ticks of the ring. A name whose deadline is beyond comes out early.
    private let size: UInt64
    private var ring: [[UInt64]]
    /// All ticks before are empty.
    private var current: UInt64
    private var count = 0
    /// The first tick that may have names.
    private(set) var earliest = never

    init(now: UInt64, tick: UInt64, size: Int) {
        self.tick = tick
        self.size = UInt64(size)
        ring = [[UInt64]](repeating: [], count: size)
        current = now / tick
    }

    /// The time at which `due` returns names; `never` if there are none.
    var wakeTime: UInt64 {
        earliest == Self.never ? Self.never : (earliest + 1) * tick
    }

    /// Files a name and returns its tick.
    mutating func file(_ name: UInt64, at deadline: UInt64, now: UInt64) -> UInt64 {
        current = max(current, min(now / tick, earliest))
        let filed = min(max(deadline / tick, current), current + size - 1)
        ring[Int(filed % size)].append(name)
        count += 1
        if filed < earliest { earliest = filed }
        return filed
    }

    /// Removes the names of the first tick that has passed, and returns them with the tick; nil if there are none.
    mutating func due(now: UInt64) -> (tick: UInt64, names: [UInt64])? {
        guard earliest != Self.never, earliest < now / tick else { return nil }
        let passed = earliest
        let place = Int(passed % size)
        let names = ring[place]
        ring[place] = []
        count -= names.count
        current = passed + 1
        earliest = Self.never
        if count > 0 {
            earliest = current
            while ring[Int(earliest % size)].isEmpty { earliest += 1 }
        }
        return (passed, names)
    }
}
