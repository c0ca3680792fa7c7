package import Platform
package import SettingsAPI
package import SettingsEngine
internal import SettingsModel

/// Repairs a damaged data directory, or describes the repair without doing it: the command `settingsd repair`.
///
/// The repair keeps all commits before the first damage, as a snapshot (a file with the complete state) in a new epoch
/// (the name of a history). The revisions of the epoch are much higher than all revisions in the directory, so that no
/// client mistakes a new commit for a lost commit. The repair deletes no file: it renames unneeded files with the
/// prefix `set-aside-`.
///
/// A journal has one line for each commit. Its head, the first line, has two revisions: `revision`, after which its
/// commits come, and `predecessor`, the last commit before the journal. They differ if the journal begins an epoch.
package struct DirectoryRepair: Sendable {
    package enum Outcome: Sendable {
        /// The directory needs no repair.
        case nothingToDo
        /// The directory is damaged and was not changed. The lines describe the repair.
        case wouldRepair
        case repaired
    }

    package let outcome: Outcome
    /// The lines that the command prints.
    package let lines: [String]

    /// Reads the directory. If `apply` is true, also locks and repairs it.
    ///
    /// Throws if the directory is in use, if it cannot be read or written, or if a newer version of the daemon wrote
    /// it. If the repair itself throws, no data is lost and the repair can be called again.
    package init(
        _ directory: DataDirectory, limits: History.Limits = History.Limits(), apply: Bool, newEpoch: () -> Epoch
    ) throws(RecoveryError) {
        // List the directory first, because DirectoryLock would create a missing directory.
        _ = try directory.mapErrors { () throws(FileError) in try directory.list() }
        let lock = apply ? try DirectoryLock(directory) : nil
        defer { withExtendedLifetime(lock) {} }
        let listing = try directory.mapErrors { () throws(FileError) in try directory.list() }
        let damage: RecoveryError
        do throws(RecoveryError) {
            let recovery = try Recovery(of: directory, limits: limits)
            outcome = .nothingToDo
            lines =
                ["no repair is needed: a start would recover \(recovery?.state.summary ?? "an empty directory")"]
                + (recovery?.notes.map { "the start would log: \($0)" } ?? [])
            return
        } catch {
            guard error.kind == .damaged else { throw error }
            damage = error
        }
        let plan = try RepairPlan(directory, listing, limits: limits, epoch: newEpoch())
        if apply { try directory.mapErrors { () throws(FileError) in try plan.apply() } }
        outcome = apply ? .repaired : .wouldRepair
        let failure = apply ? "a start would have failed" : "a start would fail"
        lines = ["\(failure): \(damage.locatedReason)"] + plan.lines(isDone: apply)
    }
}

/// The result of analysing a damaged directory: the state to keep, and the files to rename.
private struct RepairPlan {
    /// A state that can be recovered from one snapshot, or from the first journal, and the journals after it.
    private struct Candidate {
        let state: State
        /// The name of the snapshot; nil if the state was recovered from the first journal.
        let snapshot: String?
        /// The damage that ended the replay of the journals; nil if there is none.
        let damage: RecoveryError?
    }

    private let directory: DataDirectory
    /// The candidate with the highest revision; nil if there is no candidate.
    private let best: Candidate?
    /// Snapshots that are damaged, and journals whose heads (first lines) are damaged.
    private var unusable: [(name: String, reason: String)] = []
    /// The number and the last revision of the readable commits after the best candidate. The repair loses these
    /// commits, because data before them is damaged or missing.
    private var lost: (count: Int, last: Revision) = (0, .zero)
    /// The last kept commit, as a revision of the old epoch.
    private let keptRevision: Revision
    /// The kept state, in the new epoch.
    private var state: State
    /// The past files (files with older commits) that contain commits after `keptRevision`, with their new names.
    private let pastFileRenames: [(name: String, newName: String)]
    /// The journals and snapshots to rename, with their new names.
    private var renames: [(name: String, newName: String)] = []

