import SettingsModel
import TestSupport
import Testing

/// Section 9 of the contract, and how requests of one connection follow each other.
@Suite(.ownThread)
struct ServiceTests {
    static let rows: [Row] = [
        Row("Health", "GET /healthz", 200, nil, #"{"status":"*"}"#),
        Row("Readiness", "GET /readyz", 200, nil, #"{"status":"*"}"#),
        Row(
            "The service", given: ["PUT app/keys/a 1"], "GET /v1", 200, nil,
            #"{"name":"settingsd","version":"*","revision":$1,"cursor":"*","links":{"suites":"/v1/suites"}}"#),
        Row("The description", "GET /openapi.json", 200, nil, #"{"openapi":"3.1.0"}"#),
        Row("What is counted", "GET /metrics", 200, fields: ["Content-Type: text/plain; version=0.0.4; charset=utf-8"]),
        Row(
            "Options of a setting", "OPTIONS app/keys/a", 204, text: "",
            fields: ["Allow: GET, HEAD, PUT, PATCH, DELETE, OPTIONS", "Content-Length:"]),
        Row("Options of a request with parameters", "OPTIONS app?prefix=a&view=stored&drop&dryRun", 204),
        Row(
            "Options with what is no parameter", "OPTIONS /v1/suites?limt=1", 400, .badRequest,
            #"{"detail":"there is no parameter limt; did you mean limit?","didYouMean":["limit"]}"#),
        Row(
            "Options of what has no parameters", "OPTIONS /healthz?a", 400, .badRequest,
            #"{"detail":"there is no parameter a; there are none here"}"#),
        Row("Options with a parameter that stands twice", "OPTIONS app?drop&drop", 400, .badRequest),
        Row("Options with a query that is none", "OPTIONS app?%zz", 400, .badRequest),
        Row("Options with an empty query", "OPTIONS app?", 204),
        Row("Options of the suites", "OPTIONS /v1/suites", 204, fields: ["Allow: GET, HEAD, OPTIONS"]),
        Row("Options of a suite", "OPTIONS app", 204, fields: ["Allow: GET, HEAD, PUT, PATCH, DELETE, OPTIONS"]),
        Row("Options of a schema", "OPTIONS app/schema", 204, fields: ["Allow: GET, HEAD, PUT, DELETE, OPTIONS"]),
        Row("Options of transactions", "OPTIONS /v1/transaction", 204, fields: ["Allow: POST, OPTIONS"]),
        Row("Options of the server", "OPTIONS *", 204, fields: ["Allow: GET, HEAD, OPTIONS, PUT, PATCH, DELETE, POST"]),
        Row("Options of nothing", "OPTIONS /v2", 404, .unknownPath),
        Row("The head of a transaction", "HEAD /v1/transaction", 405, .methodNotAllowed),
    ]

    @Test("The daemon tells of itself", arguments: rows)
    func service(row: Row) throws {
        try row.check()
    }

    @Test("Every link of the service leads somewhere")
    func links() throws {
        let daemon = try TestDaemon()
        try daemon.done(Samples.schema)
        let links = try #require(try daemon.send("GET /v1").json?["links"]?.object)
        #expect(links.count >= 8)
        for link in links {
            let target = try #require(link.value.string).naming("volume")
            let answer = try daemon.send(Request("OPTIONS \(target)"))
            #expect(answer.status == 204, "\(link.name): \(target)")
            let isRead = answer.field("Allow")?.hasPrefix("GET") ?? false
            let read = try daemon.send(Request("GET \(target)"))
            #expect(read.status == (isRead ? 200 : 405), "\(link.name): \(target)")
        }
    }

    @Test("The metrics are lines of the text form, each announced with its help and type")
    func metrics() throws {
        let daemon = try TestDaemon()
        try daemon.done("PUT app/keys/a 1")
        var announced: Set<String> = []
        for line in try daemon.send("GET /metrics").text.split(separator: "\n") {
            let words = line.split(separator: " ")
            if line.hasPrefix("# TYPE") {
                announced.insert(String(words[2]))
            } else if !line.hasPrefix("#") {
                #expect(words.count == 2 && Double(words[1]) != nil, "\(line)")
                #expect(announced.contains(String(words[0].prefix { $0 != "{" })), "\(line)")
            }
        }
        #expect(announced.contains("settingsd_revision"))
        #expect(announced.contains("settingsd_keys"))
    }

    @Test("Requests of one connection take effect in order, and are answered in it")
    func order() throws {
        let daemon = try TestDaemon()
        let peer = try daemon.connect()
        var bytes: [UInt8] = []
        for number in 0..<50 {
            bytes += Request("PUT app/keys/a \(number)").bytes
            bytes += Request("GET app/keys/a?raw").bytes
            bytes += Request("PUT app/keys/a [").bytes
        }
        try peer.send(bytes)
        for number in 0..<50 {
            #expect(try peer.readResponse().json?["value"] == .integer(Int64(number)))
            #expect(try peer.readResponse().text == String(number))
            #expect(try peer.readResponse().status == 400)
        }
    }

    @Test("A write behind the one that lifts its lock is done")
    func lockLifted() throws {
        let daemon = try TestDaemon()
        try daemon.done(Samples.schema)
        let peer = try daemon.connect()
        try peer.send(
            Samples.narrow.bytes + Request("DELETE app/schema").bytes + Request("PUT app/keys/fixed 2").bytes)
        #expect(try peer.readResponse().status == 200)
        #expect(try peer.readResponse().status == 200)
        #expect(try peer.readResponse().status == 201)
    }

    @Test("A lock that a write before sets holds")
    func lockSet() throws {
        let daemon = try TestDaemon()
        let peer = try daemon.connect()
        try peer.send(Samples.schema.bytes + Request("PUT app/keys/fixed 2").bytes)
        #expect(try peer.readResponse().status == 201)
        #expect(try peer.readResponse().json?["code"] == "locked")
    }
}

extension String {
    /// A path with a name for every part of its template.
    fileprivate func naming(_ key: String) -> String {
        replacing("{suite}", with: "app").replacing("{key}", with: key)
    }
}
