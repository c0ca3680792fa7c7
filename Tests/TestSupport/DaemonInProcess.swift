internal import Dispatch
internal import Glibc
internal import SettingsAPI
package import SettingsServer
internal import Synchronization

/// A daemon within the tests, on a TCP port of this machine that the kernel chooses unless one is asked for. It stops with
/// its last reference.
package final class DaemonInProcess: Sendable {
    package let port: UInt16
    private let daemon: Daemon
    private let directory: TemporaryDirectory
    private let isStopped = Atomic(false)

    package struct NoPort: Error {
        package init() {}
    }

    /// - Parameters:
    ///   - data: the directory of its data, which may be that of another one before it.
    ///   - directory: where that is: it stays until the daemon has stopped.
    package init(
        data: String, in directory: TemporaryDirectory, port: UInt16 = 0, _ adapt: (inout Configuration) -> Void
    ) throws {
        self.directory = directory
        var configuration = Configuration()
        configuration.listen = [.tcp(host: "127.0.0.1", port: port)]
        configuration.loops = 1
        // Has suites that were written for one daemon run on a log in etcd, a log for each data directory.
        if let etcd = getenv("SETTINGSD_TEST_ETCD").flatMap({ EtcdEndpoint(String(cString: $0)) }) {
            configuration.etcd.endpoints = [etcd]
            configuration.etcd.prefix = "test" + data
        }
        adapt(&configuration)
        let log = Log(level: .error, clock: { Timestamp.now() }, write: { _ in })
        daemon = try Daemon(configuration, directory: data, log: log)
        guard case .tcp(_, let port)? = daemon.addresses.first else { throw NoPort() }
        self.port = port
    }

    deinit {
        if !isStopped.load(ordering: .relaxed) { StoppingDaemons.add(daemon, directory) }
    }

    /// Where it listens.
    package var addresses: [ListenAddress] { daemon.addresses }

    /// Stops, and waits until that is done.
    package func stop() {
        isStopped.store(true, ordering: .relaxed)
        let done = DispatchSemaphore(value: 0)
        daemon.stop { _ in done.signal() }
        done.patientWait()
    }
}

/// Daemons without a reference that have not stopped yet. They write until then, so their directories stay as
/// long, and so does the process.
private enum StoppingDaemons {
    private static let stopping = DispatchGroup()
    private static let isAwaited = atexit { _ = StoppingDaemons.stopping.wait(timeout: .now() + .seconds(60)) } == 0

    /// What is let go of before it is said that a daemon has stopped.
    private final class Held: Sendable {
        let directory: Mutex<TemporaryDirectory?>

        init(_ directory: TemporaryDirectory) {
            self.directory = Mutex(directory)
        }
    }

    static func add(_ daemon: Daemon, _ directory: TemporaryDirectory) {
        _ = isAwaited
        stopping.enter()
        let held = Held(directory)
        daemon.stop { _ in
            held.directory.withLock { $0 = nil }
            stopping.leave()
        }
    }
}
