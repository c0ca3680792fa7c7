import Foundation
import SettingsClient
import Testing

@Suite("The article \"Observing settings\"")
struct ObservingSettingsTests {
    @Test("Every piece of code in the article is code that compiles here")
    func codeCompiles() throws {
        let blocks = try Article.read("ObservingSettings", of: "SettingsClient").blocks(of: "swift")
        try #require(blocks.count >= 5)
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "ObservingSettingsCode.swift")
        let compiled = Article.unindented(try String(contentsOf: file, encoding: .utf8))
        for block in blocks {
            #expect(compiled.contains(Article.unindented(block)), "not compiled anywhere:\n\(block)")
        }
    }
}