    /// Makes a candidate of each undamaged snapshot and of the first journal, and chooses the best. Throws if a file
    /// cannot be opened, or if a newer version of the daemon wrote it.
    ///
    /// - Parameter epoch: the new epoch. It is also used for journals whose epoch cannot be determined.
    init(
        _ directory: DataDirectory, _ listing: DataDirectory.Listing, limits: History.Limits, epoch: Epoch
    ) throws(RecoveryError) {
        self.directory = directory
        let (heads, guessed) = try Self.heads(of: listing.journals, in: directory, epoch, &unusable)
        var candidates: [Candidate] = []
        for snapshot in listing.snapshots.reversed() {
            do throws(RecoveryError) {
                let state = try SnapshotReader.read(snapshot, in: directory, limits: limits).state
                let first = heads.lastIndex { $0.head.revision <= snapshot.revision } ?? 0
                let replay = try Self.replay(state, Array(heads[first...]), guessed, in: directory)
                candidates.append(Candidate(state: replay.state, snapshot: snapshot.name, damage: replay.damage))
            } catch {
                guard error.kind == .damaged else { throw error }
                unusable.append((snapshot.name, error.reason))
            }
        }
        // If no commit precedes the first journal, the journal begins with the empty state.
        if let head = heads.first?.head, head.predecessor == .zero {
            let emptyState = State(epoch: head.epoch, revision: head.revision, limits: limits)
            let replay = try Self.replay(emptyState, heads, guessed, in: directory)
            candidates.append(Candidate(state: replay.state, snapshot: nil, damage: replay.damage))
        }
        best = candidates.max { $0.state.revision < $1.state.revision }
        state = best?.state ?? State(epoch: epoch, limits: limits)
        let keptRevision = state.revision
        self.keptRevision = keptRevision
        let stalePastFiles = listing.pastFiles.filter { $0.to > keptRevision }
        pastFileRenames = stalePastFiles.map { ($0.name, listing.unusedSetAsideName(for: $0.name)) }
        for journal in listing.journals {
            for revision in try directory.commits(in: journal.name) where revision > keptRevision {
                lost = (lost.count + 1, max(lost.last, revision))
            }
        }
        let highest = try directory.highestRevision(in: listing, atLeast: keptRevision)
        state.beginEpoch(epoch, at: try directory.firstRevisionOfEpoch(after: highest))
        // The new snapshot replaces all journals: their commits are in the state or are lost.
        let damaged = Set(unusable.map(\.name))
        let unneeded = listing.journals + listing.snapshots.filter { damaged.contains($0.name) }
        renames = unneeded.map { ($0.name, listing.unusedSetAsideName(for: $0.name)) }
    }

    /// Reads the heads of the journals. Replaces each damaged head with a guess, and returns the names of the journals
    /// with a guessed head in `guessed`.
    private static func heads(
        of files: [DataDirectory.NumberedFile], in directory: DataDirectory, _ epoch: Epoch,
        _ unusable: inout [(name: String, reason: String)]
    ) throws(RecoveryError) -> (heads: [Replay.Journal], guessed: Set<String>) {
        var readHeads: [JournalHead?] = []
        for file in files {
            do throws(RecoveryError) {
                readHeads.append(try JournalReader(directory: directory, name: file.name).head())
            } catch {
                guard error.kind == .damaged else { throw error }
                unusable.append((file.name, error.reason))
                readHeads.append(nil)
            }
        }
        var heads: [Replay.Journal] = []
        var guessed: Set<String> = []
        for (index, file) in files.enumerated() {
            let next = readHeads[(index + 1)...].lazy.compactMap(\.self).first
            if readHeads[index] == nil { guessed.insert(file.name) }
            let head = readHeads[index] ?? guessedHead(of: file, after: heads.last?.head, before: next, epoch)
            heads.append(Replay.Journal(name: file.name, head: head))
        }
        return (heads, guessed)
    }

    /// Guesses a damaged head from the name of the file, which contains the revision before its first commit. If the
    /// guess is wrong, no commit is applied by mistake, because each commit names the commit before it.
    private static func guessedHead(
        of file: DataDirectory.NumberedFile, after previous: JournalHead?, before next: JournalHead?, _ epoch: Epoch
    ) -> JournalHead {
        var predecessor = file.revision
        // A new epoch skips `epochRevisionGap` revisions. Assume that the journal begins an epoch if `last`, which
        // would be the end of the old epoch, is not before `previous`.
        if let last = file.revision.advanced(by: -Recovery.epochRevisionGap), last >= previous?.revision ?? .zero {
            predecessor = last
        }
        return JournalHead(
            epoch: next.flatMap { $0.beginsEpoch ? nil : $0.epoch } ?? epoch, revision: file.revision,
            predecessor: predecessor, durability: previous?.durability ?? .always)
    }

