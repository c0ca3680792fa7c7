package import Platform
package import SettingsAPI
internal import SettingsModel

/// The data directory of a daemon: the names of its files, and operations that create, replace and remove them.
///
/// - `journal-17.jsonl`: the commits after revision 17, one per line.
/// - `snapshot-17.json`: the complete state at revision 17.
/// - `past-3-17.jsonl`: a past file: the commits 4 to 17, for reads of history that is no longer in memory.
/// - `set-aside-…`: a file that recovery or a repair renamed, so that the daemon no longer reads it.
package struct DataDirectory: Sendable {
    package let path: String
    package let fileSystem: any FileSystem

    package init(_ path: String, in fileSystem: any FileSystem = POSIXFileSystem()) {
        self.path = path
        self.fileSystem = fileSystem
    }

    package func path(of name: String) -> String { path + "/" + name }

    // MARK: Names

    /// A journal or a snapshot, with the revision in its name.
    package struct NumberedFile: Hashable, Sendable {
        package let name: String
        let revision: Revision
    }

    /// The names of all files in the directory, sorted, and grouped by kind.
    package struct Listing: Sendable {
        let names: [String]
        /// The journals, oldest first.
        package let journals: [NumberedFile]
        /// The snapshots, oldest first.
        package let snapshots: [NumberedFile]
        /// The past files (files with older commits), ordered by their last commits.
        package let pastFiles: [PastFileName]

        init(_ names: [String]) {
            self.names = names.sorted()
            journals = NumberedFile.all(in: names, "journal-", ".jsonl")
            snapshots = NumberedFile.all(in: names, "snapshot-", ".json")
            pastFiles = names.compactMap { PastFileName($0) }.sorted { ($0.to, $0.from) < ($1.to, $1.from) }
        }

        /// The names with the suffix `.tmp`. At a start, they belong to unfinished files that a crash left.
        package var temporaries: [String] { names.filter { $0.hasSuffix(DataDirectory.temporarySuffix) } }

        /// True if the directory contains a file of a daemon; otherwise it is not a data directory.
        var hasDaemonFiles: Bool {
            !journals.isEmpty || !snapshots.isEmpty || !pastFiles.isEmpty
                || [DataDirectory.lockName, DataDirectory.newestName, DataDirectory.clusterName].contains {
                    contains($0)
                }
                || names.contains { $0.hasPrefix(DataDirectory.setAsidePrefix) }
        }

        package func contains(_ name: String) -> Bool { names.contains { $0.hasSameBytes(as: name) } }

        /// Returns an unused name with the prefix `set-aside-`, to which the calling code renames the file.
        package func unusedSetAsideName(for name: String) -> String {
            var candidate = DataDirectory.setAsidePrefix + name
            var number = 1
            while contains(candidate) {
                number += 1
                candidate = DataDirectory.setAsidePrefix + "\(number)-\(name)"
            }
            return candidate
        }
    }

    /// The file that the daemon locks. It contains the process identifier, a random identifier of the directory, and
    /// the inode number and creation time of the file itself, by which the daemon recognises a copied directory.
    static let lockName = "LOCK"
    /// The file that marks the directory of a daemon whose commits are in etcd. Such a directory contains at most a
    /// copy of the state.
    package static let clusterName = "CLUSTER"
    /// The file that contains the name of the newest journal, so that recovery notices if that journal is missing.
    ///
    /// The daemon writes this file between creating the journal and appending its first commit. After a crash, a newer
    /// journal may exist; but if all journals are older, a journal was removed.
    static let newestName = "NEWEST"
    /// The file that records which of the newest commits are in the audit file, a log outside of this directory.
    package static let auditName = "AUDIT"
    /// The file with the time at which each access token was last used.
    package static let tokenUseName = "token-use.json"
    static let setAsidePrefix = "set-aside-"
    private static let temporarySuffix = ".tmp"

    static func journalName(after revision: Revision) -> String { "journal-\(revision).jsonl" }
    package static func snapshotName(at revision: Revision) -> String { "snapshot-\(revision).json" }

    // MARK: Files

    package func list() throws(FileError) -> Listing {
        Listing(try fileSystem.list(path))
    }

    /// The path at which a file is written before it is renamed to its final name.
    package func temporaryPath(of name: String) -> String { path(of: name + Self.temporarySuffix) }

    /// Writes and syncs a temporary file. The calling code then calls ``renameTemporary(_:)``.
    package func writeTemporary(_ name: String, _ bytes: [UInt8]) throws(FileError) -> OpenFile {
        let file = try OpenFile(temporaryPath(of: name), .replacing, in: fileSystem, reportedAs: path(of: name))
        try file.write(bytes.span, at: 0)
        try file.sync()
        return file
    }

    /// Renames a temporary file to its final name and syncs the directory.
    package func renameTemporary(_ name: String) throws(FileError) {
        try fileSystem.rename(temporaryPath(of: name), to: path(of: name))
        try fileSystem.syncDirectory(path)
    }

    package func removeTemporary(_ name: String) throws(FileError) {
        try fileSystem.remove(temporaryPath(of: name))
    }

    /// Syncs the journals and snapshots after recovery has read them. A previous process may have written data that is
    /// only in the page cache; the daemon must not serve this data before it is durable.
    func syncFiles() throws(FileError) {
        let listing = try list()
        for file in listing.journals + listing.snapshots {
            try OpenFile(path(of: file.name), .reading, in: fileSystem).sync()
        }
        try fileSystem.syncDirectory(path)
    }

    /// Truncates a file to a length, after copying the removed bytes durably to another file.
    func truncate(_ name: String, to length: Int, copyingTailTo copyName: String) throws(FileError) {
        let file = try OpenFile(path(of: name), .writing, in: fileSystem)
        let copy = try OpenFile(path(of: copyName), .replacing, in: fileSystem)
        var piece = [UInt8](repeating: 0, count: 1 << 18)
        var offset = length
        while true {
            let count = try file.read(at: offset, into: &piece)
            guard count > 0 else { break }
            try copy.write(piece.span.extracting(0..<count), at: offset - length)
            offset += count
        }
        try copy.sync()
        try fileSystem.syncDirectory(path)
        try file.truncate(to: length)
        try file.sync()
    }

    /// Removes all snapshots except the newest two, and the journals that a start from either of the two snapshots does
    /// not need. The second snapshot is kept in case the newest snapshot is damaged.
    func removeObsoleteFiles() throws(FileError) {
        let listing = try list()
        guard listing.snapshots.count > 1 else { return }
        let kept = listing.snapshots.suffix(2)
        for snapshot in listing.snapshots.dropLast(2) { try fileSystem.remove(path(of: snapshot.name)) }
        // A start from the older snapshot needs the last journal that begins at or before the snapshot, and all later
        // journals.
        let firstNeeded = listing.journals.lastIndex { $0.revision <= kept[kept.startIndex].revision } ?? 0
        for journal in listing.journals[..<firstNeeded] { try fileSystem.remove(path(of: journal.name)) }
    }
}

extension DataDirectory.NumberedFile {
    fileprivate static func all(in names: [String], _ prefix: String, _ suffix: String) -> [Self] {
        names.compactMap { name -> Self? in
            guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return nil }
            return Revision(name.dropFirst(prefix.count).dropLast(suffix.count)).map { Self(name: name, revision: $0) }
        }
        .sorted { $0.revision < $1.revision }
    }
}
