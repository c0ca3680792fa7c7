package import Platform
package import SettingsAPI
package import SettingsEngine

extension DataDirectory {
    /// Writes a state as a snapshot into a file that has no name any more: it is gone when it is closed.
    package func backup(of state: State) throws(FileError) -> OpenFile {
        // A crash leaves it at worst, and the next start removes it.
        let path = temporaryPath(of: "backup-\(state.revision)")
        do throws(FileError) {
            try SnapshotWriter.write(state, journal: state.revision, to: OpenFile(path, .replacing, in: fileSystem))
            let file = try OpenFile(path, .reading, in: fileSystem)
            try fileSystem.remove(path)
            return file
        } catch {
            try? fileSystem.remove(path)
            throw error
        }
    }
}

/// A restore: an empty data directory filled from a backup, in a new epoch, as the history may have gone on elsewhere.
package struct DirectoryRestore {
    /// The report, for people.
    package let lines: [String]

    /// Reads the backup, whole, then writes the directory. Throws if the backup is damaged or cut short, or if the directory
    /// is in use or holds data already; then nothing was changed.
    ///
    /// - Parameter beforeWriting: called once the backup is read, before anything is written.
    package init(
        of file: String, into directory: DataDirectory, limits: History.Limits, newEpoch: () -> Epoch,
        beforeWriting: () throws(RecoveryError) -> Void = {}
    ) throws(RecoveryError) {
        let parts = file.split(separator: "/", omittingEmptySubsequences: false)
        let folder = parts.count > 1 ? parts.dropLast().joined(separator: "/") : "."
        let source = DataDirectory(folder.isEmpty ? "/" : folder, in: directory.fileSystem)
        var state: State
        do throws(RecoveryError) {
            state = try SnapshotReader.read(named: String(parts.last ?? ""), in: source, limits: limits).state
        } catch {
            guard error.kind == .damaged else { throw error }
            throw RecoveryError(
                .damaged, "\(file) is no whole backup: \(error.located). Nothing was changed; take another copy",
                reason: error.reason)
        }
        try beforeWriting()
        let lock = try DirectoryLock(directory)
        defer { withExtendedLifetime(lock) {} }
        let listing = try directory.reading { () throws(FileError) in try directory.list() }
        guard listing.journals.isEmpty, listing.snapshots.isEmpty, listing.past.isEmpty else {
            throw RecoveryError(
                .inaccessible,
                "\(directory.path) holds data already; nothing was changed; choose another directory with --data, or move "
                    + "that one away")
        }
        let taken = state.cursor
        state.beginEpoch(newEpoch(), at: try directory.leap(from: state.revision))
        try directory.reading { () throws(FileError) in try directory.begin(with: state) }
        lines = [
            "restored: \(state.summary), as it was at \(taken)",
            "\(directory.path) starts at \(state.cursor), in a new epoch: clients begin anew",
        ]
    }
}
