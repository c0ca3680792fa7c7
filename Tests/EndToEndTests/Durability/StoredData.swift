import Foundation
import Platform
import TestSupport

/// The files of a data directory, which a test damages and then serves.
struct StoredData {
    var files: [String: [UInt8]]

    /// Reads the files of a directory. If the daemon of the directory still runs, the files are as a crash of the
    /// daemon would leave them.
    init(in directory: String) throws {
        files = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
            files[name] = try [UInt8](Data(contentsOf: URL(filePath: "\(directory)/\(name)")))
        }
    }

    /// Reads the fixture of a version: settings `player/volume` 0.25, `player/pin` "0000" and `editor/fontSize` 14.
    /// Commit 8, the only commit in the newest journal, wrote `editor/fontSize`. The daemon had one clean stop, at
    /// revision 5, and then two crashes.
    init(version: String) throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        try self.init(in: folder.appending(path: "Fixtures/Version\(version)").path)
    }

    /// The name of the journal with the highest first revision.
    var newestJournal: String {
        files.keys.filter { $0.hasPrefix("journal-") }.max { ($0.count, $0) < ($1.count, $1) } ?? ""
    }

    /// A journal line without its newline: the checksum and the checked text, which starts with `"after":`.
    static func journalLine(_ checked: Substring) -> [UInt8] {
        let checked = Array(checked.utf8)
        let digits = CRC32C(of: checked.span).hexDigits
        let check = digits.indices.map { digits[$0] }
        return Array("{\"crc\":\"".utf8) + check + Array("\",".utf8) + checked
    }

    /// Writes the files to a new directory.
    func write() throws -> TemporaryDirectory {
        let directory = try TemporaryDirectory()
        for (name, content) in files { try Data(content).write(to: URL(filePath: "\(directory.path)/\(name)")) }
        return directory
    }
}

extension [UInt8] {
    /// The range of the last line without its newline, ignoring the zeros at the end of the file.
    var lastLine: Range<Int> {
        let end = (lastIndex { $0 != 0 } ?? 0)
        let start = self[..<end].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return start..<end
    }
}
