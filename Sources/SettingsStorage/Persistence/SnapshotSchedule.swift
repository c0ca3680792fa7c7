internal import Dispatch
internal import Platform
internal import SettingsAPI
internal import SettingsEngine

/// Determines when to write a snapshot (a file with the complete state), and writes it on a background queue, one
/// snapshot at a time. A failure delays the next attempt. Runs on the commit thread of ``WritePipeline``.
struct SnapshotSchedule {
    /// The result of writing a snapshot.
    private struct Report: Sendable {
        let revision: Revision
        /// The bytes of the commits in the journals that are in this snapshot and not in the previous snapshot.
        let savedBytes: Int
        /// The size of the file in bytes, or the error.
        let result: Result<Int, FileError>
    }

    /// The revision of the newest snapshot; zero if there is no snapshot.
    private(set) var latestRevision: Revision
    /// The bytes of the commits in the journals after the newest snapshot, or after the snapshot that is being written.
    var bytesSinceSnapshot: Int
    private let options: LocalLog.Options
    private let task: BackgroundTask<Report>
    /// The size of the newest snapshot; 0 if no snapshot was written since the start.
    private(set) var latestSize = 0
    /// The monotonic time when the newest snapshot was written; nil if none was written since the start.
    private(set) var writeTime: UInt64?
    private(set) var failureCount = 0
    /// The monotonic time when the newest snapshot was written, or of the start.
    private var intervalStart: UInt64
    /// After a failure, the monotonic time before which no snapshot begins; otherwise 0.
    private var earliestRetry: UInt64 = 0
    /// The number of failures since the last success; 6 if there were more, so that the delay stays at most 64 s.
    private var consecutiveFailures: UInt64 = 0
    /// The approximate memory of large values that commits replaced, and that the snapshot in progress still needs.
    private var replacedBytes = 0 {
        didSet { if replacedBytes != oldValue { options.chargeReplaced(replacedBytes) } }
    }
    /// ``replacedBytes`` includes only commits of at least this size in bytes. The size of a commit includes the values
    /// that the commit replaced.
    static let largeCommitBytes = 256 << 10

    init(latestRevision: Revision, bytesSinceSnapshot: Int, _ options: LocalLog.Options, now: UInt64) {
        (self.latestRevision, self.bytesSinceSnapshot, self.options) = (latestRevision, bytesSinceSnapshot, options)
        task = BackgroundTask(label: "settingsd.snapshots", qos: .utility, runsSynchronously: options.runsSynchronously)
        intervalStart = now
    }

    /// True if the last attempt failed.
    var isRetry: Bool { consecutiveFailures > 0 }

    /// True if a snapshot of the state at a revision should begin now.
    func isDue(_ revision: Revision, now: UInt64) -> Bool {
        guard revision > latestRevision, now >= earliestRetry, !task.isBusy else { return false }
        return bytesSinceSnapshot >= max(options.snapshotJournalBytes, latestSize)
            || now &- intervalStart >= options.snapshotInterval
    }

    var isWriting: Bool { task.isBusy }

    /// Records commits that one flush has written.
    ///
    /// - Parameters:
    ///   - bytes: the bytes of the commits in the journal.
    ///   - replacedBytes: the memory of large values that the commits replaced. Ignored unless a snapshot is in
    ///     progress.
    mutating func recordCommits(bytes: Int, replacedBytes: Int) {
        bytesSinceSnapshot += bytes
        if task.isBusy { self.replacedBytes += replacedBytes }
    }

    /// Begins to write a snapshot. `journal` is the revision in the name of the journal that continues the snapshot.
    mutating func beginSnapshot(of state: State, journal: Revision, in directory: DataDirectory) {
        let (savedBytes, options) = (bytesSinceSnapshot, options)
        self.bytesSinceSnapshot = 0
        task.begin { task in
            do throws(FileError) {
                // `chargeLineMemory` charges the memory of each long line of the file until the line is written.
                let size = try SnapshotWriter.write(
                    state, journal: journal, in: directory, isCancelled: { task.isCancelled },
                    chargeLineMemory: options.chargeSnapshotLine)
                // If the removal fails, the files are removed after the next snapshot.
                try? directory.removeObsoleteFiles()
                return Report(revision: state.revision, savedBytes: savedBytes, result: .success(size))
            } catch {
                return Report(revision: state.revision, savedBytes: savedBytes, result: .failure(error))
            }
        }
    }

    /// Collects the result of a finished attempt. Returns the revision of the snapshot if it was written.
    mutating func collectResult(now: () -> UInt64, _ log: Log) -> Revision? {
        guard let report = task.takeResult() else { return nil }
        let now = now()
        replacedBytes = 0
        switch report.result {
        case .success(let size):
            recordSnapshot(report.revision, size: size, now: now)
            log.debug("wrote a snapshot of revision \(report.revision), \(size) bytes")
            return report.revision
        case .failure(let error):
            bytesSinceSnapshot += report.savedBytes
            postpone(now: now)
            // The task was cancelled because the daemon is stopping.
            if error.code == SystemErrorCode.cancelled { return nil }
            failureCount += 1
            log.warning("cannot write a snapshot: \(error); the daemon tries again, and no data is lost")
            return nil
        }
    }

    mutating func recordSnapshot(_ revision: Revision, size: Int, now: UInt64) {
        latestRevision = max(latestRevision, revision)
        latestSize = size
        writeTime = now
        intervalStart = now
        earliestRetry = 0
        consecutiveFailures = 0
    }

    /// Delays the next attempt by 2 s after the first failure. Each further failure doubles the delay, up to 64 s.
    mutating func postpone(now: UInt64) {
        consecutiveFailures = min(consecutiveFailures + 1, 6)
        earliestRetry = now &+ (1_000_000_000 << consecutiveFailures)
    }

    /// Abandons a snapshot that is being written, and waits for the end of its task.
    func abandon() {
        task.cancelAndWait()
    }
}
