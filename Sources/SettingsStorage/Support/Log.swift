package import SettingsAPI
internal import SettingsModel
internal import Synchronization

/// The log with messages for operators: a line per event, with the time, the level and the message. Thread-safe.
package final class Log: Sendable {
    package enum Level: String, CaseIterable, Comparable, Sendable {
        /// Details for debugging.
        case debug
        /// Events of normal operation.
        case info
        /// Unexpected events after which the daemon continues without an operator.
        case warning
        /// Events that require an operator.
        case error

        package static func < (left: Level, right: Level) -> Bool { left.rank < right.rank }

        private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    }

    /// The lowest level that is written. A reload may change it.
    private let level: Mutex<Level>
    private let clock: @Sendable () -> Timestamp
    private let write: @Sendable (String) -> Void

    /// Makes a log that passes each line to a closure, without the line terminator.
    package init(
        level: Level, clock: @escaping @Sendable () -> Timestamp, write: @escaping @Sendable (String) -> Void
    ) {
        self.level = Mutex(level)
        (self.clock, self.write) = (clock, write)
    }

    package static func standardError(level: Level, clock: @escaping @Sendable () -> Timestamp) -> Log {
        Log(level: level, clock: clock) { LineWriter.standardError.append(Array(($0 + "\n").utf8)) }
    }

    package func setLevel(_ level: Level) { self.level.withLock { $0 = level } }

    package func debug(_ message: @autoclosure () -> String) { add(.debug, message) }
    package func info(_ message: @autoclosure () -> String) { add(.info, message) }
    package func warning(_ message: @autoclosure () -> String) { add(.warning, message) }
    package func error(_ message: @autoclosure () -> String) { add(.error, message) }

    private func add(_ level: Level, _ message: () -> String) {
        if level >= self.level.withLock({ $0 }) { writeLine(level, message()) }
    }

    /// Not inlined: the compiler copies `add` for each call that logs a message, and each copy would contain this code.
    @inline(never)
    private func writeLine(_ level: Level, _ message: String) { write(Self.line(clock(), level, message)) }

    static func line(_ time: Timestamp, _ level: Level, _ message: String) -> String {
        // A message may contain text of clients, whose line breaks must not begin another log line.
        let text = message.map { $0.isNewline ? " " : String($0) }.joined()
        return "\(time) \(level.rawValue) \(text)"
    }
}
