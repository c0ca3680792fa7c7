import SettingsAPI
import SettingsModel
import TestSupport
import Testing

/// Bodies that the description allows are understood, others are refused. That requests and answers are as described is
/// checked for each row of each table.
@Suite(.ownThread)
struct DescriptionTests {
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

    @Test("A body is understood exactly if the description allows it", arguments: bodies)
    func requests(name: String, body: String) throws {
        let described = try DescribedAnswers.shared.get()
        let json = try JSONValue(parsing: body)
        let isUnderstood =
            name == "Transaction" ? (try? Transaction(json: json)) != nil : (try? InPlaceOperation(json: json)) != nil
        #expect(described.allows(json, as: name) == isUnderstood)
    }

    static let rows: [Row] = [
        Row("A flag with an empty value", "PUT app/keys/a?dryRun= 1", 400, .badRequest),
        Row("A flag that is bare", "PUT app/keys/a?dryRun 1", 201, nil, #"{"dryRun":true}"#),
        Row("A flag that is off", "PUT app/keys/a?dryRun=false 1", 201, lacks: ["dryRun"]),
        Row("A flag in capitals", "PUT app/keys/a?dryRun=TRUE 1", 400, .badRequest),
        Row("A parameter behind which nothing comes", "GET app/keys/a?raw&", 200, text: "1").after("PUT app/keys/a 1"),
        Row("A parameter before which nothing comes", "GET app/keys/a?&raw", 400, .badRequest),
        Row("An empty after", "GET app/keys?after=", 200, nil, #"{"keys":[{"key":"a"}]}"#).after("PUT app/keys/a 1"),
        Row("An empty after of suites", "GET /v1/suites?after=", 200, nil, #"{"suites":[{"suite":"app"}]}"#).after(
            "PUT app/keys/a 1"),
        Row("After what is no key", "GET app/keys?after=%00", 200, nil, #"{"keys":[{"key":"a"}]}"#).after(
            "PUT app/keys/a 1"),
        Row("An after without a value", "GET app/keys?after", 400, .badRequest),
        Row("Two keys", "GET app/observe?key=a&key=b", 200).after("PUT app/keys/a 1"),
        Row("A key that is none", "GET app/observe?key=..", 400, .badRequest).after("PUT app/keys/a 1"),
        Row("An empty key", "GET app/observe?key=", 400, .badRequest).after("PUT app/keys/a 1"),
        Row("A place that is none", "GET app/observe?since=a", 400, .badRequest).after("PUT app/keys/a 1"),
        Row("A suite that is none", "GET /v1/observe?suite=.a", 400, .badRequest),
        Row("A number with a sign", "GET app/keys?limit=+1", 400, .badRequest).after("PUT app/keys/a 1"),
        Row("A number that is too large", "GET app/keys/a?wait=301", 400, .badRequest),
        Row("A map with a key that is none", #"PUT app {"":1}"#, 400, .badRequest),
        Row("A list for a map", "PATCH app []", 400, .badRequest),
        Row(
            "A merge patch of a suite", Request(#"PATCH app {"a":1}"#, "Content-Type: application/merge-patch+json"),
            200),
        Row("A schema that is no object", "PUT app/schema []", 422, .invalidSchema),
    ]

    @Test("Daemon and description agree on what a request may be", arguments: rows)
    func agreement(row: Row) throws {
        try row.check()
    }

    @Test("Every reference of the document leads somewhere")
    func references() throws {
        let document = try #require(try TestDaemon().send("GET /openapi.json").json)
        let references = document.references
        #expect(references.count > 100)
        for reference in Set(references) {
            let target = reference.split(separator: "/").dropFirst().reduce(Optional(document)) { $0?[String($1)] }
            #expect(target != nil, "\(reference)")
        }
    }

    @Test("Every component is referred to")
    func components() throws {
        let document = try #require(try TestDaemon().send("GET /openapi.json").json)
        let references = Set(document.references)
        for group in document["components"]?.object ?? [:] where group.name != "responses" {
            for component in group.value.object ?? [:] {
                let reference = "#/components/\(group.name)/\(component.name)"
                #expect(references.contains(reference), "\(reference)")
            }
        }
    }
}

extension DescribedAnswers {
    func allows(_ body: JSONValue, as name: String) -> Bool {
        schemas[name]?.allows(body) ?? false
    }
}

extension JSONValue {
    /// All references in a document.
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
