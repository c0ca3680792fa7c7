import Foundation

/// A page of the documentation, for tests that check what the page says.
struct Article {
    /// The directory of the project.
    static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

    let lines: [String]
    /// The fenced blocks of code, in their order.
    let blocks: [CodeBlock]

    /// Reads an article of the DocC catalog of a module.
    static func read(_ name: String, of module: String = "SettingsKeys") throws -> Article {
        try Article(path: "Sources/\(module)/\(module).docc/\(name).md")
    }

    /// - Parameter path: The path of the page in the project.
    init(path: String) throws {
        lines = try String(contentsOf: Self.root.appending(path: path), encoding: .utf8).components(separatedBy: "\n")
        blocks = CodeBlock.blocks(in: lines)
    }

    /// The text of the fenced blocks of a language.
    func blocks(of language: String) -> [String] {
        blocks.filter { $0.language == language }.map { $0.lines.joined(separator: "\n") }
    }

    /// The lines outside of fenced blocks, and the fences, each with its number. The first line of the page has the
    /// number 1.
    var prose: [(number: Int, text: String)] {
        let code = Set(blocks.flatMap { $0.firstLine..<$0.firstLine + $0.lines.count })
        return lines.enumerated().map { ($0 + 1, $1) }.filter { !code.contains($0.0) }
    }

    /// The code in one column of the tables under a heading, from the cells that contain only code.
    func snippets(under heading: String, inColumn column: Int) -> [String] {
        let section = lines.drop { $0 != heading }.dropFirst().prefix { !$0.hasPrefix("### ") }
        return section.compactMap { line in
            let cells = line.components(separatedBy: " | ")
            guard line.hasPrefix("| "), cells.count > column else { return nil }
            let cell = cells[column].trimmingPrefix("| ")
            guard cell.hasPrefix("`"), cell.hasSuffix("`"), cell.count(where: { $0 == "`" }) == 2 else { return nil }
            return String(cell.dropFirst().dropLast())
        }
    }

    /// Returns the lines of code without indentation, empty lines and imports, because a comparison of an article with
    /// a source file ignores them.
    static func codeLines(_ text: String) -> String {
        text.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty && !$0.hasPrefix("import ") }.joined(separator: "\n")
    }
}

/// A fenced block of code on a page.
struct CodeBlock {
    /// The text after the opening fence.
    let language: String
    /// The number of the line after the opening fence. The first line of the page has the number 1.
    let firstLine: Int
    let lines: [String]

    /// The blocks of a page. A block without a closing fence extends to the end of the page.
    static func blocks(in page: [String]) -> [CodeBlock] {
        var blocks: [CodeBlock] = []
        var opening: (language: String, line: Int)?
        for (index, line) in page.enumerated() {
            let text = line.trimmingCharacters(in: .whitespaces)
            if let (language, start) = opening {
                guard text == "```" else { continue }
                blocks.append(CodeBlock(language: language, firstLine: start + 1, lines: Array(page[start..<index])))
                opening = nil
            } else if text.hasPrefix("```") {
                opening = (String(text.dropFirst(3)), index + 1)
            }
        }
        if let (language, start) = opening {
            blocks.append(CodeBlock(language: language, firstLine: start + 1, lines: Array(page[start...])))
        }
        return blocks
    }
}
