internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// Applies the commits of journals to the state of a snapshot, up to the last commit that can be read.
///
/// A journal has one line for each commit. Its first line, the head, has two revisions: `revision`, after which the
/// commits of the journal come, and `predecessor`, the commit that the journal continues. They differ only if an epoch
/// (the name of a history) begins with the journal, because a new epoch skips revisions. Replay ignores commits after
/// `predecessor` in older journals: either the newer journal repeats these commits, or their flush failed and no client
/// saw them.
struct Replay {
    /// A journal with its head.
    struct Journal {
        let name: String
        var head: JournalHead
    }

    /// The state after the applied commits.
    private(set) var state: State
    /// The head of the last journal that was replayed without damage; nil if there is none.
    private(set) var head: JournalHead?
    /// True if the newest journal ends with the line that marks a clean stop.
    private(set) var endsWithCleanStop = false
    /// The incomplete lines at the end of the newest journal after a crash; nil if there are none.
    private(set) var tornTail: TornTail?
    /// The number of bytes of the applied commits in the journals.
    private(set) var replayedBytes = 0
    /// The damage that ended the replay; nil if there is none. Unless `undoesFailedCommits` is true, the state may then
    /// contain a part of the commit that could not be applied.
    private(set) var damage: RecoveryError?

    private let directory: DataDirectory
    private let undoesFailedCommits: Bool
    /// The last commit of the journals read so far, which the next journal must continue. It may be before
    /// ``state``, because the snapshot contains the first commits of the journals.
    private var reachedRevision: Revision

    /// Applies the commits after the revision of a state. Throws if a file cannot be read; for damage, see ``damage``.
    ///
    /// - Parameters:
    ///   - journals: the journals of the directory, oldest first.
    ///   - undoesFailedCommits: true if a commit that cannot be applied must leave the state unchanged, which is
    ///     slower.
    init(
        _ state: State, _ journals: [Journal], in directory: DataDirectory, undoesFailedCommits: Bool = false
    ) throws(RecoveryError) {
        self.state = state
        (self.directory, self.undoesFailedCommits) = (directory, undoesFailedCommits)
        reachedRevision = state.revision
        do throws(RecoveryError) {
            try replay(journals)
        } catch {
            guard error.kind == .damaged else { throw error }
            damage = error
        }
    }

    private mutating func replay(_ journals: [Journal]) throws(RecoveryError) {
        guard var index = try startIndex(in: journals) else { return }
        let first = journals[index]
        // If the first journal begins a new epoch at a revision after the snapshot, the snapshot has the old epoch.
        if first.head.beginsEpoch && first.head.revision > state.revision {
            try enter(first)
        } else if first.head.epoch != state.epoch {
            throw otherEpochError(first)
        }
        reachedRevision = first.head.revision
        while true {
            let next = index + 1 < journals.count ? journals[index + 1] : nil
            try replay(journals[index], upTo: next?.head.predecessor)
            head = journals[index].head
            guard let next else { break }
            try enter(next)
            reachedRevision = next.head.revision
            index += 1
        }
        guard reachedRevision == state.revision else {
            throw directory.damage(
                journals[index].name,
                "the journal ends at revision \(reachedRevision), before the snapshot of revision \(state.revision)")
        }
    }

    /// Returns the index of the first journal to replay; nil if there is no journal. The first journal is the last
    /// journal that begins at or before the revision of the state, or the oldest journal if that journal begins an
    /// epoch directly after the state.
    private func startIndex(in journals: [Journal]) throws(RecoveryError) -> Int? {
        if let index = journals.lastIndex(where: { $0.head.revision <= state.revision }) { return index }
        guard let first = journals.first else { return nil }
        guard first.head.beginsEpoch && first.head.predecessor == state.revision else { throw gapError(before: first) }
        return 0
    }

    /// Verifies that a journal continues the previous journal. If the journal begins an epoch, begins the epoch in the
    /// state.
    private mutating func enter(_ journal: Journal) throws(RecoveryError) {
        guard journal.head.predecessor == reachedRevision else { throw gapError(before: journal) }
        if journal.head.beginsEpoch {
            guard state.revision == reachedRevision else { throw gapError(before: journal) }
            state.beginEpoch(journal.head.epoch, at: journal.head.revision)
        } else if journal.head.epoch != state.epoch {
            throw otherEpochError(journal)
        }
    }

    private mutating func replay(_ journal: Journal, upTo end: Revision?) throws(RecoveryError) {
        // With durability `snapshot`, a journal has no commits. Its head has the revision of a snapshot that must
        // exist.
        let hasNoCommits = journal.head.durability == .snapshot
        if hasNoCommits { reachedRevision = max(reachedRevision, state.revision) }
        // Ignore the commits of this journal if the next journal continues at or before the beginning of this journal.
        if let end, reachedRevision >= end, !hasNoCommits { return }
        let reader = JournalReader(directory: directory, name: journal.name, isNewest: end == nil)
        let contents = try reader.read(after: reachedRevision, upTo: end) { entry throws(JournalReader.Rejection) in
            guard entry.revision > state.revision else { return }
            guard state.revision == entry.predecessor else {
                throw JournalReader.Rejection(
                    reason:
                        "the commits after revision \(entry.predecessor) up to \(state.revision) are missing before "
                        + "commit \(entry.revision)")
            }
            try apply(entry)
        }
        endsWithCleanStop = contents.endsWithCleanStop
        tornTail = contents.tornTail
        reachedRevision = contents.lastRevision ?? reachedRevision
        if let damage = contents.damage { throw damage }
        // The snapshot may have commits that the journal lost in a crash, because the journal was not synced in time.
        if journal.head.mayLoseAcknowledgedWrites && reachedRevision < state.revision {
            reachedRevision = state.revision
            endsWithCleanStop = false
        }
    }

    private mutating func apply(_ entry: JournalReader.Entry) throws(JournalReader.Rejection) {
        let stateBefore = undoesFailedCommits ? state : nil
        do {
            // A line of a journal omits the values that the commit replaced. The state before the commit contains them.
            try state.apply(state.addingReplacedValues(to: Commit(json: entry.json)))
        } catch {
            if let stateBefore { state = stateBefore }
            throw JournalReader.Rejection(reason: "the commit cannot be applied: \(error)")
        }
        replayedBytes += entry.size
    }

    private func otherEpochError(_ journal: Journal) -> RecoveryError {
        directory.damage(
            journal.name, line: 1,
            "the journal belongs to epoch \(journal.head.epoch), but the older files belong to \(state.epoch)")
    }

    private func gapError(before journal: Journal) -> RecoveryError {
        directory.damage(
            journal.name, line: 1,
            "the journal follows revision \(journal.head.predecessor), but the commits after revision \(reachedRevision) "
                + "are missing")
    }
}
