import SettingsModel
import TestSupport
import Testing

/// A GET that waits until its answer is another one.
@Suite(.ownThread)
struct WaitingReadTests {
    static let invalid: [Request] = [
        "PUT app/keys/a 9", #"PUT app/schema?onConflict=keep {"additionalProperties":{"type":"string"}}"#,
    ]

    /// What is held, what leaves it so, and what ends it.
    struct Held: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let given: [Request]
        let request: Request
        /// Whether it comes with the tag that is there.
        let knowsTag: Bool
        let quiet: [Request]
        let write: Request
        let status: Int
        let body: String

        init(
            _ name: String, given: [Request] = ["PUT app/keys/a 1"], _ request: Request, knowsTag: Bool = true,
            quiet: [Request] = [], _ write: Request, _ status: Int, _ body: String
        ) {
            testDescription = name
            self.given = given
            self.request = request
            self.knowsTag = knowsTag
            self.quiet = quiet
            self.write = write
            self.status = status
            self.body = body
        }
    }

    static let held: [Held] = [
        Held(
            "A setting, by its tag", "GET app/keys/a?wait=300",
            quiet: ["PUT app/keys/a 1", "PUT app/keys/b 1", "PUT other/keys/a 2"], "PUT app/keys/a 2", 200,
            #"{"key":"a","value":2,"source":"stored"}"#),
        Held("A bare value", "GET app/keys/a?raw&wait=300", quiet: ["PUT app/keys/b 1"], "PUT app/keys/a 2", 200, "2"),
        Held("A value that goes", "GET app/keys/a?wait=300", "DELETE app/keys/a", 404, #"{"code":"not_set"}"#),
        Held("A suite that goes", "GET app/keys/a?wait=300", "DELETE app?drop", 404, #"{"code":"unknown_suite"}"#),
        Held(
            "A default that comes to be stored", given: [ObservedRowTests.schema], "GET app/keys/a?wait=300",
            "PUT app/keys/a 1", 200, #"{"value":1,"source":"stored"}"#),
        Held(
            "A key that appears, by the tag of its 404", "GET app/keys/b?wait=300", quiet: ["PUT app/keys/a 2"],
            "PUT app/keys/b 5", 200, #"{"key":"b","value":5}"#),
        Held(
            "A key that appears, without any tag", "GET app/keys/b?wait=300", knowsTag: false,
            quiet: ["PUT app/keys/a 2"], "PUT app/keys/b 5", 200, #"{"key":"b","value":5}"#),
        Held(
            "A suite that appears", given: [], "GET app?wait=300", knowsTag: false, quiet: ["PUT other/keys/a 1"],
            "PUT app/keys/a 5", 200, #"{"suite":"app","values":{"a":5}}"#),
        Held(
            "A key of a suite that appears", given: [], "GET app/keys/a?wait=300", knowsTag: false,
            quiet: ["PUT other/keys/a 1"], "PUT app/keys/a 5", 200, #"{"key":"a","value":5}"#),
        Held(
            "What is invalid, until it is not", given: invalid, "GET app/keys/a?wait=300", knowsTag: false,
            quiet: [#"PUT app/keys/b "x""#], #"PUT app/keys/a "y""#, 200, #"{"key":"a","value":"y"}"#),
        Held(
            "What is invalid, until a schema allows it", given: invalid, "GET app/keys/a?wait=300", "DELETE app/schema",
            200, #"{"key":"a","value":9}"#),
        Held(
            "A suite, by its tag", "GET app?wait=300", quiet: ["PUT app/keys/a 1", "PUT other/keys/a 1"],
            "PUT app/keys/b 2", 200, #"{"values":{"a":1,"b":2}}"#),
        Held(
            "A suite, by its schema", "GET app?wait=300", #"PUT app/schema {"additionalProperties":true}"#, 200,
            #"{"values":{"a":1},"schemaRevision":"*"}"#),
        Held("A suite that is dropped", "GET app?wait=300", "DELETE app?drop", 404, #"{"code":"unknown_suite"}"#),
        Held("A suite, bare", "GET app?wait=300&raw", "PUT app/keys/b 2", 200, #"{"a":1,"b":2}"#),
    ]

    @Test("A reading is held until it is another one, and no longer", arguments: held)
    func wake(item: Held) throws {
        let daemon = try TestDaemon()
        for request in item.given { try daemon.done(request) }
        var request = item.request
        if item.knowsTag {
            var plain = item.request
            plain.target = String(plain.target.prefix { $0 != "?" })
            let tag = try #require(try daemon.send(plain).field("ETag"))
            request.fields.append("If-None-Match: \(tag)")
        }
        let peer = try WaitingPeer(daemon, request)
        for quiet in item.quiet { try daemon.done(quiet) }
        #expect(!peer.client.hasNews)
        try daemon.done(item.write)
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

    static let atOnce: [Row] = [
        Row("Without a tag there is nothing to wait for", given: ["PUT app/keys/a 1"], "GET app/keys/a?wait=300", 200),
        Row(
            "Nor with another tag", given: ["PUT app/keys/a 1"],
            Request("GET app/keys/a?wait=300", "If-None-Match: \"99\""), 200),
        Row(
            "Nor with a suite's other tag", given: ["PUT app/keys/a 1"],
            Request("GET app?wait=300", "If-None-Match: \"0\""), 200),
        Row(
            "Nor with no time", given: ["PUT app/keys/a 1"], Request("GET app/keys/a?wait=0", "If-None-Match: \"$1\""),
            304, fields: ["ETag: \"$1\""]),
        Row("Any tag is one", given: ["PUT app/keys/a 1"], Request("GET app/keys/a?wait=0", "If-None-Match: *"), 304),
        Row("What is not set, and no time", given: ["PUT app/keys/a 1"], "GET app/keys/b?wait=0", 404, .notSet),
        Row(
            "What is not set, by another tag", given: ["PUT app/keys/a 1"],
            Request("GET app/keys/b?wait=300", "If-None-Match: \"77\""), 404, .notSet),
        Row(
            "What is not set is never unmodified", given: ["PUT app/keys/a 1"],
            Request("GET app/keys/b?wait=0", "If-None-Match: \"0\""), 404, .notSet),
        Row(
            "What is invalid is never unmodified", given: invalid,
            Request("GET app/keys/a?wait=0", "If-None-Match: \"$2\""), 409, .invalidStored),
        Row(
            "A key that the suite does not admit", given: [ObservedRowTests.schema], "GET app/keys/zz?wait=300", 404,
            .unknownKey),
        Row("The past does not change", given: ["PUT app/keys/a 1"], "GET app?at=$1&wait=1", 400, .badRequest),
        Row("Nor does it for no time", given: ["PUT app/keys/a 1"], "GET app?at=$1&wait=0", 400, .badRequest),
        Row("Too long", given: ["PUT app/keys/a 1"], "GET app/keys/a?wait=301", 400, .badRequest),
        Row("Too long for a suite", given: ["PUT app/keys/a 1"], "GET app?wait=301", 400, .badRequest),
        Row("Listings do not wait", given: ["PUT app/keys/a 1"], "GET app/keys?wait=1", 400, .badRequest),
        Row("Schemas do not wait", given: [ObservedRowTests.schema], "GET app/schema?wait=1", 400, .badRequest),
        Row("Writes do not wait", "PUT app/keys/a?wait=1 1", 400, .badRequest),
    ]

    @Test("What need not be waited for, and what cannot be", arguments: atOnce)
    func rows(row: Row) throws {
        try row.check()
    }
}
