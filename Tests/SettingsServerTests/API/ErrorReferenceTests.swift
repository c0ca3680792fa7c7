import Foundation
import SettingsModel
import Testing

/// Compares the table of error codes in the documentation with the codes of the program.
struct ErrorReferenceTests {
    private struct Row {
        let code: String
        let statuses: [Int]
        /// The meaning and the remedy.
        let texts: [String]
    }

    private static let page = URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "../../../docs/reference/errors.md")

    /// The rows of the table whose first column is the code.
    private func rows() throws -> [Row] {
        let text = try String(contentsOf: Self.page, encoding: .utf8)
        let lines = text.split(separator: "\n").drop { !$0.hasPrefix("| code |") }.prefix { $0.hasPrefix("|") }
        // The first two lines are the headings and the line below them.
        return lines.dropFirst(2).map { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            return Row(
                code: cells[0].trimmingCharacters(in: ["`"]),
                statuses: cells.dropFirst().first?.split(separator: ", ").compactMap { Int($0) } ?? [],
                texts: Array(cells.dropFirst(2)))
        }
    }

    @Test("The table of error codes has each code once, ordered by status")
    func codes() throws {
        let rows = try rows()
        #expect(rows.map(\.code).sorted() == ErrorCode.allCases.map(\.rawValue).sorted())
        let statuses = rows.compactMap(\.statuses.first)
        #expect(statuses == statuses.sorted())
    }

    @Test("Each error code has its statuses, a meaning and a remedy", arguments: ErrorCode.allCases)
    func row(code: ErrorCode) throws {
        let row = try #require(try rows().first { $0.code == code.rawValue })
        #expect(row.statuses == code.statuses)
        #expect(row.texts.count == 2 && row.texts.allSatisfy { $0.hasSuffix(".") })
    }
}
