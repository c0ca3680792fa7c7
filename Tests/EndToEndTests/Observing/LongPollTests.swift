import SettingsAPI
import SettingsModel
import TestSupport
import Testing

/// A waiting request, writes that do not wake it, and the write that wakes it.
struct WaitCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let given: [Request]
    /// The waiting request. The test adds `since` to a long poll.
    let request: Request
    /// True if the test adds If-None-Match with the current tag to a waiting read.
    let knowsTag: Bool
    /// Writes that must not wake the request.
    let ignored: [Request]
    /// The write that wakes the request.
    let write: Request
    let status: Int
    /// A pattern of the answer, in which `"*"` stands for any value.
    let body: String
    /// Members that the answer must not have.
    let lacks: [String]

    init(
        _ name: String, given: [Request] = ["PUT app/keys/a 1"], _ request: Request, knowsTag: Bool = true,
        ignored: [Request] = [], _ write: Request, _ status: Int, _ body: String,
        lacks: [String] = ["more", "reset"]
    ) {
        testDescription = name
        self.given = given
        self.request = request
        self.knowsTag = knowsTag
        self.ignored = ignored
        self.write = write
        self.status = status
        self.body = body
        self.lacks = lacks
    }
}

/// A long poll is answered as soon as a watched setting changes, and not before. A target such as `app/keys/a` is
/// relative to `/v1/suites/`.
@Suite(.ownThread)
struct LongPollTests {
    /// A schema with the default 1 for the key `a`, and with other keys that have no defaults.
    static let schema = ObservedStateTests.schema

