internal import Dispatch
internal import Platform
package import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// A log of commits for later questions: one line of JSON each, without the values of secrets.
///
/// It is written after the answer, on a queue of its own, and never holds up a write or makes one fail. What could not be
/// written is counted, and shown by `/readyz` and `/metrics`.
package final class AuditLog: Sendable {
    /// What a line tells beside the changes.
    struct Entry: Sendable {
        let peer: String
        let request: String
        var origin: CommitOrigin?
    }

    /// The lines that may wait. Beyond them lines are lost.
    private static let mostWaiting = 10_000

    private let path: String
    private let log: Log
    private let clock: @Sendable () -> Timestamp
    private let queue = DispatchQueue(label: "settingsd.audit", qos: .utility)
    /// The size at which the file is renamed; 0 for never.
    private let most: Int
    private let file = Mutex(File())
    private let waiting = Atomic(0)
    private let lost = Atomic(0)
    private let fails = Atomic(false)

    private struct File {
        var open: OpenFile?
        var size = 0
        /// True if it could not be renamed, so that it grows on.
        var grows = false
    }

    /// - Parameter most: the size at which the file is renamed; 0 for never.
    package init(_ path: String, most: Int, _ log: Log, clock: @escaping @Sendable () -> Timestamp) {
        self.path = path
        self.log = log
        self.clock = clock
        self.most = most
        // So that a path that cannot be written is noticed at the start, and not with the first commit.
        queue.async { self.append([]) }
    }

    /// Lines that could not be written.
    var lostLines: Int { lost.load(ordering: .relaxed) }
    /// True since a line could not be written, until one can.
    var isFailing: Bool { fails.load(ordering: .relaxed) }

    /// Adds the line of a commit. From any thread.
    func add(_ answer: WriteAnswer, _ entry: Entry, _ state: @escaping @Sendable () -> State) {
        guard waiting.add(1, ordering: .relaxed).newValue <= Self.mostWaiting else {
            waiting.subtract(1, ordering: .relaxed)
            lost.add(1, ordering: .relaxed)
            return
        }
        queue.async {
            if let line = self.line(answer, entry, on: state()) { self.append(line) }
            self.waiting.subtract(1, ordering: .relaxed)
        }
    }

    /// Closes the file, so that the next line goes to the one that stands at the path then.
    package func reopen() {
        queue.async { self.file.withLock { $0 = File() } }
    }

    /// Waits until all that was added is written.
    package func finish() { queue.sync {} }
}

/// Writing. Runs on the queue.
extension AuditLog {
    private func append(_ line: [UInt8]) {
        let problem = file.withLock { file -> FileError? in
            do throws(FileError) {
                try write(line, to: &file)
                return nil
            } catch {
                // Perhaps a part of the line is there. The next line begins where this one did.
                try? file.open?.truncate(to: file.size)
                file.open = nil
                return error
            }
        }
        if let problem {
            if !line.isEmpty { lost.add(1, ordering: .relaxed) }
            if !fails.exchange(true, ordering: .relaxed) {
                log.error(
                    "cannot write the audit file: \(problem); commits go on, and their lines are lost until it can be")
            }
        } else if fails.exchange(false, ordering: .relaxed) {
            log.info("the audit file is written again")
        }
    }

    private func open(_ file: inout File) throws(FileError) {
        guard file.open == nil else { return }
        file.open = try OpenFile(path, .creating, in: POSIXFileSystem())
        file.size = try POSIXFileSystem().status(path).size
    }

    private func write(_ line: [UInt8], to file: inout File) throws(FileError) {
        try open(&file)
        if most > 0, !file.grows, file.size > 0, file.size + line.count > most {
            // Several may come in a millisecond, and none may take the place of another.
            var name = "\(path).\(clock())"
            while (try? POSIXFileSystem().status(name)) != nil { name += "+" }
            do throws(FileError) {
                try POSIXFileSystem().rename(path, to: name)
                file.open = nil
            } catch  where error.isMissing {
                // It was moved away, and no reload has said so yet.
                file.open = nil
            } catch {
                file.grows = true
                log.error("cannot rename the audit file at its size: \(error); it grows on until a reload")
            }
            try open(&file)
        }
        guard !line.isEmpty, let open = file.open else { return }
        try open.write(line.span, at: file.size)
        file.size += line.count
    }
}

/// Lines.
extension AuditLog {
    /// Returns the line of an answer with its end; nil if it tells of no new commit.
    private func line(_ answer: WriteAnswer, _ entry: Entry, on state: State) -> [UInt8]? {
        guard let revision = answer.commit else { return nil }
        var changes: [Change] = []
        switch answer.body {
        case .setting(let setting):
            guard setting.changed == true, !setting.isReplayed, let previous = setting.previous else { return nil }
            changes = [
                Change(
                    suite: setting.suite, key: setting.key, old: previous.value, new: setting.value,
                    oldSource: previous.source, source: setting.source, revision: revision,
                    modified: setting.modified ?? clock(), isSecret: setting.isSecret)
            ]
        case .summary(let summary):
            guard summary.changed, !summary.isReplayed else { return nil }
            changes = summary.changes
        }
        let shown = state.markingSecrets(changes).map { change in
            var change = change.isSecret ? change.concealed() : change
            // The line has it once for all.
            change.origin = nil
            return change
        }
        return AuditLine(
            time: changes.first?.modified ?? clock(), revision: revision, entry: entry, changes: shown
        ).jsonBytes() + [UInt8(ascii: "\n")]
    }
}

/// A line of the audit file.
private struct AuditLine: JSONWritable {
    let time: Timestamp
    let revision: Revision
    let entry: AuditLog.Entry
    let changes: [Change]

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("time", time)
        writer.member("revision", revision)
        writer.member("by", entry.origin?.by)
        writer.member("peer", entry.peer)
        writer.member("note", entry.origin?.note)
        writer.member("request", entry.request)
        writer.member("changes", changes)
        writer.endObject()
    }
}
