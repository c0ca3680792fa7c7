internal import Dispatch
internal import Glibc
package import HTTPServer
internal import SettingsAPI
internal import SettingsCluster
package import SettingsServer
internal import SettingsStorage
internal import Synchronization

/// A daemon within the tests, on a TCP port of this machine that the kernel chooses unless one is asked for. It stops with
/// its last reference.
///
/// With `SETTINGSD_TEST_ETCD`, the addresses of members of etcd, its log is there, a log for each data directory. With
/// several addresses it is as many daemons, and each request goes to one of them by chance.
package final class DaemonInProcess: Sendable {
    package let port: UInt16
    private let daemons: [Daemon]
    private let spreader: RequestSpreader?
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
        let etcd = getenv("SETTINGSD_TEST_ETCD").map { String(cString: $0).split(separator: ",") } ?? []
        configuration.etcd.endpoints = etcd.compactMap { EtcdEndpoint(String($0)) }
        if !etcd.isEmpty { configuration.etcd.prefix = "test" + data }
        adapt(&configuration)
        let log = Log(level: .error, clock: { Timestamp.now() }, write: { _ in })
        daemons = try (0..<max(1, etcd.count)).map { number in
            try Daemon(configuration, directory: number == 0 ? data : "\(data)/daemon-\(number)", log: log)
        }
        let ports = try daemons.map { daemon in
            guard case .tcp(_, let port)? = daemon.addresses.first else { throw NoPort() }
            return port
        }
        spreader = ports.count > 1 ? try RequestSpreader(to: ports) : nil
        self.port = spreader?.port ?? ports[0]
    }

    deinit {
        spreader?.stop()
        guard !isStopped.load(ordering: .relaxed) else { return }
        for daemon in daemons { StoppingDaemons.add(daemon, directory) }
    }

    /// Where it listens.
    package var addresses: [ListenAddress] { daemons[0].addresses }

    /// Stops, and waits until that is done.
    package func stop() {
        isStopped.store(true, ordering: .relaxed)
        for daemon in daemons {
            let done = DispatchSemaphore(value: 0)
            daemon.stop { _ in done.signal() }
            done.patientWait()
        }
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