    static let wakes: [WaitCase] = [
        WaitCase(
            "A new value", "GET app/observe", "PUT app/keys/a 2",
            200, #"{"suite":"app","changes":[{"key":"a","old":1,"new":2,"oldSource":"stored","source":"stored"}]}"#),
        WaitCase(
            "The removal of a value of a key with a default", given: [schema, "PUT app/keys/a 7"], "GET app/observe",
            "DELETE app/keys/a",
            200, #"{"changes":[{"key":"a","old":7,"new":1,"oldSource":"stored","source":"default"}]}"#),
        WaitCase(
            "A stored value that equals the default", given: [schema], "GET app/observe", "PUT app/keys/a 1",
            200, #"{"changes":[{"key":"a","old":1,"new":1,"oldSource":"default","source":"stored"}]}"#),
        WaitCase(
            "Writes that change nothing wake no watcher", "GET app/observe",
            ignored: [
                "PUT app/keys/a 1", "PATCH app {\"a\":1}", "DELETE app/keys/b", "PUT app {\"a\":1}",
                "PUT app/keys/a?dryRun=true 9", "PATCH app/keys/a {\"op\":\"add\",\"by\":0}",
            ], "PUT app/keys/b 2", 200, #"{"changes":[{"key":"b"}]}"#),
        WaitCase(
            "Writes with an idempotency key that change nothing wake no watcher", "GET app/observe",
            ignored: [
                Request("PUT app/keys/a 1", "Idempotency-Key: one"),
                Request("DELETE app/keys/b", "Idempotency-Key: two"),
                Request(#"PATCH app {"a":1}"#, "Idempotency-Key: three"),
            ], "PUT app/keys/b 2", 200, #"{"changes":[{"key":"b"}]}"#),
        WaitCase(
            "A write to another suite wakes no watcher", "GET app/observe",
            ignored: ["PUT other/keys/a 5", "PUT ap/keys/a 5"], "PUT app/keys/b 2", 200, #"{"changes":[{"key":"b"}]}"#),
        WaitCase(
            "A write to another key wakes no watcher", "GET app/observe?key=a&key=b",
            ignored: ["PUT app/keys/ab 1", "PUT app/keys/A 1"], "PUT app/keys/b 2", 200, #"{"changes":[{"key":"b"}]}"#),
        WaitCase(
            // `%C3%A9` is é, and `e%CC%81` is é as a letter with a combining accent, which is another name.
            "A write to a key with another prefix wakes no watcher", "GET app/observe?prefix=c.&prefix=%C3%A9",
            ignored: [
                "PUT app/keys/c 1", "PUT app/keys/b 1", "PUT app/keys/%C3%A8x 1", "PUT app/keys/e%CC%81 1",
            ],
            "PUT app/keys/%C3%A9x 2", 200, #"{"changes":[{"key":"éx"}]}"#),
        WaitCase(
            "A filter with a key and a prefix", "GET app/observe?key=b&prefix=c.", ignored: ["PUT app/keys/a 2"],
            "PUT app/keys/c. 2", 200, #"{"changes":[{"key":"c."}]}"#),
        WaitCase(
            "A write to one of several suites", "GET /v1/observe?suite=app&suite=zz", ignored: ["PUT other/keys/a 1"],
            "PUT zz/keys/a 2", 200,
            #"{"changes":[{"suite":"zz","key":"a","new":2}],"schemaRevision":{"app":0,"zz":0}}"#,
            lacks: ["missing", "suite"]),
        WaitCase(
            "The creation of a suite with the prefix", "GET /v1/observe?suitePrefix=app.&suite=zz&key=a",
            ignored: ["PUT app/keys/a 2", "PUT appx/keys/a 1", "PUT b/keys/a 1"], "PUT app.b/keys/a 2",
            200, #"{"changes":[{"suite":"app.b","key":"a","new":2}],"schemaRevision":{"app.b":0},"missing":["zz"]}"#),
        WaitCase(
            "The drop of a suite with the prefix", given: ["PUT app.b/keys/a 1"],
            "GET /v1/observe?suitePrefix=app.&key=zz", ignored: ["PUT app.b/keys/a 2", "PUT appb/keys/zz 1"],
            "DELETE app.b?drop", 200, #"{"changes":[],"dropped":["app.b"],"schemaRevision":{}}"#,
            lacks: ["missing", "values"]),
        WaitCase(
            "A write to any suite", "GET /v1/observe?suitePrefix=&prefix=b", ignored: ["PUT app/keys/a 2"],
            "PUT new/keys/b 2", 200, #"{"changes":[{"suite":"new","key":"b","new":2}],"schemaRevision":{"new":0}}"#),
        WaitCase(
            "A transaction, which is sent completely", "GET app/observe?limit=1",
            #"POST /v1/transaction {"do":[{"op":"set","suite":"app","key":"b","value":2},"#
                + #"{"op":"add","suite":"app","key":"a","by":1},{"op":"set","suite":"z","key":"k","value":3}]}"#,
            200, #"{"changes":[{"key":"b","new":2},{"key":"a","new":2}]}"#),
        WaitCase(
            "A change of the schema, for a watcher of another key", given: ["PUT app/keys/b 1"],
            "GET app/observe?key=zz", schema, 200, #"{"schemaRevision":"*","changes":[]}"#),
        WaitCase(
            "A drop, for a watcher of another key", "GET app/observe?key=zz", "DELETE app?drop=true",
            200, #"{"dropped":true,"schemaRevision":0,"changes":[]}"#),
        WaitCase(
            "A drop, for a watcher of every key", given: ["PUT app {\"a\":1,\"b\":2}"], "GET app/observe",
            "DELETE app?drop=true", 200,
            #"{"dropped":true,"changes":[{"key":"a","old":1,"new":null,"source":"unset"},{"key":"b","source":"unset"}]}"#
        ),
        WaitCase(
            "A suite that is created again after its drop", given: ["PUT app/keys/a 1", "DELETE app?drop=true"],
            "GET app/observe", ignored: ["PUT other/keys/a 1"], "PUT app/keys/b 2", 200,
            #"{"changes":[{"key":"b","old":null,"new":2}]}"#, lacks: ["dropped"]),
    ]

    @Test("A watcher is woken by changes that it watches and by no other changes", arguments: wakes)
    func wake(item: WaitCase) throws {
        let daemon = try TestDaemon()
        for request in item.given { try daemon.sendOK(request) }
        var watch = item.request
        watch.target += (watch.target.contains("?") ? "&" : "?") + "since=\(try daemon.cursor())"
        let peer = try WaitingClient(daemon, watch)
        for request in item.ignored {
            try daemon.sendOK(request)
            try daemon.awaitWatchers(1)
        }
        let written = try daemon.sendOK(item.write)
        let answer = try peer.answer()
        #expect(answer.status == item.status)
        #expect(try JSONValue(parsing: item.body).isFound(in: answer.json), "\(answer.text)")
        for member in item.lacks + ["values"] { #expect(answer.json?[member] == nil, "\(answer.text)") }
        #expect(answer.json?["revision"]?.integer == written.revision?.number)
        #expect(answer.json?["cursor"]?.string == written.field("Settings-Cursor"))
        for change in answer.json?["changes"]?.array ?? [] {
            #expect(change["revision"]?.integer == written.revision?.number)
            #expect(change["modified"]?.string != nil)
        }
        try OpenAPIDescription.check(answer, to: watch, of: item.testDescription)
        try daemon.awaitWatchers(0)
    }

    @Test("A watcher that polls from cursor to cursor receives each change once")
    func chain() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app/keys/n 0")
        var cursor = try daemon.cursor()
        let client = try daemon.connect()
        let writer = try daemon.connect()
        var received: [Int64] = []
        var written: Int64 = 0
        while received.last ?? 0 < 300 {
            try client.send(Request("GET app/observe?since=\(cursor)&wait=300").bytes)
            // Writes arrive before the daemon reads the poll, during the wait, and between two polls.
            for _ in 0..<(written < 300 ? 1 + Int(written) % 5 : 0) {
                written += 1
                #expect(try writer.ask(Request("PUT app/keys/n \(written)")).status == 200)
            }
            let answer = try client.readResponse()
            let changes = try #require(answer.json?["changes"]?.array)
            #expect(!changes.isEmpty)
            for change in changes {
                #expect(change["old"]?.integer == received.last ?? 0)
                received.append(try #require(change["new"]?.integer))
            }
            cursor = try #require(answer.json?["cursor"]?.string)
            if written >= 300, received.last == written { break }
        }
        #expect(received == Array(1...written))
    }

    @Test("When one commit wakes watchers with different filters, each receives the changes that match its filter")
    func many() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app {\"a\":1,\"b\":1}")
        let since = try daemon.cursor()
        let targets = [
            "app/observe?since=\(since)", "app/observe?key=a&since=\(since)", "app/observe?prefix=&since=\(since)",
            "app/observe?since=\(since)&latest", "app/observe?since=\(since)&limit=1",
            "app/observe?since=\(since.split(separator: ".")[1])",  // The revision of the cursor.
        ]
        let clients = try (0..<60).map { index in
            let client = try daemon.connect()
            try client.send(Request("GET \(targets[index % targets.count])").bytes)
            return client
        }
        try daemon.awaitWatchers(60)
        try daemon.sendOK("PATCH app {\"a\":2,\"b\":2}")
        for (index, client) in clients.enumerated() {
            // The target with the index 1 watches only `a`. A limit never splits a commit.
            let changes = try client.readResponse().json?["changes"]?.array
            #expect(changes?.compactMap { $0["key"]?.string } == (index % targets.count == 1 ? ["a"] : ["a", "b"]))
        }
        try daemon.awaitWatchers(0)
    }

    @Test("A long poll with a cursor ahead of the daemon waits and returns only changes after the cursor")
    func ahead() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app/keys/a 0")
        let parts = try daemon.cursor().split(separator: ".")
        let (epoch, here) = (parts[0], try #require(Int64(parts[1])))
        let peer = try WaitingClient(daemon, Request("GET app/observe?since=\(epoch).\(here + 3)"))
        for value in 1...3 {
            try daemon.sendOK(Request("PUT app/keys/a \(value)"))
            try daemon.awaitWatchers(1)
        }
        try daemon.sendOK("PUT app/keys/a 4")
        let changes = try #require(try peer.answer().json?["changes"]?.array)
        #expect(changes.compactMap { $0["new"]?.integer } == [4])
        let request = Request("GET app/observe?since=\(epoch).\(here + 900)&wait=0")
        #expect(try daemon.send(request).json?["cursor"]?.string == "\(epoch).\(here + 900)")
    }
}

/// A GET with `wait`. If there is a value, the GET waits only with the current tag in If-None-Match. If there is no
/// value (an unset key, a missing suite, an invalid value), it waits unless If-None-Match has another tag. In a row,
/// `$n` stands for the revision after the n-th request, and `"*"` for any value.
@Suite(.ownThread)
struct WaitingReadTests {
    static let invalidValue: [Request] = [
        "PUT app/keys/a 9", #"PUT app/schema?onConflict=keep {"additionalProperties":{"type":"string"}}"#,
    ]

    static let waits: [WaitCase] = [
        WaitCase(
            "A setting, by its tag", "GET app/keys/a?wait=300",
            ignored: ["PUT app/keys/a 1", "PUT app/keys/b 1", "PUT other/keys/a 2"], "PUT app/keys/a 2", 200,
            #"{"key":"a","value":2,"source":"stored"}"#),
        WaitCase(
            "A value read with `raw`", "GET app/keys/a?raw&wait=300", ignored: ["PUT app/keys/b 1"], "PUT app/keys/a 2",
            200, "2"),
        WaitCase("A removed value", "GET app/keys/a?wait=300", "DELETE app/keys/a", 404, #"{"code":"not_set"}"#),
        WaitCase("A dropped suite", "GET app/keys/a?wait=300", "DELETE app?drop", 404, #"{"code":"unknown_suite"}"#),
        WaitCase(
            "A default that becomes a stored value", given: [ObservedStateTests.schema], "GET app/keys/a?wait=300",
            "PUT app/keys/a 1", 200, #"{"value":1,"source":"stored"}"#),
        WaitCase(
            "The first value of a key, by the tag of the 404", "GET app/keys/b?wait=300", ignored: ["PUT app/keys/a 2"],
            "PUT app/keys/b 5", 200, #"{"key":"b","value":5}"#),
        WaitCase(
            "The first value of a key, without a tag", "GET app/keys/b?wait=300", knowsTag: false,
            ignored: ["PUT app/keys/a 2"], "PUT app/keys/b 5", 200, #"{"key":"b","value":5}"#),
        WaitCase(
            "The creation of a suite", given: [], "GET app?wait=300", knowsTag: false, ignored: ["PUT other/keys/a 1"],
            "PUT app/keys/a 5", 200, #"{"suite":"app","values":{"a":5}}"#),
        WaitCase(
            "The first value of a key of a missing suite", given: [], "GET app/keys/a?wait=300", knowsTag: false,
            ignored: ["PUT other/keys/a 1"], "PUT app/keys/a 5", 200, #"{"key":"a","value":5}"#),
        WaitCase(
            "An invalid value that is replaced", given: invalidValue, "GET app/keys/a?wait=300", knowsTag: false,
            ignored: [#"PUT app/keys/b "x""#], #"PUT app/keys/a "y""#, 200, #"{"key":"a","value":"y"}"#),
        WaitCase(
            "An invalid value that a new schema allows", given: invalidValue, "GET app/keys/a?wait=300",
            "DELETE app/schema", 200, #"{"key":"a","value":9}"#),
        WaitCase(
            "A suite, by its tag", "GET app?wait=300", ignored: ["PUT app/keys/a 1", "PUT other/keys/a 1"],
            "PUT app/keys/b 2", 200, #"{"values":{"a":1,"b":2}}"#),
        WaitCase(
            "A suite with a new schema", "GET app?wait=300", #"PUT app/schema {"additionalProperties":true}"#, 200,
            #"{"values":{"a":1},"schemaRevision":"*"}"#),
        WaitCase("A suite that is dropped", "GET app?wait=300", "DELETE app?drop", 404, #"{"code":"unknown_suite"}"#),
        WaitCase("The bare values of a suite", "GET app?wait=300&raw", "PUT app/keys/b 2", 200, #"{"a":1,"b":2}"#),
    ]

    @Test("A GET with wait is answered when the value and its tag change", arguments: waits)
    func wake(item: WaitCase) throws {
        let daemon = try TestDaemon()
        for request in item.given { try daemon.sendOK(request) }
        var request = item.request
        if item.knowsTag {
            var plain = item.request
            plain.target = String(plain.target.prefix { $0 != "?" })
            let tag = try #require(try daemon.send(plain).field("ETag"))
            request.fields.append("If-None-Match: \(tag)")
        }
        let peer = try WaitingClient(daemon, request)
        for write in item.ignored { try daemon.sendOK(write) }
        #expect(!peer.client.isReadable)
        try daemon.sendOK(item.write)
        let answer = try peer.answer()
        #expect(answer.status == item.status, "\(answer.text)")
        #expect(try JSONValue(parsing: item.body).isFound(in: answer.json), "\(answer.text)")
        var plain = item.request
        plain.target = plain.target.replacing("wait=300", with: "wait=0")
        let now = try daemon.send(plain)
        #expect(now.text == answer.text)
        #expect(now.field("ETag") == answer.field("ETag"))
        try daemon.awaitWatchers(0)
    }

    static let answeredAtOnce: [Row] = [
        Row("A read without a tag", given: ["PUT app/keys/a 1"], "GET app/keys/a?wait=300", 200),
        Row(
            "A setting with a tag that does not match", given: ["PUT app/keys/a 1"],
            Request("GET app/keys/a?wait=300", "If-None-Match: \"99\""), 200),
        Row(
            "A suite with a tag that does not match", given: ["PUT app/keys/a 1"],
            Request("GET app?wait=300", "If-None-Match: \"0\""), 200),
        Row(
            "A wait of zero", given: ["PUT app/keys/a 1"], Request("GET app/keys/a?wait=0", "If-None-Match: \"$1\""),
            304, fields: ["ETag: \"$1\""]),
        Row("If-None-Match: *", given: ["PUT app/keys/a 1"], Request("GET app/keys/a?wait=0", "If-None-Match: *"), 304),
        Row("An unset key with a wait of zero", given: ["PUT app/keys/a 1"], "GET app/keys/b?wait=0", 404, .notSet),
        Row(
            "An unset key with another tag", given: ["PUT app/keys/a 1"],
            Request("GET app/keys/b?wait=300", "If-None-Match: \"77\""), 404, .notSet),
        Row(
            "An unset key never returns 304", given: ["PUT app/keys/a 1"],
            Request("GET app/keys/b?wait=0", "If-None-Match: \"0\""), 404, .notSet),
        Row(
            "An invalid value never returns 304", given: invalidValue,
            Request("GET app/keys/a?wait=0", "If-None-Match: \"$2\""), 409, .invalidStored),
        Row(
            "A key that the schema does not allow", given: [ObservedStateTests.schema], "GET app/keys/zz?wait=300", 404,
            .unknownKey),
        Row("A read with `at` and a wait", given: ["PUT app/keys/a 1"], "GET app?at=$1&wait=1", 400, .badRequest),
        Row(
            "A read with `at` and a wait of zero", given: ["PUT app/keys/a 1"], "GET app?at=$1&wait=0", 400, .badRequest
        ),
        Row("A wait over the limit", given: ["PUT app/keys/a 1"], "GET app/keys/a?wait=301", 400, .badRequest),
        Row("A wait over the limit for a suite", given: ["PUT app/keys/a 1"], "GET app?wait=301", 400, .badRequest),
        Row("Listings do not wait for changes", given: ["PUT app/keys/a 1"], "GET app/keys?wait=1", 400, .badRequest),
        Row(
            "Schemas do not wait for changes", given: [ObservedStateTests.schema], "GET app/schema?wait=1", 400,
            .badRequest),
        Row("Writes do not wait for changes", "PUT app/keys/a?wait=1 1", 400, .badRequest),
    ]

    @Test(
        "A GET with wait is answered at once if the client does not know the value, or if the request cannot wait",
        arguments: answeredAtOnce)
    func rows(row: Row) throws {
        try row.check()
    }
}
