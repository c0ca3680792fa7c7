import HTTPWire
import SettingsModel
import Testing

@testable import SettingsServer

@Suite("The description of the interface, against the routes")
struct APIDescriptionTests {
    let document = APIDescription.document

    @Test("It has every resource and nothing else")
    func resources() {
        let paths = document["paths"]?.object?.members.map(\.name)
        #expect(paths == Resource.allCases.map(\.rawValue))
    }

    @Test("It has every method of a resource and nothing else", arguments: Resource.allCases)
    func methods(resource: Resource) {
        let path = document["paths"]?[resource.rawValue]?.object
        let methods = (path?.members.map(\.name) ?? []).filter { $0 != "parameters" }
        #expect(Set(methods) == Set(resource.allowed.map { $0.lowercased() }))
    }

    @Test("It has every parameter of a method and nothing else", arguments: Resource.allCases)
    func parameters(resource: Resource) {
        for method in resource.describedMethods {
            let operation = document["paths"]?[resource.rawValue]?[method.name.lowercased()]
            let described = operation?["parameters"]?.array ?? []
            let names = described.filter { $0["in"] == "query" }.compactMap { $0["name"]?.string }
            #expect(names == resource.parameters(of: method).map(\.name), "\(method)")
        }
    }

    @Test("It names the parts of a path that are names", arguments: Resource.allCases)
    func names(resource: Resource) {
        let described = document["paths"]?[resource.rawValue]?["parameters"]?.array ?? []
        let names = described.compactMap { $0["name"]?.string.map { "{\($0)}" } }
        #expect(names == resource.rawValue.split(separator: "/").filter { $0.hasPrefix("{") }.map(String.init))
    }

    @Test("Operations have names of their own")
    func operations() {
        var names: [String] = []
        for path in document["paths"]?.object ?? [:] {
            for operation in path.value.object ?? [:] where operation.name != "parameters" {
                names.append(operation.value["operationId"]?.string ?? "")
            }
        }
        #expect(Set(names).count == names.count)
        #expect(names.contains("putSetting"))
    }

    @Test("It lists every code, and every status of one")
    func codes() {
        let problem = document["components"]?["schemas"]?["Problem"]?["properties"]
        #expect(problem?["code"]?["enum"] == .array(ErrorCode.allCases.map { .string($0.rawValue) }))
        let responses = document["components"]?["responses"]?.object?.members.compactMap { Int($0.name) } ?? []
        #expect(responses == Set(ErrorCode.allCases.flatMap(\.statuses)).sorted())
    }

    @Test("What is served is the document")
    func bytes() throws {
        #expect(try JSONValue(parsing: APIDescription.bytes) == document)
    }
}
