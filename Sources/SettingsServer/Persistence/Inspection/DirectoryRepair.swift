internal import Platform
package import SettingsAPI
package import SettingsEngine
internal import SettingsModel

/// Makes a directory that no start would take into one that starts: what `settingsd repair` does, or says it would.
///
/// It keeps the longest beginning of the history that is sound, as a snapshot in a new epoch, far above every revision
/// that was ever seen there, so that nothing can be mistaken for what it was. Nothing is deleted: what is of no use any
/// more is moved to names that no start reads.
package struct DirectoryRepair: Sendable {
    /// What came of it.
    package enum Outcome: Sendable {
        /// A start takes the directory as it is.
        case nothingToDo
        /// It was only said what would be done.
        case wouldRepair
        case repaired
    }

    /// What came of it.
    package let outcome: Outcome
    /// What there is to say, for people.
    package let lines: [String]

    /// Looks at the directory and, if so told, takes its lock and repairs it.
    ///
    /// Throws if the directory is in use or cannot be read or written, and if a newer version wrote in it. If it throws
    /// while it repairs, nothing is lost and it can be called again.
    package init(
        _ directory: DataDirectory, limits: History.Limits = History.Limits(), apply: Bool, newEpoch: () -> Epoch
    ) throws(RecoveryError) {
        // Asked first, because to take the lock would make the directory.
        _ = try directory.names()
        let lock = apply ? try DirectoryLock(directory) : nil
        defer { lock?.release() }
        let names = try directory.names()
        let refusal: RecoveryError
        do throws(RecoveryError) {
            let recovered = try Recovery(directory: directory, limits: limits).run()
            outcome = .nothingToDo
            lines =
                ["nothing has to be repaired: a start comes to \(recovered?.state.contents ?? "an empty directory")"]
                + (recovered?.notes.map { "it will say: \($0)" } ?? [])
            return
        } catch {
            guard error.kind == .damaged else { throw error }
            refusal = error
        }
        let epoch = newEpoch()
        let salvage = try Salvage(directory, among: names, limits: limits, epoch: epoch)
        let plan = try Plan(salvage, directory, names, limits, epoch)
        if apply {
            do throws(FileError) {
                try plan.apply()
            } catch {
                throw RecoveryError(error)
            }
        }
        outcome = apply ? .repaired : .wouldRepair
        lines =
            ["a start refuses: \(refusal.place.map { "\($0.file), " } ?? "")\(refusal.reason)"]
            + plan.lines(salvage, isDone: apply)
    }
}

extension DirectoryRepair {
    /// What is to be done.
    private struct Plan {
        let directory: DataDirectory
        /// What is kept, in its new epoch.
        let state: State
        /// The last revision that is kept, by its number in the old epoch.
        let kept: Revision
        /// The files that are moved, with their new names.
        let moves: [(name: String, aside: String)]

        init(
            _ salvage: Salvage, _ directory: DataDirectory, _ names: [String], _ limits: History.Limits, _ epoch: Epoch
        ) throws(RecoveryError) {
            self.directory = directory
            var state = salvage.best?.state ?? State(epoch: epoch, limits: limits)
            kept = state.revision
            let highest = try directory.highestRevision(among: names, from: kept)
            guard let revision = highest.advanced(by: DataDirectory.leap) else {
                throw RecoveryError(.damaged, "\(directory.path): there are no revisions left")
            }
            state.beginEpoch(epoch, at: revision)
            self.state = state
            // What journals have is in the state, or cannot be used: none is needed any more.
            let unusable = Set(salvage.unusable.map(\.name))
            let old = directory.journals(among: names).map(\.name)
            let damaged = directory.snapshots(among: names).map(\.name).filter { unusable.contains($0) }
            moves = (old + damaged).map { ($0, DataDirectory.freeAsideName(of: $0, among: names)) }
        }

        /// The order matters: until the journal stands there is a directory that refuses to start, and can be repaired
        /// again; from then on it starts, whatever was not moved yet.
        func apply() throws(FileError) {
            _ = try SnapshotWriter.write(state, journal: state.revision, in: directory)
            let head = JournalHead(
                epoch: state.epoch, revision: state.revision, after: state.revision, durability: .always)
            do throws(Journal.Unbegun) {
                _ = try Journal(head, generation: 0, in: directory)
            } catch {
                throw error.cause
            }
            for (name, aside) in moves {
                try directory.fileSystem.rename(directory.path(of: name), to: directory.path(of: aside))
            }
            try directory.fileSystem.syncDirectory(directory.path)
        }

        func lines(_ salvage: Salvage, isDone: Bool) -> [String] {
            let would = isDone ? "" : "would be "
            var lines: [String] = []
            if let best = salvage.best {
                lines.append(
                    "\(would)kept: all up to revision \(kept), from \(best.origin ?? "the first journal") on")
                if let end = best.end {
                    lines.append(
                        "\(would)cut: what comes behind: \(end.place.map { "\($0.file), " } ?? "")\(end.reason)")
                }
            } else {
                lines.append("NOTHING can be kept: there is no sound snapshot, and no beginning of the journals")
            }
            if salvage.lost.count > 0 {
                let commits = salvage.lost.count == 1 ? "1 commit" : "\(salvage.lost.count) commits"
                lines.append(
                    "\(isDone ? "" : "would be ")lost: \(commits) that can be read, up to revision "
                        + "\(salvage.lost.last), since what comes before cannot")
            }
            for (name, reason) in salvage.unusable {
                lines.append("\(name) cannot be read as a whole: \(reason)")
            }
            for (name, aside) in moves { lines.append("\(would)moved: \(name) to \(aside)") }
            lines.append("\(would)begun: \(state.contents)")
            return lines
        }
    }
}
