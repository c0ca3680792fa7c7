import Dispatch
import Synchronization

/// How many commits there were so far, as writers are answered, for those who wait for more of them.
final class Tide: Sendable {
    private struct Level {
        var commits = 0
        var isOver = false
        var waiting: [(commits: Int, signal: DispatchSemaphore)] = []
    }

    private let level = Mutex(Level())

    var commits: Int { level.withLock { $0.commits } }

    /// Whether nothing more is written.
    var isOver: Bool { level.withLock { $0.isOver } }

    func rise() {
        change { $0.commits += 1 }
    }

    func end() {
        change { $0.isOver = true }
    }

    /// Waits until there are so many more commits, or will be none; not forever.
    func wait(forMore count: Int, atMost seconds: Int = 10) {
        let signal = DispatchSemaphore(value: 0)
        change { $0.waiting.append(($0.commits + count, signal)) }
        _ = signal.wait(timeout: .now() + .seconds(seconds))
    }

    private func change(_ body: (inout Level) -> Void) {
        level.withLock { level in
            body(&level)
            level.waiting.removeAll { commits, signal in
                guard level.isOver || level.commits >= commits else { return false }
                signal.signal()
                return true
            }
        }
    }
}

/// Tells the last of some apart.
final class Countdown: Sendable {
    private let left: Mutex<Int>

    init(_ count: Int) {
        left = Mutex(count)
    }

    func isLast() -> Bool {
        left.withLock { left in
            left -= 1
            return left == 0
        }
    }
}
