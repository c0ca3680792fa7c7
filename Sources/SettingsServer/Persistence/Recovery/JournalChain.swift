internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// The journals of a directory, each leading on from the one before.
struct JournalChain {
    /// A journal with its head.
    struct Link {
        let name: String
        let head: JournalHead
    }

    let directory: DataDirectory
    /// Oldest first.
    let links: [Link]
    /// Whether the state must stay whole if a commit turns out not to fit, for somebody who keeps what comes before it.
    var keepsPrefix = false

    /// Replays what the journals have beyond a state. If it throws, the state is that of the last commit before what is
    /// wrong, provided that ``keepsPrefix`` is set.
    func replay(onto recovered: inout Recovered) throws(RecoveryError) {
        guard var position = try first(for: recovered.state) else { return }
        var reached = links[position].head.revision
        if links[position].head.beginsEpoch && reached > recovered.state.revision {
            try follow(links[position], reached: recovered.state.revision, &recovered)
        } else if links[position].head.epoch != recovered.state.epoch {
            throw directory.damage(
                links[position].name, line: 1,
                "it belongs to epoch \(links[position].head.epoch), and what came before to \(recovered.state.epoch)")
        }
        while true {
            let next = position + 1 < links.count ? links[position + 1] : nil
            try replay(links[position], upTo: next?.head.after, &reached, &recovered)
            recovered.head = links[position].head
            guard let next else { break }
            try follow(next, reached: reached, &recovered)
            reached = next.head.revision
            position += 1
        }
        guard reached == recovered.state.revision else {
            throw directory.damage(
                links[position].name, "it ends at revision \(reached), before the snapshot \(recovered.state.revision)")
        }
        recovered.last = reached
    }

    /// The journal that leads on from a state, nil if there is none at all: the last that begins at or before it, or one
    /// that begins an epoch right behind it.
    private func first(for state: State) throws(RecoveryError) -> Int? {
        if let index = links.lastIndex(where: { $0.head.revision <= state.revision }) { return index }
        guard let oldest = links.first else { return nil }
        guard oldest.head.beginsEpoch && oldest.head.after == state.revision else { throw gap(oldest, state.revision) }
        return 0
    }

    /// Goes over to the next journal.
    private func follow(
        _ link: Link, reached: Revision, _ recovered: inout Recovered
    ) throws(RecoveryError) {
        guard link.head.after == reached else { throw gap(link, reached) }
        if link.head.beginsEpoch {
            guard recovered.state.revision == reached else { throw gap(link, reached) }
            recovered.state.beginEpoch(link.head.epoch, at: link.head.revision)
        } else if link.head.epoch != recovered.state.epoch {
            throw directory.damage(
                link.name, line: 1,
                "it belongs to epoch \(link.head.epoch), and what came before to \(recovered.state.epoch)")
        }
    }

    private func gap(_ link: Link, _ reached: Revision) -> RecoveryError {
        directory.damage(
            link.name, line: 1,
            "it follows revision \(link.head.after), but what came before ends at \(reached): what lies between is missing"
        )
    }

    private func replay(
        _ link: Link, upTo last: Revision?, _ reached: inout Revision, _ recovered: inout Recovered
    ) throws(RecoveryError) {
        let reader = JournalReader(directory: directory, name: link.name, isNewest: last == nil)
        // With snapshots alone, journals only tell that the daemon ran; commits are nowhere but in snapshots.
        if link.head.durability == .snapshot { reached = max(reached, recovered.state.revision) }
        if let last, reached >= last, link.head.durability != .snapshot { return }
        recovered.isClosed = false
        recovered.torn = try reader.read { found throws(RecoveryError) in
            recovered.isClosed = false
            guard found.entry.after == reached else {
                throw reader.damage("the line follows revision \(found.entry.after), not \(reached)", at: found)
            }
            guard case .commit(let json, let revision) = found.entry.content else {
                recovered.isClosed = true
                return true
            }
            guard revision > reached, last.map({ revision <= $0 }) ?? true else {
                throw reader.damage("commit \(revision) has no place after \(reached)", at: found)
            }
            if revision > recovered.state.revision {
                guard recovered.state.revision == reached else {
                    throw reader.damage("revision \(recovered.state.revision) is not in the journal", at: found)
                }
                try apply(json, found, reader, &recovered)
            }
            reached = revision
            return last.map { reached < $0 } ?? true
        }
        if recovered.torn != nil { recovered.isClosed = false }
        // What a crash took of such a journal may be in the snapshot all the same.
        if link.head.mayLose && reached < recovered.state.revision {
            reached = recovered.state.revision
            recovered.isClosed = false
        }
    }

    private func apply(
        _ json: JSONValue, _ found: JournalReader.Entry, _ reader: JournalReader, _ recovered: inout Recovered
    ) throws(RecoveryError) {
        let whole = keepsPrefix ? recovered.state : nil
        do {
            try recovered.state.apply(Commit(json: json))
        } catch {
            if let whole { recovered.state = whole }
            throw reader.damage("the commit cannot be applied: \(error)", at: found)
        }
        recovered.replayed += found.size
        recovered.replayedCommits += 1
        recovered.last = recovered.state.revision
    }
}
