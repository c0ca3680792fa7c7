import SettingsModel
import TestSupport
import Testing

/// Bodies that the description allows are understood, others are refused. That answers are as described is checked for
/// each answer of each table.
@Suite("The description of the interface")
struct DescriptionTests {
    static let bodies: [(name: String, body: String)] = [
        ("InPlaceOperation", #"{"op":"add","by":1}"#), ("InPlaceOperation", #"{"op":"add","by":"1"}"#),
        ("InPlaceOperation", #"{"op":"add"}"#), ("InPlaceOperation", #"{"op":"toggle"}"#),
        ("InPlaceOperation", #"{"op":"toggle","by":1}"#), ("InPlaceOperation", #"{"op":"set","value":1}"#),
        ("InPlaceOperation", #"{"op":"merge","value":null}"#), ("InPlaceOperation", #"{"op":"concat","text":1}"#),
        ("InPlaceOperation", #"{"op":"append","values":{}}"#), ("InPlaceOperation", #"{"op":"patch","patch":[]}"#),
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
