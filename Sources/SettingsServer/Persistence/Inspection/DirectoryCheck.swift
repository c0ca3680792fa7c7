internal import Platform
package import SettingsEngine
internal import SettingsModel

/// What is in a data directory, read without taking it or changing anything: what `settingsd check` prints.
///
/// A daemon that runs there meanwhile goes on; what it is just writing may look like a torn end.
package struct DirectoryCheck: Sendable {
    /// How the directory is.
    package enum Verdict: Sendable {
        /// Everything is as it was written.
        case sound
        /// Something was being written when somebody stopped; a start sees to it by itself.
        case torn
        /// Something is not as it was written, or missing.
        case damaged
    }

    /// How the directory is.
    package let verdict: Verdict
    /// What there is to say, for people: a line a file, then what a start would come to.
    package let lines: [String]

    /// Reads the directory. Throws if the system does not let it.
    package init(_ directory: DataDirectory, limits: History.Limits = History.Limits()) throws(RecoveryError) {
        let names = try directory.names()
        var report = Report(directory: directory)
        try report.add(snapshotsAmong: names, limits)
        for survey in try directory.surveyJournals(among: names) { report.add(survey) }
        try report.add(newestAmong: names)
        try report.add(othersAmong: names)
        try report.addOutcome(limits)
        verdict = report.verdict
        lines = report.lines
    }
}

extension DirectoryCheck {
    /// The lines as they come together.
    private struct Report {
        let directory: DataDirectory
        var verdict = Verdict.sound
        var lines: [String] = []

        mutating func add(snapshotsAmong names: [String], _ limits: History.Limits) throws(RecoveryError) {
            for file in directory.snapshots(among: names) {
                let size = try directory.size(of: file.name)
                do throws(SnapshotError) {
                    let state = try SnapshotReader.read(file, in: directory, limits: limits).state
                    lines.append("\(file.name): \(size) bytes, \(state.contents), sound")
                } catch {
                    if case .file(let error) = error { throw RecoveryError(error) }
                    verdict = .damaged
                    lines.append("\(file.name): \(size) bytes, DAMAGED: \(error.description)")
                }
            }
        }

        mutating func add(_ survey: JournalSurvey) {
            var text = "\(survey.name): \(survey.size) bytes"
            if let head = survey.head {
                text += ", epoch \(head.epoch), durability \(head.durability.rawValue), "
                text += survey.commits == 1 ? "1 commit" : "\(survey.commits) commits"
                text += " after \(head.revision)" + (survey.commits > 0 ? " up to \(survey.last)" : "")
            }
            switch survey.trouble {
            case nil: text += survey.isClosed ? ", closed by a clean stop, sound" : ", sound"
            case .torn(let offset)?:
                if verdict == .sound { verdict = .torn }
                text += ", TORN at byte \(offset): what is behind was never acknowledged, and a start cuts it"
            case .damaged(let error)?:
                verdict = .damaged
                text += ", DAMAGED: \(error.reason)"
            }
            lines.append(text)
        }

        mutating func add(newestAmong names: [String]) throws(RecoveryError) {
            do throws(RecoveryError) {
                guard let newest = try NewestJournal.check(directory, among: names) else { return }
                lines.append("\(NewestJournal.name): names \(DataDirectory.journalName(after: newest)), sound")
            } catch {
                guard error.kind == .damaged else { throw error }
                verdict = .damaged
                lines.append(
                    "\(NewestJournal.name): DAMAGED: \(error.place.map { "\($0.file): " } ?? "")\(error.reason)")
            }
        }

        mutating func add(othersAmong names: [String]) throws(RecoveryError) {
            let known = Set((directory.snapshots(among: names) + directory.journals(among: names)).map(\.name))
            let unfinished = Set(directory.temporaries(among: names))
            let own = ["LOCK", NewestJournal.name]
            for name in names where !known.contains(name) && !own.contains(where: { name.hasSameBytes(as: $0) }) {
                let what =
                    if unfinished.contains(name) {
                        "left behind while it was written; a start takes it away"
                    } else if DataDirectory.isAside(name) {
                        "set aside; nobody reads it"
                    } else {
                        "not of settingsd; nobody reads it"
                    }
                lines.append("\(name): \(try directory.size(of: name)) bytes, \(what)")
            }
        }

        /// What a start would come to.
        mutating func addOutcome(_ limits: History.Limits) throws(RecoveryError) {
            do throws(RecoveryError) {
                guard var recovered = try Recovery(directory: directory, limits: limits).run() else {
                    lines.append("nothing is kept here yet")
                    return
                }
                lines.append("a start comes to \(recovered.state.contents)")
                lines.append(
                    recovered.isClosed ? "the last stop was a clean one" : "there was no clean stop, or a daemon runs")
                if recovered.lacksJournal { verdict = .damaged }
                lines += recovered.notes.map { "it will say: \($0)" }
                do throws(FileError) {
                    recovered.isCopy = try directory.isCopy(withJournalOf: recovered.head?.directory)
                } catch {
                    throw RecoveryError(error)
                }
                if recovered.isCopy {
                    lines.append("this is a copy of another data directory: a start begins a new epoch")
                } else if recovered.mustBeginEpoch {
                    lines.append("acknowledged writes may be missing: a start begins a new epoch")
                }
            } catch {
                guard error.kind != .inaccessible else { throw error }
                verdict = .damaged
                lines.append("a start refuses: \(error)")
            }
        }
    }
}

extension State {
    /// What is in the state, in a few words.
    var contents: String {
        var settings = 0
        suites.forEach { suite in
            settings += suite.keyCount
            return true
        }
        return "epoch \(epoch), revision \(revision), suites: \(suites.count), settings: \(settings), "
            + "commits kept: \(history.count)"
    }
}
