internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// A state with the commits that a chain of journals adds to it, as far as they can be read.
struct Replay {
    /// A journal with its head.
    struct Journal {
        let name: String
        var head: JournalHead
    }

    private(set) var state: State
    /// The head of the newest journal; nil if there is none.
    private(set) var head: JournalHead?
    /// True if the daemon stopped cleanly.
    private(set) var isClosed = false
    private(set) var torn: TornTail?
    /// The bytes of the commits that were applied.
    private(set) var size = 0
    /// The damage that ended the replay. The state is then that of the last commit before it, if the prefix was kept.
    private(set) var damage: RecoveryError?

    private let directory: DataDirectory
    private let keepsPrefix: Bool
    /// The last commit of the journals that were read, which the next one has to follow.
    private var reached: Revision

    /// Replays what the journals have beyond a state. Throws if one cannot be read.
    ///
    /// - Parameters:
    ///   - journals: the journals of the directory, oldest first.
    ///   - keepsPrefix: true if the state has to stay whole also when a commit turns out not to fit, which costs time.
    init(
        _ state: State, _ journals: [Journal], in directory: DataDirectory, keepsPrefix: Bool = false
    ) throws(RecoveryError) {
        self.state = state
        self.directory = directory
        self.keepsPrefix = keepsPrefix
        reached = state.revision
        do throws(RecoveryError) {
            try replay(journals)
        } catch {
            guard error.kind == .damaged else { throw error }
            damage = error
        }
    }

    private mutating func replay(_ journals: [Journal]) throws(RecoveryError) {
        guard var position = try first(of: journals) else { return }
        let first = journals[position]
        if first.head.beginsEpoch && first.head.revision > state.revision {
            try follow(first)
        } else if first.head.epoch != state.epoch {
            throw otherEpoch(first)
        }
        reached = first.head.revision
        while true {
            let next = position + 1 < journals.count ? journals[position + 1] : nil
            try replay(journals[position], upTo: next?.head.after)
            head = journals[position].head
            guard let next else { break }
            try follow(next)
            reached = next.head.revision
            position += 1
        }
        guard reached == state.revision else {
            throw directory.damage(
                journals[position].name, "it ends at revision \(reached), before the snapshot \(state.revision)")
        }
    }

    /// The journal that leads on from the state: the last that begins at or before it, or one that begins an epoch right
    /// behind it. Returns nil if there is no journal at all.
    private func first(of journals: [Journal]) throws(RecoveryError) -> Int? {
        if let index = journals.lastIndex(where: { $0.head.revision <= state.revision }) { return index }
        guard let oldest = journals.first else { return nil }
        guard oldest.head.beginsEpoch && oldest.head.after == state.revision else { throw gap(before: oldest) }
        return 0
    }

    /// Goes over to the next journal, and into the epoch that begins with it.
    private mutating func follow(_ journal: Journal) throws(RecoveryError) {
        guard journal.head.after == reached else { throw gap(before: journal) }
        if journal.head.beginsEpoch {
            guard state.revision == reached else { throw gap(before: journal) }
            state.beginEpoch(journal.head.epoch, at: journal.head.revision)
        } else if journal.head.epoch != state.epoch {
            throw otherEpoch(journal)
        }
    }

    private mutating func replay(_ journal: Journal, upTo end: Revision?) throws(RecoveryError) {
        // With durability `snapshot`, journals have no commits: they only say that the daemon ran.
        let isMark = journal.head.durability == .snapshot
        if isMark { reached = max(reached, state.revision) }
        if let end, reached >= end, !isMark { return }
        let reader = JournalReader(directory: directory, name: journal.name, isNewest: end == nil)
        let contents = try reader.read(after: reached, upTo: end) { entry throws(JournalReader.Refusal) in
            guard entry.revision > state.revision else { return }
            guard state.revision == entry.after else {
                throw JournalReader.Refusal(reason: "revision \(state.revision) is not in the journal")
            }
            try apply(entry)
        }
        isClosed = contents.isClosed
        torn = contents.torn
        reached = contents.last ?? reached
        if let damage = contents.damage { throw damage }
        // What a crash took of such a journal may be in the snapshot all the same.
        if journal.head.mayLose && reached < state.revision {
            reached = state.revision
            isClosed = false
        }
    }

    private mutating func apply(_ entry: JournalReader.Entry) throws(JournalReader.Refusal) {
        let whole = keepsPrefix ? state : nil
        do {
            try state.apply(state.completed(Commit(json: entry.json)))
        } catch {
            if let whole { state = whole }
            throw JournalReader.Refusal(reason: "the commit cannot be applied: \(error)")
        }
        size += entry.size
    }

    private func otherEpoch(_ journal: Journal) -> RecoveryError {
        directory.damage(
            journal.name, line: 1, "it belongs to epoch \(journal.head.epoch), and what came before to \(state.epoch)")
    }

    private func gap(before journal: Journal) -> RecoveryError {
        directory.damage(
            journal.name, line: 1,
            "it follows revision \(journal.head.after), but what came before ends at \(reached): what lies between is missing"
        )
    }
}
