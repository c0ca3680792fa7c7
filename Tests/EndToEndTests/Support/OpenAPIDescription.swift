import SettingsModel
import TestSupport
import Testing

/// Compares answers with the OpenAPI description that the daemon serves. The status and the fields must be described.
/// The body must match its schema and have no undescribed members. Requests are compared with the description, too.
struct OpenAPIDescription {
    private let document: JSONValue
    let schemas: [String: KeySchema]

    static let shared = Result { try OpenAPIDescription() }

    /// Compares the request and the answer with the description. Messages contain `name`. Checks nothing if the
    /// description has no operation for the method and path of the request.
    static func check(_ answer: RawResponse, to request: Request, of name: String) throws {
        try shared.get().check(answer, to: request, of: name)
    }

    init() throws {
        document = try #require(try TestDaemon().send("GET /openapi.json").json)
        let components = try #require(document["components"]?["schemas"]?.object)
        let definitions = JSONValue.object(components).adaptedToKeySchema
        var schemas: [String: KeySchema] = [:]
        for name in components.names {
            schemas[name] = try KeySchema(["$defs": definitions, "$ref": .string("#/$defs/\(name)")])
        }
        self.schemas = schemas
    }

    /// Fields that any answer may have without a description.
    private static let undescribedFields: Set = [
        "Date", "Content-Type", "Content-Length", "Transfer-Encoding", "Connection", "Cache-Control", "Vary",
        "X-Content-Type-Options", "X-Accel-Buffering", "Settings-Stale",
    ]

    private func check(_ answer: RawResponse, to request: Request, of name: String) throws {
        let context: Comment = "\(name): \(request.method) \(request.target): \(answer.status) \(answer.text)"
        guard let operation = describedOperation(of: request) else { return }
        checkRequest(request, operation, answer, of: name)
        var response = operation.description["responses"]?[String(answer.status)]
        try #require(response != nil, context)
        if let reference = response?["$ref"]?.string { response = resolve(reference) }
        for field in answer.fields.map(\.name)
        where !Self.undescribedFields.contains(field) && !field.hasPrefix("Access-Control-") {
            #expect(response?["headers"]?[field] != nil, "\(name): \(field) of \(answer.status) is not described")
        }
        guard !answer.body.isEmpty else { return }
        let content = response?["content"]?[answer.type]
        try #require(content != nil, context)
        guard answer.type.hasSuffix("json"), let body = answer.json else { return }
        let alternatives = content?["schema"]?["anyOf"]?.array ?? [content?["schema"] ?? [:]]
        // An answer to a read with `raw` is a stored value, which may have any form.
        let isRaw = request.target.contains("raw") && !request.target.contains("raw=false") && answer.status < 400
        let schemas = alternatives.compactMap { alternative in
            alternative["$ref"]?.string?.split(separator: "/").last.flatMap { self.schemas[String($0)] }
        }
        guard !isRaw, let first = schemas.first else { return }
        if schemas.count > 1, schemas.contains(where: { $0.violations(of: body) == [] }) { return }
        #expect(first.violations(of: body) == [], context)
    }

    /// An operation of the description, with the path of one request.
    struct DescribedOperation {
        let description: JSONValue
        /// The parameters of the path and of the operation.
        let parameters: [JSONValue]
        /// The variables of the path: the name in the template, and the text in the request, still percent-encoded.
        let names: [(name: String, text: String)]
    }

    /// The operation that matches the method and path of the request; nil if none matches.
    private func describedOperation(of request: Request) -> DescribedOperation? {
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
                return DescribedOperation(
                    description: operation,
                    parameters: parameters.compactMap { $0["$ref"]?.string.flatMap(resolve) }, names: names)
            }
        }
        return nil
    }

    private func resolve(_ reference: String) -> JSONValue? {
        reference.split(separator: "/").dropFirst().reduce(document) { $0?[String($1)] }
    }
}

