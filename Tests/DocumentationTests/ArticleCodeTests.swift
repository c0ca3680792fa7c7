import Foundation
import TestSupport
import Testing

/// Tests that this target compiles the code of the articles that the first test lists: each code block is a part of a
/// source file in this folder. `scripts/check-readme` type-checks the code of all articles.
@Suite(.ownThread)
struct ArticleCodeTests {
    private let sources: String

    init() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        sources = try files.map { try String(contentsOf: $0, encoding: .utf8) }.joined(separator: "\n")
    }

    /// The last argument of a case is the minimum number of blocks, so that the test fails if it does not find the
    /// blocks.
    @Test(
        "Every Swift block of an article is compiled in this target",
        arguments: [
            ("KeysAndSchemas", "SettingsKeys", 13), ("FromUserDefaults", "SettingsClient", 10),
            ("ObservingSettings", "SettingsClient", 8), ("SettingsClientTesting", "SettingsClientTesting", 3),
        ])
    func blocks(_ article: String, _ module: String, _ minimumCount: Int) throws {
        let blocks = try Article.read(article, of: module).blocks(of: "swift")
        #expect(blocks.count >= minimumCount)
        let compiled = Article.codeLines(sources)
        for block in blocks {
            let isCompiled = compiled.contains(Article.codeLines(block))
            #expect(isCompiled, "not compiled anywhere:\n\(block)")
        }
    }

    @Test("Every snippet and every replacement in the tables of FromUserDefaults is compiled in this target")
    func snippets() throws {
        let article = try Article.read("FromUserDefaults", of: "SettingsClient")
        let unchanged = article.snippets(under: "### Works as is", inColumn: 0)
        let replacements = article.snippets(under: "### Change to this", inColumn: 1)
        // The test fails if it does not find the tables.
        #expect(unchanged.count >= 16 && replacements.count >= 20)
        for snippet in unchanged + replacements {
            let isCompiled = sources.contains(snippet)
            #expect(isCompiled, "not compiled anywhere: \(snippet)")
        }
    }
}
