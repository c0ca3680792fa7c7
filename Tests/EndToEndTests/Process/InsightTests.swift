import Foundation
import SettingsCluster
import SettingsModel
import SettingsServer
import TestSupport
import Testing

/// The metrics, alert rules, conditions and logs of a daemon. A target such as `app/keys/a` is relative to
/// `/v1/suites/`.
@Suite(.ownThread)
struct InsightTests {
    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The metrics of a daemon that has answered a PUT and four GET requests of a setting, the last with an error.
    private func metrics(on etcd: EtcdCluster? = nil) throws -> String {
        let daemon = try TestDaemon {
            if let etcd { $0.etcd.endpoints = etcd.endpoints.compactMap { EtcdEndpoint($0) } }
        }
        try daemon.sendOK("PUT app/keys/a 1")
        for _ in 0..<3 { try daemon.sendOK("GET app/keys/a") }
        _ = try daemon.send("GET none/keys/a")
        return try daemon.send("GET /metrics").text
    }

    private static var hasPromtool: Bool { FileManager.default.isExecutableFile(atPath: "/usr/bin/promtool") }

    private func promtool(_ command: String) throws {
        let (process, pipe) = (Process(), Pipe())
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", "/usr/bin/promtool \(command) 2>&1"]
        process.standardOutput = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(output)")
        #expect(output.isEmpty || output.contains("SUCCESS"), "\(output)")
    }

    @Test("promtool accepts the metrics and the alert rules", .enabled(if: InsightTests.hasPromtool))
    func lint() throws {
        let directory = try TemporaryDirectory()
        for metrics in [try metrics(), try metrics(on: EtcdCluster())] {
            let path = try directory.file("metrics", metrics)
            try promtool("check metrics < '\(path)'")
        }
        try promtool("check rules '\(Self.root.path)/config/alerts.yml'")
    }

    @Test("Metrics count requests by route, status and error code")
    func counts() throws {
        let text = try metrics()
        let route = #"method="GET",route="/v1/suites/{suite}/keys/{key}""#
        #expect(text.contains("settingsd_request_seconds_count{\(route)} 4\n"), "\(text)")
        #expect(text.contains("settingsd_request_seconds_bucket{\(route),le=\"+Inf\"} 4\n"))
        #expect(text.contains("settingsd_requests_total{status=\"2xx\"} 4\n"))
        #expect(text.contains("settingsd_requests_total{status=\"4xx\"} 1\n"))
        #expect(text.contains("settingsd_refusals_total{code=\"unknown_suite\"} 1\n"))
        #expect(text.contains("settingsd_batch_writes_count 1\n"))
        #expect(text.contains("settingsd_commit_seconds_count 1\n"))
    }

    @Test("A request that waited is counted when it is answered, but its duration is not measured")
    func waited() throws {
        let daemon = try TestDaemon()
        let cursor = try daemon.sendOK("PUT app/keys/a 1").field("Settings-Cursor") ?? ""
        let (leaving, staying) = (try daemon.connect(), try daemon.connect())
        for client in [leaving, staying] {
            try client.send(Request("GET app/observe?since=\(cursor)&wait=60").bytes)
        }
        let peer = try daemon.connect()
        func metrics() throws -> String { try peer.ask("GET /metrics").text }
        func successes() throws -> Int {
            let line = try metrics().firstMatch(of: /settingsd_requests_total{status="2xx"} ([0-9]+)/)
            return try #require(line.flatMap { Int($0.output.1) })
        }
        try eventually { try peer.watcherCount() == 2 }
        let before = try successes()
        leaving.reset()
        // Starts at 1 for the request of `before`, because `before` does not count this request.
        var polls = 1
        try eventually {
            polls += 1
            return try peer.watcherCount() == 1
        }
        try daemon.sendOK("PUT app/keys/a 2")
        #expect(try staying.readResponse().status == 200)
        // The metrics do not count the request that asks for them. The successes are the request of `before`, the polls
        // of `watcherCount`, the write and the answered long poll.
        #expect(try successes() == before + polls + 2)
        // Only the metrics of durations contain the route, and no duration of the long polls is measured.
        #expect(try !metrics().contains("observe"))
    }

