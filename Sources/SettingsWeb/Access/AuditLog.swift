internal import Dispatch
internal import Platform
internal import SettingsAPI
package import SettingsEngine
internal import SettingsModel
package import SettingsStorage
internal import Synchronization

/// A log of commits for later questions: one line of JSON each, without the values of secrets.
///
/// It is written after the answer, on a queue of its own, and never holds up a write or makes one fail. Lost lines are counted,
/// logged, and shown by `/readyz` and `/metrics`.
package final class AuditLog: Sendable {
    /// The request that a commit came of.
    package struct Request: Sendable {
        package let peer: String
        /// The method and the target.
        package let text: String

        package init(peer: String, text: String) {
            (self.peer, self.text) = (peer, text)
        }
    }

    /// The memory of the commits that may wait for their lines. Lines beyond it are lost.
    private static let mostWaiting = 64 << 20

    private let path: String
    private let log: Log
    private let queue = DispatchQueue(label: "settingsd.audit", qos: .utility)
    /// The file while it is open. The queue takes it out while it writes.
    private let file = Mutex<OpenFile?>(nil)
    private let waiting = Atomic(0)
    private let lost = Atomic(0)
    private let reported = Atomic(0)
    private let fails = Atomic(false)
    private let auditedRevisions: AuditedRevisions?
    private let isShared: Bool

    /// The time that ``finish()`` waits for a disk that has stalled.
    private static let finishSeconds = 5
    /// The distance that a line may have from its place in the order of commits: event loops add lines when outcomes arrive.
    private static let disorder = AuditedRevisions.capacity

    /// Opens the file, and adds the lines of kept commits that are missing: an earlier daemon ended before it wrote them, or did
    /// not know whether the commits were stored. Without lines and without a record, the file begins with the next commit.
    ///
    /// - Parameter isShared: true if other daemons commit to the same history.
    package init(_ path: String, in directory: DataDirectory, on state: State, isShared: Bool, _ log: Log) {
        self.path = path
        self.isShared = isShared
        self.log = log
        do throws(FileError) {
            auditedRevisions = try AuditedRevisions(in: directory)
        } catch {
            log.error(
                "cannot open the record of audited commits: \(error); after a crash, a new audit file may lack lines")
            auditedRevisions = nil
        }
        queue.async {
            self.write { file throws(FileError) in try self.addMissingLines(to: file, on: state) }
            if let audited = self.auditedRevisions, audited.revisions.isEmpty { audited.add(state.revision) }
        }
    }

    private func addMissingLines(to file: OpenFile, on state: State) throws(FileError) {
        let lines = try file.lastRevisions()
        let first = lines.min()
        // The lines of a file that was rotated are not read.
        let rotated = (auditedRevisions?.revisions ?? []).filter { revision in first.map { revision < $0 } ?? true }
        let known = rotated + lines
        guard let after = known.dropLast(Self.disorder).max() ?? known.min() else { return }
        let present = Set(known)
        let missing = state.history.commits(after: after).filter { !present.contains($0.revision) }
        for kept in missing {
            try append(AuditLine(kept.commit, from: nil, on: state), of: kept.revision, to: file)
        }
        // Other daemons write the lines of their commits to files of their own.
        guard !isShared else { return }
        let floor = state.history.oldestAvailable
        let last = (known + (auditedRevisions?.revisions ?? []) + missing.map(\.revision)).filter { $0 <= floor }.max()
        let gone = Int(floor.number - max(last ?? after, after).number)
        // A new epoch skips more revisions than a history has commits.
        if gone > 0, gone < Recovery.epochRevisionGap {
            lost.add(gone, ordering: .relaxed)
            reported.add(gone, ordering: .relaxed)
            log.error(
                "cannot write the audit lines of up to \(gone) commits after revision \(after): the history no longer "
                    + "has the commits; look for them in a backup, and raise history.commits")
        }
    }

    /// Returns a warning if the directory of the audit file is not writable. The warning does not prevent a start.
    package static func warning(aboutFileAt path: String) -> String? {
        do throws(SystemError) {
            try POSIXFileSystem.checkFileCreation(in: path.parentDirectory ?? ".")
            return nil
        } catch {
            return "warning: cannot write the audit file \(path): \(error.reason); "
                + "the daemon will start, but will lose audit lines until it can write to the directory"
        }
    }

    /// Lines that could not be written.
    var lostLines: Int { lost.load(ordering: .relaxed) }
    /// The condition of the log, for `/readyz`.
    var condition: String { fails.load(ordering: .relaxed) ? "failing" : lostLines > 0 ? "incomplete" : "ok" }

    /// Adds the line of a commit that is published. From any thread.
    package func add(_ kept: KeptCommit, from request: Request, _ state: @escaping @Sendable () -> State) {
        let size = kept.size
        let total = waiting.add(size, ordering: .relaxed).newValue
        guard total <= Self.mostWaiting || total == size else {
            waiting.subtract(size, ordering: .relaxed)
            lost.add(1, ordering: .relaxed)
            return
        }
        queue.async {
            let line = AuditLine(kept.commit, from: request, on: state())
            let isWritten = self.write { file throws(FileError) in
                try self.append(line, of: kept.revision, to: file)
            }
            if !isWritten { self.lost.add(1, ordering: .relaxed) }
            let left = self.waiting.subtract(size, ordering: .relaxed).newValue
            if isWritten, left <= Self.mostWaiting / 2 { self.reportLostLines() }
        }
    }

    /// Closes the file, so that the next line goes to the file that is at the path then.
    package func reopen() {
        queue.async {
            // The record must not be on disk before the lines of a file that the next start does not read.
            try? self.file.withLock { $0.take() }?.sync()
        }
    }

    /// Waits until all added lines are written, but not for long. The next start adds lines that a stalled disk holds up.
    package func finish() {
        let isWritten = DispatchSemaphore(value: 0)
        queue.async { isWritten.signal() }
        _ = isWritten.wait(timeout: .now() + .seconds(Self.finishSeconds))
    }

    private func reportLostLines() {
        let total = lostLines
        let count = total - reported.exchange(total, ordering: .relaxed)
        guard count > 0 else { return }
        log.error(
            "cannot write the audit lines of \(count) commits: the file could not be written or too many commits "
                + "waited; restart the daemon to add the lines")
    }

    private func append(_ line: AuditLine?, of revision: Revision, to file: OpenFile) throws(FileError) {
        if let line {
            let bytes = line.jsonBytes() + [UInt8(ascii: "\n")]
            try file.write(bytes.span, at: 0)
        }
        auditedRevisions?.add(revision)
    }

    /// Uses the file, which is opened if it is not. After an error it is closed. Returns false then. Runs on the queue.
    @discardableResult
    private func write(_ body: (OpenFile) throws(FileError) -> Void) -> Bool {
        do throws(FileError) {
            var open = file.withLock { $0.take() }
            if open == nil { open = try OpenFile(auditing: path) }
            guard let open else { return false }
            try body(open)
            file.withLock { $0 = open }
        } catch {
            if !fails.exchange(true, ordering: .relaxed) {
                log.error(
                    "cannot write the audit file: \(error); commits go on, and their lines are lost until it can be")
            }
            return false
        }
        if fails.exchange(false, ordering: .relaxed) { log.info("the audit file is written again") }
        return true
    }
}

