internal import Dispatch
internal import HTTPServer
internal import Platform
internal import SettingsModel
package import SettingsStorage
internal import Synchronization

/// Reports the state of the daemon to the service manager that started it, with the protocol of systemd's `sd_notify`.
///
/// The report that the daemon stops is the last report of a state. Otherwise a reload that ends later would report that
/// the daemon is ready. Thread-safe.
package final class ServiceManager: Sendable {
    /// The path of the socket, or its abstract name after `@`.
    private let socket: String
    private let log: Log
    /// Serializes the reports of states, so that the report of the stop is the last of them.
    private let queue = DispatchQueue(label: "settingsd.manager", qos: .userInitiated)
    private let isStopping = Atomic(false)
    /// The watchdog interval in nanoseconds: the service manager restarts the daemon if ``feedWatchdog()`` is not
    /// called within this time. Nil if the watchdog is off.
    let watchdogInterval: UInt64?

    /// Reads the variables of the service manager. Returns nil if the environment names no notification socket.
    ///
    /// - Parameter process: the identifier of this process. The watchdog may supervise a different process.
    package init?(environment: [String: String], process: Int32, log: Log) {
        guard let socket = environment["NOTIFY_SOCKET"], socket.hasBytePrefix("/") || socket.hasBytePrefix("@") else {
            return nil
        }
        self.socket = socket
        self.log = log
        let isForThisProcess = environment["WATCHDOG_PID"].map { $0 == String(process) } ?? true
        let microseconds = environment["WATCHDOG_USEC"].flatMap { UInt64($0) } ?? 0
        let isValid = (1...UInt64.max / 1000).contains(microseconds)
        watchdogInterval = isForThisProcess && isValid ? microseconds * 1000 : nil
    }

    /// Reports that the daemon serves requests, with a line of text that `systemctl status` shows.
    ///
    /// - Parameter failure: a description of what failed in a reload; nil if nothing failed.
    func reportReady(on addresses: [ListenAddress], failure: String? = nil) {
        let status =
            "serving on \(addresses.map(\.location).joined(separator: ", "))" + (failure.map { "; \($0)" } ?? "")
        send("READY=1\nSTATUS=\(status.map { $0.isNewline ? " " : String($0) }.joined())")
    }

    /// Reports that a reload begins. ``reportReady(on:failure:)`` reports its end.
    func reportReloading() {
        send(
            "RELOADING=1\nMONOTONIC_USEC=\(MonotonicClock.system.now() / 1000)\nSTATUS=reading the configuration again")
    }

    func reportStopping() { send("STOPPING=1\nSTATUS=stopping", isLast: true) }

    /// Reports to the watchdog that the daemon works. Does not log failures, because this call is frequent, and because
    /// the service manager restarts the daemon after failures.
    func feedWatchdog() { try? Datagram.send("WATCHDOG=1", to: socket) }

    private func send(_ text: String, isLast: Bool = false) {
        queue.sync {
            guard !isStopping.load(ordering: .relaxed) else { return }
            if isLast { isStopping.store(true, ordering: .relaxed) }
            do throws(SystemError) {
                try Datagram.send(text, to: socket)
            } catch {
                log.warning("cannot reach the service manager at the socket \(socket): \(error)")
            }
        }
    }
}
