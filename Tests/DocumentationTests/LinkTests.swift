import Foundation
import Testing

/// Tests that the links between the pages of the project lead to files and headings that exist.
struct LinkTests {
    private static let pages: [String] =
        ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
        + files(below: ["docs", "Sources"]).filter { $0.hasSuffix(".md") }

    private static func files(below folders: [String]) -> [String] {
        folders.flatMap { folder in
            let found = FileManager.default.enumerator(atPath: Article.root.appending(path: folder).path())
            return (found?.compactMap { $0 as? String } ?? []).map { "\(folder)/\($0)" }.sorted()
        }
    }

    @Test("Relative links lead to files and headings that exist", arguments: pages)
    func relativeLinks(_ path: String) throws {
        for line in try Article(path: path).prose where line.text.contains("](") {
            // Code can look like a link.
            let text = line.text.replacing(/`[^`]*`/, with: "code")
            for link in text.matches(of: /\]\(([^)\s]+)\)/).map({ String($0.1) }) where !link.contains(/^[a-z]+:/) {
                let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
                let target = parts[0].isEmpty ? path : Self.path(parts[0], from: path)
                try expectPage(target, anchor: parts.dropFirst().first, "\(path):\(line.number): \(link)")
            }
        }
    }

    @Test("Every page and heading exists that a source file, a script or a configuration file names")
    func namedPages() throws {
        for path in Self.files(below: ["Sources", "scripts", "config"]) {
            guard let data = FileManager.default.contents(atPath: Article.root.appending(path: path).path()),
                data.range(of: Data("docs/".utf8)) != nil, let text = String(validating: data, as: UTF8.self)
            else { continue }
            for name in text.matches(of: /\bdocs\/([\w\/-]+\.md)(#([\w-]+))?/) {
                try expectPage("docs/\(name.1)", anchor: name.3.map(String.init), "\(path): \(name.0)")
            }
        }
    }

    @Test(
        "The anchor of a heading is the anchor that GitHub creates",
        arguments: [
            (["# `settings` on the command line"], ["settings-on-the-command-line"]),
            (["# Revisions, tags & guards", "## POST /v1/undo"], ["revisions-tags--guards", "post-v1undo"]),
            (["# Twice", "# Twice", "## A_b c-d?"], ["twice", "twice-1", "a_b-c-d"]),
        ])
    func anchors(_ lines: [String], _ expected: [String]) {
        #expect(Self.anchors(of: lines) == expected)
    }

    /// The path in the project of a file that a page names relative to its own folder.
    private static func path(_ name: String, from page: String) -> String {
        var components = page.split(separator: "/").dropLast()
        for component in name.split(separator: "/") where component != "." {
            if component == ".." { _ = components.popLast() } else { components.append(component) }
        }
        return components.joined(separator: "/")
    }

    /// Expects a page with this anchor. `place` names the link and its page in a failure.
    private func expectPage(_ path: String, anchor: String?, _ place: String) throws {
        guard FileManager.default.fileExists(atPath: Article.root.appending(path: path).path()) else {
            Issue.record("\(place): there is no file '\(path)'")
            return
        }
        guard let anchor else { return }
        if Self.anchors(of: try Article(path: path).prose.map(\.text)).contains(anchor) { return }
        Issue.record("\(place): '\(path)' has no heading with the anchor '\(anchor)'")
    }

    private static func anchors(of lines: [String]) -> [String] {
        var counts: [String: Int] = [:]
        return lines.compactMap { $0.firstMatch(of: /^#{1,6} (.*)$/)?.1 }.map { heading in
            let text = heading.lowercased().filter { $0.isLetter || $0.isNumber || "_- ".contains($0) }
            let anchor = text.replacing(" ", with: "-")
            counts[anchor, default: 0] += 1
            return counts[anchor] == 1 ? anchor : "\(anchor)-\((counts[anchor] ?? 1) - 1)"
        }
    }
}