extension JSONValue {
    /// The schemas with references to `$defs`. Objects with required members allow no further members, so that
    /// undescribed members are violations.
    fileprivate var adaptedToKeySchema: JSONValue {
        switch self {
        case .array(let elements): return .array(elements.map(\.adaptedToKeySchema))
        case .object(let object):
            var result = JSONObject()
            for member in object { result[member.name] = member.value.adaptedToKeySchema }
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

/// Compares requests with the description: the daemon must refuse a request that the description forbids, and must not
/// answer 400 to a request that the description allows.
extension OpenAPIDescription {
    /// Parts of error messages for rules that OpenAPI cannot express.
    private static let undescribedRules = [
        "at and wait cannot be combined", "name the suites to observe",
        "is for long polls; remove it for text/event-stream", "does not exist yet", "drop removes the whole suite",
        "changed nothing in suite", "needs the parameter", "must also have", "cannot be combined",
        "must have at most 1024 bytes", "must be 1 to 128 bytes", "does not have the commit",
        "belongs to another history", "does not match the schema", "deadline must be",
    ]

    func checkRequest(_ request: Request, _ operation: DescribedOperation, _ answer: RawResponse, of name: String) {
        // The description does not constrain the values of fields, so only requests without fields, or with
        // Content-Type alone, are compared.
        let isPlain = request.fields.allSatisfy { $0.hasPrefix("Content-Type:") }
        guard isPlain, request.version == "HTTP/1.1", let deviations = deviations(of: request, operation) else {
            return
        }
        let context: Comment =
            "\(name): \(request.method) \(request.target): \(answer.status) \(answer.text.prefix(300))"
        if let reason = deviations.first {
            #expect(
                answer.status >= 400,
                "the description does not allow \(reason), but the daemon accepts the request: \(context)")
        } else if answer.status == 400 {
            let isUndescribed = Self.undescribedRules.contains { answer.text.contains($0) }
            #expect(isUndescribed, "the description allows the request, but the daemon refuses it: \(context)")
        }
    }

    /// The parts of the request that the description does not allow; nil if the request is not well-formed HTTP and
    /// JSON.
    private func deviations(of request: Request, _ operation: DescribedOperation) -> [String]? {
        var deviations: [String] = []
        func parameter(_ name: String, in part: String) -> JSONValue? {
            operation.parameters.first { $0["in"]?.string == part && $0["name"]?.string == name }
        }
        for (name, text) in operation.names {
            guard let value = text.decoded else { return nil }
            if !allows(.string(value), parameter(name, in: "path")?["schema"]) {
                deviations.append("the name \(value)")
            }
        }
        guard let query = request.target.queryParameters else { return nil }
        for parameter in operation.parameters where parameter["in"] == "query" && parameter["required"] == true {
            let name = parameter["name"]?.string ?? ""
            if !query.contains(where: { $0.0 == name }) { deviations.append("a query without \(name)") }
        }
        for (name, values) in query {
            guard let schema = parameter(name, in: "query")?["schema"] else {
                deviations.append("the parameter \(name)")
                continue
            }
            let isList = schema["type"]?.string == "array"
            if values.count > 1, !isList { deviations.append("\(name) twice") }
            for value in values where !allows(value, ofParameter: isList ? schema["items"] : schema) {
                deviations.append("\(name)=\(value ?? "")")
            }
        }
        guard let content = operation.description["requestBody"]?["content"] else { return deviations }
        guard let body = request.json else { return nil }
        let type = request.fields.first?.dropFirst("Content-Type:".count).filter { $0 != " " } ?? "application/json"
        let described = content[type.prefix { $0 != ";" }.lowercased()] ?? content["application/json"]
        if !allows(body, described?["schema"]) { deviations.append("the body") }
        return deviations
    }

    /// True if a schema allows the text of a parameter as a text, a number or a Boolean. A nil text stands for a
    /// parameter without `=`.
    private func allows(_ text: String?, ofParameter schema: JSONValue?) -> Bool {
        guard let text else { return schema?["type"]?.string == "boolean" }
        var values: [JSONValue] = [.string(text)]
        if let number = Int64(text), text.allSatisfy(\.isNumber) { values.append(.integer(number)) }
        if let number = Double(text), text.first?.isNumber ?? false { values.append(.double(number)) }
        if text == "true" || text == "false" { values.append(.bool(text == "true")) }
        return values.contains { allows($0, schema) }
    }

    private func allows(_ value: JSONValue, _ schema: JSONValue?) -> Bool {
        guard let schema else { return false }
        if let name = schema["$ref"]?.string?.split(separator: "/").last { return allows(value, as: String(name)) }
        if let alternatives = schema["anyOf"]?.array { return alternatives.contains { allows(value, $0) } }
        return (try? KeySchema(schema).allows(value)) ?? false
    }
}

extension Request {
    fileprivate var json: JSONValue? { try? JSONValue(parsing: body, maximumDepth: JSONValue.maximumDepthAroundValues) }
}

extension String {
    /// The text without its percent-encoding; nil if it is malformed.
    fileprivate var decoded: String? {
        var bytes: [UInt8] = []
        var rest = utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let digits = String(rest.prefix(2)), digits.utf8.count == 2, let value = UInt8(digits, radix: 16)
            else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// The parameters of a target by name, with nil for a parameter without `=`; nil if the query is malformed.
    fileprivate var queryParameters: [(name: String, values: [String?])]? {
        var parameters: [(name: String, values: [String?])] = []
        var parts =
            split(separator: "?", maxSplits: 1).dropFirst().first?.split(
                separator: "&", omittingEmptySubsequences: false) ?? []
        if parts.last?.isEmpty == true { parts.removeLast() }
        for part in parts {
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = String(sides[0]).decoded, !name.isEmpty else { return nil }
            var value: String?
            if sides.count > 1 {
                guard let decoded = String(sides[1]).decoded else { return nil }
                value = decoded
            }
            if let index = parameters.firstIndex(where: { $0.name == name }) {
                parameters[index].values.append(value)
            } else {
                parameters.append((name, [value]))
            }
        }
        return parameters
    }
}
