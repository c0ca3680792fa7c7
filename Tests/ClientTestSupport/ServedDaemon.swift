internal import Dispatch
internal import Glibc
internal import HTTPServer
internal import SettingsEngine
package import SettingsHTTP
package import SettingsModel
package import SettingsServer
internal import SettingsStorage
internal import SettingsWeb
package import TestSupport

/// A daemon in this process, over TCP and over a Unix domain socket.
package final class ServedDaemon: Sendable {
    /// The kind of socket over which a test connects.
    package enum Transport: CaseIterable, Sendable {
        case tcp
        case unix
    }

    package let directory: TemporaryDirectory
    /// The path of the Unix domain socket.
    package let path: String
    private let daemon: DaemonInProcess
    package var port: UInt16 { daemon.port }

    /// Starts a daemon in a new directory, on a free port. `adapt` changes the configuration before the start.
    package convenience init(_ adapt: (inout Configuration) -> Void = { _ in }) throws {
        try self.init(in: TemporaryDirectory(), port: 0, adapt)
    }

    /// Starts a daemon with its data in `directory`, which may be the directory of a daemon that has stopped. For port
    /// 0, the kernel chooses the port.
    package init(in directory: TemporaryDirectory, port: UInt16, _ adapt: (inout Configuration) -> Void = { _ in })
        throws
    {
        let path = directory.path + "/socket"
        daemon = try DaemonInProcess(data: directory.path + "/data", in: directory, port: port) {
            $0.listen.append(.unix(path: path))
            adapt(&$0)
        }
        self.directory = directory
        self.path = path
    }

    /// Starts a daemon with access control. Returns the daemon and a token for each name. Each token has the rights
    /// `read`, `write`, `schema` and `admin` on all suites. The file with the tokens is in `directory`.
    package static func withTokens(
        _ names: [String], in directory: TemporaryDirectory
    ) throws -> (ServedDaemon, [String]) {
        let file = directory.path + "/tokens.json"
        let tokens = try names.map { name in
            let grants = [try Grant("*:read,write,schema,admin")]
            return try TokenFile.change(at: file) { (tokens: inout TokenFile) throws(ConfigurationError) in
                try tokens.create(name, grants, expires: nil, now: Timestamp.now())
            }
        }
        return (try ServedDaemon { $0.access.tokens = file }, tokens)
    }

    /// Stops the daemon, and waits until it has stopped.
    package func stop() {
        daemon.stop()
    }

    package func address(_ transport: Transport = .tcp) throws -> ServerAddress {
        switch transport {
        case .tcp: try ServerAddress("http://127.0.0.1:\(port)")
        case .unix: try ServerAddress("unix:\(path)")
        }
    }

    package func client(_ transport: Transport = .tcp) throws -> DaemonClient {
        DaemonClient(try address(transport), timeout: .seconds(Deadline.patience))
    }

    /// Waits until the daemon has this number of watchers. Returns false after three minutes.
    ///
    /// The function waits on its own thread, because the thread pool of tasks is small.
    package func waits(forWatchers count: Int) async -> Bool {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "waiting for watchers").async { [self] in
                let limit = ContinuousClock.now + .seconds(180)
                var isReached = false
                while !isReached, ContinuousClock.now < limit {
                    isReached = (try? RawClient(port: port).watcherCount()) == count
                    if !isReached { poll(nil, 0, 20) }
                }
                continuation.resume(returning: isReached)
            }
        }
    }
}
