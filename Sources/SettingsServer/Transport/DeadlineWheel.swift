/// Who must be looked at, and when: a ring of ticks, so that moving a deadline, which happens with each request, costs
/// nothing.
///
/// It knows no connections, only names. A name is filed under the tick of its deadline and comes out once; if its deadline
/// has moved meanwhile, whoever takes it out files it again. `now` is always an argument.
struct DeadlineWheel {
    static let never = UInt64.max

    /// In nanoseconds: deadlines are met that late at most.
    let tick: UInt64
    /// Ticks that the ring has room for. Deadlines beyond are looked at too early, which does no harm.
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

    /// The time at which `due` has something to give; `never` if it is empty.
    var wakeTime: UInt64 {
        earliest == Self.never ? Self.never : (earliest + 1) * tick
    }

    /// Returns the tick it was filed under.
    mutating func file(_ name: UInt64, at deadline: UInt64, now: UInt64) -> UInt64 {
        current = max(current, min(now / tick, earliest))
        let filed = min(max(deadline / tick, current), current + size - 1)
        ring[Int(filed % size)].append(name)
        count += 1
        if filed < earliest { earliest = filed }
        return filed
    }

    /// The names of the first tick that has passed, and the tick; nil if there is none.
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