    /// Applies the journals to a state, up to the first damage. A journal with a guessed head gets the epoch of the
    /// journal before it, unless the journal begins an epoch after the revision of the state.
    private static func replay(
        _ state: State, _ journals: [Replay.Journal], _ guessed: Set<String>, in directory: DataDirectory
    ) throws(RecoveryError) -> Replay {
        var journals = journals
        for index in journals.indices where guessed.contains(journals[index].name) {
            guard !journals[index].head.beginsEpoch || journals[index].head.revision <= state.revision else { continue }
            journals[index].head.epoch = index > 0 ? journals[index - 1].head.epoch : state.epoch
        }
        // The plan keeps the state, so a commit that cannot be applied must leave the state unchanged.
        return try Replay(state, journals, in: directory, undoesFailedCommits: true)
    }

    /// Repairs the directory. If a crash interrupts the repair before the new journal exists, the daemon refuses to
    /// start, and the repair can run again. Once the new journal exists, the daemon starts even without the renames.
    func apply() throws(FileError) {
        // Rename past files first. After the new epoch exists, a start could not recognise the past files with lost
        // commits, because the revisions of the new epoch are higher.
        _ = try directory.setAsidePastFiles(after: keptRevision)
        try directory.writeInitialFiles(for: state)
        for (name, newName) in renames {
            try directory.fileSystem.rename(directory.path(of: name), to: directory.path(of: newName))
        }
        try directory.fileSystem.syncDirectory(directory.path)
    }

    func lines(isDone: Bool) -> [String] {
        let would = isDone ? "" : "would be "
        var lines: [String] = []
        if let best {
            let source = best.snapshot ?? "the first journal"
            lines.append(
                "\(would)kept: all commits up to revision \(keptRevision), from \(source) and the later journals")
            if let damage = best.damage {
                lines.append("\(would)left out: later data, because of \(damage.locatedReason)")
            }
        } else {
            lines.append("NOTHING can be kept: there is no undamaged snapshot and no readable first journal")
        }
        if lost.count > 0 {
            let commits = lost.count == 1 ? "1 commit" : "\(lost.count) commits"
            lines.append(
                "\(would)lost: \(commits) up to revision \(lost.last), although readable, because earlier data is "
                    + "damaged or missing")
        }
        for (name, reason) in unusable { lines.append("\(name) is damaged: \(reason)") }
        for (name, newName) in pastFileRenames + renames { lines.append("\(would)renamed: \(name) to \(newName)") }
        lines.append("\(would)the new state: \(state.summary)")
        return lines
    }
}

extension DataDirectory {
    /// Writes a snapshot of a state, and an empty journal that continues its epoch, so that a daemon can start.
    package func writeInitialFiles(for state: State) throws(FileError) {
        _ = try SnapshotWriter.write(state, journal: state.revision, in: self)
        let head = JournalHead(
            epoch: state.epoch, revision: state.revision, predecessor: state.revision, durability: .always)
        do throws(JournalFile.Failure) {
            _ = try JournalFile(head, in: self)
        } catch {
            throw error.cause
        }
    }

    /// The highest revision in the names of journals and snapshots and in the readable lines of journals, including
    /// renamed files with the prefix `set-aside-`; at least a given revision.
    fileprivate func highestRevision(in listing: Listing, atLeast minimum: Revision) throws(RecoveryError) -> Revision {
        var highest = minimum
        let setAsideNames = listing.names.filter { $0.hasPrefix(Self.setAsidePrefix) }
        let originalNames = Listing(setAsideNames.map { String($0.dropFirst(Self.setAsidePrefix.count)) })
        for file in listing.journals + listing.snapshots + originalNames.journals + originalNames.snapshots {
            highest = max(highest, file.revision)
        }
        for name in setAsideNames + listing.names.filter({ $0.hasPrefix("journal-") }) {
            for revision in try commits(in: name) { highest = max(highest, revision) }
        }
        return highest
    }

    /// The revisions of the commits in all valid lines of a journal, even after a damaged line.
    fileprivate func commits(in name: String) throws(RecoveryError) -> [Revision] {
        try mapErrors { () throws(FileError) in
            var lines = LineReader(try OpenFile(path(of: name), .reading, in: fileSystem))
            var revisions: [Revision] = []
            while let line = try lines.next() {
                let bytes = lines.buffer.span.extracting(line.range)
                let parsed = JournalLine.read(bytes, isTerminated: line.isTerminated)
                if case .success(.commit(_, let revision, _, _)) = parsed { revisions.append(revision) }
            }
            return revisions
        }
    }
}
