import Foundation
import SettingsKeys
import TestSupport
import Testing

/// Tests the code of the article KeysAndSchemas of `SettingsKeys`. KeysAndSchemasCode declares the keys. The statements
/// that only print are here because ArticleCodeTests requires that this target contains all code of the article.
@Suite(.ownThread)
struct KeysAndSchemasTests {
    @Test("A key encodes, decodes and refuses values as the article says")
    func codec() throws {
        let volume = try KeyCodec(DefaultsKeys().volume)
        let json = try volume.encode(0.75)
        let read = try volume.decode(0.75)
        let unset = try volume.decode(nil)
        #expect(json == 0.75)
        #expect(read == 0.75)
        #expect(unset == 0.5)

        let error = #expect(throws: InvalidValue.self) { _ = try volume.decode("loud") }
        #expect(error?.description == "player.volume: must be a number (got a string)")
        do {
            _ = try volume.decode("loud")
        } catch {
            print(error)
        }
    }

    @Test("The schema of the keys is the schema that the article shows")
    func schemaOfKeys() throws {
        let schema = try Schema(of: DefaultsKeys.self) {
            \.username
            \.launchCount
            \.volume
            \.theme
        }
        print(schema)
        let shown = try Article.read("KeysAndSchemas").blocks(of: "json")
        let text = Article.codeLines(schema.description)
        try #require(shown.count == 1)
        #expect(text.contains(Article.codeLines(shown[0])))
        #expect(schema.keys.map(\.name) == ["launchCount", "player.volume", "theme", "username"])
    }

    @Test("A parsed schema finds a value below the minimum, and suggests the right name for a misspelt key")
    func writtenSchema() throws {
        let written = try Schema(
            JSONValue(
                parsing: #"""
                    {"type": "object", "additionalProperties": false,
                     "properties": {"launchCount": {"type": "integer", "minimum": 0, "default": 0}}}
                    """#))
        let violations = written.key("launchCount")?.violations(of: -1) ?? []
        let suggestions = written.suggestions(for: "lanchCount")
        #expect(violations.map(\.sentence) == ["launchCount: must be at least 0 (got -1)"])
        #expect(suggestions == ["launchCount"])
    }

    @Test("A difference between a key and the schema of the server has the message that the article shows")
    func disagreement() throws {
        let louder = try Schema(
            JSONValue(
                parsing: #"""
                    {"type": "object", "additionalProperties": false,
                     "properties": {"player.volume": {"type": "number", "minimum": 0, "maximum": 2, "default": 0.5}}}
                    """#))
        for difference in try louder.differences(from: DefaultsKeys().volume) {
            print(difference)
        }
        #expect(
            try louder.differences(from: DefaultsKeys().volume).map(\.sentence)
                == ["player.volume: the program allows 0...1, the server 0...2"])
    }

    @Test("The former names of a key are keys of its schema")
    func formerNames() throws {
        let schema = try Schema(of: DefaultsKeys.self) { \.shelves }
        #expect(schema.keys.map(\.name) == ["folders", "paths", "shelves"])
    }

    @Test func `An object without a new member of the type is decoded as the article says`() throws {
        let stored: JSONValue = ["host": "example.com", "port": 3128]
        #expect(try KeyCodec(DefaultsKeys().proxy).decode(stored) == Proxy(host: "example.com", port: 3128))
    }

    @Test func `An array with an unknown case is decoded as the article says`() throws {
        #expect(try KeyCodec(DefaultsKeys().features).decode(["search", "holograms"]) == [.search])
    }

    @Test("Codable and bridged values have the JSON of the article, and a namespace is a prefix of its keys")
    func ownTypes() throws {
        let account = Account(name: "home", port: 993, lastUsed: Date(timeIntervalSinceReferenceDate: 0))
        let accounts = try KeyCodec(DefaultsKeys().accounts)
        #expect(
            try accounts.encode([account])
                == [["name": "home", "port": 993, "lastUsed": "2001-01-01T00:00:00Z"]])
        #expect(try accounts.decode(try accounts.encode([account])) == [account])

        let color = Color(red: 255, green: 128, blue: 0)
        #expect(try [Color?].defaultsBridge.encode([color, nil]) == [[255, 128, 0], .null])
        #expect(try [Color?].defaultsBridge.decode([[255, 128, 0], .null]) == [color, nil])

        #expect(DefaultsKeys().player.balance.name == "player.balance")
    }
}
