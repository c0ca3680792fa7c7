internal import Platform
internal import SettingsAPI
package import SettingsEngine
internal import SettingsModel

/// A report on a data directory, which is only read: what `settingsd check` prints.
///
/// A daemon that runs there meanwhile goes on; what it is just writing may look like a torn end.
package struct DirectoryCheck: Sendable {
    package enum Verdict: Sendable {
        /// Everything is as it was written.
        case sound
        /// The newest journal ends in lines that were being written; a start cuts them off by itself.
        case torn
        /// A file is not as it was written, or missing.
        case damaged
    }

    package private(set) var verdict = Verdict.sound
    /// The report: a line a file, then the outcome of a start.
    package private(set) var lines: [String] = []

    private let directory: DataDirectory
    private let limits: History.Limits

    /// Reads the directory. Throws if it cannot be read, or if it is not a data directory.
    package init(_ directory: DataDirectory, limits: History.Limits = History.Limits()) throws(RecoveryError) {
        self.directory = directory
        self.limits = limits
        let listing = try directory.reading { () throws(FileError) in try directory.list() }
        guard listing.isOfDaemon else {
            throw RecoveryError(
                .inaccessible,
                "cannot check \(directory.path): it is not a data directory, because it has no file of a daemon; name the "
                    + "data directory of a daemon")
        }
        for file in listing.snapshots { try add(snapshot: file) }
        try add(journals: listing.journals)
        for file in listing.past { try add(past: file) }
        try add(newestIn: listing)
        try add(othersIn: listing)
        try addOutcome()
    }

    private func size(of name: String) throws(RecoveryError) -> Int {
        try directory.reading { () throws(FileError) in try directory.fileSystem.status(directory.path(of: name)).size }
    }

    private mutating func add(snapshot file: DataDirectory.Numbered) throws(RecoveryError) {
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

    private mutating func add(journals: [DataDirectory.Numbered]) throws(RecoveryError) {
        var next: JournalHead?
        var told: [String] = []
        for (position, file) in journals.reversed().enumerated() {
            let (text, head) = try describe(file.name, before: next, isNewest: position == 0)
            told.append("\(file.name): \(try size(of: file.name)) bytes, \(text)")
            next = head
        }
        lines += told.reversed()
    }

    /// Describes a journal by itself.
    ///
    /// - Parameter next: the head of the journal behind it: what this one has beyond its beginning does not count.
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
        var found = JournalReader.Contents()
        if next.map({ head.revision < $0.after }) ?? true {
            // With snapshots alone there are no commits in journals, which then follow none.
            let start = head.durability == .snapshot ? nil : head.revision
            found = try reader.read(after: start, upTo: next?.after) { entry throws(JournalReader.Refusal) in
                do throws(BodyError) {
                    _ = try Commit(json: entry.json)
                } catch {
                    throw JournalReader.Refusal(reason: "the commit is not understood: \(error)")
                }
            }
        }
        var text = "epoch \(head.epoch), durability \(head.durability.rawValue), "
        text += found.commits == 1 ? "1 commit" : "\(found.commits) commits"
        text += " after \(head.revision)"
        if let last = found.last, found.commits > 0 { text += " up to \(last)" }
        if let damage = found.damage {
            verdict = .damaged
            text += ", DAMAGED: \(damage.reason)"
        } else if let torn = found.torn {
            if verdict == .sound { verdict = .torn }
            text += ", TORN at byte \(torn.offset): what is behind was never acknowledged, and a start cuts it"
        } else {
            text += found.isClosed ? ", closed by a clean stop, sound" : ", sound"
        }
        return (text, head)
    }

    private mutating func add(past name: DataDirectory.PastName) throws(RecoveryError) {
        var text = "\(name.name): \(try size(of: name.name)) bytes, "
        do throws(RecoveryError) {
            let file = try PastReader.index(name, in: directory)
            let count = try PastReader(file, in: directory).check()
            text += "\(count) commits after \(file.from) up to \(file.to), sound"
        } catch {
            guard error.kind != .inaccessible else { throw error }
            verdict = .damaged
            text += "DAMAGED: \(error.reason)"
        }
        lines.append(text)
    }

    private mutating func add(newestIn listing: DataDirectory.Listing) throws(RecoveryError) {
        do throws(RecoveryError) {
            guard let newest = try directory.newestJournal(in: listing) else { return }
            lines.append("\(DataDirectory.newestName): names \(newest), sound")
        } catch {
            guard error.kind == .damaged else { throw error }
            verdict = .damaged
            lines.append(
                "\(DataDirectory.newestName): DAMAGED: \(error.place.map { "\($0.file): " } ?? "")\(error.reason)")
        }
    }

    private mutating func add(othersIn listing: DataDirectory.Listing) throws(RecoveryError) {
        let known = Set((listing.snapshots + listing.journals).map(\.name) + listing.past.map(\.name))
        let unfinished = Set(listing.temporaries)
        let own = [
            DataDirectory.lockName, DataDirectory.newestName, DataDirectory.auditName, DataDirectory.tokenUseName,
        ]
        for name in listing.names where !known.contains(name) && !own.contains(where: { name.hasSameBytes(as: $0) }) {
            let what =
                if unfinished.contains(name) {
                    "left behind while it was written; a start removes it"
                } else if name.hasPrefix(DataDirectory.asidePrefix) {
                    "set aside; no start reads it"
                } else {
                    "not of settingsd; no start reads it"
                }
            lines.append("\(name): \(try size(of: name)) bytes, \(what)")
        }
    }

    /// Adds the outcome of a start.
    private mutating func addOutcome() throws(RecoveryError) {
        do throws(RecoveryError) {
            guard let recovery = try Recovery(of: directory, limits: limits) else {
                lines.append("nothing is kept here yet")
                return
            }
            lines.append("a start comes to \(recovery.state.summary)")
            lines.append(
                recovery.isClosed
                    ? "the last stop was a clean one"
                    : "no clean stop has closed it: a daemon runs, was killed, or has never run here")
            if recovery.lacksJournal { verdict = .damaged }
            lines += recovery.notes.map { "it will say: \($0)" }
            if recovery.isCopy {
                lines.append("this is a copy of another data directory: a start begins a new epoch")
            } else if recovery.mustBeginEpoch {
                lines.append("acknowledged writes may be missing: a start begins a new epoch")
            }
        } catch {
            guard error.kind != .inaccessible else { throw error }
            verdict = .damaged
            lines.append("a start refuses: \(error)")
        }
    }
}
