import Glibc
import Platform
import TestSupport
import Testing

/// Listening sockets that a service manager passes to the daemon.
@Suite(.ownThread)
struct SocketActivationTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Starts a daemon as a service manager does. By default, `LISTEN_PID` is the process number of the daemon.
    private func start(
        _ descriptors: [Int32], process: String = "$$", options: [String] = [], environment: [String] = []
    ) throws -> ChildProcess {
        let script = "LISTEN_PID=\(process) LISTEN_FDS=\(descriptors.count) exec \"$0\" \"$@\""
        return try ChildProcess(
            ["-c", script, ChildProcess.daemonPath, "--data", directory.path + "/data"] + options,
            environment: ["HOME=/nonexistent"] + environment, of: "/bin/sh", descriptors: descriptors)
    }

    /// Connects, and sends a request without reading the answer.
    private func send(to address: RawAddress) throws -> RawClient {
        let client = try RawClient(address)
        try client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return client
    }

    @Test("Sockets of the service manager replace the option `listen`, and their waiting connections survive a restart")
    func handedOver() throws {
        let path = directory.path + "/socket"
        let tcpListener = try Listener(.resolve("127.0.0.1", port: 0)[0])
        let unixListener = try Listener(.unix(path: path))
        let addresses = [RawAddress.ipv4(tcpListener.address.port), .unix(path)]
        var waiting = try addresses.map(send)
        for _ in 0..<2 {
            let process = try start(
                [tcpListener.descriptor, unixListener.descriptor], options: ["--listen", "unix:/nonexistent/socket"])
            for client in waiting { #expect(try client.readResponse().status == 200) }
            _ = try process.line(containing: "listening on unix:\(path)")
            process.signal(SIGTERM)
            #expect(try process.end().code == 0)
            // A daemon does not remove a socket that the service manager created.
            #expect(access(path, F_OK) == 0)
            waiting = try addresses.map(send)
        }
        withExtendedLifetime((tcpListener, unixListener)) {}
    }

    @Test("Sockets for another process are ignored")
    func otherProcess() throws {
        let tcpListener = try Listener(.resolve("127.0.0.1", port: 0)[0])
        let process = try start([tcpListener.descriptor], process: "1", options: ["--listen", "127.0.0.1:0"])
        let line = try process.line(containing: "listening on")
        #expect(!line.hasSuffix(":\(tcpListener.address.port)"))
    }

    @Test("Sockets on a network address require access control")
    func exposure() throws {
        let tcpListener = try Listener(.resolve("0.0.0.0", port: 0)[0])
        let end = try start([tcpListener.descriptor], options: ["--log", "error"]).end()
        #expect(end.code == 78)
        #expect(end.errors.contains("is open to the network"), "\(end.errors)")
    }

    /// The type -1 stands for a descriptor of `/dev/null`.
    @Test(
        "If a descriptor is not a listening socket, the start fails with the name of the descriptor",
        arguments: [
            (Int32(SOCK_DGRAM.rawValue), "listen: Protocol wrong type for socket"),
            (Int32(SOCK_STREAM.rawValue), "accept4: Invalid argument"),
            (-1, "getsockname: Socket operation on non-socket"),
        ])
    func unsuitable(type: Int32, reason: String) throws {
        let descriptor = type < 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : socket(AF_INET, type, 0)
        defer { close(descriptor) }
        let end = try start([descriptor], environment: ["LISTEN_FDNAMES=web"]).end()
        #expect(end.code == 78)
        let message = "settingsd: cannot listen on socket 1 of the service manager (web): \(reason)"
        #expect(end.errors.hasPrefix(message), "\(end.errors)")
        #expect(end.errors.contains("in the socket unit, write ListenStream="))
    }
}
