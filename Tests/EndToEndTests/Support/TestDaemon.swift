import HTTPServer
import SettingsAPI
import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// A daemon of its own for one test, and what its tests say to it.
final class TestDaemon {
    let directory: TemporaryDirectory
    let port: UInt16
    /// Where it listens, if it is one within the tests.
    let addresses: [ListenAddress]
    private let daemon: Host

    private enum Host {
        case inTests(DaemonInProcess)
        case process(DaemonProcess)
    }

    convenience init(_ adapt: (inout Configuration) -> Void = { _ in }) throws {
        try self.init(in: TemporaryDirectory(), adapt)
    }

    /// A daemon that finds the data of another one.
    init(
        in directory: TemporaryDirectory, data: String? = nil, _ adapt: (inout Configuration) -> Void = { _ in }
    ) throws {
        self.directory = directory
        let daemon = try DaemonInProcess(data: data ?? directory.path, in: directory, adapt)
        self.daemon = .inTests(daemon)
        port = daemon.port
        addresses = daemon.addresses
    }

    /// A daemon in a process of its own, which can be killed.
    init(ofItsOwnIn directory: TemporaryDirectory, data: String? = nil, options: [String] = []) throws {
        self.directory = directory
        let daemon = try DaemonProcess(data: data ?? directory.path, options: options)
        self.daemon = .process(daemon)
        port = daemon.port
        addresses = []
    }

    /// Stops, and waits until that is done.
    func stop() {
        switch daemon {
        case .inTests(let daemon): daemon.stop()
        case .process(let process): #expect(throws: Never.self) { try process.stop() }
        }
    }

    /// Kills the process.
    func kill() throws {
        if case .process(let process) = daemon { try process.killAtOnce() }
    }

    /// The process, if it is one of its own.
    var process: ChildProcess? {
        if case .process(let daemon) = daemon { daemon.process } else { nil }
    }

    func connect() throws -> RawClient {
        try RawClient(port: port)
    }

    /// Sends a request on a connection of its own.
    @discardableResult
    func send(_ request: Request) throws -> RawResponse {
        try connect().ask(request)
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
        try world(withPlace: true)
    }

    /// Everything that can be read, and, unless it does not matter, the place in history.
    func world(withPlace: Bool) throws -> String {
        let listing = try send("GET /v1/suites")
        let place = listing.field("Settings-Cursor") ?? ""
        var text =
            "\(withPlace ? listing.revision?.description ?? "?" : "")\n\(listing.json?["suites"]?.text() ?? "")\n"
        for suite in listing.json?["suites"]?.array ?? [] {
            let name = suite["suite"]?.string ?? ""
            for part in ["", "?view=stored", "/keys", "/schema"] {
                let answer = try send(Request("GET \(name)\(part)")).text
                text += (withPlace ? answer : answer.replacing("\"\(place)\"", with: "")) + "\n"
            }
        }
        return text
    }
}
