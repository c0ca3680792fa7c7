package import SettingsStorage
internal import Synchronization

/// A watchdog that feeds the one of the service manager for as long as every loop and both stages of the write path take turns.
///
/// If one of them hangs, the manager gets no sign of life, and restarts the daemon.
package final class Watchdog: Sendable {
    /// A part of the daemon that takes turns.
    package struct Part: Sendable {
        let name: String
        /// Calls a closure in the next turn of the part.
        let inNextTurn: @Sendable (@escaping @Sendable () -> Void) -> Void

        package init(
            _ name: String, inNextTurn: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
        ) {
            self.name = name
            self.inNextTurn = inNextTurn
        }
    }

    private let parts: [Part]
    private let feed: @Sendable () -> Void
    private let log: Log
    /// The parts that have taken no turn since the last sign of life, by their position.
    private let waiting = Mutex((parts: Set<Int>(), isLogged: false))

    package init(_ parts: [Part], _ log: Log, feed: @escaping @Sendable () -> Void) {
        self.parts = parts
        self.log = log
        self.feed = feed
    }

    /// Feeds if every part has taken a turn since the last time. To be called several times in the interval of the manager.
    package func tick() {
        let (late, isNew) = waiting.withLock { waiting in
            let late = waiting.parts
            defer { waiting.isLogged = !late.isEmpty }
            if late.isEmpty { waiting.parts = Set(parts.indices) }
            return (late, !waiting.isLogged)
        }
        guard late.isEmpty else {
            if isNew {
                let names = late.sorted().map { parts[$0].name }.joined(separator: ", ")
                log.warning("\(names): no turn for a while; the service manager restarts the daemon if that goes on")
            }
            return
        }
        feed()
        for (position, part) in parts.enumerated() {
            part.inNextTurn { self.waiting.withLock { _ = $0.parts.remove(position) } }
        }
    }
}
