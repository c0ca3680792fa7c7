import Foundation
import Platform
import SettingsAPI
import SettingsModel
import SettingsStorage
import TestSupport
import Testing

/// `settingsd token`, and the warning about a network address without access control.
@Suite(.ownThread)
struct TokenCommandTests {
    private let directory: TemporaryDirectory
    private var file: String { directory.path + "/tokens.json" }
    private var data: String { directory.path + "/data" }

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Runs `settingsd token` with these arguments.
    private func runTokenCommand(_ words: String...) throws -> ChildProcess.End {
        try ChildProcess.run(["token"] + words + ["--access.tokens", file, "--data", data])
    }

    /// Returns the status of the answer to a request with the token. Each valid token may request the list of suites.
    private func status(_ port: UInt16, _ token: String) throws -> Int {
        let client = try RawClient(port: port)
        try client.send("GET /v1/suites HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\n\r\n")
        return try client.readResponse().status
    }

    @Test("A running daemon accepts a new token and refuses a revoked token without a restart")
    func tokens() throws {
        let first = try runTokenCommand("create", "first", "--grant", "*:read")
        #expect(first.code == 0)
        #expect(
            first.errors
                == "the token first was created; it is shown only now; "
                + "no running daemon uses \(data); to notify a daemon with another data directory, add --data DIR\n")
        let daemon = try DaemonProcess(data: data, options: ["--access.tokens", file])
        _ = try daemon.process.line(containing: "info access control: on, 1 token, 0 users")
        let firstToken = first.output.trimmingCharacters(in: .newlines)
        #expect(try status(daemon.port, firstToken) == 200)
        let second = try runTokenCommand(
            "create", "second", "--grant=app:read", "--grant", "b.*:write", "--expires", "90d")
        #expect(second.errors.contains("sent SIGHUP"), "\(second.errors)")
        _ = try daemon.process.line(containing: "info access control: on, 2 tokens, 0 users")
        #expect(try status(daemon.port, second.output.trimmingCharacters(in: .newlines)) == 200)
        let list = try runTokenCommand("list").output
        let rows = list.split(separator: "\n")
        #expect(rows.count == 2)
        #expect(rows[0] == "first\tnever expires\t*:read", "\(list)")
        #expect(rows[1].hasPrefix("second\tuntil 20") && rows[1].hasSuffix("\tapp:read b.*:write"), "\(list)")
        #expect(!list.contains("settingsd_"))
        #expect(try runTokenCommand("revoke", "first").code == 0)
        try eventually { try status(daemon.port, firstToken) != 200 }
        #expect(try status(daemon.port, firstToken) == 401)
        daemon.process.signal(SIGTERM)
        let end = try daemon.process.end()
        #expect(!end.errors.contains(firstToken), "the log contains the token")
    }

    /// Returns the elements of `settingsd token list --json`, by the name of the token.
    private func list() throws -> [String: JSONValue] {
        let rows = try JSONValue(parsing: Array(runTokenCommand("list", "--json").output.utf8)).array ?? []
        return Dictionary(rows.map { ($0["name"]?.string ?? "", $0) }, uniquingKeysWith: { first, _ in first })
    }

    @Test("After a reload or a stop, the JSON list has the last use of each used token, and null for other tokens")
    func lastUse() throws {
        let first = try runTokenCommand("create", "first", "--grant", "*:read").output.trimmingCharacters(in: .newlines)
        let second = try runTokenCommand("create", "second", "--grant", "a:write", "--expires", "90d").output
        #expect(try list()["first"]?["lastUsed"] == .null)
        let start = Timestamp.now()
        func isRecent(_ row: JSONValue?) -> Bool {
            row?["lastUsed"]?.string.flatMap { Timestamp($0) }.map { $0 >= start && $0 <= Timestamp.now() } ?? false
        }
        let daemon = try DaemonProcess(data: data, options: ["--access.tokens", file])
        #expect(try status(daemon.port, first) == 200)
        #expect(try status(daemon.port, "wrong") == 401)
        #expect(try runTokenCommand("create", "third", "--grant", "*:read").code == 0)
        _ = try daemon.process.line(containing: "configuration was reloaded")
        var rows = try list()
        #expect(rows.count == 3)
        #expect(rows["first"]?["expires"] == .null && rows["second"]?["grants"] == ["a:write"])
        #expect(rows["second"]?["created"]?.string ?? "" < rows["second"]?["expires"]?.string ?? "")
        #expect(isRecent(rows["first"]) && rows["second"]?["lastUsed"] == .null, "\(rows)")
        #expect(try status(daemon.port, second.trimmingCharacters(in: .newlines)) == 200)
        try daemon.stop()
        rows = try list()
        #expect(isRecent(rows["first"]) && isRecent(rows["second"]) && rows["third"]?["lastUsed"] == .null, "\(rows)")
        #expect(try ChildProcess.run(["check", data]).code == 0)
        // A new token with the name of a revoked token is unused.
        _ = try runTokenCommand("revoke", "first")
        _ = try runTokenCommand("create", "first", "--grant", "*:read")
        #expect(try list()["first"]?["lastUsed"] == .null)
    }

    /// Incorrect arguments of `settingsd token`, with the exit code (64: command line, 78: configuration) and a part of
    /// the error.
    static let mistakes: [(words: [String], code: Int32, hint: String)] = [
        ([], 64, "needs a second word"), (["creat"], 64, "did you mean create?"), (["create"], 64, "needs a name"),
        (["create", "a"], 64, "without a grant"), (["create", "a", "--grant", "app:reed"], 64, "did you mean read?"),
        (["create", "a", "--grant", "*:read", "--expires", "soon"], 64, "90d"),
        (["create", "a", "b", "--grant", "*:read"], 64, "unexpected word"), (["list", "a"], 64, "unexpected word"),
        (["revoke", "a"], 78, "there is no token a"), (["revoke"], 64, "needs a name"),
        (["list", "--grant", "*:read"], 64, "token create only"),
        (["create", "a", "--log", "debug"], 64, "does not apply to this command"),
    ]

    @Test("An incorrect command line of `settingsd token` prints an error with a remedy", arguments: mistakes)
    func mistake(words: [String], code: Int32, hint: String) throws {
        let end = try ChildProcess.run(["token"] + words + ["--access.tokens", file, "--data", data])
        #expect(end.code == code, "\(end.errors)")
        #expect(end.errors.contains(hint), "\(end.errors)")
        #expect(end.output == "")
    }

    @Test("Without the option for the token file, the error of `settingsd token` names the option")
    func unnamed() throws {
        #expect(try ChildProcess.run(["token", "list"]).errors.contains("--access.tokens FILE"))
    }

    @Test("A daemon on a network address requires access control or the option --open-to-network")
    func network() throws {
        let addressAndData = ["--listen", "0.0.0.0:0", "--data", data]
        let refused = try ChildProcess.run(addressAndData + ["--log", "warning"])
        #expect(refused.code == 78)
        #expect(refused.errors.contains("is open to the network") && refused.errors.contains("--open-to-network"))
        #expect(refused.errors.contains("settingsd token create NAME"))
        #expect(try runTokenCommand("create", "a", "--grant", "*:read").code == 0)
        // Without access control, the daemon warns of the open address; with access control, it says that TLS is
        // missing.
        for more in [["--open-to-network"], ["--access.tokens", file, "--log", "info"]] {
            let process = try ChildProcess(addressAndData + more)
            _ = try process.line(containing: more.count == 1 ? "warning 0.0.0.0:" : "has no TLS")
            process.signal(SIGTERM)
            #expect(try process.end().code == 0)
        }
    }

    @Test("A daemon without its token file does not start, and names the command that creates the file")
    func start() throws {
        let end = try ChildProcess.run([
            "--listen", "127.0.0.1:0", "--data", data, "--access.tokens", file, "--log", "error",
        ])
        #expect(end.code == 78)
        #expect(end.errors.contains("settingsd token create NAME"))
    }
}
