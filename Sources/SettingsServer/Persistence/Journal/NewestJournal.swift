internal import Platform
internal import SettingsAPI
internal import SettingsModel

/// The file that names the newest journal, so that a start notices if that journal is missing.
///
///     {"crc":"0badcafe","newest":"journal-17.jsonl"}
///
/// It is written once the journal stands, and before the journal takes its first commit. After a crash between the two
/// the newest journal may be a later one than it names. An earlier one means that a file was removed.
struct NewestJournal {
    static let name = "NEWEST"

    private let directory: DataDirectory
    private let temporary: String

    /// Writes the file under a temporary name. ``commit()`` puts it in place.
    init(_ revision: Revision, in directory: DataDirectory) throws(FileError) {
        self.directory = directory
        temporary = directory.path(of: DataDirectory.temporaryName(of: Self.name))
        var batch = JournalBatch()
        batch.add(newest: revision)
        let path = directory.path(of: Self.name)
        let file = try OpenFile(temporary, .replacing, in: directory.fileSystem, toBe: path)
        try file.write(batch.bytes.span, at: 0)
        try file.sync()
    }

    func commit() throws(FileError) {
        try directory.fileSystem.rename(temporary, to: directory.path(of: Self.name))
        try directory.fileSystem.syncDirectory(directory.path)
    }

    /// The revision that the newest journal begins with, or an earlier one; nil without the file, as in directories of
    /// versions that did not write it. Throws if the file is damaged, or if there is no such journal.
    static func check(_ directory: DataDirectory, among names: [String]) throws(RecoveryError) -> Revision? {
        guard names.contains(where: { $0.hasSameBytes(as: name) }) else { return nil }
        let journals = directory.journals(among: names)
        let revision = try read(directory)
        guard let newest = journals.last, newest.revision >= revision else {
            throw directory.damage(
                DataDirectory.journalName(after: revision), "it is missing, with all that was committed there")
        }
        return revision
    }

    private static func read(_ directory: DataDirectory) throws(RecoveryError) -> Revision {
        do throws(FileError) {
            var reader = LineReader(
                try OpenFile(directory.path(of: name), .reading, in: directory.fileSystem), chunk: 512)
            if let line = try reader.next() {
                let bytes = reader.buffer.span.extracting(line.range)
                if let length = JournalLine.length(of: bytes, isTerminated: line.isTerminated),
                    let journal = (try? JSONValue(kept: bytes.extracting(0..<length)))?["newest"]?.string,
                    let revision = directory.journals(among: [journal]).first?.revision
                {
                    return revision
                }
            }
        } catch {
            throw RecoveryError(error)
        }
        throw directory.damage(name, line: 1, "it does not name the newest journal")
    }
}
