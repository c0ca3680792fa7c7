internal import Dispatch
internal import Platform
internal import SettingsAPI
package import SettingsEngine
internal import SettingsModel
package import SettingsStorage
internal import Synchronization

/// An audit log: a file with one line of JSON for each commit, without the values of secrets.
///
/// A background queue writes the lines, so the audit log never delays a write and never makes a write fail. The daemon
/// counts and logs lost lines. `/metrics` has their number, and `/readyz` the condition of the audit log. Thread-safe.
package final class AuditLog: Sendable {
    /// The cause of a commit: a request, a schema file from which the daemon set a schema, or a pending action that was
    /// due.
    package struct Request: Sendable {
        /// The address of the client; `unix` for a Unix domain socket; `config` for a schema file; `deadline` for a
        /// pending action.
        package let peer: String
        /// The method and the target of an HTTP request, the path of the schema file, or a text about the pending
        /// action.
        package let description: String

        package init(peer: String, description: String) {
            (self.peer, self.description) = (peer, description)
        }
    }

    /// The maximum memory of the commits whose lines are not written yet. If a further commit would exceed the maximum,
    /// the audit log drops the line of this commit, unless no other commit waits.
    private static let maximumWaitingBytes = 64 << 20

    private let path: String
    /// The log of the daemon, not the audit log.
    private let log: Log
    private let queue = DispatchQueue(label: "settingsd.audit", qos: .utility)
    /// The open file; nil if the file is not open, and while the queue writes.
    private let file = Mutex<OpenFile?>(nil)
    private let waitingBytes = Atomic(0)
    private let lostLineCount = Atomic(0)
    /// The number of lost lines that were reported in the log of the daemon.
    private let reportedLineCount = Atomic(0)
    private let isFailing = Atomic(false)
    /// The record of the commits whose lines were written last; nil if the record could not be opened.
    private let auditedRevisions: AuditedRevisions?
    private let isHistoryShared: Bool

    private static let maximumFlushSeconds = 5
    /// The assumed maximum distance of a line from its position in revision order. Lines are not in revision order,
    /// because an event loop adds the line of a commit only when it receives the result of the commit.
    private static let maximumReordering = AuditedRevisions.capacity

    /// Opens the file, and adds the missing lines of commits that are still in the history (the recent commits in
    /// memory). A line is missing if the previous process lost the line, ended before it wrote the line, or ended
    /// before it knew whether the commit was durable. If neither the file nor ``auditedRevisions`` has a commit, the
    /// file begins with the next commit.
    ///
    /// - Parameters:
    ///   - state: the state at the start, with the history.
    ///   - isHistoryShared: true if other daemons commit to the same history.
    package init(
        _ path: String, in directory: DataDirectory, initialState state: State, isHistoryShared: Bool, _ log: Log
    ) {
        (self.path, self.isHistoryShared, self.log) = (path, isHistoryShared, log)
        do throws(FileError) {
            auditedRevisions = try AuditedRevisions(in: directory)
        } catch {
            log.error(
                "cannot open the file AUDIT, which has the last audited revisions: \(error); if the daemon crashes "
                    + "after a rotation of the audit file, the audit file will lack lines")
            auditedRevisions = nil
        }
        queue.async {
            self.withOpenFile { file throws(FileError) in try self.addMissingLines(to: file, on: state) }
            // A first start records the present revision, so that the next start knows that the earlier commits need no
            // lines.
            if let audited = self.auditedRevisions, audited.initialRevisions.isEmpty { audited.add(state.revision) }
        }
    }

    private func addMissingLines(to file: OpenFile, on state: State) throws(FileError) {
        let fileRevisions = try file.lastRevisions()
        let lowestInFile = fileRevisions.min()
        // The record also has commits whose lines are in an earlier file, which a log rotation renamed. For the
        // revisions below the lowest revision in the current file, the record shows which were audited. From this
        // revision on, only the lines in the file count.
        let recorded = auditedRevisions?.initialRevisions ?? []
        let audited = recorded.filter { revision in lowestInFile.map { revision < $0 } ?? true } + fileRevisions
        // All commits up to this revision have lines. A later commit may lack a line although the next commit has one,
        // because the last `maximumReordering` lines may be out of order.
        guard let completeThrough = audited.dropLast(Self.maximumReordering).max() ?? audited.min() else { return }
        let present = Set(audited)
        let missing = state.history.commits(after: completeThrough).filter { !present.contains($0.revision) }
        for retained in missing {
            try append(AuditLine(retained.commit, from: nil, on: state), of: retained.revision, to: file)
        }
        // While daemons that share a history run, each of them writes only the lines of its own commits, so gaps do not
        // show lost lines. A start adds lines for the commits of the other daemons, too.
        guard !isHistoryShared else { return }
        // The history has every commit after this revision.
        let oldest = state.history.oldestAvailable
        let lastAudited = (audited + recorded + missing.map(\.revision)).filter { $0 <= oldest }.max()
        let evicted = Int(oldest.number - max(lastAudited ?? completeThrough, completeThrough).number)
        // A new epoch (another history) skips `Recovery.epochRevisionGap` revisions. No commits have these revisions.
        if evicted > 0, evicted < Recovery.epochRevisionGap {
            lostLineCount.add(evicted, ordering: .relaxed)
            reportedLineCount.add(evicted, ordering: .relaxed)
            log.error(
                "cannot write the audit lines of up to \(evicted) commits after revision \(completeThrough): the "
                    + "history no longer has the commits; look for them in a backup, and raise history.commits")
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

    /// The number of lines that are missing from the audit file because they were dropped or could not be written, or
    /// because the history no longer had their commits at the start. At the start, the number is an upper bound.
    var lostLines: Int { lostLineCount.load(ordering: .relaxed) }
    /// The condition of the audit log that `/readyz` shows.
    var condition: String { isFailing.load(ordering: .relaxed) ? "failing" : lostLines > 0 ? "incomplete" : "ok" }

    /// Adds the line of a published commit.
    ///
    /// - Parameter publishedState: returns the published state, whose schemas declare which keys have secret values.
    ///   Called on the background queue.
    package func add(
        _ retained: RetainedCommit, from request: Request, publishedState: @escaping @Sendable () -> State
    ) {
        let size = retained.size
        let total = waitingBytes.add(size, ordering: .relaxed).newValue
        guard total <= Self.maximumWaitingBytes || total == size else {
            waitingBytes.subtract(size, ordering: .relaxed)
            lostLineCount.add(1, ordering: .relaxed)
            return
        }
        queue.async {
            let line = AuditLine(retained.commit, from: request, on: publishedState())
            let isWritten = self.withOpenFile { file throws(FileError) in
                try self.append(line, of: retained.revision, to: file)
            }
            if !isWritten { self.lostLineCount.add(1, ordering: .relaxed) }
            let remaining = self.waitingBytes.subtract(size, ordering: .relaxed).newValue
            if isWritten, remaining <= Self.maximumWaitingBytes / 2 { self.reportLostLines() }
        }
    }

    /// Closes the file. The next line opens the path again, so a log rotation may rename the file.
    package func reopen() {
        queue.async {
            // The next start trusts the record instead of reading the renamed file. Without this sync, a power failure
            // could lose lines of the renamed file whose revisions are in the record.
            do throws(FileError) {
                try self.file.withLock { $0.take() }?.sync()
            } catch {
                self.log.error(
                    "cannot sync the renamed audit file: \(error); a power failure may lose its last lines")
            }
        }
    }

    /// Waits until all lines are written, at most ``maximumFlushSeconds``. The next start adds the unwritten lines.
    package func flush() {
        let earlierLinesWritten = DispatchSemaphore(value: 0)
        queue.async { earlierLinesWritten.signal() }
        _ = earlierLinesWritten.wait(timeout: .now() + .seconds(Self.maximumFlushSeconds))
    }

    private func reportLostLines() {
        let total = lostLines
        let count = total - reportedLineCount.exchange(total, ordering: .relaxed)
        guard count > 0 else { return }
        log.error(
            "cannot write the audit lines of \(count) commits: the file could not be written or too many commits "
                + "waited; restart the daemon to add the lines")
    }

    /// Writes a line, and records the revision as audited. If the line is nil, only records the revision.
    private func append(_ line: AuditLine?, of revision: Revision, to file: OpenFile) throws(FileError) {
        if let line {
            let bytes = line.jsonBytes() + [UInt8(ascii: "\n")]
            // The file is open for appending, so the write ignores the offset.
            try file.write(bytes.span, at: 0)
        }
        auditedRevisions?.add(revision)
    }

    /// Calls the body with the open file. Closes the file after an error, and returns false. Runs on the audit queue.
    @discardableResult
    private func withOpenFile(_ body: (OpenFile) throws(FileError) -> Void) -> Bool {
        do throws(FileError) {
            var open = file.withLock { $0.take() }
            if open == nil { open = try OpenFile(auditing: path) }
            guard let open else { return false }
            try body(open)
            file.withLock { $0 = open }
        } catch {
            if !isFailing.exchange(true, ordering: .relaxed) {
                log.error(
                    "cannot write the audit file: \(error); the daemon still accepts writes, but loses their audit "
                        + "lines until it can write the file")
            }
            return false
        }
        if isFailing.exchange(false, ordering: .relaxed) { log.info("the daemon can write the audit file again") }
        return true
    }
}

extension OpenFile {
    /// Opens an audit file. If the file ends in an incomplete line, ends that line, so that the next line is complete.
    fileprivate convenience init(auditing path: String) throws(FileError) {
        try self.init(path, .appending, in: POSIXFileSystem())
        let size = try status().size
        let newline = [UInt8(ascii: "\n")]
        // The array receives the last byte of the file.
        var lastByte = newline
        guard size > 0, try read(at: size - 1, into: &lastByte) == 1, lastByte != newline else { return }
        try write(newline.span, at: 0)
    }

    /// The maximum number of bytes that ``lastRevisions()`` reads from the end of the file.
    private static let maximumTailLength = 32 << 20

    /// Returns the revisions of the last lines in file order: all lines, or more than `2 * AuditedRevisions.capacity`
    /// lines, or the lines in the last ``maximumTailLength`` bytes.
    fileprivate func lastRevisions() throws(FileError) -> [Revision] {
        let size = try status().size
        var window = 1 << 16
        while true {
            let start = max(0, size - window)
            var bytes = [UInt8](repeating: 0, count: size - start)
            let count = try read(at: start, into: &bytes)
            var lines = bytes[..<count].split(separator: UInt8(ascii: "\n"))
            // The bytes may begin within a line, which is dropped.
            if start > 0, !lines.isEmpty { lines.removeFirst() }
            let revisions = lines.compactMap { line in
                (try? JSONValue(parsing: Array(line)))?["revision"]?.integer.flatMap { Revision($0) }
            }
            if start == 0 || revisions.count > 2 * AuditedRevisions.capacity || window >= Self.maximumTailLength {
                return revisions
            }
            window *= 8
        }
    }
}

private struct AuditLine: JSONWritable, Sendable {
    let commit: Commit
    let request: AuditLog.Request?
    let changes: [Change]

    /// The line of a commit. Nil for a commit that only stores the `Idempotency-Key` of a write: it changes no settings
    /// (`changes`), no suites or schemas (`suiteChanges`), and no pending actions (`pending`).
    init?(_ commit: Commit, from request: AuditLog.Request?, on state: State) {
        guard !commit.changes.isEmpty || !commit.suiteChanges.isEmpty || !commit.pending.isEmpty else { return nil }
        (self.commit, self.request) = (commit, request)
        changes = state.markingSecrets(commit.changes).map { change in
            var change = change.isSecret ? change.concealed() : change
            // The origin, which is the caller and the note, is the same for all changes. The line contains it once.
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
        writer.member("request", request?.description)
        writer.member("changes", changes)
        if !commit.pending.isEmpty { writer.member("pending", commit.pending.map { PendingHistoryEvent($0) }) }
        writer.endObject()
    }
}
