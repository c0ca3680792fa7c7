internal import Platform
package import SettingsAPI
package import SettingsEngine
internal import SettingsModel

/// The result of reading a data directory: the recovered state, and the cleanup to do before the daemon writes.
///
/// The state is the newest undamaged snapshot (a file with a complete state) plus the commits of the journals after the
/// snapshot. A journal has one line for each commit. Its first line, the head, says where the journal continues the
/// history.
package struct Recovery: Sendable {
    /// A message for the operator.
    package struct Note: Hashable, Sendable, CustomStringConvertible {
        /// True if the message reports a fault; false if it reports a normal event.
        package let isWarning: Bool
        package let description: String

        static func warning(_ text: String) -> Note { Note(isWarning: true, description: text) }
        static func information(_ text: String) -> Note { Note(isWarning: false, description: text) }
    }

    package private(set) var state: State
    /// The messages that the daemon logs when it starts.
    package private(set) var notes: [Note]
    /// True if a new epoch (the name of a history) began: the directory is new, or commits may be missing.
    package private(set) var beganEpoch = false
    /// The revision of the last recovered commit. After ``beginningEpoch(_:in:)``, the revision of ``state`` is higher.
    let lastRevision: Revision
    /// The revision of the snapshot that the recovery started from; nil if it started from the first journal.
    let snapshotRevision: Revision?
    let damagedSnapshots: [String]
    /// The head of the newest journal; nil if there is none.
    let head: JournalHead?
    /// True if the directory is a copy of another directory, which may have more commits.
    let isCopy: Bool
    let endsWithCleanStop: Bool
    /// The incomplete end of the newest journal, which the cleanup removes; nil if the journal is complete.
    let tornTail: TornTail?
    /// True if the journal that continues the snapshot and every later journal are missing.
    let lacksJournal: Bool
    /// The number of bytes of the journal lines that the recovery applied to the snapshot.
    let replayedBytes: Int

    /// Makes the recovery of a new, empty directory.
    init(new epoch: Epoch, limits: History.Limits) {
        state = State(epoch: epoch, limits: limits)
        notes = [.information("the directory is new")]
        beganEpoch = true
        (lastRevision, snapshotRevision, damagedSnapshots, head, tornTail) = (.zero, nil, [], nil, nil)
        (isCopy, endsWithCleanStop, lacksJournal, replayedBytes) = (false, false, false, 0)
    }

    /// Reads a directory without changing it. Returns nil if the directory has neither a snapshot nor a journal.
    ///
    /// The recovery starts from the newest snapshot or, if it is damaged, from the previous snapshot or the first
    /// journal. Throws if the journals lack a commit between this starting point and the revision of the damaged
    /// snapshot.
    package init?(of directory: DataDirectory, limits: History.Limits) throws(RecoveryError) {
        let listing = try directory.mapErrors { () throws(FileError) in try directory.list() }
        // Throws if the newest journal is missing.
        _ = try directory.newestJournal(in: listing)
        let journals = try directory.heads(of: listing.journals)
        guard let newestFile = listing.snapshots.last ?? listing.journals.last else { return nil }
        var damaged: [(name: String, error: RecoveryError)] = []
        var snapshot = try Self.newestUndamaged(listing.snapshots, in: directory, limits, &damaged)
        let base = snapshot.map { (name: $0.name, revision: $0.state.revision, journalRevision: $0.journalRevision) }
        // If no commit precedes the first journal, the journal begins with the empty state.
        let firstHead = journals.first.flatMap { $0.head.predecessor == .zero ? $0.head : nil }
        let emptyState = firstHead.map { State(epoch: $0.epoch, revision: $0.revision, limits: limits) }
        // take() removes the second reference to the state. Otherwise the replay would copy each part that it changes.
        guard let state = snapshot.take()?.state ?? emptyState else {
            throw damaged.first?.error
                ?? directory.damage(
                    listing.journals.first?.name ?? "", "there is no snapshot that the journals continue")
        }
        let replay = try Replay(state, journals, in: directory)
        if let damage = replay.damage {
            guard let error = damaged.first?.error else { throw damage }
            let text = "\(error) (older files cannot replace the damaged snapshot: \(damage))"
            throw RecoveryError(.damaged, text, location: error.location)
        }
        if let error = damaged.first?.error, replay.state.revision < newestFile.revision { throw error }
        var notes: [Note] = []
        lacksJournal = base.map { base in !journals.contains { $0.head.revision >= base.journalRevision } } ?? false
        if lacksJournal, let base {
            let name = DataDirectory.journalName(after: base.journalRevision)
            notes.append(.warning("\(name), which continues \(base.name), is missing; its commits were not recovered"))
        }
        for (name, error) in damaged {
            let base = base?.name ?? "the first journal"
            notes.append(.warning("\(name) is damaged (\(error.reason)); recovered from \(base) and later journals"))
        }
        if let torn = replay.tornTail {
            notes.append(
                .information(
                    "\(torn.journal) ends in the middle of a commit, at byte \(torn.offset); "
                        + "the complete commits before it were recovered"))
        }
        isCopy = try directory.mapErrors { () throws(FileError) in
            try directory.isCopy(directoryIDInJournal: replay.head?.directoryID)
        }
        (self.state, self.notes, lastRevision, head) = (replay.state, notes, replay.state.revision, replay.head)
        (endsWithCleanStop, tornTail, replayedBytes) = (replay.endsWithCleanStop, replay.tornTail, replay.replayedBytes)
        (snapshotRevision, damagedSnapshots) = (base?.revision, damaged.map(\.name))
    }

    /// Reads the newest undamaged snapshot. Adds newer, damaged snapshots to `damaged`, the newest first.
    private static func newestUndamaged(
        _ snapshots: [DataDirectory.NumberedFile], in directory: DataDirectory, _ limits: History.Limits,
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

    /// The number of revisions that a new epoch skips, so that no revision is assigned twice.
    package static let epochRevisionGap: Int64 = 1_000_000_000

    /// True if the cursor (epoch and revision) of a client may refer to a lost commit: if the directory is a copy, if
    /// the durability can lose acknowledged writes and the daemon did not stop cleanly, if all journals after the
    /// snapshot are missing, or if the directory has a snapshot but no journal.
    package var mustBeginEpoch: Bool {
        guard let head else { return !beganEpoch }
        return isCopy || head.mayLoseAcknowledgedWrites && !endsWithCleanStop || lacksJournal
    }

    /// Returns a copy of the recovery whose state begins a new epoch.
    package func beginningEpoch(_ epoch: Epoch, in directory: DataDirectory) throws(RecoveryError) -> Recovery {
        var next = self
        next.state.beginEpoch(epoch, at: try directory.firstRevisionOfEpoch(after: state.revision))
        next.beganEpoch = true
        let reason =
            isCopy
            ? "this data directory is a copy of another, or was restored"
            : "the last stop was not clean, or a journal is missing, so acknowledged writes may be missing"
        next.notes.append(.warning("\(reason): a new epoch begins, \(epoch)"))
        return next
    }

    mutating func setHistoryLimits(_ limits: History.Limits) {
        state.setHistoryLimits(limits)
    }

    /// Prepares the directory for writing: cuts the torn tail off the newest journal, renames the damaged snapshots,
    /// renames each past file (a file with older commits) that has a commit after ``lastRevision``, and removes
    /// temporary files. Then writes the identifier of the directory into `LOCK`. Can be called again if it throws.
    func cleanUp(_ directory: DataDirectory, directoryID: String, _ log: Log) throws(FileError) {
        let fileSystem = directory.fileSystem
        if let tornTail, try fileSystem.status(directory.path(of: tornTail.journal)).size > tornTail.offset {
            let copyName = DataDirectory.setAsidePrefix + "\(tornTail.journal)-from-\(tornTail.offset)"
            try directory.truncate(tornTail.journal, to: tornTail.offset, copyingTailTo: copyName)
            log.info("\(tornTail.journal) was cut at byte \(tornTail.offset); the removed bytes are in \(copyName)")
        }
        for file in try directory.setAsidePastFiles(after: lastRevision) {
            log.warning("\(file.name) has commits after the last recovered commit; it was renamed and is not used")
        }
        let listing = try directory.list()
        for name in damagedSnapshots where listing.contains(name) {
            try fileSystem.rename(
                directory.path(of: name), to: directory.path(of: listing.unusedSetAsideName(for: name)))
        }
        for name in listing.temporaries { try fileSystem.remove(directory.path(of: name)) }
        // Write `LOCK` before any journal contains the identifier. Otherwise the directory may look like a copy.
        try directory.writeLockFile(directoryID: directoryID)
        try fileSystem.syncDirectory(directory.path)
    }
}

extension DataDirectory {
    /// Returns the first revision of a new epoch, if the previous epoch ended at the given revision.
    func firstRevisionOfEpoch(after revision: Revision) throws(RecoveryError) -> Revision {
        guard let next = revision.advanced(by: Recovery.epochRevisionGap) else {
            throw RecoveryError(.damaged, "cannot begin a new epoch in \(path): no revisions are left")
        }
        return next
    }

    func heads(of journals: [NumberedFile]) throws(RecoveryError) -> [Replay.Journal] {
        var heads: [Replay.Journal] = []
        for file in journals {
            heads.append(
                Replay.Journal(name: file.name, head: try JournalReader(directory: self, name: file.name).head()))
        }
        return heads
    }

    /// Returns the name of the journal in the file `NEWEST`; nil without this file. After a crash, the file may name
    /// an earlier journal. Throws if the file is damaged, or if the named journal and all later journals are missing.
    func newestJournal(in listing: Listing) throws(RecoveryError) -> String? {
        guard listing.contains(Self.newestName) else { return nil }
        let line = try mapErrors { () throws(FileError) -> Result<JournalLine, JournalLine.Failure>? in
            var lines = LineReader(try OpenFile(path(of: Self.newestName), .reading, in: fileSystem), bufferSize: 512)
            guard let line = try lines.next() else { return nil }
            return JournalLine.read(lines.buffer.span.extracting(line.range), isTerminated: line.isTerminated)
        }
        guard case .success(.newest(let name)) = line, let named = Listing([name]).journals.first else {
            throw damage(Self.newestName, line: 1, "the file does not contain the name of a journal")
        }
        guard let newest = listing.journals.last, newest.revision >= named.revision else {
            throw damage(name, "the file is missing, with all commits in it")
        }
        return name
    }
}
