/// Who must be looked at, and when: a ring of ticks, so that moving a deadline, which happens with each request, costs
/// nothing.
///
/// It knows no connections, only names. A name is filed under the tick of its deadline and comes out once; if its deadline
/// has moved meanwhile, whoever takes it out files it again. `now` is always an argument.
struct DeadlineWheel {
    /// Deadlines are met that late at most.
    let tick: UInt64
    /// Later deadlines are filed here and looked at too early, which does no harm.
    private static let size: UInt64 = 512

    static let never = UInt64.max

    private var ring = [[UInt64]](repeating: [], count: Int(size))
    /// All ticks before are empty.
    private var current: UInt64
    private var count = 0
    /// The first tick that may have names.
    private(set) var earliest = never

    init(tick: UInt64, now: UInt64) {
        self.tick = tick
        current = now / tick
    }

    /// The time at which `due` has something to give; `never` if it is empty.
    var wakeTime: UInt64 {
        earliest == Self.never ? Self.never : (earliest + 1) * tick
    }

    /// Returns the tick it was filed under.
    mutating func file(_ name: UInt64, at deadline: UInt64, now: UInt64) -> UInt64 {
        current = max(current, min(now / tick, earliest))
        let tick = min(max(deadline / tick, current), current + Self.size - 1)
        ring[Int(tick % Self.size)].append(name)
        count += 1
        if tick < earliest { earliest = tick }
        return tick
    }

    /// The names of the first tick that has passed, and the tick; nil if there is none.
    mutating func due(now: UInt64) -> (tick: UInt64, names: [UInt64])? {
        guard earliest != Self.never, earliest < now / tick else { return nil }
        let tick = earliest
        let place = Int(tick % Self.size)
        let names = ring[place]
        ring[place] = []
        count -= names.count
        current = tick + 1
        earliest = Self.never
        if count > 0 {
            earliest = current
            while ring[Int(earliest % Self.size)].isEmpty { earliest += 1 }
        }
        return (tick, names)
    }
}
