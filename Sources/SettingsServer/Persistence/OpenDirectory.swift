package import SettingsModel

extension DataDirectory {
    /// How far a new epoch is ahead of what was recovered, so that no revision is ever given out twice.
    static let leap: Int64 = 1_000_000_000

    /// Locks the directory, recovers what is in it, and makes it ready to be written to.
    ///
    /// Nothing is changed if it throws because of damage. When it returns, whatever the state holds is on disk, and a new
    /// journal with it that names the durability from now on.
    package func open(
        options: LocalLog.Options, limits: History.Limits, log: Log, newEpoch: () -> Epoch,
        clock: @escaping @Sendable () -> UInt64
    ) throws(RecoveryError) -> (Recovered, LocalLog) {
        let lock = try DirectoryLock(self)
        var recovered: Recovered
        if let found = try Recovery(directory: self, limits: limits).run() {
            recovered = found
        } else {
            recovered = Recovered(State(epoch: newEpoch(), limits: limits))
            recovered.beganEpoch = true
            recovered.notes.append(.information("the directory is new"))
        }
        do throws(FileError) {
            if try fileSystem.status(path).isOpenToOthers {
                recovered.notes.append(
                    .warning("\(path) can be entered by other users; 'chmod 700 \(path)' keeps them out"))
            }
            try settle(&recovered)
        } catch {
            throw RecoveryError(error)
        }
        if recovered.mustBeginEpoch { try leap(&recovered, to: newEpoch()) }
        do throws(FileError) {
            let localLog = try LocalLog(recovered, in: self, lock: lock, options: options, log: log, clock: clock)
            return (recovered, localLog)
        } catch {
            throw RecoveryError(error)
        }
    }

    /// Clears away what crashes left, and makes what was read last: it may have been in the page cache only, and is about
    /// to be served.
    private func settle(_ recovered: inout Recovered) throws(FileError) {
        if let torn = recovered.torn {
            let aside = Self.asideName(of: "\(torn.name)-from-\(torn.offset)")
            try cut(torn.name, at: torn.offset, keepingAs: aside)
            recovered.notes.append(.information("it was cut there, and what was cut is in \(aside)"))
        }
        let found = try fileSystem.list(path)
        for (name, _) in recovered.damagedSnapshots {
            try fileSystem.rename(path(of: name), to: path(of: Self.freeAsideName(of: name, among: found)))
        }
        let names = try fileSystem.list(path)
        for name in temporaries(among: names) { try fileSystem.remove(path(of: name)) }
        for file in journals(among: names) + snapshots(among: names) {
            try OpenFile(path(of: file.name), .writing, in: fileSystem).sync()
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

    /// Acknowledged writes may be missing: no cursor from before may be believed.
    private func leap(_ recovered: inout Recovered, to epoch: Epoch) throws(RecoveryError) {
        guard let revision = recovered.state.revision.advanced(by: Self.leap) else {
            throw RecoveryError(.damaged, "\(path): there are no revisions left")
        }
        recovered.state.beginEpoch(epoch, at: revision)
        recovered.beganEpoch = true
        recovered.notes.append(
            .warning(
                "the last stop was not a clean one, or this is a copy, and writes may be missing: a new epoch begins, "
                    + "\(epoch)"))
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

extension Recovered {
    /// Whether acknowledged writes may be missing: the daemon did not stop as it should while it ran in a way that can
    /// lose some, a journal is gone, or somebody put a snapshot here without what came after it.
    var mustBeginEpoch: Bool {
        guard let head else { return !beganEpoch }
        return head.mayLose && !isClosed || lacksJournal
    }
}
