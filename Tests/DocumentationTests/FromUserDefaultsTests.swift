import Foundation
import SettingsClient
import SettingsClientCompatibility
import SettingsClientTesting
import TestSupport
import Testing

@Suite(.ownThread)
struct FromUserDefaultsTests {
    private let article: Article

    init() throws {
        article = try Article.read("FromUserDefaults", of: "SettingsClient")
    }

    @Test("Every piece of code in the article is code that compiles here")
    func codeCompiles() throws {
        let blocks = article.blocks(of: "swift")
        try #require(blocks.count >= 12)
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        var compiled = ""
        for file in ["FromUserDefaultsCode.swift", "KeysAndSchemasCode.swift", "ObservingSettingsCode.swift"] {
            compiled += Article.unindented(try String(contentsOf: folder.appending(path: file), encoding: .utf8))
        }
        for block in blocks {
            #expect(compiled.contains(Article.unindented(block)), "not compiled anywhere:\n\(block)")
        }
    }

    @Test("What user defaults hold is taken over once")
    func takingOver() async throws {
        let old = try #require(UserDefaults(suiteName: "settingsd-\(UUID().uuidString)"))
        // Registered, so that nothing is written anywhere.
        old.register(defaults: ["username": "radek", "volume": 1.5])
        let settings = DefaultsAdapter.inMemory(keyStore: DefaultsKeys())
        try await takeOver(from: old, into: settings)
        #expect(settings.username == "radek" && settings.volume == 1 && settings.isTakenOver)
        settings.username = nil
        try await takeOver(from: old, into: settings)
        #expect(settings.username == nil)
        settings.username ?= old.string(forKey: "username")
        settings.theme ?= .dark
        #expect(settings.username == "radek" && settings.theme == .dark)
    }

    @Test("A value beyond the limits is thrown in the words of the article")
    func limits() async throws {
        let settings = DefaultsAdapter.inMemory(keyStore: DefaultsKeys())
        let error = await #expect(throws: DefaultsError.self) { try await settings.set(\.volume, 11) }
        #expect(error?.description == "player.volume must be at most 1.0, but is 11.0")
    }
}
