import SettingsEngine
import SettingsModel
import SettingsServer
import SettingsStorage
import TestSupport
import Testing

/// The quotas on stored settings, and requests that reach them. A target such as `app/keys/a` is relative to
/// `/v1/suites/`.
@Suite(.ownThread)
struct QuotaTests {
    /// The commits before each request. Commit 4 removes a value, which undo and restore can put back.
    private static let given: [Request] = [
        "PUT app/keys/a 1", "PUT app/keys/b 2", "PUT app/keys/c 3", "DELETE app/keys/c", "PUT other/keys/a 1",
    ]

    /// Requests that add a third suite.
    static let newSuites: [Request] = [
        "PUT new/keys/a 1", #"PATCH new {"a":1}"#, #"PUT new {"a":1}"#,
        #"PUT new/schema {"additionalProperties":true}"#,
        #"POST /v1/transaction {"do":[{"op":"set","suite":"app","key":"a","value":9},"#
            + #"{"op":"set","suite":"new","key":"a","value":1}]}"#, "PUT new/keys/a?dryRun=true 1",
    ]

    /// Requests that add a key to the suite `app`.
    static let newKeys: [Request] = [
        "PUT app/keys/x 1", #"PATCH app {"a":5,"x":1}"#,
        #"POST app/undo {"revision":4}"#, #"POST app/restore {"to":3,"keys":["c"]}"#, #"POST /v1/undo {"revision":4}"#,
        #"POST /v1/transaction {"do":[{"op":"set","suite":"app","key":"x","value":9}]}"#,
        #"PUT app/schema {"additionalProperties":true,"properties":{"x":{"type":"integer"}}}"#,
    ]

    private func expectRefusal(
        _ request: Request, by quota: String, _ limit: Int, of daemon: TestDaemon
    ) throws {
        let before = try daemon.readEverything()
        let answer = try daemon.send(request)
        #expect(answer.status == 507, "\(request.target): \(answer.text)")
        #expect(answer.json?["code"] == "insufficient_storage")
        #expect(answer.json?["outcome"] == "not_done")
        #expect(answer.json?["limit"] == .integer(Int64(limit)))
        let detail = answer.json?["detail"]?.string ?? ""
        #expect(detail.contains("\(quota) allows \(limit); "), "\(detail)")
        try OpenAPIDescription.check(answer, to: request, of: "quota")
        #expect(try daemon.readEverything() == before)
    }

    @Test("A write that creates a suite over quotas.suites returns 507 and stores nothing", arguments: newSuites)
    func suites(request: Request) throws {
        let daemon = try TestDaemon { $0.writes.quotas.suites = 2 }
        for request in Self.given { try daemon.sendOK(request) }
        try expectRefusal(request, by: "quotas.suites", 2, of: daemon)
        try daemon.sendOK("PUT app/keys/d 4")
        try daemon.sendOK("DELETE other?drop=true")
        try daemon.sendOK(request)
    }

