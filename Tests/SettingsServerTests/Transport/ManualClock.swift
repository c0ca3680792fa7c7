import HTTPServer
import Platform
import Synchronization

/// A clock that only the test advances.
final class ManualClock: Sendable {
    /// The time in nanoseconds, which begins at an arbitrary value.
    private let time = Atomic<UInt64>(1_000 * TransportLimits.second)

    var clock: MonotonicClock { MonotonicClock { self.time.load(ordering: .sequentiallyConsistent) } }

    func advance(seconds: Double) {
        time.add(UInt64(seconds * Double(TransportLimits.second)), ordering: .sequentiallyConsistent)
    }

    func advance(nanoseconds: UInt64) {
        time.add(nanoseconds, ordering: .sequentiallyConsistent)
    }
}
