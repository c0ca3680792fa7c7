internal import HTTPWire
internal import SettingsModel

/// The description of the interface in the form of OpenAPI 3.1, made of the tables that requests are routed and read by.
enum APIDescription {
    /// The document, rendered once.
    static let bytes: [UInt8] = document.bytes()

    static let document: JSONValue = [
        "openapi": "3.1.0",
        "info": [
            "title": "Settings", "version": .string(Service.version),
            "summary": "Settings of programs: stored, described by schemas, and changed with care.",
        ],
        "servers": [["url": "/"]],
        "paths": .map(Resource.allCases.map { ($0.rawValue, path($0)) }),
        "components": [
            "schemas": .map(DescribedSchema.all.map { ($0.name, $0.schema) }),
            "responses": .map(problemStatuses.map { (String($0), problem($0)) }),
            "headers": .map(DescribedField.answers.map { ($0.name, $0.header) }),
        ],
    ]

    /// Every status that an error may have.
    static let problemStatuses = Set(ErrorCode.allCases.flatMap(\.statuses)).sorted()

    private static func path(_ resource: Resource) -> JSONValue {
        var members: [(String, JSONValue)] = []
        let names = resource.pathParameters
        if !names.isEmpty { members.append(("parameters", .array(names))) }
        for method in resource.describedMethods {
            members.append((method.name.lowercased(), operation(method, of: resource)))
        }
        return .map(members)
    }

    private static func operation(_ method: Method, of resource: Resource) -> JSONValue {
        var members: [(String, JSONValue)] = [
            ("operationId", .string(method.name.lowercased() + resource.title)),
            ("summary", .string(resource.summary(of: method))),
        ]
        let parameters =
            resource.parameters(of: method).map(\.described) + resource.fields(of: method).map(\.parameter)
        if !parameters.isEmpty { members.append(("parameters", .array(parameters))) }
        let bodies = resource.bodies(of: method)
        if !bodies.isEmpty {
            members.append(("requestBody", ["required": true, "content": .map(bodies.map { ($0.type, $0.content) })]))
        }
        let successes = resource.successes(of: method).map { (String($0.status), success($0, method, resource)) }
        let problems = resource.problems(of: method).map { status -> (String, JSONValue) in
            (String(status), ["$ref": .string("#/components/responses/\(status)")])
        }
        members.append(("responses", .map(successes + problems)))
        return .map(members)
    }

    private static func success(_ answer: DescribedAnswer, _ method: Method, _ resource: Resource) -> JSONValue {
        var members: [(String, JSONValue)] = [
            ("description", .string(answer.summary)), ("headers", DescribedField.references(answer.fields)),
        ]
        if !answer.content.isEmpty, method != .head {
            members.append(("content", .map(answer.content.map { ($0.type, $0.content) })))
        }
        return .map(members)
    }

    /// All errors that have a status.
    private static func problem(_ status: Int) -> JSONValue {
        let codes = ErrorCode.codes(ofStatus: status)
        var fields = ["Settings-Cursor"]
        switch status {
        case 404: fields += ["ETag", "Settings-Source", "Retry-After"]
        case 409: fields += ["ETag", "Settings-Source"]
        case 405: fields.append("Allow")
        case 429, 503, 507: fields.append("Retry-After")
        default: break
        }
        return [
            "description": .string(codes.map { "\($0.title) (`\($0.rawValue)`)" }.joined(separator: ", ")),
            "headers": DescribedField.references(fields),
            "content": ["application/problem+json": ["schema": DescribedSchema.reference("Problem")]],
        ]
    }
}

extension JSONValue {
    /// An object of these members in this order.
    static func map(_ members: [(String, JSONValue)]) -> JSONValue {
        var object = JSONObject()
        for (name, value) in members { object[name] = value }
        return .object(object)
    }
}

extension Parameter {
    /// The parameter as OpenAPI describes it.
    fileprivate var described: JSONValue {
        let schema: JSONValue =
            switch kind {
            case .flag: ["type": "boolean"]
            case .text: ["type": "string"]
            case .filledText: ["type": "string", "minLength": 1]
            case .suite: DescribedSchema.reference("SuiteName")
            case .key: DescribedSchema.reference("KeyName")
            case .place: ["anyOf": [DescribedSchema.reference("Cursor"), DescribedSchema.reference("Revision")]]
            case .revision: DescribedSchema.reference("Revision")
            case .count(let range):
                [
                    "type": "integer", "minimum": .integer(Int64(range.lowerBound)),
                    "maximum": .integer(Int64(range.upperBound)),
                ]
            case .choice(let words): ["enum": .array(words.map(JSONValue.string))]
            }
        let bare = if case .flag = kind { " Bare, without a value, it is true." } else { "" }
        return [
            "name": .string(name), "in": "query", "description": .string(summary + bare),
            "schema": isRepeatable ? ["type": "array", "items": schema] : schema,
        ]
    }
}
