package import Platform
package import SettingsAPI
package import SettingsEngine

extension DataDirectory {
    /// Writes a snapshot (the complete state) into a file without a name, which is deleted when the calling code closes
    /// it.
    package func temporarySnapshot(of state: State) throws(FileError) -> OpenFile {
        // The file has a name while it is written. If a crash leaves the file, the next start removes it.
        let path = temporaryPath(of: "backup-\(state.revision)")
        do throws(FileError) {
            // A snapshot contains the revision after which the next journal begins. A backup has no journal, so it
            // contains its own revision instead.
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

/// Restores a backup (a snapshot file) into an empty data directory. The restored state begins a new epoch (the name of
/// a history) with higher revisions, because after the backup the daemon may have used the next revisions.
package struct DirectoryRestore {
    /// The lines that the command `settingsd restore` prints.
    package let lines: [String]

    /// Reads the complete backup, then writes the directory. Throws without changes if the backup is damaged or
    /// truncated, or if the directory is in use or has journals, snapshots or past files (files with older commits).
    ///
    /// - Parameter beforeWriting: called after the backup is read and before anything is written, for example to change
    ///   the user of the process.
    package init(
        of file: String, into directory: DataDirectory, limits: History.Limits, newEpoch: () -> Epoch,
        beforeWriting: () throws(RecoveryError) -> Void = {}
    ) throws(RecoveryError) {
        let components = file.split(separator: "/", omittingEmptySubsequences: false)
        let parent = components.count > 1 ? components.dropLast().joined(separator: "/") : "."
        let source = DataDirectory(parent.isEmpty ? "/" : parent, in: directory.fileSystem)
        var state: State
        do throws(RecoveryError) {
            state = try SnapshotReader.read(named: String(components.last ?? ""), in: source, limits: limits).state
        } catch {
            guard error.kind == .damaged else { throw error }
            throw RecoveryError(
                .damaged,
                "\(file) is not a complete backup: \(error.locatedReason). Nothing was changed; use another copy",
                reason: error.reason)
        }
        try beforeWriting()
        let lock = try DirectoryLock(directory)
        defer { withExtendedLifetime(lock) {} }
        let listing = try directory.mapErrors { () throws(FileError) in try directory.list() }
        guard listing.journals.isEmpty, listing.snapshots.isEmpty, listing.pastFiles.isEmpty else {
            throw RecoveryError(
                .inaccessible,
                "\(directory.path) already contains data. Nothing was changed; choose another directory with "
                    + "--data, or move this directory away")
        }
        // A cursor is an epoch and a revision. The new epoch skips revisions, which fails if no revisions are left.
        let backupCursor = state.cursor
        state.beginEpoch(newEpoch(), at: try directory.firstRevisionOfEpoch(after: state.revision))
        try directory.mapErrors { () throws(FileError) in try directory.writeInitialFiles(for: state) }
        lines = [
            "restored: \(state.summary), from a backup at \(backupCursor)",
            "\(directory.path) starts at \(state.cursor), in a new epoch: clients read all settings again",
        ]
    }
}
