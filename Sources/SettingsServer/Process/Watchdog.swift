package import SettingsStorage
internal import Synchronization

/// Reports to the watchdog of the service manager while all parts of the daemon make progress.
///
/// If a part hangs, the service manager gets no report and restarts the daemon. Thread-safe.
package final class Watchdog: Sendable {
    /// A part of the daemon that repeatedly executes an iteration of a loop.
    package struct Part: Sendable {
        let name: String
        /// Schedules a closure for the next iteration of the part.
        let inNextIteration: @Sendable (@escaping @Sendable () -> Void) -> Void

        package init(
            _ name: String, inNextIteration: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
        ) {
            self.name = name
            self.inNextIteration = inNextIteration
        }
    }

    private let parts: [Part]
    /// Reports to the watchdog of the service manager.
    private let feed: @Sendable () -> Void
    private let log: Log
    /// The indices of the parts that have not executed an iteration since the last report, and whether a log line has
    /// reported this.
    private let pending = Mutex((parts: Set<Int>(), isLogged: false))

    package init(_ parts: [Part], _ log: Log, feed: @escaping @Sendable () -> Void) {
        self.parts = parts
        self.log = log
        self.feed = feed
    }

    /// Reports to the watchdog of the service manager if every part has executed an iteration since the last report.
    /// Must be called several times per watchdog interval.
    package func checkProgress() {
        let (lateParts, mustLog) = pending.withLock { pending in
            let lateParts = pending.parts
            defer { pending.isLogged = !lateParts.isEmpty }
            if lateParts.isEmpty { pending.parts = Set(parts.indices) }
            return (lateParts, !pending.isLogged)
        }
        guard lateParts.isEmpty else {
            if mustLog {
                let names = lateParts.sorted().map { parts[$0].name }.joined(separator: ", ")
                log.warning("\(names) made no progress; the service manager restarts the daemon if this continues")
            }
            return
        }
        feed()
        for (position, part) in parts.enumerated() {
            part.inNextIteration { self.pending.withLock { _ = $0.parts.remove(position) } }
        }
    }
}
