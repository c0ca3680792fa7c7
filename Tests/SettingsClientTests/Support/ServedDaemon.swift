import Dispatch
import SettingsClient
import SettingsServer
import Synchronization
import TestSupport

/// A daemon in this process, over TCP and over a Unix domain socket.
final class ServedDaemon: Sendable {
    /// Which way a test goes.
    enum Transport: CaseIterable, Sendable {
        case tcp
        case unix
    }

    struct NoAddress: Error {}

    let directory: TemporaryDirectory
    let port: UInt16
    let path: String
    private let daemon: Daemon
    private let isStopped = Atomic(false)

    convenience init(_ adapt: (inout Configuration) -> Void = { _ in }) throws {
        try self.init(in: TemporaryDirectory(), port: 0, adapt)
    }

    /// A daemon that finds the data of another one, in its place.
    init(in directory: TemporaryDirectory, port: UInt16, _ adapt: (inout Configuration) -> Void = { _ in }) throws {
        self.directory = directory
        path = directory.path + "/socket"
        var configuration = Configuration()
        configuration.listen = [.tcp(host: "127.0.0.1", port: port), .unix(path: path)]
        configuration.loops = 1
        adapt(&configuration)
        let log = Log(level: .error, clock: { Daemon.now() }, write: { _ in })
        daemon = try Daemon(configuration, directory: directory.path + "/data", log: log)
        guard case .tcp(_, let port)? = daemon.addresses.first else { throw NoAddress() }
        self.port = port
    }

    deinit {
        if !isStopped.load(ordering: .relaxed) { daemon.stop { _ in } }
    }

    /// Stops, and waits until that is done.
    func stop() {
        isStopped.store(true, ordering: .relaxed)
        let done = DispatchSemaphore(value: 0)
        daemon.stop { _ in done.signal() }
        done.wait()
    }

    func address(_ transport: Transport = .tcp) throws -> ServerAddress {
        switch transport {
        case .tcp: try ServerAddress("http://127.0.0.1:\(port)")
        case .unix: try ServerAddress("unix:\(path)")
        }
    }

    func client(_ transport: Transport = .tcp) throws -> SettingsClient {
        SettingsClient(try address(transport))
    }
}
