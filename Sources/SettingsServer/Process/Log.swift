internal import Glibc
package import SettingsAPI
internal import SettingsModel
internal import Synchronization

/// One line an event, for people and for whatever collects lines: time, level, message.
package struct Log: Sendable {
    /// How much an event matters.
    package enum Level: String, CaseIterable, Comparable, Sendable {
        /// For a developer who looks for a defect.
        case debug
        /// What an operator expects to read.
        case info
        /// What goes on by itself but should not happen.
        case warning
        /// For an operator, who has to act.
        case error

        package static func < (left: Level, right: Level) -> Bool { left.rank < right.rank }

        private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    }

    private let level: Level
    private let clock: @Sendable () -> Timestamp
    private let write: @Sendable (String) -> Void

    /// A log that hands each line, without its end, to a closure.
    package init(
        level: Level, clock: @escaping @Sendable () -> Timestamp, write: @escaping @Sendable (String) -> Void
    ) {
        self.level = level
        self.clock = clock
        self.write = write
    }

    /// A log on standard error. A line goes out in one call, so that lines of several threads do not mix.
    package static func standardError(level: Level, clock: @escaping @Sendable () -> Timestamp) -> Log {
        Log(level: level, clock: clock) { line in
            let bytes = Array((line + "\n").utf8)
            bytes.withUnsafeBytes { buffer in
                guard let start = buffer.baseAddress else { return }
                // There is nowhere to report a failure of this.
                _ = Glibc.write(STDERR_FILENO, start, buffer.count)
            }
        }
    }

    package func debug(_ message: @autoclosure () -> String) { add(.debug, message) }
    package func info(_ message: @autoclosure () -> String) { add(.info, message) }
    package func warning(_ message: @autoclosure () -> String) { add(.warning, message) }
    package func error(_ message: @autoclosure () -> String) { add(.error, message) }

    private func add(_ level: Level, _ message: () -> String) {
        guard level >= self.level else { return }
        // What came from outside may hold anything; it must not make lines of its own.
        let text = message().map { $0.isNewline ? " " : String($0) }.joined()
        write("\(clock()) \(level.rawValue) \(text)")
    }
}

extension Log {
    /// Logs an event of the transport.
    func add(_ event: TransportEvent) {
        switch event {
        case .acceptPaused(let error):
            warning("no more connections for now: \(error); raise the limit of open files if this happens often")
        case .acceptResumed: info("connections are taken again")
        }
    }
}
