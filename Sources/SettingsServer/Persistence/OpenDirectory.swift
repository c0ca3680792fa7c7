internal import Platform
package import SettingsAPI
package import SettingsEngine
internal import SettingsModel

extension DataDirectory {
    /// How far a new epoch is ahead of what was recovered, so that no revision is ever given out twice.
    static let leap: Int64 = 1_000_000_000

    /// Locks the directory, recovers what is in it, logs what an operator should know of that, and makes it ready to be
    /// written to.
    ///
    /// Nothing is changed if it throws because of damage. When it returns, whatever the state holds is on disk, and a
    /// new journal with it that names the durability from now on. Where nothing can be written, because the disk is
    /// full or read-only, the log begins that journal later, and takes no writes before.
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
        let name: String
        do throws(FileError) {
            if try fileSystem.status(path).isOpenToOthers {
                recovered.notes.append(
                    .warning("\(path) can be entered by other users; 'chmod 700 \(path)' keeps them out"))
            }
            recovered.isCopy = try isCopy(withJournalOf: recovered.head?.directory)
            name = try markedName() ?? newEpoch().text
            try syncFiles()
        } catch {
            throw RecoveryError(error)
        }
        if recovered.mustBeginEpoch { try leap(&recovered, to: newEpoch()) }
        for note in recovered.notes {
            if note.isWarning { log.warning(note.description) } else { log.info(note.description) }
        }
        let localLog = LocalLog(recovered, in: self, named: name, lock: lock, options: options, log: log, clock: clock)
        do throws(FileError) {
            try localLog.start()
        } catch {
            throw RecoveryError(error)
        }
        return (recovered, localLog)
    }

    /// Makes what was read last: it may have been in the page cache only, and is about to be served.
    private func syncFiles() throws(FileError) {
        let names = try fileSystem.list(path)
        for file in journals(among: names) + snapshots(among: names) {
            try OpenFile(path(of: file.name), .reading, in: fileSystem).sync()
        }
        try fileSystem.syncDirectory(path)
    }

    /// Clears away what crashes left, and marks the directory. Can be repeated if it throws.
    func settle(_ recovered: Recovered, as directory: String, _ log: Log) throws(FileError) {
        if let torn = recovered.torn, try fileSystem.status(path(of: torn.name)).size > torn.offset {
            let aside = Self.asideName(of: "\(torn.name)-from-\(torn.offset)")
            try cut(torn.name, at: torn.offset, keepingAs: aside)
            log.info("\(torn.name) was cut at byte \(torn.offset); what was cut is in \(aside)")
        }
        let found = try fileSystem.list(path)
        let damaged = recovered.damagedSnapshots.map(\.name)
        for name in found where damaged.contains(where: { $0.hasSameBytes(as: name) }) {
            try fileSystem.rename(path(of: name), to: path(of: Self.freeAsideName(of: name, among: found)))
        }
        for name in temporaries(among: found) { try fileSystem.remove(path(of: name)) }
        // Before a journal names the directory, so that a crash between the two makes no copy of it.
        try mark(as: directory)
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

    /// Begins a new epoch: acknowledged writes may be missing, or the original of a copy goes on elsewhere, so that no
    /// cursor from before may be believed.
    private func leap(_ recovered: inout Recovered, to epoch: Epoch) throws(RecoveryError) {
        guard let revision = recovered.state.revision.advanced(by: Self.leap) else {
            throw RecoveryError(.damaged, "\(path): there are no revisions left")
        }
        recovered.state.beginEpoch(epoch, at: revision)
        recovered.beganEpoch = true
        let reason =
            recovered.isCopy
            ? "this data directory is a copy of another, or was restored"
            : "the last stop was not a clean one, or this is a copy, and writes may be missing"
        recovered.notes.append(.warning("\(reason): a new epoch begins, \(epoch)"))
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
    /// True if cursors from before may lie: the directory is a copy, the last stop was not clean in a mode that can
    /// lose acknowledged writes, a journal is missing, or there is only a snapshot without the journal behind it.
    var mustBeginEpoch: Bool {
        guard let head else { return !beganEpoch }
        return isCopy || head.mayLose && !isClosed || lacksJournal
    }
}