    @Test("The rules and the dashboard use existing metrics; the documentation lists each alert and metric")
    func names() throws {
        // The PUT takes one round: one transaction in etcd.
        let shared = try metrics(on: EtcdCluster())
        #expect(shared.contains("settingsd_etcd_round_seconds_count 1\n"), "\(shared)")
        let lines = shared.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }
        let known = Set(lines.map { String($0.split(separator: " ")[2]) })
        for file in ["config/alerts.yml", "config/grafana.json"] {
            let used = try Self.text(file).matches(of: /\b(settingsd|process)_[a-z_]+/).map { String($0.output.0) }
            #expect(used.count > 10)
            for name in used {
                let base = name.replacing(/_(bucket|sum|count)$/, with: "")
                #expect(known.contains(name) || known.contains(base), "\(file): \(name)")
            }
        }
        let guide = try Self.text("docs/guides/monitoring.md")
        for alert in try Self.text("config/alerts.yml").matches(of: /alert: (\w+)/) {
            #expect(guide.contains("| `\(alert.output.1)` |"))
        }
        let reference = try Self.text("docs/reference/metrics.md")
        for name in known { #expect(reference.contains("`\(name)`"), "\(name)") }
        #expect(try JSONValue(parsing: Array(Self.text("config/grafana.json").utf8)).object != nil)
    }

