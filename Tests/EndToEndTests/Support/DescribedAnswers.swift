import SettingsModel
import TestSupport
import Testing

/// Holds answers against the daemon's own description of its interface, as it serves it: the status must be described, its
/// fields too, and the body allowed by its schema, with no member that the schema does not name. Requests are held against
/// it as well.
struct DescribedAnswers {
    private let document: JSONValue
    let schemas: [String: JSONSchema]

    static let shared = Result { try DescribedAnswers() }

    static func check(_ answer: RawResponse, to request: Request, of name: String) throws {
        try shared.get().check(answer, to: request, of: name)
    }

    init() throws {
        document = try #require(try TestDaemon().send("GET /openapi.json").json)
        let components = try #require(document["components"]?["schemas"]?.object)
        let definitions = JSONValue.object(components).relocated
        var schemas: [String: JSONSchema] = [:]
        for name in components.names {
            schemas[name] = try JSONSchema(["$defs": definitions, "$ref": .string("#/$defs/\(name)")])
        }
        self.schemas = schemas
    }

    /// Fields that are of HTTP and not of the interface, and what browsers want to know.
    private static let general: Set = [
        "Date", "Content-Type", "Content-Length", "Transfer-Encoding", "Connection", "Cache-Control", "Vary",
        "X-Content-Type-Options", "X-Accel-Buffering",
    ]

    private func check(_ answer: RawResponse, to request: Request, of name: String) throws {
        let told: Comment = "\(name): \(request.method) \(request.target): \(answer.status) \(answer.text)"
        guard let place = place(of: request) else { return }
        checkRequest(request, place, answer, of: name)
        var response = place.operation["responses"]?[String(answer.status)]
        try #require(response != nil, told)
        if let reference = response?["$ref"]?.string { response = found(reference) }
        for field in answer.fields.map(\.name)
        where !Self.general.contains(field) && !field.hasPrefix("Access-Control-") {
            #expect(response?["headers"]?[field] != nil, "\(name): \(field) of \(answer.status) is not described")
        }
        guard !answer.body.isEmpty else { return }
        let content = response?["content"]?[answer.type]
        try #require(content != nil, told)
        guard answer.type.hasSuffix("json"), let body = answer.json else { return }
        let alternatives = content?["schema"]?["anyOf"]?.array ?? [content?["schema"] ?? [:]]
        let isRaw = request.target.contains("raw") && !request.target.contains("raw=false") && answer.status < 400
        guard !isRaw, let reference = alternatives.first?["$ref"]?.string?.split(separator: "/").last,
            let schema = schemas[String(reference)]
        else { return }
        #expect(schema.violations(of: body) == [], told)
    }

    /// Where the description tells of a request.
    struct Place {
        let operation: JSONValue
        /// The parameters of the path and of the operation.
        let parameters: [JSONValue]
        /// The names in the path, as they were sent.
        let names: [(name: String, text: String)]
    }

    /// The operation that a request asks for, if there is one.
    private func place(of request: Request) -> Place? {
        let path = request.target.prefix { $0 != "?" }.split(separator: "/", omittingEmptySubsequences: false)
        for resource in document["paths"]?.object ?? [:] {
            let template = resource.name.split(separator: "/", omittingEmptySubsequences: false)
            guard template.count == path.count else { continue }
            let isSame = zip(template, path).allSatisfy { $0 == $1 || ($0.hasPrefix("{") && !$1.isEmpty) }
            guard isSame else { continue }
            let names = zip(template, path).compactMap { word, text in
                word.hasPrefix("{") ? (String(word.dropFirst().dropLast()), String(text)) : nil
            }
            return resource.value[request.method.lowercased()].map { operation in
                let parameters = [resource.value, operation].flatMap { $0["parameters"]?.array ?? [] }
                return Place(
                    operation: operation,
                    parameters: parameters.compactMap { $0["$ref"]?.string.flatMap(found) }, names: names)
            }
        }
        return nil
    }

    private func found(_ reference: String) -> JSONValue? {
        reference.split(separator: "/").dropFirst().reduce(document) { $0?[String($1)] }
    }
}

extension JSONValue {
    /// The schemas with their references where `$defs` are, and closed: what they do not name is not there.
    fileprivate var relocated: JSONValue {
        switch self {
        case .array(let elements): return .array(elements.map(\.relocated))
        case .object(let object):
            var result = JSONObject()
            for member in object { result[member.name] = member.value.relocated }
            if let reference = object["$ref"]?.string {
                result["$ref"] = .string("#/$defs/" + (reference.split(separator: "/").last ?? ""))
            }
            if object["properties"]?.object != nil, object["required"] != nil, object["additionalProperties"] == nil {
                result["additionalProperties"] = false
            }
            return .object(result)
        default: return self
        }
    }
}
