internal import SettingsModel

/// What was found in a data directory, and what it came to.
package struct Recovered: Sendable {
    /// The state to go on from.
    package var state: State
    /// What an operator should know of how it came about.
    package var notes: [String] = []
    /// Whether a new epoch began, because the directory is new or because acknowledged writes may be missing.
    package var beganEpoch = false
    /// How many bytes of journals were replayed: how far the newest snapshot is behind.
    var replayed = 0
}

/// From a data directory to the state that it holds: the newest snapshot, and what the journals have beyond it.
///
/// Reads only, except for the tail of a journal that was torn, which is set aside and cut.
struct Recovery {
    /// How far a new epoch is ahead of what was recovered, so that no revision is ever given out twice.
    static let leap: Int64 = 1_000_000_000

    let directory: DataDirectory
    let limits: History.Limits
    /// Whether a torn tail is set aside and cut; else it is only told of.
    var cuts = true

    /// A journal with its head.
    private struct Journal {
        let name: String
        let head: JournalHead
    }

    func run(newEpoch: () -> Epoch) throws(RecoveryError) -> Recovered {
        let names = try list()
        var notes: [String] = []
        let journals = try journals(among: names, &notes)
        let snapshots = directory.snapshots(among: names)
        guard !journals.isEmpty || !snapshots.isEmpty else {
            var fresh = Recovered(state: State(epoch: newEpoch(), limits: limits))
            fresh.beganEpoch = true
            fresh.notes = ["the directory is new"]
            return fresh
        }
        var recovered = try start(snapshots, journals, &notes)
        recovered.notes = notes
        let isClosed = try replay(journals, onto: &recovered)
        guard let newest = journals.last, newest.head.durability == .always || isClosed else {
            return try leap(recovered, to: newEpoch())
        }
        return recovered
    }

    private func list() throws(RecoveryError) -> [String] {
        do {
            return try directory.fileSystem.list(directory.path)
        } catch {
            throw RecoveryError(error)
        }
    }

    /// The journals with their heads, oldest first. The newest may have been torn before its head was complete: then
    /// nothing was written to it yet.
    private func journals(among names: [String], _ notes: inout [String]) throws(RecoveryError) -> [Journal] {
        var journals: [Journal] = []
        let files = directory.journals(among: names)
        for (position, file) in files.enumerated() {
            let isNewest = position == files.count - 1
            let head = try JournalReplay(directory: directory, name: file.name, last: nil).head()
            if let head, head.after == file.revision {
                journals.append(Journal(name: file.name, head: head))
            } else if head == nil, isNewest {
                notes.append("\(file.name) is empty and left out")
            } else {
                throw RecoveryError(
                    .damaged,
                    "\(directory.path(of: file.name)): it does not begin as a journal of this name; look with "
                        + "'settingsd check \(directory.path)'")
            }
        }
        return journals
    }

    /// Where to begin: the newest snapshot, or the one before if that is damaged and the journals since are all there.
    private func start(
        _ snapshots: [DataDirectory.Numbered], _ journals: [Journal], _ notes: inout [String]
    ) throws(RecoveryError) -> Recovered {
        var damage: [String] = []
        for file in snapshots.reversed() {
            do {
                let state = try SnapshotReader.read(file.name, in: directory, limits: limits)
                guard state.revision == file.revision else {
                    throw SnapshotError("it is of revision \(state.revision)")
                }
                if let newest = damage.first {
                    guard journals.contains(where: { $0.head.after <= state.revision }) else { break }
                    notes.append("\(newest); went back to \(file.name) and the journals since")
                }
                return Recovered(state: state)
            } catch let error as FutureFormat {
                throw RecoveryError(
                    .fromTheFuture,
                    "\(directory.path(of: file.name)): \(error); run that version, or use another directory")
            } catch {
                damage.append("\(directory.path(of: file.name)): \(error)")
            }
        }
        // The history may begin with the first journal.
        if let first = journals.first, first.head.after == .zero {
            if let newest = damage.first { notes.append("\(newest); went back to the first journal") }
            return Recovered(state: State(epoch: first.head.epoch, limits: limits))
        }
        throw RecoveryError(
            .damaged,
            (damage.isEmpty
                ? "\(directory.path): there is no snapshot that the journals follow" : damage.joined(separator: "; "))
                + "; look with 'settingsd check \(directory.path)', restore a copy, or have "
                + "'settingsd repair \(directory.path)' cut what cannot be read")
    }

