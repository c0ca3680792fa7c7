import Foundation
import SettingsClient
import TestSupport
import Testing

@Suite(.ownThread)
struct ObservingSettingsTests {
    @Test("Every piece of code in the article is code that compiles here")
    func codeCompiles() throws {
        let blocks = try Article.read("ObservingSettings", of: "SettingsClient").blocks(of: "swift")
        try #require(blocks.count >= 8)
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        var compiled = ""
        for file in ["ObservingSettingsCode.swift", "KeysAndSchemasCode.swift"] {
            compiled += Article.unindented(try String(contentsOf: folder.appending(path: file), encoding: .utf8))
        }
        for block in blocks {
            #expect(compiled.contains(Article.unindented(block)), "not compiled anywhere:\n\(block)")
        }
    }
}
