import Foundation
import Platform
import TestSupport

/// The files of a data directory, to be damaged and served.
struct StoredData {
    var files: [String: [UInt8]]

    /// What is in a directory now, as a crash of its daemon would leave it.
    init(in directory: String) throws {
        files = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
            files[name] = try [UInt8](Data(contentsOf: URL(filePath: "\(directory)/\(name)")))
        }
    }

    /// What a version wrote: settings `player/volume` 0.25, `player/pin` "0000" and `editor/fontSize` 14, the last of which is
    /// commit 8 and alone in the newest journal. There was one clean stop, at revision 5, and then two crashes.
    init(version: String) throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        try self.init(in: folder.appending(path: "Fixtures/Version\(version)").path)
    }

    /// The journal that begins with the highest revision.
    var newestJournal: String {
        files.keys.filter { $0.hasPrefix("journal-") }.max { ($0.count, $0) < ($1.count, $1) } ?? ""
    }

    /// A line of a journal, without its line end: the check and what it is of, which begins with `"after":`.
    static func journalLine(_ checked: Substring) -> [UInt8] {
        let checked = Array(checked.utf8)
        let digits = CRC32C(of: checked.span).hexDigits
        let check = digits.indices.map { digits[$0] }
        return Array("{\"crc\":\"".utf8) + check + Array("\",".utf8) + checked
    }

    /// A directory with the files.
    func write() throws -> TemporaryDirectory {
        let directory = try TemporaryDirectory()
        for (name, content) in files { try Data(content).write(to: URL(filePath: "\(directory.path)/\(name)")) }
        return directory
    }
}

extension [UInt8] {
    /// Where the last line begins, and where its line end is, before the zeros that follow.
    var lastLine: Range<Int> {
        let end = (lastIndex { $0 != 0 } ?? 0)
        let start = self[..<end].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return start..<end
    }
}
