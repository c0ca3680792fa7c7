import Glibc
import SettingsModel
import SettingsWeb
import TestSupport
import Testing

/// The options that a reload applies, and the options that require a restart. A target such as `app/keys/a` is relative
/// to `/v1/suites/`.
@Suite(.ownThread)
struct ReloadTests {
    private let directory: TemporaryDirectory
    private let daemon: TestDaemon

    init() throws {
        directory = try TemporaryDirectory()
        let file = try directory.file("settingsd.json", #"{"hosts":["old.example"],"log":"info"}"#)
        daemon = try TestDaemon(ownProcessIn: directory, data: directory.path + "/data", options: ["--config", file])
    }

    /// Writes the configuration file and reloads it.
    private func reload(_ configuration: String) throws -> RawResponse {
        _ = try directory.file("settingsd.json", configuration)
        return try daemon.send("POST /v1/reload")
    }

    @Test("A reload applies hosts, origins and limits, and names options that require a restart")
    func options() throws {
        let requests = [
            Request("GET /v1", "Host: old.example"), Request("GET /v1", "Host: new.example"),
            Request("GET /v1", "Origin: https://console.example"),
            Request("PUT app/keys/a \"\(String(repeating: "a", count: 3000))\""),
        ]
        func statuses() throws -> [Int] { try requests.map { try daemon.send($0).status } }
        #expect(try statuses() == [200, 421, 403, 201])
        let answer = try reload(
            #"{"hosts":["new.example"],"origins":["https://console.example"],"log":"info","loops":3,"stopSeconds":3,"#
                + #""limits":{"bodyBytes":2048,"watchersPerCaller":0}}"#)
        #expect(answer.text == #"{"reloaded":true,"needsRestart":["loops","stopSeconds"]}"#)
        #expect(try statuses() == [421, 200, 200, 413])
        #expect(try daemon.send(requests[2]).field("Access-Control-Allow-Origin") == "https://console.example")
        // With a limit of 0 watchers, no request may wait.
        #expect(try daemon.send("GET app/observe?since=99&wait=9").status == 429)
        let line = try #require(daemon.process).line(containing: "configuration was reloaded")
        #expect(line.hasSuffix("these options need a restart: loops, stopSeconds"))
        #expect(try reload("{}").json?["needsRestart"] == [])
        #expect(try statuses() == [421, 421, 403, 200])
    }

    /// Limits, and a request with its status while the limits apply. The limits of the last two rows allow the request;
    /// the test checks that they need no restart.
    static let limitRows: [(limits: String, request: Request, status: Int)] = [
        (#""commitKeys":100"#, Request("PATCH app {\((0..<101).map { "\"k\($0)\":1" }.joined(separator: ","))}"), 413),
        (
            #""queuedWriteBytes":4096,"bodyBytes":3500"#,
            Request("PATCH app {\((0..<101).map { "\"k\($0)\":1" }.joined(separator: ","))}"), 200
        ),
        (#""bufferBytes":1048576,"batchWrites":1,"batchBytes":1024"#, "PUT app/keys/a 1", 201),
    ]

    @Test("A reload applies the limits on writes and memory without a restart", arguments: limitRows)
    func limits(limits: String, request: Request, status: Int) throws {
        #expect(try reload("{\"limits\":{\(limits)}}").json?["needsRestart"] == [])
        #expect(try daemon.send(request).status == status)
        #expect(try reload("{}").json?["needsRestart"] == [])
        #expect(try daemon.send(request).status < 300)
    }

    @Test("A reload names changed history, snapshot, audit and network options as requiring a restart")
    func restart() throws {
        let answer = try reload(
            #"{"history":{"commits":9},"snapshot":{"journalBytes":4096},"auditFile":"\#(directory.path)/a","openToNetwork":true}"#
        )
        #expect(
            answer.json?["needsRestart"]
                == ["snapshot.journalBytes", "history.commits", "auditFile", "openToNetwork"])
    }

    @Test("A reload starts and stops the access log and the log of slow requests")
    func logs() throws {
        try daemon.sendOK(Request("PUT app/keys/a 1", "X-Request-Id: before"))
        #expect(try reload(#"{"accessLog":"json","slowRequestMs":1}"#).json?["needsRestart"] == [])
        let body = (0..<20_000).map { "\"k\($0)\":\($0)" }.joined(separator: ",")
        try daemon.sendOK(Request("PUT app {\(body)}", "X-Request-Id: during"))
        _ = try #require(daemon.process).line(containing: "slow request: PUT /v1/suites/app took ")
        // Without the member `accessLog`, there is no access log.
        #expect(try reload(#"{"slowRequestMs":0}"#).status == 200)
        try daemon.sendOK(Request("PUT app/keys/a 1", "X-Request-Id: after"))
        let process = try #require(daemon.process)
        process.signal(SIGTERM)
        let output = try process.end().output
        #expect(
            output.contains("\"during\"") && !output.contains("\"before\"") && !output.contains("\"after\""),
            "\(output)")
    }

