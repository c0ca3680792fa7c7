import SettingsAPI
import SettingsModel
import TestSupport
import Testing

/// "The service" and reads of "Operation" in docs/http-api.md, the method OPTIONS, and the order of requests on one
/// connection. In a row, `$n` stands for the revision after the n-th request, `"*"` for any value, `"*a*b*"` for a text
/// with `a` and then `b`, and a field without a value must be absent. A target such as `app/keys/a` is relative to
/// `/v1/suites/`.
@Suite(.ownThread)
struct ServiceTests {
    static let rows: [Row] = [
        Row("Health", "GET /healthz", 200, body: #"{"status":"*"}"#),
        Row("Readiness", "GET /readyz", 200, body: #"{"status":"*"}"#),
        Row(
            "The service", given: ["PUT app/keys/a 1"], "GET /v1", 200,
            body: #"{"name":"settingsd","version":"*","revision":$1,"cursor":"*","links":{"suites":"/v1/suites"}}"#),
        Row("The OpenAPI description", "GET /openapi.json", 200, body: #"{"openapi":"3.1.0"}"#),
        Row("The metrics", "GET /metrics", 200, fields: ["Content-Type: text/plain; version=0.0.4; charset=utf-8"]),
        Row(
            "Options of a setting", "OPTIONS app/keys/a", 204, text: "",
            fields: ["Allow: GET, HEAD, PUT, PATCH, DELETE, OPTIONS", "Content-Length:"]),
        Row("Options with parameters of several methods", "OPTIONS app?prefix=a&view=stored&drop&dryRun", 204),
        Row(
            "Options with an unknown parameter", "OPTIONS /v1/suites?limt=1", 400, .badRequest,
            body: #"{"detail":"*limt*limit*","didYouMean":["limit"]}"#),
        Row(
            "Options of a path without parameters, with a parameter", "OPTIONS /healthz?a", 400, .badRequest,
            body: #"{"detail":"*parameter a*"}"#),
        Row("Options with a parameter that occurs twice", "OPTIONS app?drop&drop", 400, .badRequest),
        Row("Options with a malformed query", "OPTIONS app?%zz", 400, .badRequest),
        Row("Options with an empty query", "OPTIONS app?", 204),
        Row("Options of the suites", "OPTIONS /v1/suites", 204, fields: ["Allow: GET, HEAD, OPTIONS"]),
        Row("Options of a suite", "OPTIONS app", 204, fields: ["Allow: GET, HEAD, PUT, PATCH, DELETE, OPTIONS"]),
        Row("Options of a schema", "OPTIONS app/schema", 204, fields: ["Allow: GET, HEAD, PUT, DELETE, OPTIONS"]),
        Row("Options of transactions", "OPTIONS /v1/transaction", 204, fields: ["Allow: POST, OPTIONS"]),
        Row("Options of the server", "OPTIONS *", 204, fields: ["Allow: GET, HEAD, OPTIONS, PUT, PATCH, DELETE, POST"]),
        Row("Options of an unknown path", "OPTIONS /v2", 404, .unknownPath),
        Row("HEAD of a transaction", "HEAD /v1/transaction", 405, .methodNotAllowed),
    ]

    @Test("The service resources return the documented answers", arguments: rows)
    func service(row: Row) throws {
        try row.check()
    }

    @Test("Every link of the service resource exists")
    func links() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK(Samples.schema)
        let links = try #require(try daemon.send("GET /v1").json?["links"]?.object)
        #expect(links.count >= 8)
        for link in links {
            let target = try #require(link.value.string).replacingVariables(withKey: "volume")
            let answer = try daemon.send(Request("OPTIONS \(target)"))
            #expect(answer.status == 204, "\(link.name): \(target)")
            let isRead = answer.field("Allow")?.hasPrefix("GET") ?? false
            let read = try daemon.send(Request("GET \(target)"))
            #expect(read.status == (isRead ? 200 : 405), "\(link.name): \(target)")
        }
    }

    @Test("The metrics have the Prometheus text format, and a TYPE line precedes each metric")
    func metrics() throws {
        let daemon = try TestDaemon()
        try daemon.sendOK("PUT app/keys/a 1")
        var announced: Set<String> = []
        for line in try daemon.send("GET /metrics").text.split(separator: "\n") {
            let words = line.split(separator: " ")
            if line.hasPrefix("# TYPE") {
                announced.insert(String(words[2]))
            } else if !line.hasPrefix("#") {
                #expect(words.count == 2 && Double(words[1]) != nil, "\(line)")
                var name = String(words[0].prefix { $0 != "{" })
                for part in ["_bucket", "_sum", "_count"] where name.hasSuffix(part) && !announced.contains(name) {
                    name.removeLast(part.count)
                }
                #expect(announced.contains(name), "\(line)")
            }
        }
        #expect(announced.contains("settingsd_revision"))
        #expect(announced.contains("settingsd_keys"))
    }

    @Test("Requests of one connection take effect and are answered in order")
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
}

extension String {
    /// The path with the variables of its template replaced.
    fileprivate func replacingVariables(withKey key: String) -> String {
        replacing("{suite}", with: "app").replacing("{key}", with: key)
    }
}

/// The daemon accepts the same bodies as the OpenAPI description. `Row.check` compares the requests and answers of all
/// rows with the description; `after` adds requests that are sent first.
@Suite(.ownThread)
struct DescriptionTests {
    /// Valid and invalid bodies, with the name of their schema in the description.
    static let bodies: [(name: String, body: String)] = [
        ("InPlaceOperation", #"{"op":"add","by":1}"#), ("InPlaceOperation", #"{"op":"add","by":"1"}"#),
        ("InPlaceOperation", #"{"op":"add"}"#), ("InPlaceOperation", #"{"op":"toggle"}"#),
        ("InPlaceOperation", #"{"op":"toggle","by":1}"#), ("InPlaceOperation", #"{"op":"set","value":1}"#),
        ("InPlaceOperation", #"{"op":"merge","value":null}"#), ("InPlaceOperation", #"{"op":"concat","text":1}"#),
        ("InPlaceOperation", #"{"op":"append","values":{}}"#), ("InPlaceOperation", #"{"op":"patch","patch":[]}"#),
        ("InPlaceOperation", #"{"op":"patch","patch":[{"op":"add","path":"/a","value":null}]}"#),
        ("InPlaceOperation", #"{"op":"patch","patch":[{"op":"add","path":"/a"}]}"#),
        ("InPlaceOperation", #"{"op":"patch","patch":[{"op":"add","path":"a","value":1}]}"#),
        ("InPlaceOperation", #"{"op":"patch","patch":[{"op":"test","path":"/a~2","value":1}]}"#),
        ("InPlaceOperation", #"{"op":"patch","patch":[{"op":"move","path":"/a","from":"/b","value":1}]}"#),
        ("InPlaceOperation", #"{"op":"patch","patch":[{"op":"copy","path":"/a"}]}"#),
        ("InPlaceOperation", #"{"op":"patch","patch":[{"op":"remove","path":""}]}"#),
        ("Transaction", #"{"do":[{"op":"delete","suite":"a","key":".."}]}"#),
        ("Transaction", #"{"do":[{"op":"delete","suite":"a","key":"..."}]}"#),
        ("Transaction", #"{"do":[{"op":"delete","suite":"a","key":"a\u0000"}]}"#),
        ("Transaction", #"{"do":[{"op":"delete","suite":"a","key":"a\u0085"}]}"#),
        ("Transaction", #"{"do":[]}"#), ("Transaction", #"{"if":[]}"#), ("Transaction", #"{"do":[],"fi":[]}"#),
        ("Transaction", #"{"do":[{"op":"set","suite":"a","key":"k","value":null}]}"#),
        ("Transaction", #"{"do":[{"op":"set","suite":"a","key":"k"}]}"#),
        ("Transaction", #"{"do":[{"op":"delete","suite":"a","key":"k"}]}"#),
        ("Transaction", #"{"do":[{"op":"delete","suite":".a","key":"k"}]}"#),
        ("Transaction", #"{"do":[{"op":"delete","suite":"a","key":""}]}"#),
        ("Transaction", #"{"do":[],"if":[{"suite":"a","key":"k","stored":true}]}"#),
        ("Transaction", #"{"do":[],"if":[{"suite":"a","key":"k","stored":true,"value":1}]}"#),
        ("Transaction", #"{"do":[],"if":[{"suite":"a","revision":0}]}"#),
        ("Transaction", #"{"do":[],"if":[{"suite":"a","revision":-1}]}"#),
        ("Transaction", #"{"do":[],"if":[{"suite":"a","value":1}]}"#),
    ]

    @Test("The daemon parses a body if and only if the OpenAPI description allows it", arguments: bodies)
    func requests(name: String, body: String) throws {
        let described = try OpenAPIDescription.shared.get()
        let json = try JSONValue(parsing: body)
        let isParsed =
            name == "Transaction" ? (try? Transaction(json: json)) != nil : (try? InPlaceOperation(json: json)) != nil
        #expect(described.allows(json, as: name) == isParsed)
    }

    static let rows: [Row] = [
        Row("A flag with an empty value", "PUT app/keys/a?dryRun= 1", 400, .badRequest),
        Row("A flag without a value", "PUT app/keys/a?dryRun 1", 201, body: #"{"dryRun":true}"#),
        Row("A flag that is off", "PUT app/keys/a?dryRun=false 1", 201, lacks: ["dryRun"]),
        Row("A flag in capitals", "PUT app/keys/a?dryRun=TRUE 1", 400, .badRequest),
        Row("A query that ends with an ampersand", "GET app/keys/a?raw&", 200, text: "1").after("PUT app/keys/a 1"),
        Row("A query that begins with an ampersand", "GET app/keys/a?&raw", 400, .badRequest),
        Row("An empty parameter `after` for keys", "GET app/keys?after=", 200, body: #"{"keys":[{"key":"a"}]}"#).after(
            "PUT app/keys/a 1"),
        Row(
            "An empty parameter `after` for suites", "GET /v1/suites?after=", 200,
            body: #"{"suites":[{"suite":"app"}]}"#
        ).after(
            "PUT app/keys/a 1"),
        Row(
            "A parameter `after` that is not a key name", "GET app/keys?after=%00", 200,
            body: #"{"keys":[{"key":"a"}]}"#
        ).after(
            "PUT app/keys/a 1"),
        Row("A parameter `after` without a value", "GET app/keys?after", 400, .badRequest),
        Row("Two parameters `key`", "GET app/observe?key=a&key=b", 200).after("PUT app/keys/a 1"),
        Row("A parameter `key` that is not a key name", "GET app/observe?key=..", 400, .badRequest).after(
            "PUT app/keys/a 1"),
        Row("An empty parameter `key`", "GET app/observe?key=", 400, .badRequest).after("PUT app/keys/a 1"),
        Row("Observing from an invalid cursor", "GET app/observe?since=a", 400, .badRequest).after("PUT app/keys/a 1"),
        Row("A parameter `suite` that is not a suite name", "GET /v1/observe?suite=.a", 400, .badRequest),
        Row("A number with a sign", "GET app/keys?limit=+1", 400, .badRequest).after("PUT app/keys/a 1"),
        Row("A number that is too large", "GET app/keys/a?wait=301", 400, .badRequest),
        Row("A map with an empty key name", #"PUT app {"":1}"#, 400, .badRequest),
        Row("A merge whose body is an array", "PATCH app []", 400, .badRequest),
        Row(
            "A merge patch of a suite", Request(#"PATCH app {"a":1}"#, "Content-Type: application/merge-patch+json"),
            200),
        Row("A schema that is not an object", "PUT app/schema []", 422, .invalidSchema),
    ]

    @Test("The daemon and the OpenAPI description accept the same requests", arguments: rows)
    func agreement(row: Row) throws {
        try row.check()
    }

    @Test("Every reference in the OpenAPI description has a target")
    func references() throws {
        let document = try #require(try TestDaemon().send("GET /openapi.json").json)
        let references = document.references
        #expect(references.count > 100)
        for reference in Set(references) {
            let target = reference.split(separator: "/").dropFirst().reduce(Optional(document)) { $0?[String($1)] }
            #expect(target != nil, "\(reference)")
        }
    }

    @Test("Every component of the OpenAPI description is referenced")
    func components() throws {
        let document = try #require(try TestDaemon().send("GET /openapi.json").json)
        let references = Set(document.references)
        for group in document["components"]?.object ?? [:] where group.name != "responses" {
            // Not every shared response is referenced. Security schemes are referenced by name, without $ref.
            if group.name == "securitySchemes" { continue }
            for component in group.value.object ?? [:] {
                let reference = "#/components/\(group.name)/\(component.name)"
                #expect(references.contains(reference), "\(reference)")
            }
        }
    }
}

extension OpenAPIDescription {
    func allows(_ body: JSONValue, as name: String) -> Bool {
        schemas[name]?.allows(body) ?? false
    }
}

extension JSONValue {
    /// The values of all $ref members in a document.
    fileprivate var references: [String] {
        switch self {
        case .array(let elements): elements.flatMap(\.references)
        case .object(let object):
            object.flatMap { member in
                member.name == "$ref" ? [member.value.string ?? ""] : member.value.references
            }
        default: []
        }
    }
}
