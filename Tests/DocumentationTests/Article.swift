import Foundation

/// A page of the documentation, for tests that check what the page says.
struct Article {
    private let lines: [String]

    /// Reads a page of a module's catalog.
    static func read(_ name: String, of module: String = "SettingsKeys") throws -> Article {
        let catalog = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/\(module)/\(module).docc/\(name).md").standardized
        return Article(lines: try String(contentsOf: catalog, encoding: .utf8).components(separatedBy: "\n"))
    }

    /// The fenced blocks of a language.
    func blocks(of language: String) -> [String] {
        var blocks: [String] = []
        var current: [String]?
        for line in lines {
            if line == "```\(language)" {
                current = []
            } else if line == "```", let block = current {
                blocks.append(block.joined(separator: "\n"))
                current = nil
            } else {
                current?.append(line)
            }
        }
        return blocks
    }

    /// The code in one column of the tables under a heading: the cells that are nothing but code.
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

    /// The text without indentation, empty lines and imports, so that code compares equal wherever it stands.
    static func unindented(_ text: String) -> String {
        text.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty && !$0.hasPrefix("import ") }.joined(separator: "\n")
    }
}
