internal import Dispatch
internal import Glibc
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// A log of commits for later questions: one line of JSON each, without the values of secrets.
///
/// It is written after the answer, on a queue of its own, and never holds up a write or makes one fail. What could not be
/// written is counted, and shown by `/readyz` and `/metrics`.
final class AuditLog: Sendable {
    /// The request that a commit came of.
    struct Request: Sendable {
        let peer: String
        /// The method and the target.
        let text: String
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
    private let fails = Atomic(false)

    /// Opens the file, and adds the lines of kept commits that are missing at its end, which an earlier daemon made and did
    /// not come to write: it ended first, or did not know if they were stored.
    init(_ path: String, on state: State, _ log: Log) {
        self.path = path
        self.log = log
        queue.async {
            self.write { file throws(FileError) in
                guard let last = try file.lastCommits() else { return }
                for kept in state.history.commits(after: last.after) where !last.present.contains(kept.revision) {
                    try self.append(AuditLine(kept.commit, from: nil, on: state), to: file)
                }
            }
        }
    }

    /// Says that the file cannot be written, which does not prevent a start; nil if its directory can be written to.
    static func warning(about configuration: Configuration) -> String? {
        guard let path = configuration.auditFile,
            faccessat(AT_FDCWD, path.parentDirectory ?? ".", W_OK | X_OK, AT_EACCESS) != 0
        else { return nil }
        return "warning: cannot write the audit file \(path): \(SystemError.text(errno)); "
            + "the daemon starts without it, and loses its lines until the directory can be written to"
    }

    /// Lines that could not be written.
    var lostLines: Int { lost.load(ordering: .relaxed) }
    /// The condition of the log, for `/readyz`.
    var condition: String { fails.load(ordering: .relaxed) ? "failing" : lostLines > 0 ? "incomplete" : "ok" }

    /// Adds the line of a commit that is published. From any thread.
    func add(_ kept: KeptCommit, from request: Request, _ state: @escaping @Sendable () -> State) {
        let size = kept.size
        let total = waiting.add(size, ordering: .relaxed).newValue
        guard total <= Self.mostWaiting || total == size else {
            waiting.subtract(size, ordering: .relaxed)
            lost.add(1, ordering: .relaxed)
            return
        }
        queue.async {
            let line = AuditLine(kept.commit, from: request, on: state())
            let isWritten = self.write { file throws(FileError) in try self.append(line, to: file) }
            if !isWritten { self.lost.add(1, ordering: .relaxed) }
            self.waiting.subtract(size, ordering: .relaxed)
        }
    }

    /// Closes the file, so that the next line goes to the one that stands at the path then.
    func reopen() {
        queue.async { _ = self.file.withLock { $0.take() } }
    }

    /// Waits until all that was added is written.
    func finish() { queue.sync {} }

    private func append(_ line: AuditLine?, to file: OpenFile) throws(FileError) {
        guard let line else { return }
        let bytes = line.jsonBytes() + [UInt8(ascii: "\n")]
        try file.write(bytes.span, at: 0)
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

    /// How far lines may stand from the order of their commits: loops add them as their outcomes come.
    private static let disorder = 1024
    /// How much of the end of a file is looked at.
    private static let most = 16 << 20

    /// Returns the commits whose lines are near the end of the file, and the one behind which all that are missing there are
    /// missing in the file; nil if it has none.
    fileprivate func lastCommits() throws(FileError) -> (after: Revision, present: Set<Revision>)? {
        let size = try status().size
        var (window, revisions) = (1 << 16, [Revision]())
        while true {
            let start = max(0, size - window)
            var bytes = [UInt8](repeating: 0, count: size - start)
            let count = try read(at: start, into: &bytes)
            var lines = bytes[..<count].split(separator: UInt8(ascii: "\n"))
            // The first may be the end of a line.
            if start > 0, !lines.isEmpty { lines.removeFirst() }
            revisions = lines.compactMap { line in
                (try? JSONValue(parsing: Array(line)))?["revision"]?.integer.flatMap { Revision($0) }
            }
            if start == 0 || revisions.count > 2 * Self.disorder || window >= Self.most { break }
            window *= 8
        }
        let settled = revisions.dropLast(Self.disorder).max() ?? revisions.min()
        return settled.map { ($0, Set(revisions)) }
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
