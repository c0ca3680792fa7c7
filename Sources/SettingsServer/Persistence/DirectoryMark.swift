internal import Platform
internal import SettingsModel

/// A mark in `LOCK` that tells a directory from a copy of it.
///
///     1234
///     directory 7f3a09c2 file 1835012 made 1763632800123456789
///
/// The first line is the daemon's process. The second is the directory's name, which its journals have in their heads,
/// and which file `LOCK` itself was. In a copy it is another file. The device is left out: the number of a file system
/// changes when it is mounted elsewhere, and a directory that moves with its file system stays what it is.
struct DirectoryMark: Hashable {
    /// The name of the directory.
    var directory: String
    private var inode: UInt64
    /// When the file was made; nil where the file system does not keep it.
    private var made: Int64?

    init(_ directory: String, in file: FileIdentity) {
        self.directory = directory
        inode = file.inode
        made = file.made
    }

    /// Reads what `LOCK` holds; nil if it has no mark, as older versions left it.
    init?(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let words = lines.count > 1 ? lines[1].split(separator: " ") : []
        guard words.count >= 4, words[0] == "directory", words[2] == "file", let inode = UInt64(words[3]) else {
            return nil
        }
        directory = String(words[1])
        self.inode = inode
        made = words.count == 6 ? Int64(words[5]) : nil
    }

    /// True if the mark was written into this very file.
    func belongs(to file: FileIdentity) -> Bool {
        inode == file.inode && (made == file.made || made == nil || file.made == nil)
    }

    /// The process in what `LOCK` holds; nil if there is none.
    static func process(in text: String) -> String? {
        let digits = text.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return digits.isEmpty ? nil : String(digits)
    }

    /// The text of `LOCK` while a process has it. Its length depends on the mark only: overwriting it with the text of
    /// another process leaves the mark in place at every moment.
    func text(process: Int32) -> String {
        let digits = String(process)
        let padding = String(repeating: " ", count: max(0, 10 - digits.utf8.count))
        return "\(digits)\(padding)\ndirectory \(directory) file \(inode)" + (made.map { " made \($0)" } ?? "") + "\n"
    }
}
