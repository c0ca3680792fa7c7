import SettingsModel
import SettingsServer

/// A daemon of its own for one test, on a port that the kernel chooses.
final class TestDaemon {
    private let daemon: Daemon
    private let directory: ScratchDirectory
    let port: UInt16

    struct NoPort: Error {}

    init(_ adapt: (inout Configuration) -> Void = { _ in }) throws {
        var configuration = Configuration()
        configuration.listen = [.tcp(host: "127.0.0.1", port: 0)]
        configuration.loops = 1
        adapt(&configuration)
        directory = try ScratchDirectory()
        let log = Log(level: .error, clock: { Daemon.now() }, write: { _ in })
        daemon = try Daemon(configuration, directory: directory.path, log: log)
        guard case .tcp(_, let port)? = daemon.addresses.first else { throw NoPort() }
        self.port = port
    }

    deinit {
        daemon.stop { _ in }
    }

    func connect() throws -> Peer {
        try Peer(port: port)
    }

    /// Sends a request on a connection of its own.
    @discardableResult
    func send(_ request: Request) throws -> Answer {
        let peer = try connect()
        try peer.send(request.bytes)
        return try peer.receive(toHead: request.method == "HEAD")
    }

    /// Sends a request that must succeed.
    @discardableResult
    func done(_ request: Request) throws -> Answer {
        let answer = try send(request)
        guard answer.status < 300 else { throw Refused(request: request, answer: answer.text) }
        return answer
    }

    struct Refused: Error {
        let request: Request
        let answer: String
    }

    /// Everything that can be read, and the place in history.
    func world() throws -> String {
        let listing = try send("GET /v1/suites")
        var text = "\(listing.revision?.description ?? "?")\n\(listing.text)\n"
        for suite in listing.json?["suites"]?.array ?? [] {
            let name = suite["suite"]?.string ?? ""
            for part in ["", "?view=stored", "/keys", "/schema"] {
                text += try send(Request("GET \(name)\(part)")).text + "\n"
            }
        }
        return text
    }
}
