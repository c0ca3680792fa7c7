internal import Dispatch
internal import Glibc
package import HTTPServer
internal import SettingsAPI
internal import SettingsCluster
package import SettingsServer
internal import SettingsStorage
internal import Synchronization

/// A daemon in the test process, on a TCP port of this machine that the kernel chooses by default. The daemon stops
/// when its last reference is released.
///
/// If `SETTINGSD_TEST_ETCD` has the addresses of etcd members, the daemon keeps its log in etcd, with a separate log
/// for each data directory. With several addresses, the object starts one daemon for each address, and each request
/// goes to a random daemon.
package final class DaemonInProcess: Sendable {
    package let port: UInt16
    private let daemons: [Daemon]
    private let spreader: RequestSpreader?
    private let directory: TemporaryDirectory
    private let isStopped = Atomic(false)

    /// The first address of the daemon is not a TCP port, so the test cannot connect.
    package struct NoPort: Error {
        package init() {}
    }

    /// - Parameters:
    ///   - data: The data directory, which can have the data of an earlier daemon.
    ///   - directory: The directory that contains the data directory. It exists until the daemon has stopped.
    ///   - adapt: Changes the configuration before the daemon starts.
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
        // The messages of the daemon are dropped.
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

    /// The addresses on which the daemon listens; with several daemons, the addresses of the first daemon.
    package var addresses: [ListenAddress] { daemons[0].addresses }

    /// Stops the daemon and waits until it has stopped.
    package func stop() {
        isStopped.store(true, ordering: .relaxed)
        for daemon in daemons {
            let done = DispatchSemaphore(value: 0)
            daemon.stop { _ in done.signal() }
            done.patientWait()
        }
    }
}

/// Daemons that are still stopping after their last reference was released. They write until they have stopped, so
/// their directories and the test process must exist until then.
private enum StoppingDaemons {
    private static let stopping = DispatchGroup()
    /// The first use registers a function that waits for the daemons at the exit of the process.
    private static let isAwaitedAtExit =
        atexit { _ = StoppingDaemons.stopping.wait(timeout: .now() + .seconds(60)) } == 0

    /// The directory of a stopping daemon, which is removed before the daemon counts as stopped.
    private final class RetainedDirectory: Sendable {
        let directory: Mutex<TemporaryDirectory?>

        init(_ directory: TemporaryDirectory) {
            self.directory = Mutex(directory)
        }
    }

    static func add(_ daemon: Daemon, _ directory: TemporaryDirectory) {
        _ = isAwaitedAtExit
        stopping.enter()
        let retained = RetainedDirectory(directory)
        daemon.stop { _ in
            retained.directory.withLock { $0 = nil }
            stopping.leave()
        }
    }
}