    @Test("A waiting request keeps the CORS fields of its origin when a reload changes the origins")
    func origins() throws {
        #expect(try reload(#"{"origins":["https://b.example"]}"#).status == 200)
        let cursor = try daemon.sendOK("PUT app/keys/a 1").cursorText
        let waiting = try WaitingClient(
            daemon, Request("GET app/observe?since=\(cursor)&wait=60", "Origin: https://b.example"))
        #expect(try reload(#"{"origins":["https://a.example","https://c.example"]}"#).status == 200)
        try daemon.sendOK("PUT app/keys/a 2")
        #expect(try waiting.answer().field("Access-Control-Allow-Origin") == "https://b.example")
        let other = try daemon.send(Request("GET app", "Origin: https://a.example"))
        #expect(other.field("Access-Control-Allow-Origin") == "https://a.example")
    }

    /// Configurations, and a part of the error.
    static let mistakes: [(text: String, hint: String)] = [
        ("{", "settingsd.json"), (#"{"host":["a"]}"#, "did you mean hosts?"),
        (#"{"access":{"tokens":"/none"}}"#, "settingsd token create"),
        (#"{"access":{"users":{"no-such-user":["*:read"]}}}"#, "no-such-user"),
        (#"{"access":{"anonymous":["*:reed"]}}"#, "did you mean read?"),
        (#"{"trustedProxies":["here"]}"#, "10.0.0.0/8"), (#"{"access":{"anonymous":"*:read"}}"#, "list of grants"),
    ]

    @Test(
        "A reload with a mistake changes nothing; the answer names the mistake, and the log reports the failure",
        arguments: mistakes)
    func mistake(text: String, hint: String) throws {
        let answer = try reload(text)
        #expect(answer.status == 422)
        #expect(answer.json?["detail"]?.string?.contains(hint) == true, "\(answer.text)")
        let line = try #require(daemon.process).line(containing: "cannot reload the configuration: ")
        #expect(line.contains("; the daemon kept its options"), "\(line)")
        #expect(try daemon.send(Request("GET /v1", "Host: old.example")).status == 200)
    }

    @Test("A reload can enable access control; requests that began to wait before the reload then get 401")
    func access() throws {
        try daemon.sendOK("PUT app/keys/a 1")
        let waiting = try WaitingClient(daemon, "GET none/observe?wait=60")
        #expect(try reload(#"{"access":{"anonymous":["app:read"]}}"#).status == 200)
        #expect(try waiting.answer().status == 401)
        #expect(try daemon.send("GET app/keys/a").status == 200)
        #expect(try daemon.send("PUT app/keys/a 2").status == 401)
        #expect(try daemon.send("POST /v1/reload").status == 401)
    }

    /// Configurations, and the status of a reload with them.
    static let membersWithoutGrants: [(text: String, status: Int)] = [
        (#"{"access":{"users":{}}}"#, 200), (#"{"access":{"anonymous":[]}}"#, 200),
        (#"{"access":{"openMetrics":true}}"#, 200), (#"{"access":{"tokens":null}}"#, 200), (#"{"access":{}}"#, 200),
        ("{}", 422),
    ]

    @Test(
        "A member `access` without grants removes all rights; a reload without the member fails and changes nothing",
        arguments: membersWithoutGrants)
    func emptied(text: String, status: Int) throws {
        let process = try #require(daemon.process)
        _ = try process.line(containing: "access control: OFF")
        #expect(try reload(#"{"access":{"anonymous":["app:read","*:admin"]}}"#).status == 200)
        _ = try process.line(containing: "access control: on, 0 tokens, 0 users")
        let answer = try reload(text)
        #expect(answer.status == status, "\(answer.text)")
        #expect(try daemon.send("PUT app/keys/a 1").status == 401)
        // The suite does not exist, so a caller with the right to read it gets 404.
        #expect(try daemon.send("GET app").status == (status == 200 ? 401 : 404))
        if status == 200 {
            _ = try process.line(containing: "no caller has any rights: ")
        } else {
            #expect(answer.json?["detail"]?.string?.contains("restart the daemon") == true, "\(answer.text)")
        }
    }

    @Test("A failed reload with an invalid token file logs that revoked tokens stay valid")
    func invalidTokenFile() throws {
        let tokens = directory.path + "/tokens.json"
        let admin = "Authorization: Bearer \(try ProtectedDaemon.makeToken("admin", ["*:admin"], in: tokens))"
        #expect(try reload(#"{"access":{"tokens":"\#(tokens)"}}"#).status == 200)
        _ = try directory.file("settingsd.json", "{")
        _ = try directory.file("tokens.json", "{")
        let answer = try daemon.send(Request("POST /v1/reload", admin))
        #expect(answer.status == 422 && answer.text.contains("the daemon kept its options"), "\(answer.text)")
        let process = try #require(daemon.process)
        _ = try process.line(containing: "cannot read the token file again, so revoked tokens stay valid: ")
        #expect(try daemon.send(Request("GET /v1", admin)).status == 200)
    }

    @Test(
        "A failed reload still revokes tokens; readiness and metrics report the failure until a reload succeeds")
    func revokedDespiteFailure() throws {
        let tokens = directory.path + "/tokens.json"
        let admin = "Authorization: Bearer \(try ProtectedDaemon.makeToken("admin", ["*:admin"], in: tokens))"
        let revoked = Request(
            "GET /v1", "Authorization: Bearer \(try ProtectedDaemon.makeToken("r", ["a:read"], in: tokens))")
        #expect(try reload(#"{"access":{"tokens":"\#(tokens)"}}"#).status == 200)
        #expect(try daemon.send(revoked).status == 200)
        try TokenFile.change(at: tokens) { (file: inout TokenFile) throws(ConfigurationError) in try file.revoke("r") }
        _ = try directory.file("settingsd.json", "{")
        let answer = try daemon.send(Request("POST /v1/reload", admin))
        #expect(answer.status == 422 && answer.text.contains("the daemon read the tokens again"), "\(answer.text)")
        #expect(try daemon.send(revoked).status == 401)
        _ = try #require(daemon.process).line(containing: "access control: on, 1 token, 0 users")
        /// The result of the last reload according to readiness and metrics.
        func reloadStatus() throws -> [String?] {
            let ready = try daemon.send("GET /readyz")
            #expect(ready.status == 200)
            let metrics = try daemon.send(Request("GET /metrics", admin)).text
            let gauge = metrics.split(separator: "\n").first { $0.hasPrefix("settingsd_last_reload_successful ") }
            return [ready.json?["conditions"]?["reload"]?.string, gauge.map { String($0.suffix(1)) }]
        }
        #expect(try reloadStatus() == ["failed", "0"])
        _ = try directory.file("settingsd.json", #"{"access":{"tokens":"\#(tokens)"}}"#)
        #expect(try daemon.send(Request("POST /v1/reload", admin)).status == 200)
        #expect(try reloadStatus() == ["ok", "1"])
    }

    @Test("A reload with a body returns 400, and GET returns 405")
    func body() throws {
        #expect(try daemon.send("POST /v1/reload {}").status == 400)
        #expect(try daemon.send("GET /v1/reload").status == 405)
    }
}
