internal import Platform
internal import SettingsAPI
package import SettingsEngine
internal import SettingsModel

/// The report that `settingsd check` prints about the snapshots (files with a complete state), journals (one line for
/// each commit) and past files (older commits) of a data directory. An epoch is the name of one history: clients can
/// compare revisions of one epoch only. The check changes nothing. If a daemon uses the directory at the same time,
/// the check may report a write in progress as a torn end.
package struct DirectoryCheck: Sendable {
    package enum Verdict: Sendable {
        /// No file is damaged.
        case sound
        /// The newest journal ends with incomplete lines, as after a crash. The next start removes these lines.
        case torn
        /// A file was changed after it was written, or is missing.
        case damaged
    }

    package private(set) var verdict = Verdict.sound
    /// The report: one line for each file, then lines with the expected result of a start.
    package private(set) var lines: [String] = []

    private let directory: DataDirectory
    private let limits: History.Limits

    /// Reads the directory. Throws if it cannot be read, or if it is not a data directory.
    package init(_ directory: DataDirectory, limits: History.Limits = History.Limits()) throws(RecoveryError) {
        self.directory = directory
        self.limits = limits
        let listing = try directory.mapErrors { () throws(FileError) in try directory.list() }
        guard listing.hasDaemonFiles else {
            throw RecoveryError(
                .inaccessible,
                "cannot check \(directory.path): it is not a data directory, because it has no file of a daemon; use "
                    + "the data directory of a daemon")
        }
        for file in listing.snapshots { try add(snapshot: file) }
        try add(journals: listing.journals)
        for file in listing.pastFiles { try add(pastFile: file) }
        try add(newestIn: listing)
        try add(otherFilesIn: listing)
        try addOutcome()
    }

    private func size(of name: String) throws(RecoveryError) -> Int {
        let path = directory.path(of: name)
        return try directory.mapErrors { () throws(FileError) in try directory.fileSystem.status(path).size }
    }

    private mutating func add(snapshot file: DataDirectory.NumberedFile) throws(RecoveryError) {
        var text = "\(file.name): \(try size(of: file.name)) bytes, "
        do throws(RecoveryError) {
            text += "\(try SnapshotReader.read(file, in: directory, limits: limits).state.summary), sound"
        } catch {
            guard error.kind != .inaccessible else { throw error }
            verdict = .damaged
            text += "DAMAGED: \(error.reason)"
        }
        lines.append(text)
    }

    private mutating func add(journals: [DataDirectory.NumberedFile]) throws(RecoveryError) {
        var next: JournalHead?
        var descriptions: [String] = []
        for (position, file) in journals.reversed().enumerated() {
            let (text, head) = try describe(file.name, before: next, isNewest: position == 0)
            descriptions.append("\(file.name): \(try size(of: file.name)) bytes, \(text)")
            next = head
        }
        lines += descriptions.reversed()
    }

    /// Describes a journal, and returns its head (first line); nil if the head is damaged.
    ///
    /// - Parameter next: the head of the next journal; nil if the head is missing or damaged. The next journal
    ///   continues after the revision in its `predecessor`. Recovery ignores the commits of this journal after that
    ///   revision: readers never saw these commits, because their flush failed, or the next journal repeats them.
    private mutating func describe(
        _ name: String, before next: JournalHead?, isNewest: Bool
    ) throws(RecoveryError) -> (String, JournalHead?) {
        let reader = JournalReader(directory: directory, name: name, isNewest: isNewest)
        let head: JournalHead
        do throws(RecoveryError) {
            head = try reader.head()
        } catch {
            guard error.kind != .inaccessible else { throw error }
            verdict = .damaged
            return ("DAMAGED: \(error.reason)", nil)
        }
        var contents = JournalReader.Contents()
        // If the next journal continues at or before the beginning of this journal, recovery ignores all commits of
        // this journal.
        if next.map({ head.revision < $0.predecessor }) ?? true {
            // With durability `snapshot`, the only other line of a journal is the mark of a clean stop. It may follow a
            // commit that only a snapshot has, so `nil` accepts any commit as the predecessor of the line.
            let start = head.durability == .snapshot ? nil : head.revision
            contents = try reader.read(after: start, upTo: next?.predecessor) { entry throws(JournalReader.Rejection) in
                do throws(BodyError) {
                    _ = try Commit(json: entry.json)
                } catch {
                    throw JournalReader.Rejection(reason: "the commit cannot be decoded: \(error)")
                }
            }
        }
        var text = "epoch \(head.epoch), durability \(head.durability.rawValue), "
        text += contents.commitCount == 1 ? "1 commit" : "\(contents.commitCount) commits"
        text += " after revision \(head.revision)"
        if let last = contents.lastRevision, contents.commitCount > 0 { text += " up to \(last)" }
        if let damage = contents.damage {
            verdict = .damaged
            text += ", DAMAGED: \(damage.reason)"
        } else if let tornTail = contents.tornTail {
            if verdict == .sound { verdict = .torn }
            text += ", TORN at byte \(tornTail.offset): incomplete writes, which the next start removes"
        } else {
            text += contents.endsWithCleanStop ? ", ends with a clean stop, sound" : ", sound"
        }
        return (text, head)
    }

    private mutating func add(pastFile name: DataDirectory.PastFileName) throws(RecoveryError) {
        var text = "\(name.name): \(try size(of: name.name)) bytes, "
        do throws(RecoveryError) {
            let file = try PastReader.index(name, in: directory)
            let count = try PastReader(file, in: directory).verify()
            text += "\(count) commits after revision \(file.from) up to \(file.to), sound"
        } catch {
            guard error.kind != .inaccessible else { throw error }
            verdict = .damaged
            text += "DAMAGED: \(error.reason)"
        }
        lines.append(text)
    }

    /// Adds the line about `NEWEST`, the file that names the newest journal.
    private mutating func add(newestIn listing: DataDirectory.Listing) throws(RecoveryError) {
        do throws(RecoveryError) {
            guard let newest = try directory.newestJournal(in: listing) else { return }
            lines.append("\(DataDirectory.newestName): names \(newest), sound")
        } catch {
            guard error.kind == .damaged else { throw error }
            verdict = .damaged
            lines.append(
                "\(DataDirectory.newestName): DAMAGED: \(error.location.map { "\($0.file): " } ?? "")\(error.reason)")
        }
    }

    private mutating func add(otherFilesIn listing: DataDirectory.Listing) throws(RecoveryError) {
        let known = Set((listing.snapshots + listing.journals).map(\.name) + listing.pastFiles.map(\.name))
        let unfinished = Set(listing.temporaries)
        let fixed = [
            DataDirectory.lockName, DataDirectory.newestName, DataDirectory.auditName, DataDirectory.tokenUseName,
        ]
        for name in listing.names where !known.contains(name) && !fixed.contains(where: { name.hasSameBytes(as: $0) }) {
            let description =
                if unfinished.contains(name) {
                    "an unfinished file; the next start removes it"
                } else if name.hasPrefix(DataDirectory.setAsidePrefix) {
                    "set aside by an earlier start or repair; the daemon does not read it"
                } else {
                    "not a file of settingsd; the daemon does not read it"
                }
            lines.append("\(name): \(try size(of: name)) bytes, \(description)")
        }
    }

    /// Adds lines that say how a start of the daemon would end.
    private mutating func addOutcome() throws(RecoveryError) {
        do throws(RecoveryError) {
            guard let recovery = try Recovery(of: directory, limits: limits) else {
                lines.append("the directory has no data yet")
                return
            }
            lines.append("a start would recover \(recovery.state.summary)")
            lines.append(
                recovery.endsWithCleanStop
                    ? "the last stop was clean"
                    : "there was no clean stop: a daemon is running, was killed, or has never run here")
            if recovery.lacksJournal { verdict = .damaged }
            lines += recovery.notes.map { "the start would log: \($0)" }
            let effect = "a start would begin a new epoch, so cursors that clients have would become invalid"
            if recovery.isCopy {
                lines.append("this is a copy of another data directory: \(effect)")
            } else if recovery.mustBeginEpoch {
                lines.append("acknowledged writes may be missing: \(effect)")
            }
        } catch {
            guard error.kind != .inaccessible else { throw error }
            verdict = .damaged
            lines.append("a start would fail: \(error)")
        }
    }
}
