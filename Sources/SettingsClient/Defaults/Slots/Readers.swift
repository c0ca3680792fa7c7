public import Synchronization

/// Who is reading at this moment, so that readers need no lock and what was replaced is let go of when none can be at it.
///
/// A reader counts itself in, loads a pointer, takes what it needs from there, and counts itself out. Whoever replaces
/// what a pointer leads to hands the old over here; it is let go of once every counter was seen at zero after that. All
/// that is in one order that everybody sees: a reader who has the old pointer loaded it before it was replaced, and had
/// counted itself in before, so a counter at zero says that it is out again; and what it did before is done.
///
/// Each thread counts in its place, so readers wait neither for each other nor for what the other has just written.
@usableFromInline
final class Readers: Sendable {
    /// A counter, as far from the next as memory is handed from core to core.
    @usableFromInline
    struct Counter: ~Copyable, Sendable {
        let before: InlineArray<8, Int> = InlineArray(repeating: 0)
        @usableFromInline let present = Atomic(0)
        let after: InlineArray<7, Int> = InlineArray(repeating: 0)
    }

    /// Something that was replaced, and the counters that were not seen at zero since.
    private struct Replaced {
        let object: any AnyObject & Sendable
        var waitsFor: UInt16 = .max
    }

    @usableFromInline let counters = InlineArray<16, Counter> { _ in Counter() }
    private let replaced = Mutex<[Replaced]>([])

    /// Runs a body that may use what pointers lead to that may be replaced meanwhile. It must not call out.
    @inlinable
    func read<Result>(_ body: () -> Result) -> Result {
        let place = ThreadPlace.current
        counters[place].present.wrappingAdd(1, ordering: .sequentiallyConsistent)
        defer { counters[place].present.wrappingSubtract(1, ordering: .releasing) }
        return body()
    }

    /// Takes over what no pointer leads to any more.
    ///
    /// What waits here was replaced while somebody was reading, so it is little: reading takes less time than replacing,
    /// and waits for nothing.
    func letGo(of object: any AnyObject & Sendable) {
        // What is let go of may run code of the program's, so that is done after the lock is free.
        let free = replaced.withLock { replaced in
            replaced.append(Replaced(object: object))
            let present = presence()
            for index in replaced.indices { replaced[index].waitsFor &= present }
            let free = replaced.filter { $0.waitsFor == 0 }
            replaced.removeAll { $0.waitsFor == 0 }
            return free
        }
        _ = free
    }

    /// How much waits to be let go of.
    var replacedCount: Int {
        replaced.withLock { $0.count }
    }

    /// The counters that are not at zero.
    private func presence() -> UInt16 {
        var present: UInt16 = 0
        for index in counters.indices where counters[index].present.load(ordering: .sequentiallyConsistent) != 0 {
            present |= 1 << UInt16(index)
        }
        return present
    }
}
