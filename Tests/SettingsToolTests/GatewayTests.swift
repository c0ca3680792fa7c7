import ClientTestSupport
import TestSupport
import Testing

/// Tests of the program `settings` with a scripted server. The server answers as a proxy does that cannot reach the
/// daemon, or as a daemon does in a state that a test can hardly cause, such as a full disk. The exit code 7 says that
/// no daemon answered, or that the daemon cannot store a write now.
@Suite(.ownThread)
struct GatewayTests {
    private static let page = "<html>gateway</html>"

    /// Runs a command with a server that gives the same answer to each request. Returns how the command ended, and the
    /// address of the server.
    private func run(_ command: String, answer: String) throws -> (end: ChildProcess.End, url: String) {
        let server = try ScriptedServer { _, peer, log in
            while peer.readRequest() != nil { peer.send(answer) }
        }
        let url = "\(server.address)"
        return (try Shell(hasSchema: false).run("settings \(command) --server \(url)"), url)
    }

    private static func answer(_ status: Int, _ body: String = page) -> String {
        "HTTP/1.1 \(status) X\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    @Test(
        "A read that a proxy answers with an error page ends with 7, and the message has the address and the status",
        arguments: [404, 502, 503, 504])
    func read(status: Int) throws {
        let (end, url) = try run("get app theme", answer: Self.answer(status))
        #expect(end.code == 7)
        #expect(end.errors == "settings: HTTP status \(status): \(url): the response is not from a settings daemon\n")
    }

    @Test(
        "A read that a proxy answers with status 200 and a web page ends with 7; the message has the address and status"
    )
    func webPage() throws {
        let (end, url) = try run("get app theme", answer: Self.answer(200))
        #expect(end.code == 7)
        #expect(end.errors.contains("\(url): HTTP status 200, "), "\(end.errors)")
    }

    @Test(
        "After a write that a proxy answers, the message says that the daemon may have stored the change",
        arguments: [502, 504])
    func write(status: Int) throws {
        let end = try run("unset app theme", answer: Self.answer(status)).end
        #expect(end.code == 7)
        #expect(
            end.errors.hasSuffix(
                "\n  the daemon may have stored the change; read the settings before you repeat the command\n"))
    }

    @Test(
        "After an edit that a proxy answers, the message says that the text may be stored, and names a command to check"
    )
    func edit() throws {
        let unknown = Self.answer(404, #"{"status":404,"code":"unknown_suite","detail":"there is no suite app"}"#)
        let server = try ScriptedServer { _, peer, log in
            while let request = peer.readRequest() { peer.send(request.hasPrefix("GET") ? unknown : Self.answer(502)) }
        }
        let shell = try Shell(hasSchema: false)
        let editor = try shell.directory.file("editor", "echo '{\"a\":1}' >\"$1\"")
        let command = "TMPDIR=$HOME EDITOR='/bin/sh \(editor)' settings edit app --server \(server.address)"
        let end = try shell.run(command)
        #expect(end.code == 7)
        #expect(
            end.errors.hasPrefix("settings: the daemon may have stored the edited text: HTTP status 502"),
            "\(end.errors)")
        #expect(end.errors.contains("\n  settings history app --server \(server.address)\n"), "\(end.errors)")
        #expect(!end.errors.contains("cannot store"))
        // A dry run stores nothing, so the message does not say that the daemon may have stored the text.
        #expect(try shell.run("\(command) --dry-run").errors.hasPrefix("settings: cannot store app: "))
    }

    @Test(
        "If a suite is too large to be dropped in one commit, unset --drop reads the suite, and drops it with If-Match")
    func dropInParts() throws {
        let unknown = Self.answer(404, #"{"status":404,"code":"unknown_suite","detail":"there is no suite app"}"#)
        let large = Self.answer(413, #"{"status":413,"code":"too_large","detail":"too many keys"}"#)
        let dropped = ScriptedServer.answer(#"{"revision":2,"changed":true,"changes":[]}"#)
        let server = try ScriptedServer { _, peer, log in
            while let request = peer.readRequest() {
                // The answer to GET says that there is no suite, so the program sends revision 0 in If-Match.
                let isGuarded = request.lowercased().contains("\r\nif-match: \"0\"\r\n")
                if request.hasPrefix("DELETE") { log.add(isGuarded ? "guarded" : "plain") }
                peer.send(request.hasPrefix("GET") ? unknown : isGuarded ? dropped : large)
            }
        }
        let end = try Shell(hasSchema: false).run("settings unset app --drop --server \(server.address)")
        #expect(end == ChildProcess.End(code: 0, output: "the suite was dropped\n", errors: ""))
        #expect(server.log.all.filter { $0 != "connection" } == ["plain", "guarded"])
    }

    @Test("A write whose answer a proxy lost is repeated with the same request key")
    func repeated() throws {
        let body = #"{"suite":"app","key":"theme","source":"unset","revision":2,"changed":false}"#
        let server = try ScriptedServer { number, peer, log in
            while let request = peer.readRequest() {
                let line = request.split(separator: "\r\n").first { $0.lowercased().hasPrefix("idempotency-key") }
                log.add("key \(line ?? "none")")
                let isFirst = log.count("request") == 0
                log.add("request")
                peer.send(isFirst ? Self.answer(502) : ScriptedServer.answer(body))
            }
        }
        let end = try Shell(hasSchema: false).run("settings unset app theme --server \(server.address)")
        #expect(end == ChildProcess.End(code: 0, output: "nothing to change\n", errors: ""))
        let keys = server.log.all.filter { $0.hasPrefix("key ") }
        #expect(keys.count == 2 && Set(keys).count == 1 && !keys[0].hasSuffix("none"), "\(keys)")
    }

    @Test(
        "A write ends with 7 if the disk is full, and with 5 if a quota is exceeded",
        arguments: [(limit: nil, code: 7), (limit: 5, code: 5)] as [(limit: Int?, code: Int32)])
    // The error for a quota has the member `limit`.
    func fullDisk(limit: Int?, code: Int32) throws {
        let limitMember = limit.map { ",\"limit\":\($0)" } ?? ""
        let body = "{\"status\":507,\"code\":\"insufficient_storage\",\"detail\":\"full\"\(limitMember)}"
        #expect(try run("unset app theme", answer: Self.answer(507, body)).end.code == code)
    }
}