extension OpenFile {
    /// Opens an audit file. A line at its end that was cut short by a failure gets an end, so that the next one is whole.
    fileprivate convenience init(auditing path: String) throws(FileError) {
        try self.init(path, .appending, in: POSIXFileSystem())
        let size = try status().size
        let end = [UInt8(ascii: "\n")]
        var last = end
        if size > 0, try read(at: size - 1, into: &last) == 1, last != end { try write(end.span, at: 0) }
    }

    /// The most bytes that are read from the end of the file.
    private static let longestEnd = 32 << 20

    /// Returns the revisions of the last lines in file order: all lines, or more than `2 * AuditedRevisions.capacity`
    /// lines, or the lines in the last ``longestEnd`` bytes.
    fileprivate func lastRevisions() throws(FileError) -> [Revision] {
        let size = try status().size
        var window = 1 << 16
        while true {
            let start = max(0, size - window)
            var bytes = [UInt8](repeating: 0, count: size - start)
            let count = try read(at: start, into: &bytes)
            var lines = bytes[..<count].split(separator: UInt8(ascii: "\n"))
            // The first may be the end of a line.
            if start > 0, !lines.isEmpty { lines.removeFirst() }
            let revisions = lines.compactMap { line in
                (try? JSONValue(parsing: Array(line)))?["revision"]?.integer.flatMap { Revision($0) }
            }
            if start == 0 || revisions.count > 2 * AuditedRevisions.capacity || window >= Self.longestEnd {
                return revisions
            }
            window *= 8
        }
    }
}

/// A line of the audit file.
private struct AuditLine: JSONWritable, Sendable {
    let commit: Commit
    let request: AuditLog.Request?
    let changes: [Change]

    /// Makes the line of a commit; nil if that changed nothing, and was kept for its request key.
    init?(_ commit: Commit, from request: AuditLog.Request?, on state: State) {
        guard !commit.changes.isEmpty || !commit.suiteChanges.isEmpty else { return nil }
        self.commit = commit
        self.request = request
        changes = state.markingSecrets(commit.changes).map { change in
            var change = change.isSecret ? change.concealed() : change
            // The line has it once for all.
            change.origin = nil
            return change
        }
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("time", commit.time)
        writer.member("revision", commit.revision)
        writer.member("by", commit.origin?.by)
        writer.member("peer", request?.peer)
        writer.member("note", commit.origin?.note)
        writer.member("request", request?.text)
        writer.member("changes", changes)
        writer.endObject()
    }
}
