package import Platform
package import SettingsAPI
internal import SettingsModel

/// The directory that a daemon keeps its data in, with the names of its files.
package struct DataDirectory: Sendable {
    package let path: String
    package let fileSystem: any FileSystem

    package init(_ path: String, in fileSystem: any FileSystem = POSIXFileSystem()) {
        self.path = path
        self.fileSystem = fileSystem
    }

    package func path(of name: String) -> String { path + "/" + name }

    // MARK: Names

    /// A file that is named by the revision that it begins with.
    package struct Numbered: Hashable, Sendable {
        package let name: String
        let revision: Revision
    }

    /// The names in a directory, in order.
    package struct Listing: Sendable {
        let names: [String]
        /// The journals, oldest first.
        package let journals: [Numbered]
        /// The snapshots, oldest first.
        package let snapshots: [Numbered]
        /// The past files, by their ends.
        package let past: [PastName]

        init(_ names: [String]) {
            self.names = names.sorted()
            journals = Numbered.all(in: names, "journal-", ".jsonl")
            snapshots = Numbered.all(in: names, "snapshot-", ".json")
            past = names.compactMap { PastName($0) }.sorted { ($0.to, $0.from) < ($1.to, $1.from) }
        }

        /// Files that were being written when a daemon ended.
        package var temporaries: [String] { names.filter { $0.hasSuffix(DataDirectory.temporarySuffix) } }

        /// True if the directory has a file that a daemon makes in its data directory.
        var isOfDaemon: Bool {
            !journals.isEmpty || !snapshots.isEmpty || !past.isEmpty
                || [DataDirectory.lockName, DataDirectory.newestName, DataDirectory.clusterName].contains {
                    contains($0)
                }
                || names.contains { $0.hasPrefix(DataDirectory.asidePrefix) }
        }

        package func contains(_ name: String) -> Bool { names.contains { $0.hasSameBytes(as: name) } }

        /// Returns a name to set a file aside under that no other file has.
        package func freeAsideName(of name: String) -> String {
            var candidate = DataDirectory.asidePrefix + name
            var number = 1
            while contains(candidate) {
                number += 1
                candidate = DataDirectory.asidePrefix + "\(number)-\(name)"
            }
            return candidate
        }
    }

    static let lockName = "LOCK"
    /// The file that makes a directory a copy of a log in etcd.
    package static let clusterName = "CLUSTER"
    /// The file that names the newest journal, so that a start notices if that is missing.
    ///
    /// It is written once the journal stands, and before the journal takes its first commit. After a crash between the
    /// two the newest journal may be a later one than it names. An earlier one means that a file was removed.
    static let newestName = "NEWEST"
    /// The file that names the commits whose lines the audit file got last.
    package static let auditName = "AUDIT"
    /// The file with the last use of each token.
    package static let tokenUseName = "token-use.json"
    /// The beginning of the names of files that no start reads.
    static let asidePrefix = "set-aside-"
    private static let temporarySuffix = ".tmp"

    static func journalName(after revision: Revision) -> String { "journal-\(revision).jsonl" }
    package static func snapshotName(at revision: Revision) -> String { "snapshot-\(revision).json" }

    // MARK: Files

    package func list() throws(FileError) -> Listing {
        Listing(try fileSystem.list(path))
    }

    /// The path of a file while it is written.
    package func temporaryPath(of name: String) -> String { path(of: name + Self.temporarySuffix) }

    /// Writes and syncs a file that ``placeTemporary(_:)`` puts in its place.
    package func writeTemporary(_ name: String, _ bytes: [UInt8]) throws(FileError) -> OpenFile {
        let file = try OpenFile(temporaryPath(of: name), .replacing, in: fileSystem, reportedAs: path(of: name))
        try file.write(bytes.span, at: 0)
        try file.sync()
        return file
    }

    /// Gives a file that was written its name, durably.
    package func placeTemporary(_ name: String) throws(FileError) {
        try fileSystem.rename(temporaryPath(of: name), to: path(of: name))
        try fileSystem.syncDirectory(path)
    }

    package func removeTemporary(_ name: String) throws(FileError) {
        try fileSystem.remove(temporaryPath(of: name))
    }

    /// Syncs the journals and snapshots: what was read may have been in the page cache only, and is about to be served.
    func syncFiles() throws(FileError) {
        let listing = try list()
        for file in listing.journals + listing.snapshots {
            try OpenFile(path(of: file.name), .reading, in: fileSystem).sync()
        }
        try fileSystem.syncDirectory(path)
    }

    /// Cuts a file, once what is cut is safe in another one.
    func cut(_ name: String, at offset: Int, keepingAs aside: String) throws(FileError) {
        let file = try OpenFile(path(of: name), .writing, in: fileSystem)
        let copy = try OpenFile(path(of: aside), .replacing, in: fileSystem)
        var piece = [UInt8](repeating: 0, count: 1 << 18)
        var place = offset
        while true {
            let count = try file.read(at: place, into: &piece)
            guard count > 0 else { break }
            try copy.write(piece.span.extracting(0..<count), at: place - offset)
            place += count
        }
        try copy.sync()
        try fileSystem.syncDirectory(path)
        try file.truncate(to: offset)
        try file.sync()
    }

    /// Removes all but the last two snapshots, and the journals that only the removed ones need.
    func removeOutdated() throws(FileError) {
        let listing = try list()
        guard listing.snapshots.count > 1 else { return }
        let kept = listing.snapshots.suffix(2)
        for snapshot in listing.snapshots.dropLast(2) { try fileSystem.remove(path(of: snapshot.name)) }
        // The last journal that begins at or before the older snapshot leads on from it.
        let needed = listing.journals.lastIndex { $0.revision <= kept[kept.startIndex].revision } ?? 0
        for journal in listing.journals[..<needed] { try fileSystem.remove(path(of: journal.name)) }
    }
}

extension DataDirectory.Numbered {
    fileprivate static func all(in names: [String], _ prefix: String, _ suffix: String) -> [Self] {
        names.compactMap { name -> Self? in
            guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return nil }
            return Revision(name.dropFirst(prefix.count).dropLast(suffix.count)).map {
                Self(name: name, revision: $0)
            }
        }
        .sorted { $0.revision < $1.revision }
    }
}
