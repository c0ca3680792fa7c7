import Foundation
import SettingsAPI
import SettingsModel
import SettingsServer
import SettingsStorage
import TestSupport
import Testing

/// The folder with schema files, which the daemon reads at the start and at a reload. Exit code 78: the configuration
/// is invalid. A target such as `app/keys/a` is relative to `/v1/suites/`.
@Suite(.ownThread)
struct SchemaFileTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(atPath: directory.path + "/schemas", withIntermediateDirectories: false)
    }

    private static func schema(of type: String) -> String {
        #"{"properties":{"a":{"type":"\#(type)"}},"additionalProperties":false}"#
    }

    private func writeSchemaFile(_ name: String, _ text: String) throws {
        _ = try directory.file("schemas/\(name)", text)
    }

    private func start() throws -> TestDaemon {
        try TestDaemon(
            ownProcessIn: directory, data: directory.path + "/data",
            options: ["--schemas", directory.path + "/schemas"])
    }

    /// The condition of the schema files according to `/readyz`.
    private func condition(_ daemon: TestDaemon) throws -> JSONValue? {
        let ready = try daemon.send("GET /readyz")
        #expect(ready.status == 200)
        return ready.json?["conditions"]?["schemas"]
    }

    @Test("A start sets each schema once, and the caller of the commit is `config`")
    func setsOnce() throws {
        try writeSchemaFile("app.json", Self.schema(of: "integer"))
        try writeSchemaFile("com.example.player.json", Self.schema(of: "string"))
        // The daemon ignores a hidden file, and a file that is not `.json`.
        try writeSchemaFile(".app.json", "{")
        try writeSchemaFile("notes.txt", "{")
        let first = try start()
        #expect(try first.send("GET app/schema").text == Self.schema(of: "integer"))
        #expect(try first.send("GET com.example.player/schema").status == 200)
        #expect(try first.send("PUT app/keys/a \"text\"").status == 422)
        let commits = try first.send("GET app/history").json?["commits"]?.array
        #expect(commits?.compactMap { $0["by"]?.string } == ["config"])
        #expect(try condition(first) == "ok")
        let revision = try first.send("GET /v1/suites").revision
        first.stop()
        let second = try start()
        #expect(try second.send("GET /v1/suites").revision == revision)
        // The removal of a file does not remove the schema.
        try FileManager.default.removeItem(atPath: directory.path + "/schemas/app.json")
        #expect(try second.send("POST /v1/reload").text == #"{"reloaded":true,"needsRestart":[]}"#)
        #expect(try second.send("GET app/schema").status == 200)
    }

    @Test("A schema that conflicts with stored values is refused, and the answer names the keys; others are set")
    func conflict() throws {
        try writeSchemaFile("app.json", Self.schema(of: "integer"))
        let daemon = try start()
        try daemon.sendOK("PUT app/keys/a 1")
        try writeSchemaFile("app.json", Self.schema(of: "string"))
        try writeSchemaFile("other.json", Self.schema(of: "string"))
        let answer = try daemon.sendOK("POST /v1/reload")
        let problem = answer.json?["refusedSchemas"]?["app"]
        #expect(problem?["code"] == "schema_conflict")
        #expect(problem?["conflicts"]?.array?.map { $0["key"] } == ["a"])
        #expect(answer.json?["refusedSchemas"]?["other"] == nil)
        let report = try ReloadReport(json: try #require(answer.json))
        #expect(report.refusedSchemas.keys.map(\.text) == ["app"])
        let line = try #require(daemon.process).line(containing: "cannot set the schema of app: ")
        #expect(line.contains("a: must be") && line.contains("/schemas/app.json"), "\(line)")
        #expect(try daemon.send("GET app/keys/a?raw").text == "1")
        #expect(try daemon.send("GET app/schema").text == Self.schema(of: "integer"))
        #expect(try daemon.send("GET other/schema").status == 200)
        #expect(try condition(daemon) == "refused")
        daemon.stop()

        // A start succeeds despite the refused schema.
        let again = try start()
        _ = try #require(again.process).line(containing: "cannot set the schema of app: ")
        #expect(try condition(again) == "refused")
        try again.sendOK("DELETE app/keys/a")
        #expect(try again.send("POST /v1/reload").json?["refusedSchemas"] == nil)
        #expect(try again.send("GET app/schema").text == Self.schema(of: "string"))
        #expect(try condition(again) == "ok")
    }

    @Test("150 schemas do not exceed the queue timeout, at the start and at a reload")
    func many() throws {
        let names = (0..<150).map { "suite\($0)" }
        for name in names { try writeSchemaFile("\(name).json", Self.schema(of: "integer")) }
        let daemon = try TestDaemon(in: directory, data: directory.path + "/data") {
            $0.schemas = directory.path + "/schemas"
            // 20 ms, in nanoseconds. The daemon writes one schema after the other, so no write waits long.
            $0.writes.queueTimeout = 20_000_000
        }
        #expect(try condition(daemon) == "ok")
        for name in names { try writeSchemaFile("\(name).json", Self.schema(of: "string")) }
        #expect(try daemon.send("POST /v1/reload").text == #"{"reloaded":true,"needsRestart":[]}"#)
        #expect(try condition(daemon) == "ok")
        for name in names { #expect(try daemon.send(Request("GET \(name)/schema")).text == Self.schema(of: "string")) }
    }

    @Test(
        "A file without a valid schema, or with an invalid name, is reported, and the reload changes nothing",
        arguments: [
            ("app.json", "{\n  \"properties\": }", "/schemas/app.json: line 2, column 17"),
            (
                "app.json", #"{"properties":{"a":{"type":"integr"}},"additionalProperties":false}"#,
                "/schemas/app.json: /properties/a/type: "
            ),
            ("My App.json", "{}", "/schemas/My App.json: a suite name"),
        ])
    func noSchema(name: String, text: String, message: String) throws {
        try writeSchemaFile("fine.json", Self.schema(of: "integer"))
        let daemon = try start()
        try writeSchemaFile("fine.json", Self.schema(of: "string"))
        try writeSchemaFile(name, text)
        let answer = try daemon.send("POST /v1/reload")
        #expect(answer.status == 422)
        #expect(answer.json?["detail"]?.string?.contains(message) == true, "\(answer.text)")
        #expect(try daemon.send("GET fine/schema").text == Self.schema(of: "integer"))
        let check = try ChildProcess.run(["--check-config", "--schemas", directory.path + "/schemas"])
        #expect(check.code == 78)
        #expect(check.errors.contains(message), "\(check.errors)")
    }

    @Test("A missing schema folder fails the start") func noFolder() throws {
        let end = try ChildProcess.run(
            [
                "--listen", "127.0.0.1:0", "--data", directory.path + "/data", "--schemas", "/nonexistent", "--log",
                "error",
            ])
        #expect(end.code == 78)
        #expect(end.errors.hasPrefix("settingsd: schemas: /nonexistent: No such file or directory"), "\(end.errors)")
    }
}
