internal import Platform
package import SettingsAPI
package import SettingsEngine
internal import SettingsModel

/// The result of reading a data directory: the recovered state, and the repairs that the directory needs before the
/// daemon writes to it.
///
/// The state is the newest undamaged snapshot plus the commits of the journals that continue it.
package struct Recovery: Sendable {
    /// A message for the operator.
    package struct Note: Hashable, Sendable, CustomStringConvertible {
        /// True if the message reports a fault; false if it reports a normal event.
        package let isWarning: Bool
        package let description: String

        static func warning(_ text: String) -> Note { Note(isWarning: true, description: text) }
        static func information(_ text: String) -> Note { Note(isWarning: false, description: text) }
    }

    /// The recovered state.
    package private(set) var state: State
    package private(set) var notes: [Note]
    /// True if a new epoch began, because the directory is new or because acknowledged writes may be missing.
    package private(set) var beganEpoch = false
    /// The last recovered commit. The next journal begins after it.
    let last: Revision
    /// The snapshot that the recovery started from; nil if it started from the first journal.
    let snapshot: Revision?
    /// Snapshots that cannot be read.
    let damagedSnapshots: [String]
    /// The head of the newest journal; nil if there is none.
    let head: JournalHead?
    /// True if the directory is a copy of another directory. The other directory may have received more commits since
    /// it was copied.
    let isCopy: Bool
    /// True if the daemon stopped cleanly.
    let isClosed: Bool
    /// The incomplete commit at the end of the newest journal, which ``cleanUp(_:as:_:)`` cuts off; nil if the journal
    /// is complete.
    let torn: TornTail?
    /// True if the journal that continues the snapshot is missing.
    let lacksJournal: Bool
    /// The number of replayed bytes of journals.
    let replayed: Int

    /// Makes the recovery of a new, empty directory.
    init(new epoch: Epoch, limits: History.Limits) {
        state = State(epoch: epoch, limits: limits)
        notes = [.information("the directory is new")]
        beganEpoch = true
        (last, snapshot, damagedSnapshots, head, torn) = (.zero, nil, [], nil, nil)
        (isCopy, isClosed, lacksJournal, replayed) = (false, false, false, 0)
    }

    /// Reads a directory without changing it. Returns nil if the directory has neither a snapshot nor a journal.
    ///
    /// The recovery starts from the newest snapshot. If that snapshot is damaged, the recovery starts from the previous
    /// snapshot, or from the first journal, provided that the journals cover every commit from there to at least the
    /// revision of the damaged snapshot. Throws if they do not.
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
        // take() leaves no second reference to the state. With a second reference, the replay would copy each part of
        // the state before it changes the part.
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

    /// Reads the newest undamaged snapshot. Adds the names and errors of the damaged snapshots that are newer, the
    /// newest first.
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

    /// The number of revisions that a new epoch skips after the last recovered revision, so that no revision is
    /// assigned twice.
    package static let leap: Int64 = 1_000_000_000

    /// True if cursors that were issued before the restart may refer to commits that were lost. That is the case if the
    /// directory is a copy, if the daemon did not stop cleanly in a durability mode that can lose acknowledged writes,
    /// if a journal is missing, or if the directory has a snapshot but no journal.
    package var mustBeginEpoch: Bool {
        guard let head else { return !beganEpoch }
        return isCopy || head.mayLose && !isClosed || lacksJournal
    }

    /// Returns a copy of the recovery whose state begins a new epoch.
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

    /// Sets the limits of the history.
    mutating func bound(by limits: History.Limits) {
        state.setHistoryLimits(limits)
    }

    /// Removes the incomplete commit, damaged snapshots and temporary files that crashes left in the directory, and
    /// writes the identity of the directory into `LOCK`. Can be called again if it throws.
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
        // Write the identity of the directory before any journal records it. In the opposite order, a crash between the
        // two steps would make the next start mistake the directory for a copy.
        try directory.mark(as: name)
        try fileSystem.syncDirectory(directory.path)
    }
}

extension DataDirectory {
    /// Returns the first revision of an epoch that begins after a revision.
    func leap(from revision: Revision) throws(RecoveryError) -> Revision {
        guard let next = revision.advanced(by: Recovery.leap) else {
            throw RecoveryError(.damaged, "\(path): there are no revisions left")
        }
        return next
    }

    /// Reads the head of each journal.
    func heads(of journals: [Numbered]) throws(RecoveryError) -> [Replay.Journal] {
        var heads: [Replay.Journal] = []
        for file in journals {
            heads.append(
                Replay.Journal(name: file.name, head: try JournalReader(directory: self, name: file.name).head()))
        }
        return heads
    }

    /// Returns the name of the journal in `NEWEST`; nil if that file does not exist. The file may lag behind and name
    /// an earlier journal. Throws if the file is damaged, or if the named journal and all later journals are missing.
    func newestJournal(in listing: Listing) throws(RecoveryError) -> String? {
        guard listing.contains(Self.newestName) else { return nil }
        let line = try reading { () throws(FileError) -> Result<JournalLine, JournalLine.Failure>? in
            var lines = LineReader(
                try OpenFile(path(of: Self.newestName), .reading, in: fileSystem), bufferSize: 512)
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
