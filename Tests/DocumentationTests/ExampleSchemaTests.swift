import Foundation
import SettingsModel
import TestSupport
import Testing

/// Tests of the example schemas below config/schemas. `suiteViolations` lists the broken rules about several keys, and
/// `newSuiteViolations` lists the rules that a change of the effective values would break.
@Suite(.ownThread)
struct ExampleSchemaTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../config/schemas").standardized

    private func schema(_ suite: String) throws -> Schema {
        let data = try Data(contentsOf: Self.folder.appending(path: "\(suite).json"))
        return try Schema(JSONValue(parsing: [UInt8](data)))
    }

    @Test("Every example schema compiles, and the name of its file ends with .json")
    func compile() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path())
        try #require(files.count >= 2)
        for file in files {
            let name = try #require(file.hasSuffix(".json") ? String(file.dropLast(5)) : nil, "\(file)")
            _ = try schema(name)
        }
    }

    @Test("The example schema of a server requires a certificate and a private key only with TLS")
    func tls() throws {
        let server = try schema("com.example.server")
        let withoutTLS = server.effectiveValues(stored: ["tls": false])
        let withTLS = server.effectiveValues(stored: ["tls": true])
        #expect(server.suiteViolations(of: withoutTLS) == [])
        #expect(
            server.newSuiteViolations(before: withoutTLS, after: withTLS).map(\.key) == ["certificate", "privateKey"])
    }

    @Test("The example schema of a server allows features with names in lower case, and refuses port 0")
    func patternAndPort() throws {
        let server = try schema("com.example.server")
        #expect(server.key("feature.dark-mode")?.violations(of: true) == [])
        #expect(server.key("feature.Dark") == nil)
        #expect(server.key("metrics.port")?.violations(of: 0).map(\.keyword) == ["minimum"])
    }
}
