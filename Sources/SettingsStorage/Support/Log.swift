package import SettingsAPI
internal import SettingsModel
internal import Synchronization

/// A log that writes a line an event: time, level, message.
package final class Log: Sendable {
    package enum Level: String, CaseIterable, Comparable, Sendable {
        /// Details for finding a defect.
        case debug
        /// Events that an operator expects.
        case info
        /// Events that should not happen, after which the daemon goes on.
        case warning
        /// Events that need an operator.
        case error

        package static func < (left: Level, right: Level) -> Bool { left.rank < right.rank }

        private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    }

    /// The lowest level that is written. A reload may change it.
    private let level: Mutex<Level>
    private let clock: @Sendable () -> Timestamp
    private let write: @Sendable (String) -> Void

    /// A log that hands each line, without its end, to a closure.
    package init(
        level: Level, clock: @escaping @Sendable () -> Timestamp, write: @escaping @Sendable (String) -> Void
    ) {
        self.level = Mutex(level)
        self.clock = clock
        self.write = write
    }

    /// A log on standard error.
    package static func standardError(level: Level, clock: @escaping @Sendable () -> Timestamp) -> Log {
        Log(level: level, clock: clock) { LineWriter.standardError.append(Array(($0 + "\n").utf8)) }
    }

    /// Changes the lowest level that is written.
    package func setLevel(_ level: Level) { self.level.withLock { $0 = level } }

    package func debug(_ message: @autoclosure () -> String) { add(.debug, message) }
    package func info(_ message: @autoclosure () -> String) { add(.info, message) }
    package func warning(_ message: @autoclosure () -> String) { add(.warning, message) }
    package func error(_ message: @autoclosure () -> String) { add(.error, message) }

    private func add(_ level: Level, _ message: () -> String) {
        if level >= self.level.withLock({ $0 }) { writeLine(level, message()) }
    }

    /// Not inlined, as the compiler makes a copy of `add` for each message.
    @inline(never)
    private func writeLine(_ level: Level, _ message: String) {
        write(Self.line(clock(), level, message))
    }

    static func line(_ time: Timestamp, _ level: Level, _ message: String) -> String {
        // Text from outside may contain line ends.
        let text = message.map { $0.isNewline ? " " : String($0) }.joined()
        return "\(time) \(level.rawValue) \(text)"
    }
}