    /// Replays what the journals have beyond the state, and says whether the daemon stopped as it should.
    private func replay(_ journals: [Journal], onto recovered: inout Recovered) throws(RecoveryError) -> Bool {
        let base = recovered.state.revision
        // Journals of an earlier history end before the snapshot that began this one.
        let journals = journals.filter { $0.head.epoch == recovered.state.epoch || $0.head.after >= base }
        guard let first = journals.lastIndex(where: { $0.head.after <= base }) else {
            guard journals.isEmpty else { throw gap(journals[0].name, recovered.state) }
            return false
        }
        var isClosed = false
        for position in first..<journals.count {
            let journal = journals[position]
            let next = position + 1 < journals.count ? journals[position + 1].head.after : nil
            guard journal.head.epoch == recovered.state.epoch else {
                throw RecoveryError(
                    .damaged,
                    "\(directory.path(of: journal.name)): it belongs to another history, \(journal.head.epoch)")
            }
            guard journal.head.after <= recovered.state.revision else { throw gap(journal.name, recovered.state) }
            isClosed = try replay(journal, upTo: next, onto: &recovered)
        }
        return isClosed
    }

    private func gap(_ journal: String, _ state: State) -> RecoveryError {
        RecoveryError(
            .damaged,
            "\(directory.path(of: journal)): it does not follow revision \(state.revision): what lies between is missing; "
                + "restore it, or have 'settingsd repair \(directory.path)' cut what cannot be read")
    }

    private func replay(
        _ journal: Journal, upTo last: Revision?, onto recovered: inout Recovered
    ) throws(RecoveryError) -> Bool {
        var state = recovered.state
        var isClosed = false
        var replayed = 0
        // What comes behind the last commit that was published is not even read: it may be anything.
        if let last, state.revision >= last { return false }
        let replay = JournalReplay(directory: directory, name: journal.name, last: last)
        // Taken out, so that there is one owner and nothing is copied while commits are applied.
        recovered.state = State(epoch: state.epoch, limits: limits)
        let tail = try replay.read { line, size throws(CommitMismatch) in
            isClosed = false
            replayed += size
            switch line {
            case .head: return true
            case .closed:
                isClosed = true
                return true
            case .commit(let commit, let after, _):
                if commit.revision <= state.revision { return true }
                if let last, commit.revision > last { return false }
                guard after == state.revision else {
                    throw CommitMismatch("commit \(commit.revision) follows \(after), not \(state.revision)")
                }
                try state.apply(commit, size: size)
                return last.map { state.revision < $0 } ?? true
            }
        }
        recovered.state = state
        recovered.replayed += replayed
        guard case .torn(let offset) = tail else { return isClosed }
        guard last == nil else {
            throw RecoveryError(
                .damaged, "\(directory.path(of: journal.name)): it ends in the middle of a line, at byte \(offset)")
        }
        try cut(journal, at: offset, &recovered)
        return false
    }

    /// Sets a torn tail aside and cuts it. It was never acknowledged.
    private func cut(_ journal: Journal, at offset: Int, _ recovered: inout Recovered) throws(RecoveryError) {
        recovered.notes.append(
            "\(journal.name) ends in the middle of a commit that was never acknowledged, at byte \(offset)")
        guard cuts else { return }
        do throws(FileError) {
            let path = directory.path(of: journal.name)
            let size = try directory.fileSystem.status(path).size
            let file = try OpenFile(path, .writing, in: directory.fileSystem)
            var tail = [UInt8](repeating: 0, count: min(size - offset, 16 << 20))
            var failure: FileError?
            tail.withUnsafeMutableBytes { bytes in
                do throws(FileError) { _ = try file.read(at: offset, into: bytes) } catch { failure = error }
            }
            if let failure { throw failure }
            let aside = "torn-\(recovered.state.revision)-\(offset).bin"
            let copy = try OpenFile(directory.path(of: aside), .replacing, in: directory.fileSystem)
            try copy.write(tail.span, at: 0)
            try copy.sync()
            try file.truncate(to: offset)
            try file.sync()
            recovered.notes.append("it was cut there, and what was cut is in \(aside)")
        } catch {
            throw RecoveryError(error)
        }
    }

    /// Acknowledged writes may be missing: no cursor from before may be believed.
    private func leap(_ recovered: Recovered, to epoch: Epoch) throws(RecoveryError) -> Recovered {
        guard let revision = recovered.state.revision.advanced(by: Self.leap) else {
            throw RecoveryError(.damaged, "\(directory.path): there are no revisions left")
        }
        var recovered = recovered
        recovered.state.beginEpoch(epoch, at: revision)
        recovered.beganEpoch = true
        recovered.notes.append(
            "the last stop was not a clean one and writes may be missing: a new epoch begins, \(epoch)")
        return recovered
    }
}
