import SettingsAPI
import SettingsModel
import Synchronization

/// A clock that shows given times, one after the other.
final class Times: Sendable {
    private let left: Mutex<[Int64]>

    init(_ milliseconds: [Int64]) {
        left = Mutex(milliseconds.reversed())
    }

    func next() -> Timestamp {
        Timestamp(milliseconds: left.withLock { $0.popLast() ?? 0 })
    }
}
