package import Platform
package import SettingsAPI
package import SettingsEngine
internal import SettingsModel

/// A repair that makes a directory start again that no start would take: what `settingsd repair` does, or says it would.
///
/// It keeps the longest beginning of the history that is sound, as a snapshot in a new epoch, far above every revision
/// that was ever seen there, so that nothing can be mistaken for what it was. Nothing is deleted: what is of no use any
/// more is moved to names that no start reads.
package struct DirectoryRepair: Sendable {
    package enum Outcome: Sendable {
        /// A start takes the directory as it is.
        case nothingToDo
        /// The lines say what would be done.
        case wouldRepair
        case repaired
    }

    package let outcome: Outcome
    /// The report, for people.
    package let lines: [String]

    /// Reads the directory and, if `apply` is true, takes its lock and repairs it.
    ///
    /// Throws if the directory is in use or cannot be read or written, and if a newer version wrote in it. If it throws
    /// while it repairs, nothing is lost and it can be called again.
    package init(
        _ directory: DataDirectory, limits: History.Limits = History.Limits(), apply: Bool, newEpoch: () -> Epoch
    ) throws(RecoveryError) {
        // Listed first, because to take the lock would make the directory.
        _ = try directory.reading { () throws(FileError) in try directory.list() }
        let lock = apply ? try DirectoryLock(directory) : nil
        defer { withExtendedLifetime(lock) {} }
        let listing = try directory.reading { () throws(FileError) in try directory.list() }
        let refusal: RecoveryError
        do throws(RecoveryError) {
            let recovery = try Recovery(of: directory, limits: limits)
            outcome = .nothingToDo
            lines =
                ["nothing has to be repaired: a start comes to \(recovery?.state.summary ?? "an empty directory")"]
                + (recovery?.notes.map { "it will say: \($0)" } ?? [])
            return
        } catch {
            guard error.kind == .damaged else { throw error }
            refusal = error
        }
        let plan = try RepairPlan(directory, listing, limits: limits, epoch: newEpoch())
        if apply { try directory.reading { () throws(FileError) in try plan.apply() } }
        outcome = apply ? .repaired : .wouldRepair
        lines = ["a start refuses: \(refusal.located)"] + plan.lines(isDone: apply)
    }
}

/// The most that can be had from a directory: the longest sound beginning of its history, and what is in the way.
private struct RepairPlan {
    /// A beginning of the history.
    private struct Beginning {
        let state: State
        /// The snapshot that it starts from; nil for the beginning of history.
        let origin: String?
        /// The reason why it ends where it does, if there is more behind it.
        let end: RecoveryError?
    }

    private let directory: DataDirectory
    /// The longest beginning; nil if there is nothing to begin with.
    private let best: Beginning?
    /// Files that cannot be read, or not from their beginning.
    private var unusable: [(name: String, reason: String)] = []
    /// The commits behind the best beginning that can be read all the same, and the last of them.
    private var lost: (count: Int, last: Revision) = (0, .zero)
    /// The last revision that is kept, by its number in the old epoch.
    private let kept: Revision
    /// The state that is kept, in its new epoch.
    private var state: State
    /// The past files with commits that are not kept.
    private let stalePast: [DataDirectory.PastName]
    /// The files that are moved, with their new names.
    private var moves: [(name: String, aside: String)] = []

    /// Tries every snapshot that can be read, and the beginning of history. Throws what no repair may touch: files that
    /// cannot be opened, and those of a newer version.
    ///
    /// - Parameter epoch: the new epoch, which is also that of the first journals if no head of theirs can be read.
    init(
        _ directory: DataDirectory, _ listing: DataDirectory.Listing, limits: History.Limits, epoch: Epoch
    ) throws(RecoveryError) {
        self.directory = directory
        let (heads, assumed) = try Self.heads(of: listing.journals, in: directory, epoch, &unusable)
        var beginnings: [Beginning] = []
        for snapshot in listing.snapshots.reversed() {
            do throws(RecoveryError) {
                let state = try SnapshotReader.read(snapshot, in: directory, limits: limits).state
                let first = heads.lastIndex { $0.head.revision <= snapshot.revision } ?? 0
                let found = try Self.follow(state, Array(heads[first...]), assumed, in: directory)
                beginnings.append(Beginning(state: found.state, origin: snapshot.name, end: found.damage))
            } catch {
                guard error.kind == .damaged else { throw error }
                unusable.append((snapshot.name, error.reason))
            }
        }
        if let head = heads.first?.head, head.after == .zero {
            let beginning = State(epoch: head.epoch, revision: head.revision, limits: limits)
            let found = try Self.follow(beginning, heads, assumed, in: directory)
            beginnings.append(Beginning(state: found.state, origin: nil, end: found.damage))
        }
        best = beginnings.max { $0.state.revision < $1.state.revision }
        state = best?.state ?? State(epoch: epoch, limits: limits)
        let kept = state.revision
        self.kept = kept
        stalePast = listing.past.filter { $0.to > kept }
        for journal in listing.journals {
            for revision in try directory.commits(in: journal.name) where revision > kept {
                lost = (lost.count + 1, max(lost.last, revision))
            }
        }
        state.beginEpoch(epoch, at: try directory.leap(from: try directory.highestRevision(in: listing, from: kept)))
        // What journals have is in the state, or cannot be used: none is needed any more.
        let damaged = Set(unusable.map(\.name))
        let old = listing.journals + listing.snapshots.filter { damaged.contains($0.name) }
        moves = old.map { ($0.name, listing.freeAsideName(of: $0.name)) }
    }

