import SettingsModel
import SettingsServer
import TestSupport

/// A daemon of its own for one test, and what its tests say to it.
final class TestDaemon {
    let directory: TemporaryDirectory
    private let daemon: DaemonInProcess
    var port: UInt16 { daemon.port }
    /// Where it listens.
    var addresses: [ListenAddress] { daemon.addresses }

    convenience init(_ adapt: (inout Configuration) -> Void = { _ in }) throws {
        try self.init(in: TemporaryDirectory(), adapt)
    }

    /// A daemon that finds the data of another one.
    init(in directory: TemporaryDirectory, _ adapt: (inout Configuration) -> Void = { _ in }) throws {
        self.directory = directory
        daemon = try DaemonInProcess(data: directory.path, in: directory, adapt)
    }

    /// Stops, and waits until that is done.
    func stop() {
        daemon.stop()
    }

    func connect() throws -> RawClient {
        try RawClient(port: port)
    }

    /// Sends a request on a connection of its own.
    @discardableResult
    func send(_ request: Request) throws -> RawResponse {
        let peer = try connect()
        try peer.send(request.bytes)
        return try peer.readResponse(toHead: request.method == "HEAD")
    }

    /// Sends a request that must succeed.
    @discardableResult
    func done(_ request: Request) throws -> RawResponse {
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
