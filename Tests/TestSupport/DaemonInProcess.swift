internal import Dispatch
package import SettingsServer
internal import Synchronization

/// A daemon within the tests, on a TCP port of this machine that the kernel chooses unless one is asked for. It stops when
/// nobody needs it any more.
package final class DaemonInProcess: Sendable {
    package let port: UInt16
    private let daemon: Daemon
    private let isStopped = Atomic(false)

    package struct NoPort: Error {
        package init() {}
    }

    /// - Parameter data: the directory of its data, which may be that of another one before it.
    package init(data: String, port: UInt16 = 0, _ adapt: (inout Configuration) -> Void) throws {
        var configuration = Configuration()
        configuration.listen = [.tcp(host: "127.0.0.1", port: port)]
        configuration.loops = 1
        adapt(&configuration)
        let log = Log(level: .error, clock: { Daemon.now() }, write: { _ in })
        daemon = try Daemon(configuration, directory: data, log: log)
        guard case .tcp(_, let port)? = daemon.addresses.first else { throw NoPort() }
        self.port = port
    }

    deinit {
        if !isStopped.load(ordering: .relaxed) { daemon.stop { _ in } }
    }

    /// Where it listens.
    package var addresses: [ListenAddress] { daemon.addresses }

    /// Stops, and waits until that is done.
    package func stop() {
        isStopped.store(true, ordering: .relaxed)
        let done = DispatchSemaphore(value: 0)
        daemon.stop { _ in done.signal() }
        done.wait()
    }
}
