import Foundation
import TestSupport
import Testing

/// The code of the articles is compiled in this target: each block is a part of a source file beside this one.
@Suite(.ownThread)
struct ArticleCodeTests {
    private let sources: String

    init() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        sources = try files.map { try String(contentsOf: $0, encoding: .utf8) }.joined(separator: "\n")
    }

    @Test(
        "Every block of Swift in an article is code that compiles here",
        arguments: [
            ("KeysAndSchemas", "SettingsKeys", 13), ("FromUserDefaults", "SettingsClient", 10),
            ("ObservingSettings", "SettingsClient", 8), ("SettingsClientTesting", "SettingsClientTesting", 2),
        ])
    func blocks(_ article: String, _ module: String, _ leastCount: Int) throws {
        let blocks = try Article.read(article, of: module).blocks(of: "swift")
        #expect(blocks.count >= leastCount)
        let compiled = Article.unindented(sources)
        for block in blocks {
            let isCompiled = compiled.contains(Article.unindented(block))
            #expect(isCompiled, "not compiled anywhere:\n\(block)")
        }
    }

    @Test("Every snippet that works as is, and every replacement, is code that compiles here")
    func snippets() throws {
        let article = try Article.read("FromUserDefaults", of: "SettingsClient")
        let unchanged = article.snippets(under: "### Works as is", inColumn: 0)
        let replacements = article.snippets(under: "### Change to this", inColumn: 1)
        #expect(unchanged.count >= 16 && replacements.count >= 20)
        for snippet in unchanged + replacements {
            let isCompiled = sources.contains(snippet)
            #expect(isCompiled, "not compiled anywhere: \(snippet)")
        }
    }
}
