import HTTPServer
import SettingsAPI
import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// A daemon for one test, in the test process or in its own process.
final class TestDaemon {
    let directory: TemporaryDirectory
    let port: UInt16
    /// The addresses of a daemon in the test process; empty for a daemon in its own process.
    let addresses: [ListenAddress]
    private let daemon: Variant

    private enum Variant {
        case inTestProcess(DaemonInProcess)
        case process(DaemonProcess)
    }

    convenience init(_ configure: (inout Configuration) -> Void = { _ in }) throws {
        try self.init(in: TemporaryDirectory(), configure)
    }

    /// Starts a daemon in the test process.
    ///
    /// - Parameters:
    ///   - directory: the directory of the test.
    ///   - data: the path of the data directory, which may have the data of an earlier daemon; nil for `directory`.
    ///   - configure: changes the configuration before the daemon starts.
    init(
        in directory: TemporaryDirectory, data: String? = nil, _ configure: (inout Configuration) -> Void = { _ in }
    ) throws {
        self.directory = directory
        let daemon = try DaemonInProcess(data: data ?? directory.path, in: directory, configure)
        self.daemon = .inTestProcess(daemon)
        port = daemon.port
        addresses = daemon.addresses
    }

    /// Starts a daemon in its own process, which the test can kill.
    init(ownProcessIn directory: TemporaryDirectory, data: String? = nil, options: [String] = []) throws {
        self.directory = directory
        let daemon = try DaemonProcess(data: data ?? directory.path, options: options)
        self.daemon = .process(daemon)
        port = daemon.port
        addresses = []
    }

    /// Stops the daemon and waits until it has stopped.
    func stop() {
        switch daemon {
        case .inTestProcess(let daemon): daemon.stop()
        case .process(let process): #expect(throws: Never.self) { try process.stop() }
        }
    }

    /// Kills a daemon in its own process, and waits for its exit. Does nothing for a daemon in the test process.
    func kill() throws {
        if case .process(let process) = daemon { try process.killAtOnce() }
    }

    /// The process of the daemon; nil for a daemon in the test process.
    var process: ChildProcess? {
        if case .process(let daemon) = daemon { daemon.process } else { nil }
    }

    func connect() throws -> RawClient {
        try RawClient(port: port)
    }

    /// Sends a request on a new connection.
    @discardableResult
    func send(_ request: Request) throws -> RawResponse {
        try connect().ask(request)
    }

    /// Sends a request on a new connection. Throws an error if the status of the answer is 300 or higher.
    @discardableResult
    func sendOK(_ request: Request) throws -> RawResponse {
        let answer = try send(request)
        guard answer.status < 300 else { throw Refused(request: request, answer: answer.text) }
        return answer
    }

    struct Refused: Error {
        let request: Request
        let answer: String
    }

    /// All suites with their values, keys and schemas as a text. Without the cursor, the text changes only if a setting
    /// or a schema changes.
    func readEverything(withCursor: Bool = true) throws -> String {
        let listing = try send("GET /v1/suites")
        let cursor = listing.field("Settings-Cursor") ?? ""
        var text =
            "\(withCursor ? listing.revision?.description ?? "?" : "")\n\(listing.json?["suites"]?.text() ?? "")\n"
        for suite in listing.json?["suites"]?.array ?? [] {
            let name = suite["suite"]?.string ?? ""
            for part in ["", "?view=stored", "/keys", "/schema"] {
                let answer = try send(Request("GET \(name)\(part)")).text
                text += (withCursor ? answer : answer.replacing("\"\(cursor)\"", with: "")) + "\n"
            }
        }
        return text
    }
}
