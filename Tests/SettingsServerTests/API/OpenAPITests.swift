import HTTPWire
import SettingsModel
import TestSupport
import Testing

@testable import SettingsWeb

/// Compares the OpenAPI document with the tables that the daemon uses to route and parse requests.
@Suite(.ownThread)
struct OpenAPITests {
    let document: JSONValue

    init() throws {
        document = try JSONValue(parsing: Service.openAPI)
    }

    @Test("The OpenAPI document has the version of the daemon")
    func version() {
        #expect(document["info"]?["version"] == .string(Service.version))
    }

    @Test("The OpenAPI document has exactly the resources of the daemon")
    func resources() {
        let paths = document["paths"]?.object?.members.map(\.name)
        #expect(paths == Resource.allCases.map(\.rawValue))
    }

    @Test("Each path has the methods and the path parameters of its resource", arguments: Resource.allCases)
    func methods(resource: Resource) {
        let path = document["paths"]?[resource.rawValue]
        let methods = path?.object?.members.map(\.name).filter { $0 != "parameters" } ?? []
        #expect(Set(methods) == Set(resource.allowed.map { $0.lowercased() }))
        let named = parameters(of: path).filter { $0["in"] == "path" }
        let names = named.compactMap { $0["name"]?.string.map { "{\($0)}" } }
        #expect(names == resource.rawValue.split(separator: "/").filter { $0.hasPrefix("{") }.map(String.init))
    }

    @Test("Each method has its query parameters with the schemas of their types", arguments: Resource.allCases)
    func parameters(resource: Resource) {
        for method in resource.methods + (resource.methods.contains(.get) ? [.head] : []) + [.options] {
            let operation = document["paths"]?[resource.rawValue]?[method.name.lowercased()]
            let described = parameters(of: operation).filter { $0["in"] == "query" }
            let known = resource.parameters(of: method)
            #expect(described.compactMap { $0["name"]?.string } == known.map(\.name), "\(method)")
            #expect(described.compactMap { $0["schema"] } == known.map(schema), "\(method)")
        }
    }

    @Test("Operations have different identifiers")
    func operations() {
        let paths = document["paths"]?.object?.members.flatMap { $0.value.object?.members ?? [] } ?? []
        let names = paths.compactMap { $0.value["operationId"]?.string }
        #expect(Set(names).count == names.count)
        // The list is not empty.
        #expect(names.contains("putSetting"))
    }

    @Test("The OpenAPI document lists each error code, and a response for each status with its codes")
    func errors() {
        let problem = document["components"]?["schemas"]?["Problem"]?["properties"]
        #expect(problem?["code"]?["enum"] == .array(ErrorCode.allCases.map { .string($0.rawValue) }))
        let statuses = Set(ErrorCode.allCases.flatMap(\.statuses)).sorted()
        #expect(problem?["status"]?["enum"] == .array(statuses.map { .integer(Int64($0)) }))
        let responses = document["components"]?["responses"]?.object ?? [:]
        #expect(responses.members.compactMap { Int($0.name) } == statuses)
        for status in statuses {
            let codes = ErrorCode.allCases.filter { $0.statuses.contains(status) }
            let titles = codes.map { "\($0.title) (`\($0.rawValue)`)" }
            #expect(responses["\(status)"]?["description"]?.string == titles.joined(separator: ", "))
        }
    }

    @Test("Pages of other origins can send and read exactly the fields that the OpenAPI document lists")
    func fields() {
        let answerFields = document["components"]?["headers"]?.object?.members.map(\.name)
        #expect(answerFields == CrossOrigin.answerFields)
        let parameters = document["components"]?["parameters"]?.object?.members.map(\.value) ?? []
        let requestFields = parameters.filter { $0["in"] == "header" }.compactMap { $0["name"]?.string }
        #expect(Set(requestFields) == Set(CrossOrigin.requestFields))
    }

    private func parameters(of node: JSONValue?) -> [JSONValue] {
        (node?["parameters"]?.array ?? []).compactMap { parameter in
            let name = parameter["$ref"]?.string?.split(separator: "/").last
            return name.flatMap { document["components"]?["parameters"]?[String($0)] }
        }
    }

    private func schema(of parameter: Parameter) -> JSONValue {
        func reference(_ name: String) -> JSONValue { ["$ref": .string("#/components/schemas/\(name)")] }
        let schema: JSONValue =
            switch parameter.kind {
            case .flag: ["type": "boolean"]
            case .text: ["type": "string"]
            case .nonEmptyText: ["type": "string", "minLength": 1]
            case .suite: reference("SuiteName")
            case .key: reference("KeyName")
            case .client: reference("ClientName")
            case .cursor: reference("Cursor")
            case .share: ["type": "number", "minimum": 0, "maximum": 1]
            case .resumePoint: ["anyOf": [reference("Cursor"), reference("Revision")]]
            case .revision: reference("Revision")
            case .moment: ["anyOf": [reference("Revision"), reference("Time")]]
            case .count(let range):
                [
                    "type": "integer", "minimum": .integer(Int64(range.lowerBound)),
                    "maximum": .integer(Int64(range.upperBound)),
                ]
            case .choice(let words): ["enum": .array(words.map(JSONValue.string))]
            }
        return parameter.isRepeatable ? ["type": "array", "items": schema] : schema
    }
}
