internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// From a data directory to the state that it holds: the newest snapshot, and what the journals have beyond it.
///
/// Reads only. What has to be done with what it finds is done by whoever opens the directory.
struct Recovery {
    let directory: DataDirectory
    let limits: History.Limits

    /// Reads the directory; nil if nothing was ever kept in it.
    func run() throws(RecoveryError) -> Recovered? {
        let names = try list()
        _ = try NewestJournal.check(directory, among: names)
        let links = try links(among: names)
        let snapshots = directory.snapshots(among: names)
        guard !links.isEmpty || !snapshots.isEmpty else { return nil }
        var recovered = try run(links, snapshots)
        if let torn = recovered.torn {
            recovered.notes.append(
                .information(
                    "\(torn.name) ends in the middle of a commit that was never acknowledged, at byte \(torn.offset)"))
        }
        return recovered
    }

    /// Tries one beginning after the other: the newest snapshot, and what is before it only if it is damaged and the
    /// journals lead from there to it and on.
    private func run(
        _ links: [JournalChain.Link], _ snapshots: [DataDirectory.Numbered]
    ) throws(RecoveryError) -> Recovered {
        let chain = JournalChain(directory: directory, links: links)
        var damaged: [(name: String, reason: String)] = []
        var failure: RecoveryError?
        for snapshot in snapshots.reversed() {
            let found: Snapshot
            do throws(SnapshotError) {
                found = try SnapshotReader.read(snapshot, in: directory, limits: limits)
            } catch {
                let reason = try damage(error, in: snapshot)
                failure = failure ?? reason
                damaged.append((snapshot.name, error.description))
                continue
            }
            var start = Recovered(found.state, snapshot: found.state.revision)
            start.lacksJournal = !links.contains { $0.head.revision >= found.journal }
            if start.lacksJournal {
                start.notes.append(
                    .warning(
                        "\(snapshot.name) goes on in \(DataDirectory.journalName(after: found.journal)), which is missing "
                            + "with all that was committed there"))
            }
            return try go(from: start, chain, past: snapshots.last, failure, damaged)
        }
        guard let first = links.first, first.head.after == .zero else {
            throw failure
                ?? directory.damage(links.first?.name ?? "", "there is no snapshot that the journals lead on from")
        }
        // The history begins with the first journal.
        let beginning = State(epoch: first.head.epoch, revision: first.head.revision, limits: limits)
        return try go(from: Recovered(beginning), chain, past: snapshots.last, failure, damaged)
    }

    private func go(
        from start: Recovered, _ chain: JournalChain, past newest: DataDirectory.Numbered?, _ failure: RecoveryError?,
        _ damaged: [(name: String, reason: String)]
    ) throws(RecoveryError) -> Recovered {
        var recovered = start
        recovered.damagedSnapshots = damaged
        guard let failure else {
            try chain.replay(onto: &recovered)
            return recovered
        }
        do {
            try chain.replay(onto: &recovered)
        } catch {
            throw RecoveryError(
                .damaged, "\(failure) (what is before it does not help: \(error))", place: failure.place)
        }
        guard let newest, recovered.state.revision >= newest.revision else { throw failure }
        let origin = start.snapshot.map(DataDirectory.snapshotName(at:)) ?? "the first journal"
        for snapshot in damaged {
            recovered.notes.append(
                .warning(
                    "\(snapshot.name) is damaged (\(snapshot.reason)); went back to \(origin) and the journals since"))
        }
        return recovered
    }

    /// The journals with their heads, oldest first.
    private func links(among names: [String]) throws(RecoveryError) -> [JournalChain.Link] {
        var links: [JournalChain.Link] = []
        for file in directory.journals(among: names) {
            let head = try JournalReader(directory: directory, name: file.name).head()
            links.append(JournalChain.Link(name: file.name, head: head))
        }
        return links
    }

    func list() throws(RecoveryError) -> [String] {
        do {
            return try directory.fileSystem.list(directory.path)
        } catch {
            throw RecoveryError(error)
        }
    }

    /// What the directory's damage is if a snapshot is; throws what is no damage.
    private func damage(
        _ error: SnapshotError, in snapshot: DataDirectory.Numbered
    ) throws(RecoveryError) -> RecoveryError {
        switch error {
        case .file(let error): throw RecoveryError(error)
        case .fromTheFuture(let format): throw .fromTheFuture(directory.path(of: snapshot.name), format: format)
        case .damaged(let line, let offset, let reason):
            return directory.damage(snapshot.name, line: line, offset: offset, reason)
        }
    }
}