    @Test("A write that adds a key over quotas.keysPerSuite returns 507 and stores nothing", arguments: newKeys)
    func keys(request: Request) throws {
        let daemon = try TestDaemon { $0.writes.quotas.keysPerSuite = 3 }
        for request in Self.given { try daemon.sendOK(request) }
        try daemon.sendOK("PUT app/keys/z 1")
        try expectRefusal(request, by: "quotas.keysPerSuite", 3, of: daemon)
        try expectRefusal(#"PUT app {"w":1,"x":2,"y":3,"z":4}"#, by: "quotas.keysPerSuite", 3, of: daemon)
        try daemon.sendOK("PUT app/keys/z 2")
        try daemon.sendOK("DELETE app/keys/z")
        // The writes above do not change `c`, because the undo of commit 4 fails if a later commit changed `c`.
        try daemon.sendOK(request)
    }

    /// A JSON text of `count` letters.
    private static func text(_ count: Int) -> String { "\"\(String(repeating: "a", count: count))\"" }

    @Test("A text counts 48 bytes plus the next multiple of 16 above its length")
    func values() throws {
        let daemon = try TestDaemon { $0.writes.quotas.valueBytes = 1024 }
        try daemon.sendOK(Request("PUT app/keys/a \(Self.text(975))"))
        try expectRefusal(Request("PUT app/keys/a \(Self.text(976))"), by: "quotas.valueBytes", 1024, of: daemon)
        try expectRefusal(Request("PUT app/keys/b \(Self.text(976))"), by: "quotas.valueBytes", 1024, of: daemon)
        try expectRefusal(#"PATCH app/keys/a {"op":"concat","text":"b"}"#, by: "quotas.valueBytes", 1024, of: daemon)
        try daemon.sendOK("PUT app/keys/a 1")
    }

    private func storedBytes(_ daemon: TestDaemon) throws -> Int {
        let line = try daemon.send("GET /metrics").text.split(separator: "\n").first {
            $0.hasPrefix("settingsd_stored_bytes ")
        }
        return try #require(line.flatMap { Int($0.split(separator: " ")[1]) })
    }

    @Test(
        "Byte quotas are exact, also after a restart", arguments: ["quotas.suiteBytes", "quotas.totalBytes"])
    func bytes(quota: String) throws {
        let directory = try TemporaryDirectory()
        let last = Request("PUT app/keys/last \(Self.text(500))"), more = Request("PUT app/keys/a \(Self.text(20))")
        // A daemon without a quota measures the size of the data. Without the write to `other`, both quotas count the
        // same data.
        let measured = try TestDaemon(in: directory, data: directory.path + "/measured")
        for request in Self.given.dropLast() + [last] { try measured.sendOK(request) }
        let size = try storedBytes(measured)
        func configure(_ configuration: inout Configuration) {
            let path: WritableKeyPath<Configuration, Int> =
                quota == "quotas.suiteBytes" ? \.writes.quotas.suiteBytes : \.writes.quotas.totalBytes
            configuration[keyPath: path] = size
        }
        var daemon = try TestDaemon(in: directory, data: directory.path + "/data", configure)
        for request in Self.given.dropLast() + [last] { try daemon.sendOK(request) }
        for _ in 0..<3 {
            #expect(try storedBytes(daemon) == size)
            try expectRefusal(more, by: quota, size, of: daemon)
            try daemon.sendOK("PUT app/keys/a 7")
            daemon.stop()
            daemon = try TestDaemon(in: directory, data: directory.path + "/data", configure)
        }
        try daemon.sendOK("DELETE app/keys/last")
        try daemon.sendOK(more)
    }

    @Test("A note counts with its setting; a removal with a note succeeds at the quota")
    func notes() throws {
        let directory = try TemporaryDirectory()
        let note = "Settings-Note: \(String(repeating: "n", count: 256))"
        let measured = try TestDaemon(in: directory, data: directory.path + "/measured")
        try measured.sendOK("PUT app/keys/a 1")
        let size = try storedBytes(measured)
        try measured.sendOK(Request("PUT app/keys/a 2", note))
        // A note costs 96 bytes plus the cost of its text of 256 bytes, which is 48 + 272 bytes.
        #expect(try storedBytes(measured) == size + 96 + 48 + 272)
        measured.stop()
        #expect(
            try storedBytes(TestDaemon(in: directory, data: directory.path + "/measured")) == size + 96 + 48 + 272)
        for quota in ["suiteBytes", "totalBytes"] {
            let daemon = try TestDaemon {
                let path: WritableKeyPath<Configuration, Int> =
                    quota == "suiteBytes" ? \.writes.quotas.suiteBytes : \.writes.quotas.totalBytes
                $0[keyPath: path] = size
            }
            try daemon.sendOK("PUT app/keys/a 1")
            try expectRefusal(Request("PUT app/keys/a 2", note), by: "quotas.\(quota)", size, of: daemon)
            try daemon.sendOK("PUT app/keys/a 3")
            // A removed setting has no note.
            try daemon.sendOK(Request("DELETE app/keys/a", note))
            #expect(try storedBytes(daemon) == size)
        }
    }

    @Test("Removed settings count until the daemon forgets them, after 1,024 to 2,048 later removals in the suite")
    func removed() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app/keys/a 1")
        let size = try storedBytes(daemon)
        // A removed setting counts as much as a stored integer.
        try daemon.sendOK("DELETE app/keys/a")
        #expect(try storedBytes(daemon) == size)
        try daemon.sendOK("PUT app/keys/a 1")
        #expect(try storedBytes(daemon) == size)
        try daemon.sendOK(Request("PUT app {\((0..<3000).map { #""k\#($0)":1"# }.joined(separator: ","))}"))
        try daemon.sendOK("PUT app {}")
        // A suite counts 1,024 bytes, and a removal 64 bytes. The daemon remembers the last 1,024 to 2,048 removals.
        #expect((1024...2048).contains((try storedBytes(daemon) - 1024) / 64))
        try daemon.sendOK("DELETE app?drop=true")
        #expect(try storedBytes(daemon) == 0)
    }

    @Test("After a reload with lower quotas, smaller values and removals succeed, and larger values return 507")
    func lowered() throws {
        let directory = try TemporaryDirectory()
        let file = try directory.file("settingsd.json", "{}")
        let daemon = try TestDaemon(
            ownProcessIn: directory, data: directory.path + "/data", options: ["--config", file])
        for key in 0..<100 { try daemon.sendOK(Request("PUT app/keys/k\(key) \(Self.text(100))")) }
        // At first, all keys have values of 100 letters. A shorter value for the key `changed` and the removal of the
        // key `removed` succeed, although the data still exceeds the first two quotas.
        for (quota, limit, changed, shorter, removed) in [
            ("suiteBytes", 4096, "k2", 3, "k96"), ("totalBytes", 4096, "k3", 3, "k97"),
            ("valueBytes", 1024, "k4", 75, "k24"),
        ] {
            _ = try directory.file("settingsd.json", #"{"quotas":{"\#(quota)":\#(limit)}}"#)
            #expect(try daemon.sendOK("POST /v1/reload").json?["needsRestart"] == [])
            try expectRefusal(Request("PUT app/keys/k1 \(Self.text(9000))"), by: "quotas.\(quota)", limit, of: daemon)
            try daemon.sendOK(Request("PUT app/keys/\(changed) \(Self.text(shorter))"))
            try daemon.sendOK(Request("DELETE app/keys/\(removed)"))
        }
        _ = try directory.file("settingsd.json", "{}")
        try daemon.sendOK("POST /v1/reload")
        try daemon.sendOK(Request("PUT app/keys/k1 \(Self.text(9000))"))
    }
}