    /// Reads the heads of the journals, with a likely one where that is damaged.
    private static func heads(
        of files: [DataDirectory.Numbered], in directory: DataDirectory, _ epoch: Epoch,
        _ unusable: inout [(name: String, reason: String)]
    ) throws(RecoveryError) -> (heads: [Replay.Journal], assumed: Set<String>) {
        var found: [JournalHead?] = []
        for file in files {
            do throws(RecoveryError) {
                found.append(try JournalReader(directory: directory, name: file.name).head())
            } catch {
                guard error.kind == .damaged else { throw error }
                unusable.append((file.name, error.reason))
                found.append(nil)
            }
        }
        var heads: [Replay.Journal] = []
        var assumed: Set<String> = []
        for (index, file) in files.enumerated() {
            let next = found[(index + 1)...].lazy.compactMap(\.self).first
            if found[index] == nil { assumed.insert(file.name) }
            let head = found[index] ?? likelyHead(of: file, after: heads.last?.head, before: next, epoch)
            heads.append(Replay.Journal(name: file.name, head: head))
        }
        return (heads, assumed)
    }

    /// Guesses a head that cannot be read. The name tells what the commits follow, and each commit names the one before,
    /// so that none is taken for another if the guess is wrong.
    private static func likelyHead(
        of file: DataDirectory.Numbered, after previous: JournalHead?, before next: JournalHead?, _ epoch: Epoch
    ) -> JournalHead {
        var after = file.revision
        // A new epoch begins that far beyond the end of the old one.
        if let end = file.revision.advanced(by: -Recovery.leap), end >= previous?.revision ?? .zero { after = end }
        return JournalHead(
            epoch: next.flatMap { $0.beginsEpoch ? nil : $0.epoch } ?? epoch, revision: file.revision, after: after,
            durability: previous?.durability ?? .always)
    }

    /// Follows the journals as far as they lead. Those with an assumed head belong to the epoch of what is before them.
    private static func follow(
        _ state: State, _ journals: [Replay.Journal], _ assumed: Set<String>, in directory: DataDirectory
    ) throws(RecoveryError) -> Replay {
        var journals = journals
        for index in journals.indices where assumed.contains(journals[index].name) {
            guard !journals[index].head.beginsEpoch || journals[index].head.revision <= state.revision else { continue }
            journals[index].head.epoch = index > 0 ? journals[index - 1].head.epoch : state.epoch
        }
        return try Replay(state, journals, in: directory, keepsPrefix: true)
    }

    /// The order matters: until the journal stands there is a directory that refuses to start, and can be repaired
    /// again; from then on it starts, whatever was not moved yet.
    func apply() throws(FileError) {
        // While the directory still refuses to start: later the revisions tell nothing any more.
        _ = try directory.setAsidePast(behind: kept)
        try directory.begin(with: state)
        for (name, aside) in moves {
            try directory.fileSystem.rename(directory.path(of: name), to: directory.path(of: aside))
        }
        try directory.fileSystem.syncDirectory(directory.path)
    }

    func lines(isDone: Bool) -> [String] {
        let would = isDone ? "" : "would be "
        var lines: [String] = []
        if let best {
            lines.append("\(would)kept: all up to revision \(kept), from \(best.origin ?? "the first journal") on")
            if let end = best.end { lines.append("\(would)cut: what comes behind: \(end.located)") }
        } else {
            lines.append("NOTHING can be kept: there is no sound snapshot, and no beginning of the journals")
        }
        if lost.count > 0 {
            let commits = lost.count == 1 ? "1 commit" : "\(lost.count) commits"
            lines.append(
                "\(would)lost: \(commits) that can be read, up to revision \(lost.last), since what comes before cannot"
            )
        }
        for (name, reason) in unusable { lines.append("\(name) cannot be read as a whole: \(reason)") }
        for (name, aside) in stalePast.map({ ($0.name, DataDirectory.asidePrefix + $0.name) }) + moves {
            lines.append("\(would)moved: \(name) to \(aside)")
        }
        lines.append("\(would)begun: \(state.summary)")
        return lines
    }
}

extension DataDirectory {
    /// Writes what a start goes on from: a snapshot of a state, and a journal that follows it.
    package func begin(with state: State) throws(FileError) {
        _ = try SnapshotWriter.write(state, journal: state.revision, in: self)
        let head = JournalHead(epoch: state.epoch, revision: state.revision, after: state.revision, durability: .always)
        do throws(JournalFile.Failure) {
            _ = try JournalFile(head, in: self)
        } catch {
            throw error.cause
        }
    }

    /// The highest revision that can be read anywhere: in the names of files, in journals however damaged, also in what
    /// was set aside.
    fileprivate func highestRevision(in listing: Listing, from lowest: Revision) throws(RecoveryError) -> Revision {
        var highest = lowest
        let asides = listing.names.filter { $0.hasPrefix(Self.asidePrefix) }
        let former = Listing(asides.map { String($0.dropFirst(Self.asidePrefix.count)) })
        for file in listing.journals + listing.snapshots + former.journals + former.snapshots {
            highest = max(highest, file.revision)
        }
        for name in asides + listing.names.filter({ $0.hasPrefix("journal-") }) {
            for revision in try commits(in: name) { highest = max(highest, revision) }
        }
        return highest
    }

    /// The revisions of the commits of a file that can be read by themselves.
    fileprivate func commits(in name: String) throws(RecoveryError) -> [Revision] {
        try reading { () throws(FileError) in
            var lines = LineReader(try OpenFile(path(of: name), .reading, in: fileSystem))
            var revisions: [Revision] = []
            while let line = try lines.next() {
                let bytes = lines.buffer.span.extracting(line.range)
                let found = JournalLine.read(bytes, isTerminated: line.isTerminated)
                if case .success(.commit(_, let revision, _, _)) = found { revisions.append(revision) }
            }
            return revisions
        }
    }
}
