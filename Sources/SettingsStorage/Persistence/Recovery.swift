internal import Platform
package import SettingsAPI
package import SettingsEngine
internal import SettingsModel

/// The result of reading a data directory: the state to go on from, and what has to be done before that is written to.
///
/// The state is that of the newest sound snapshot and the journals that lead on from it.
package struct Recovery: Sendable {
    /// A message for the operator.
    package struct Note: Hashable, Sendable, CustomStringConvertible {
        /// True if it should not have happened.
        package let isWarning: Bool
        package let description: String

        static func warning(_ text: String) -> Note { Note(isWarning: true, description: text) }
        static func information(_ text: String) -> Note { Note(isWarning: false, description: text) }
    }

    /// The state to go on from.
    package private(set) var state: State
    package private(set) var notes: [Note]
    /// True if a new epoch began, because the directory is new or because acknowledged writes may be missing.
    package private(set) var beganEpoch = false
    /// The last commit that was recovered, behind which the next journal begins.
    let last: Revision
    /// The snapshot that the recovery began with; nil for the beginning of history.
    let snapshot: Revision?
    /// Snapshots that cannot be read.
    let damagedSnapshots: [String]
    /// The head of the newest journal; nil if there is none.
    let head: JournalHead?
    /// True if the directory is a copy of another one, which may have gone on since.
    let isCopy: Bool
    /// True if the daemon stopped cleanly.
    let isClosed: Bool
    /// The tail to be cut off the newest journal.
    let torn: TornTail?
    /// True if the journal that the snapshot goes on in is missing.
    let lacksJournal: Bool
    /// The bytes of journals that were replayed.
    let replayed: Int

    /// The recovery of a directory that nothing was ever kept in.
    init(new epoch: Epoch, limits: History.Limits) {
        state = State(epoch: epoch, limits: limits)
        notes = [.information("the directory is new")]
        beganEpoch = true
        (last, snapshot, damagedSnapshots, head, torn) = (.zero, nil, [], nil, nil)
        (isCopy, isClosed, lacksJournal, replayed) = (false, false, false, 0)
    }

    /// Reads a directory, and changes nothing. Returns nil if nothing was ever kept in it.
    ///
    /// Begins with the newest snapshot, and with what is before it only if that is damaged and the journals lead from
    /// there to it and on.
    package init?(of directory: DataDirectory, limits: History.Limits) throws(RecoveryError) {
        let listing = try directory.reading { () throws(FileError) in try directory.list() }
        _ = try directory.newestJournal(in: listing)
        let journals = try directory.heads(of: listing.journals)
        guard let newest = listing.snapshots.last ?? listing.journals.last else { return nil }
        var damaged: [(name: String, error: RecoveryError)] = []
        var start = try Self.newestSound(listing.snapshots, in: directory, limits, &damaged)
        let origin = start.map { (name: $0.name, revision: $0.state.revision, journal: $0.journal) }
        let first = journals.first.flatMap { $0.head.after == .zero ? $0.head : nil }
        let beginning = first.map { State(epoch: $0.epoch, revision: $0.revision, limits: limits) }
        // Nothing else holds the state, or the replay would copy what it changes.
        guard let state = start.take()?.state ?? beginning else {
            throw damaged.first?.error
                ?? directory.damage(
                    listing.journals.first?.name ?? "", "there is no snapshot that the journals lead on from")
        }
        let replay = try Replay(state, journals, in: directory)
        if let damage = replay.damage {
            guard let newest = damaged.first?.error else { throw damage }
            throw RecoveryError(
                .damaged, "\(newest) (what is before it does not help: \(damage))", place: newest.place)
        }
        if let error = damaged.first?.error, replay.state.revision < newest.revision { throw error }
        var notes: [Note] = []
        lacksJournal = origin.map { origin in !journals.contains { $0.head.revision >= origin.journal } } ?? false
        if lacksJournal, let origin {
            notes.append(
                .warning(
                    "\(origin.name) goes on in \(DataDirectory.journalName(after: origin.journal)), which is missing "
                        + "with all that was committed there"))
        }
        for (name, error) in damaged {
            let origin = origin?.name ?? "the first journal"
            notes.append(
                .warning("\(name) is damaged (\(error.reason)); went back to \(origin) and the journals since"))
        }
        if let torn = replay.torn {
            notes.append(
                .information(
                    "\(torn.name) ends in the middle of a commit that was never acknowledged, at byte \(torn.offset)"))
        }
        isCopy = try directory.reading { () throws(FileError) in
            try directory.isCopy(withJournalOf: replay.head?.directory)
        }
        (self.state, self.notes, last, head) = (replay.state, notes, replay.state.revision, replay.head)
        (isClosed, torn, replayed) = (replay.isClosed, replay.torn, replay.size)
        (snapshot, damagedSnapshots) = (origin?.revision, damaged.map(\.name))
    }

    /// Reads the newest snapshot that is not damaged. Adds the errors of those after it, newest first.
    private static func newestSound(
        _ snapshots: [DataDirectory.Numbered], in directory: DataDirectory, _ limits: History.Limits,
        _ damaged: inout [(name: String, error: RecoveryError)]
    ) throws(RecoveryError) -> Snapshot? {
        for file in snapshots.reversed() {
            do throws(RecoveryError) {
                return try SnapshotReader.read(file, in: directory, limits: limits)
            } catch {
                guard error.kind == .damaged else { throw error }
                damaged.append((file.name, error))
            }
        }
        return nil
    }

    /// The distance of a new epoch from what was recovered, so that no revision is ever given out twice.
    package static let leap: Int64 = 1_000_000_000

    /// True if cursors from before may lie: the directory is a copy, the last stop was not clean in a mode that can
    /// lose acknowledged writes, a journal is missing, or there is only a snapshot without the journal behind it.
    package var mustBeginEpoch: Bool {
        guard let head else { return !beganEpoch }
        return isCopy || head.mayLose && !isClosed || lacksJournal
    }

    /// Returns the recovery with the state in a new epoch.
    package func beginning(_ epoch: Epoch, in directory: DataDirectory) throws(RecoveryError) -> Recovery {
        var next = self
        next.state.beginEpoch(epoch, at: try directory.leap(from: state.revision))
        next.beganEpoch = true
        let reason =
            isCopy
            ? "this data directory is a copy of another, or was restored"
            : "the last stop was not a clean one, or this is a copy, and writes may be missing"
        next.notes.append(.warning("\(reason): a new epoch begins, \(epoch)"))
        return next
    }

    /// Keeps the history to bounds from now on.
    mutating func bound(by limits: History.Limits) {
        state.setHistoryLimits(limits)
    }

    /// Removes what crashes left in the directory, and marks it. Can be repeated if it throws.
    func cleanUp(_ directory: DataDirectory, as name: String, _ log: Log) throws(FileError) {
        let fileSystem = directory.fileSystem
        if let torn, try fileSystem.status(directory.path(of: torn.name)).size > torn.offset {
            let aside = DataDirectory.asidePrefix + "\(torn.name)-from-\(torn.offset)"
            try directory.cut(torn.name, at: torn.offset, keepingAs: aside)
            log.info("\(torn.name) was cut at byte \(torn.offset); what was cut is in \(aside)")
        }
        for file in try directory.setAsidePast(behind: last) {
            log.warning("\(file.name) has commits behind the last one that was recovered; it was set aside")
        }
        let listing = try directory.list()
        for name in damagedSnapshots where listing.contains(name) {
            try fileSystem.rename(
                directory.path(of: name), to: directory.path(of: listing.freeAsideName(of: name)))
        }
        for name in listing.temporaries { try fileSystem.remove(directory.path(of: name)) }
        // Before a journal names the directory, so that a crash between the two makes no copy of it.
        try directory.mark(as: name)
        try fileSystem.syncDirectory(directory.path)
    }
}

