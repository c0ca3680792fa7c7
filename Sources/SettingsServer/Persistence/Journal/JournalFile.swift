internal import SettingsModel

/// A journal that is appended to.
final class JournalFile: Sendable {
    let name: String
    let file: OpenFile

    /// Makes a journal that lasts before anything is in it: written under another name, synced, renamed, and the directory
    /// synced. It takes the place of a journal of the same name, which then holds nothing that was ever published.
    static func create(_ head: JournalHead, in directory: DataDirectory) throws(FileError) -> (JournalFile, size: Int) {
        let fileSystem = directory.fileSystem
        let name = DataDirectory.journalName(after: head.after)
        let temporary = directory.path(of: DataDirectory.temporaryName(of: name))
        let file = try OpenFile(temporary, .replacing, in: fileSystem)
        var bytes: [UInt8] = []
        JournalLine.head(head).append(to: &bytes)
        try file.write(bytes.span, at: 0)
        try file.sync()
        try fileSystem.rename(temporary, to: directory.path(of: name))
        try fileSystem.syncDirectory(directory.path)
        return (JournalFile(name: name, file: file), bytes.count)
    }

    private init(name: String, file: OpenFile) {
        self.name = name
        self.file = file
    }
}
