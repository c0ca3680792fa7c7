package import SettingsModel

extension DataDirectory {
    /// Locks the directory, recovers what is in it, and makes it ready to be written to.
    package func open(
        options: LocalLog.Options, limits: History.Limits, log: Log, newEpoch: () -> Epoch,
        clock: @escaping @Sendable () -> UInt64
    ) throws(RecoveryError) -> (Recovered, LocalLog) {
        let lock = try DirectoryLock(self)
        let recovery = Recovery(directory: self, limits: limits)
        let recovered = try recovery.run(newEpoch: newEpoch)
        do throws(FileError) {
            let names = try fileSystem.list(path)
            for name in temporaries(among: names) { try fileSystem.remove(path(of: name)) }
            // What was replayed may have been in the page cache only, and is about to be served.
            for journal in journals(among: names) {
                try OpenFile(path(of: journal.name), .writing, in: fileSystem).sync()
            }
            let newest = snapshots(among: names).last?.revision ?? .zero
            let localLog = try LocalLog(
                recovered, snapshotRevision: newest, in: self, lock: lock, options: options, log: log, clock: clock)
            return (recovered, localLog)
        } catch {
            throw RecoveryError(error)
        }
    }

    /// Takes away snapshots before the last two, and the journals that only they need.
    func removeOutdated() throws(FileError) {
        let names = try fileSystem.list(path)
        let snapshots = snapshots(among: names)
        guard snapshots.count > 1 else { return }
        let oldest = snapshots[snapshots.count - 2]
        for snapshot in snapshots where snapshot.revision < oldest.revision {
            try fileSystem.remove(path(of: snapshot.name))
        }
        // The last journal that begins at or before the older snapshot leads on from it.
        let journals = journals(among: names)
        let needed = journals.lastIndex { $0.revision <= oldest.revision } ?? 0
        for journal in journals[..<needed] { try fileSystem.remove(path(of: journal.name)) }
    }
}