extension DataDirectory {
    /// The first revision of an epoch that begins behind another revision.
    func leap(from revision: Revision) throws(RecoveryError) -> Revision {
        guard let next = revision.advanced(by: Recovery.leap) else {
            throw RecoveryError(.damaged, "\(path): there are no revisions left")
        }
        return next
    }

    /// Reads the heads of journals.
    func heads(of journals: [Numbered]) throws(RecoveryError) -> [Replay.Journal] {
        var heads: [Replay.Journal] = []
        for file in journals {
            heads.append(
                Replay.Journal(name: file.name, head: try JournalReader(directory: self, name: file.name).head()))
        }
        return heads
    }

    /// Reads the name of the newest journal, or of an earlier one, in `NEWEST`; nil without that file. Throws if the file
    /// is damaged, or if there is no such journal.
    func newestJournal(in listing: Listing) throws(RecoveryError) -> String? {
        guard listing.contains(Self.newestName) else { return nil }
        let line = try reading { () throws(FileError) -> Result<JournalLine, JournalLine.Failure>? in
            var lines = LineReader(
                try OpenFile(path(of: Self.newestName), .reading, in: fileSystem), chunk: 512)
            guard let line = try lines.next() else { return nil }
            return JournalLine.read(lines.buffer.span.extracting(line.range), isTerminated: line.isTerminated)
        }
        guard case .success(.newest(let name)) = line, let named = Listing([name]).journals.first else {
            throw damage(Self.newestName, line: 1, "it does not name the newest journal")
        }
        guard let newest = listing.journals.last, newest.revision >= named.revision else {
            throw damage(name, "it is missing, with all that was committed there")
        }
        return name
    }
}
