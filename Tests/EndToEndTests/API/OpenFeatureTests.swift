import Foundation
import SettingsAPI
import SettingsModel
import TestSupport
import Testing

/// "OpenFeature" in docs/http-api.md: a suite as flags of the remote evaluation protocol. `Samples.schema`: `volume`
/// (at most 1, default 0.5), `count` (an integer, no default), `fixed` (locked, default 1). `Samples.narrowSchema`
/// allows only `volume` and `count` up to 10, and keeps invalid values. A target such as `app/keys/a` is relative to
/// `/v1/suites/`.
@Suite(.ownThread)
struct OpenFeatureTests {
    /// A request, the pattern of its answer, and the name of the schema of the protocol that the answer must match. In
    /// a pattern, `"*"` stands for any value, `"*a*b*"` for a text with `a` and then `b`, and `$n` for the revision
    /// after the n-th request.
    struct Evaluation: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let given: [Request]
        let request: Request
        let status: Int
        let body: String
        let schema: String

        init(_ name: String, _ given: [Request], _ request: Request, _ status: Int, _ body: String, schema: String) {
            testDescription = name
            self.given = given
            self.request = request
            self.status = status
            self.body = body
            self.schema = schema
        }
    }

    private static let flags = "app/ofrep/v1/evaluate/flags"

    /// A request to evaluate a flag; all flags if `key` is empty.
    private static func evaluate(_ key: String, _ body: String = #"{"context":{}}"#, _ fields: String...) -> Request {
        var request = Request("POST \(flags)\(key.isEmpty ? "" : "/\(key)") \(body)")
        request.fields = fields
        return request
    }

    /// An evaluation of a flag with this stored value.
    private static func stored(_ name: String, _ value: String) -> Evaluation {
        Evaluation(
            name, [Request("PUT app/keys/k \(value)")], evaluate("k"), 200,
            """
            {"key":"k","value":\(value),"reason":"STATIC","variant":"stored","metadata":{"suite":"app","revision":$1}}
            """, schema: "serverEvaluationSuccess")
    }

    /// An evaluation that returns an error.
    private static func failure(
        _ name: String, given: [Request] = ["PUT app/keys/k 1"], _ request: Request, _ status: Int, _ code: String,
        key: String? = "k", detail: String, schema: String = "evaluationFailure"
    ) -> Evaluation {
        let key = key.map { "\"key\":\"\($0)\"," } ?? ""
        return Evaluation(
            name, given, request, status, "{\(key)\"errorCode\":\"\(code)\",\"errorDetails\":\"\(detail)\"}",
            schema: schema)
    }

    static let single: [Evaluation] = [
        stored("A boolean", "true"), stored("A string", #""dark é""#), stored("An integer", "9007199254740993"),
        stored("A float", "0.5"), stored("A float without a fraction", "1.0"), stored("An object", #"{"a":[1,{}]}"#),
        stored("An array", "[1,2]"), stored("Null", "null"),
        Evaluation(
            "A default", [Samples.schema], evaluate("volume"), 200,
            #"{"key":"volume","value":0.5,"reason":"STATIC","variant":"default","metadata":{"suite":"app","revision":$1}}"#,
            schema: "serverEvaluationSuccess"),
        Evaluation(
            "A key that is not set and has no default", [Samples.schema], evaluate("count"), 200,
            #"{"key":"count","reason":"DEFAULT","variant":"unset","metadata":{"suite":"app","revision":"*"}}"#,
            schema: "serverEvaluationSuccess"),
        Evaluation(
            "An unset key of a suite without a schema", ["PUT app/keys/k 1"], evaluate("other"), 200,
            #"{"key":"other","reason":"DEFAULT","variant":"unset","metadata":{"suite":"app","revision":"*"}}"#,
            schema: "serverEvaluationSuccess"),
        Evaluation(
            "A key with escapes", [#"PUT app/keys/a%2Fb%20c 1"#], evaluate("a%2Fb%20c"), 200,
            #"{"key":"a/b c","value":1,"reason":"STATIC","variant":"stored","metadata":{"suite":"app","revision":$1}}"#,
            schema: "serverEvaluationSuccess"),
        Evaluation(
            "A context with members, and an unknown member beside the context", ["PUT app/keys/k 1"],
            evaluate("k", #"{"context":{"targetingKey":"me","plan":{"a":[1]}},"later":1}"#), 200,
            #"{"key":"k","value":1,"reason":"STATIC","variant":"stored","metadata":{"suite":"app","revision":$1}}"#,
            schema: "serverEvaluationSuccess"),
        failure(
            "A key that the schema does not know", given: [Samples.schema], evaluate("k"), 404, "FLAG_NOT_FOUND",
            detail: "*suite app*key k*", schema: "flagNotFound"),
        failure(
            "A suite that does not exist", given: [], evaluate("k"), 404, "FLAG_NOT_FOUND", detail: "*suite app*",
            schema: "flagNotFound"),
        failure(
            "A value that does not match the schema", given: ["PUT app/keys/count 99", Samples.narrowSchema],
            evaluate("count"), 400, "PARSE_ERROR", key: "count",
            detail:
                "*count*suite app*10*99*"),
        failure("No context", evaluate("k", "{}"), 400, "INVALID_CONTEXT", detail: "*context*"),
        failure(
            "A context that is no object", evaluate("k", #"{"context":"me"}"#), 400, "INVALID_CONTEXT",
            detail: "*context*"),
        failure("A body that is no object", evaluate("k", "[]"), 400, "INVALID_CONTEXT", detail: "*context*"),
        failure("No body", evaluate("k", ""), 400, "PARSE_ERROR", detail: "*line 1, column 1*"),
        failure(
            "A body that is not JSON", evaluate("k", #"{"context":}"#), 400, "PARSE_ERROR",
            detail: "*line 1, column 12*"),
        failure("An unknown parameter", evaluate("k?a=1"), 400, "PARSE_ERROR", detail: "*parameter a*"),
        failure(
            "An encoded body", evaluate("k", #"{"context":{}}"#, "Content-Encoding: gzip"), 415, "GENERAL",
            detail: "*Content-Encoding*", schema: "generalErrorResponse"),
        failure(
            "Another method", "GET app/ofrep/v1/evaluate/flags/k", 405, "GENERAL",
            detail: "*GET*POST, OPTIONS*", schema: "generalErrorResponse"),
        failure(
            "Another host", evaluate("k", #"{"context":{}}"#, "Host: evil.example"), 421, "GENERAL",
            detail: "*", schema: "generalErrorResponse"),
    ]

    static let all: [Evaluation] = [
        Evaluation(
            "All flags",
            [
                #"PUT app {"a":true,"b":"x","c":7}"#,
                """
                PUT app/schema?onConflict=keep {"additionalProperties":false,"properties":{"a":{"default":false},\
                "b":{"maxLength":0},"c":{},"d":{"default":1.5},"e":{}}}
                """,
            ], evaluate(""), 200,
            """
            {"flags":[\
            {"key":"a","value":true,"reason":"STATIC","variant":"stored","metadata":{"suite":"app","revision":$1}},\
            {"key":"b","errorCode":"PARSE_ERROR","errorDetails":"*"},\
            {"key":"c","value":7,"reason":"STATIC","variant":"stored","metadata":{"suite":"app","revision":$1}},\
            {"key":"d","value":1.5,"reason":"STATIC","variant":"default","metadata":{"suite":"app","revision":$2}},\
            {"key":"e","reason":"DEFAULT","variant":"unset","metadata":{"suite":"app","revision":"*"}}],\
            "eventStreams":[{"type":"sse","endpoint":{"requestUri":"/v1/suites/app/ofrep/v1/events"},\
            "inactivityDelaySec":120}],"metadata":{"suite":"app","revision":$2}}
            """, schema: "bulkEvaluationSuccess"),
        Evaluation(
            "A request with the query parameters that a client takes from an event", ["PUT app/keys/k 1"],
            Request(#"POST \#(flags)?flagConfigEtag=%2243%22&flagConfigLastModified=1771622898 {"context":{}}"#), 200,
            #"{"flags":["*"],"eventStreams":["*"],"metadata":"*"}"#, schema: "bulkEvaluationSuccess"),
        failure(
            "A suite that does not exist", given: [], evaluate(""), 404, "FLAG_NOT_FOUND", key: nil,
            detail: "*suite app*", schema: "bulkEvaluationFailure"),
        failure(
            "No context", evaluate("", #"{"context":null}"#), 400, "INVALID_CONTEXT", key: nil, detail: "*",
            schema: "bulkEvaluationFailure"),
        failure(
            "A guard that does not match", evaluate("", #"{"context":{}}"#, #"If-Match: "999""#), 412, "GENERAL",
            key: nil, detail: "*", schema: "bulkEvaluationFailure"),
    ]

    @Test("The answer to an evaluation matches the schema of the protocol", arguments: single + all)
    func evaluations(evaluation: Evaluation) throws {
        let daemon = try TestDaemon()
        var revisions = [try daemon.send("GET /v1").revision?.description ?? ""]
        for request in evaluation.given { revisions.append(try daemon.sendOK(request).revision?.description ?? "") }
        let answer = try daemon.send(evaluation.request)
        #expect(answer.status == evaluation.status, "\(answer.text)")
        #expect(answer.type == "application/json" && answer.field("Cache-Control") == "no-cache")
        #expect(answer.revision?.description == revisions.last)
        let pattern = try JSONValue(parsing: evaluation.body.replacingPlaceholders(with: revisions))
        #expect(pattern.isFound(in: answer.json), "\(answer.text)")
        let members = { (value: JSONValue?) in value?.object?.members.map(\.name) ?? [] }
        // The pattern also has all members at the top of the answer, in their order.
        #expect(members(answer.json) == members(pattern), "\(answer.text)")
        try OpenAPIDescription.check(answer, to: evaluation.request, of: evaluation.testDescription)
        let json = try #require(answer.json)
        #expect(try Protocol.read().violations(of: json, as: evaluation.schema) == [], "\(answer.text)")
    }

    @Test("The evaluation of all flags has the suite's tag, returns 304 for this tag, and changes only with the suite")
    func tags() throws {
        let daemon = try TestDaemon()
        let written = try daemon.sendOK("PUT app/keys/k 1")
        let first = try daemon.send(Self.evaluate(""))
        let tag = try #require(first.field("ETag"))
        #expect(try tag == daemon.send("GET app").field("ETag"))
        #expect(first.cursorText == written.cursorText)
        let known = try daemon.send(Self.evaluate("", #"{"context":{}}"#, "If-None-Match: \(tag)"))
        #expect(known.status == 304 && known.field("ETag") == tag && known.body.isEmpty)

        let elsewhere = try daemon.sendOK("PUT other/keys/k 1").cursorText
        let same = try daemon.send(Self.evaluate(""))
        #expect(same.body == first.body && same.field("ETag") == tag && same.cursorText == elsewhere)

        let changed = try daemon.sendOK("PUT app/keys/k 2")
        let next = try daemon.send(Self.evaluate("", #"{"context":{}}"#, "If-None-Match: \(tag)"))
        #expect(next.status == 200 && next.json?["flags"]?.array?[0]["value"] == 2)
        #expect(next.field("ETag") == "\"\(try #require(changed.revision))\"")
        #expect(next.json?["metadata"]?["revision"]?.integer == changed.revision?.number)
    }

    @Test("An evaluation shows earlier writes of its connection and no later writes")
    func order() throws {
        let daemon = try TestDaemon()
        let client = try daemon.connect()
        var bytes: [UInt8] = []
        for number in 1...20 {
            bytes += Request("PUT app/keys/k \(number)").bytes + Self.evaluate("k").bytes + Self.evaluate("").bytes
        }
        try client.send(bytes)
        for number in Int64(1)...20 {
            _ = try client.readResponse()
            #expect(try client.readResponse().json?["value"]?.integer == number)
            #expect(try client.readResponse().json?["flags"]?.array?[0]["value"]?.integer == number)
        }
    }

    @Test("A long suite and a long value are evaluated completely; a context over the limit returns 413")
    func long() throws {
        let daemon = try TestDaemon()
        let text = String(repeating: "x", count: 300_000)
        try daemon.sendOK(Request(#"PUT app {"long":"\#(text)","a":1}"#))
        #expect(try daemon.send(Self.evaluate("long")).json?["value"]?.string == text)
        let flags = try daemon.send(Self.evaluate("")).json?["flags"]?.array ?? []
        #expect(flags.map { $0["key"]?.string } == ["a", "long"])
        #expect(flags.last?["value"]?.string == text)
        // The limit on a context is 64 KB.
        let refused = try daemon.send(Self.evaluate("a", #"{"context":{"a":"\#(text)"}}"#))
        #expect(refused.status == 413 && refused.json?["errorCode"] == "GENERAL")
    }

    @Test("The evaluation of a locked key returns its value")
    func locked() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK(Samples.schema)
        #expect(try daemon.send(Self.evaluate("fixed")).json?["value"] == 1)
    }
}

/// The schemas that the OpenFeature protocol publishes.
private struct Protocol {
    private let schemas: JSONValue

    static func read() throws -> Protocol {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../Fixtures/OpenFeature/protocol-0.3.0.json").standardized
        let document = try JSONValue(parsing: [UInt8](Data(contentsOf: file)))
        return Protocol(schemas: try #require(document["components"]?["schemas"]).adapted)
    }

    func violations(of value: JSONValue, as name: String) throws -> [Violation] {
        try KeySchema(["$defs": schemas, "$ref": .string("#/$defs/\(name)")]).violations(of: value)
    }
}

extension JSONValue {
    /// The schemas, adapted for these tests. Keywords that the schema compiler does not support are removed. `oneOf`
    /// becomes `anyOf`, because alternatives overlap. References refer to `$defs`. The enumeration of reasons gets
    /// `DEFAULT`, the reason for a flag without a value.
    fileprivate var adapted: JSONValue {
        switch self {
        case .array(let elements): return .array(elements.map(\.adapted))
        case .object(let object):
            var result = JSONObject()
            for member in object {
                switch member.name {
                case "oneOf": result["anyOf"] = member.value.adapted
                case "format", "contentMediaType", "contentSchema": continue
                case "$ref":
                    let name = member.value.string?.split(separator: "/").last ?? ""
                    result["$ref"] = .string("#/$defs/\(name)")
                case "enum" where member.value.array?.first == "STATIC":
                    result["enum"] = .array((member.value.array ?? []) + ["DEFAULT"])
                default: result[member.name] = member.value.adapted
                }
            }
            return .object(result)
        default: return self
        }
    }
}