    @Test("Readiness lists each condition")
    func conditions() throws {
        let answer = try TestDaemon().send("GET /readyz")
        #expect(
            answer.json?["conditions"]
                == [
                    "running": "ok", "storage": "ok", "files": "ok", "audit": "off", "schemas": "off", "reload": "ok",
                ])
    }

    /// Starts a daemon in its own process with a configuration file.
    private func startProcess(_ options: String) throws -> (TestDaemon, TemporaryDirectory) {
        let directory = try TemporaryDirectory()
        let configuration = try directory.file("c", options)
        let data = directory.path + "/data"
        return (try TestDaemon(ownProcessIn: directory, data: data, options: ["--config", configuration]), directory)
    }

    /// Stops the daemon and returns its standard output.
    private func output(_ daemon: TestDaemon) throws -> String {
        let process = try #require(daemon.process)
        process.signal(SIGTERM)
        return try process.end().output
    }

    private func linesOfOutput(_ daemon: TestDaemon) throws -> [JSONObject] {
        try output(daemon).split(separator: "\n").compactMap { try JSONValue(parsing: Array($0.utf8)).object }
    }

    @Test("The access log has a line of JSON for each request, with its request ID and trace ID")
    func accessLog() throws {
        let (daemon, _) = try startProcess(#"{"accessLog":"json"}"#)
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        try daemon.sendOK(Request("PUT app/keys/a 1", "X-Request-Id: r1", "traceparent: \(trace)"))
        try daemon.sendOK(Request("GET app/keys/a", "X-Request-Id: r2"))
        let answer = try daemon.send(Request("GET app/keys/a?what", "X-Request-Id: r3"))
        let lines = try linesOfOutput(daemon)
        let put = try #require(lines.first { $0["id"] == "r1" })
        #expect(put["method"] == "PUT" && put["target"] == "/v1/suites/app/keys/a" && put["status"] == 201)
        #expect(put["traceparent"] == .string(trace))
        #expect(put["peer"] == "127.0.0.1")
        let get = try #require(lines.first { $0["id"] == "r2" })
        #expect(get["status"] == 200 && get["traceparent"] == nil)
        let bad = try #require(lines.first { $0["id"] == "r3" })
        #expect(bad["status"] == 400 && bad["bytes"] == .integer(Int64(answer.body.count)))
    }

    @Test(
        "The access log names the caller, also for a refused request, and no caller for an invalid credential")
    func callers() throws {
        let directory = try TemporaryDirectory()
        let file = directory.path + "/tokens.json"
        let token = try ProtectedDaemon.makeToken("ci", ["app:write"], in: file)
        let configuration = try directory.file("c", #"{"accessLog":"json","access":{"tokens":"\#(file)"}}"#)
        let daemon = try TestDaemon(
            ownProcessIn: directory, data: directory.path + "/data", options: ["--config", configuration])
        let field = "Authorization: Bearer \(token)"
        for request in [
            Request("PUT app/keys/a 1", field), Request("GET app/keys/a", field), Request("GET b", field),
            Request("GET app", "Authorization: Bearer wrong"), "GET /healthz",
        ] { _ = try daemon.send(request) }
        let lines = try linesOfOutput(daemon)
        #expect(lines.map { $0["by"] } == ["token:ci", "token:ci", "token:ci", nil, nil])
        #expect(lines.map { $0["status"] } == [201, 200, 403, 401, 200])
    }

    @Test("An event stream has one line with status 200 in the access log")
    func stream() throws {
        let (daemon, _) = try startProcess(#"{"accessLog":"json"}"#)
        try daemon.sendOK("PUT app/keys/a 1")
        let client = try daemon.connect()
        try client.send(Request("GET app/observe", "Accept: text/event-stream", "X-Request-Id: live").bytes)
        #expect(try client.readHead().status == 200)
        let lines = try linesOfOutput(daemon).filter { $0["id"] == "live" }
        #expect(lines.count == 1 && lines[0]["status"] == 200 && lines[0]["bytes"] == 0)
    }

    @Test("A request whose connection closes before its answer has status 499 in the access log")
    func closed() throws {
        let (daemon, _) = try startProcess(#"{"accessLog":"json"}"#)
        try daemon.sendOK("PUT app/keys/a 1")
        let peer = try WaitingClient(
            daemon, Request("GET app/observe?since=\(try daemon.cursor())&wait=300", "X-Request-Id: gone"))
        peer.client.reset()
        try eventually { try daemon.send("GET /metrics").text.contains("\nsettingsd_watchers 0\n") }
        let line = try #require(try linesOfOutput(daemon).first { $0["id"] == "gone" })
        #expect(line["status"] == 499 && line["bytes"] == 0)
    }

    @Test(
        "The access log has the common or the combined format of Apache httpd",
        arguments: [
            ("common", "", ""), ("combined", #" "http://a/\"b\\" "c\t\xc3\xa9""#, #" "-" "-""#),
        ])
    func apacheFormats(format: String, suffixWithFields: String, suffixWithoutFields: String) throws {
        let (daemon, _) = try startProcess(#"{"accessLog":"\#(format)"}"#)
        let put = try daemon.sendOK(
            Request("PUT app/keys/a 1", "X-Request-Id: r", #"Referer: http://a/"b\"#, "User-Agent: c\té"))
        #expect(try daemon.send(Request("GET app/keys/a", "If-None-Match: *")).status == 304)
        let text = try output(daemon)
        let time = try #require(text.firstMatch(of: /\[(\d\d\/[A-Z][a-z]{2}\/\d{4}(:\d\d){3} \+0000)\]/))
        let reader = DateFormatter()
        (reader.locale, reader.dateFormat) = (Locale(identifier: "en_US_POSIX"), "dd/MMM/yyyy:HH:mm:ss Z")
        let age = try -(#require(reader.date(from: String(time.output.1)))).timeIntervalSinceNow
        #expect(age > -2 && age < Double(2 * Deadline.patience))
        let lines = text.replacing(/\[[^\]]*\]/, with: "[T]").split(separator: "\n")
        #expect(
            lines
                == [
                    #"127.0.0.1 - - [T] "PUT /v1/suites/app/keys/a HTTP/1.1" 201 \#(put.body.count)\#(suffixWithFields)"#,
                    #"127.0.0.1 - - [T] "GET /v1/suites/app/keys/a HTTP/1.1" 304 -\#(suffixWithoutFields)"#,
                ].map { Substring($0) })
    }

    @Test("A slow request is logged with the time of each step")
    func slow() throws {
        let (daemon, _) = try startProcess(#"{"slowRequestMs":1}"#)
        let body = (0..<20_000).map { "\"k\($0)\":\($0)" }.joined(separator: ",")
        try daemon.sendOK(Request("PUT app {\(body)}", "X-Request-Id: r1"))
        let line = try #require(daemon.process).line(containing: "slow request: PUT /v1/suites/app took ")
        let checking = " ms checking this write and the other writes of its batch"
        let steps = [" ms waiting in the queue of writes", checking, " ms syncing"]
        for part in steps + ["status 200", "id r1"] {
            #expect(line.contains(part), "\(line)")
        }
        #expect(try daemon.send("GET /metrics").text.contains("\nsettingsd_slow_requests_total "))
        daemon.stop()
    }
}
