internal import Dispatch
internal import HTTPServer
internal import Platform
internal import SettingsModel
package import SettingsStorage
internal import Synchronization

/// A sender of the daemon's state to the service manager that started it, by the protocol of systemd's `sd_notify`.
///
/// Once it has reported that the daemon stops, it reports nothing else: a reload may end after that.
package final class ServiceManager: Sendable {
    private let socket: String
    private let log: Log
    /// Sends one report after the other, so that the stop is the last.
    private let queue = DispatchQueue(label: "settingsd.manager", qos: .userInitiated)
    private let isStopping = Atomic(false)
    /// The nanoseconds within which the manager wants a sign of life; nil if it wants none.
    let watchdogInterval: UInt64?

    /// Reads the environment; nil if no manager wants to know.
    ///
    /// - Parameter process: the number of this process: the watchdog may be meant for another.
    package init?(environment: [String: String], process: Int32, log: Log) {
        guard let socket = environment["NOTIFY_SOCKET"], socket.hasBytePrefix("/") || socket.hasBytePrefix("@") else {
            return nil
        }
        self.socket = socket
        self.log = log
        let isMeant = environment["WATCHDOG_PID"].map { $0 == String(process) } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap { UInt64($0) } ?? 0
        watchdogInterval = isMeant && (1...UInt64.max / 1000).contains(microseconds) ? microseconds * 1000 : nil
    }

    /// Reports that the daemon serves, with a line for people that `systemctl status` shows.
    ///
    /// - Parameter trouble: what failed in a reload; nil if nothing did.
    func ready(on addresses: [ListenAddress], trouble: String? = nil) {
        let status =
            "serving on \(addresses.map(\.location).joined(separator: ", "))" + (trouble.map { "; \($0)" } ?? "")
        send("READY=1\nSTATUS=\(status.map { $0.isNewline ? " " : String($0) }.joined())")
    }

    /// Reports that a reload begins; ``ready(on:trouble:)`` ends it.
    func reloading() {
        send(
            "RELOADING=1\nMONOTONIC_USEC=\(MonotonicClock.system.now() / 1000)\nSTATUS=reading the configuration again")
    }

    func stopping() { send("STOPPING=1\nSTATUS=stopping", isLast: true) }

    /// Gives a sign of life. A failure is not logged: there are many of them, and the manager restarts the daemon.
    func feedWatchdog() { try? Datagram.send("WATCHDOG=1", to: socket) }

    private func send(_ text: String, isLast: Bool = false) {
        queue.sync {
            guard !isStopping.load(ordering: .relaxed) else { return }
            if isLast { isStopping.store(true, ordering: .relaxed) }
            do throws(SystemError) {
                try Datagram.send(text, to: socket)
            } catch {
                log.warning("cannot reach the service manager: \(error) (\(socket))")
            }
        }
    }
}
