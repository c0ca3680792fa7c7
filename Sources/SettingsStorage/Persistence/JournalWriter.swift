internal import Dispatch
internal import Platform
internal import SettingsAPI
internal import SettingsModel

/// Appends commits to the newest journal (a file with one line for each commit), and syncs the file. If the effect of a
/// failed write or sync is unknown, the writer stops using the file, and ``LocalLog`` begins a new journal.
/// Runs on the commit thread of ``WritePipeline``. With durability `interval`, the periodic syncs run on a background
/// queue.
struct JournalWriter {
    /// The result of a sync on the queue.
    private struct SyncReport: Sendable {
        let openFile: OpenFile
        /// The end of the file when the sync began.
        let position: JournalFile.Position
        let error: FileError?
    }

    /// The current file; nil at first, and between a failure and the beginning of the next file.
    private(set) var file: JournalFile?
    /// The head (first line) of the current file; at first, the head for the first file; between a failure and the
    /// beginning of the next file, the head of the previous file.
    private(set) var head: JournalHead
    /// The revision of the last commit that is certainly on disk. Not used with durability `snapshot`, whose journals
    /// have no commits.
    var durableRevision: Revision
    private let directory: DataDirectory
    private let options: LocalLog.Options
    private let syncTask: BackgroundTask<SyncReport>
    private let metrics: StorageMetrics
    /// The monotonic time when the last sync on the queue began.
    private var lastSyncStart: UInt64 = 0
    /// The size of the last failed write in bytes; 0 after a successful ``reserveSpace()``.
    private var failedWriteBytes = 0

    /// - Parameter head: the head of the first file.
    init(_ head: JournalHead, in directory: DataDirectory, _ options: LocalLog.Options, _ metrics: StorageMetrics) {
        (self.head, self.directory, self.options, self.metrics) = (head, directory, options, metrics)
        durableRevision = head.revision
        syncTask = BackgroundTask(
            label: "settingsd.sync", qos: .userInitiated, runsSynchronously: options.runsSynchronously)
    }

    /// Begins a new file for the commits after a revision. `commits` are the first of these commits.
    mutating func beginFile(after revision: Revision, with commits: [Commit] = []) throws(FileError) {
        var next = head
        // `predecessor` is the last valid commit in older files. A file with the revision of the head replaces the file
        // of the head and keeps its predecessor, which is lower than `revision` if the file begins an epoch, because a
        // new epoch skips revisions.
        if revision != head.revision {
            next.revision = revision
            next.predecessor = revision
        }
        file?.truncatePadding()  // The padding is preallocated space.
        do throws(JournalFile.Failure) {
            let newFile = try JournalFile(next, commits: commits, in: directory)
            head = next
            file = newFile
            durableRevision = max(durableRevision, newFile.end.lastRevision)
        } catch {
            // Unless the creation was rolled back, the new file may exist. Recovery would then ignore commits that are
            // appended to the old file.
            if !error.isRolledBack { file = nil }
            throw error.cause
        }
    }

    /// Appends a batch of commits, and makes it as durable as the configured durability requires.
    mutating func append(_ batch: JournalBatch) throws(CommitLogError) {
        guard options.durability != .snapshot else { return }
        do throws(JournalFile.Failure) {
            try file?.append(batch)
            if options.durability == .always {
                try metrics.measureSync { () throws(JournalFile.Failure) in try file?.sync() }
                durableRevision = file?.end.lastRevision ?? durableRevision
            }
        } catch {
            failedWriteBytes = batch.bytes.count
            if error.isRolledBack { throw CommitLogError(.notDone, error.cause) }
            // It is unknown which bytes are on disk. After a failed sync, the kernel may report success for the next
            // sync although the bytes are lost, so the file is not used again. With durability `interval`, the unsynced
            // lines may belong to acknowledged writes, so the writer does not truncate them.
            if options.durability == .always { file?.truncateUnsynced() }
            file = nil
            throw CommitLogError(.unknown, error.cause)
        }
    }

    /// The maximum number of bytes that ``reserveSpace()`` reserves. With the default limits of the daemon, no write is
    /// larger.
    private static let maximumReservation = 16 << 20

    /// Reserves disk space, to test after a failed write whether a write of the same size would succeed now. Throws if
    /// the reservation fails.
    mutating func reserveSpace() throws(CommitLogError) {
        do throws(JournalFile.Failure) {
            try file?.reserveSpace(min(max(failedWriteBytes, 4096), Self.maximumReservation))
        } catch {
            if !error.isRolledBack { file = nil }
            throw CommitLogError(.notDone, error.cause)
        }
        failedWriteBytes = 0
    }

    mutating func abandonFile() {
        file = nil
    }

    /// With durability `interval`: starts a sync on the queue if the interval has passed since the last sync.
    mutating func syncIfDue(now: () -> UInt64) {
        guard options.durability == .interval, let file, !file.isSynced, !syncTask.isBusy else { return }
        let now = now()
        guard now &- lastSyncStart >= options.syncInterval else { return }
        lastSyncStart = now
        syncTask.begin { [metrics] _ in
            do throws(FileError) {
                try metrics.measureSync { () throws(FileError) in try file.file.syncData() }
                return SyncReport(openFile: file.file, position: file.end, error: nil)
            } catch {
                return SyncReport(openFile: file.file, position: file.end, error: error)
            }
        }
    }

    /// Collects the result of a sync that has ended on the queue.
    mutating func collectSyncResult(_ log: Log) {
        guard let report = syncTask.takeResult(), report.openFile === file?.file else { return }
        if let error = report.error {
            log.error("cannot sync the journal: \(error); the daemon continues with a new journal")
            file = nil
        } else {
            file?.recordSync(upTo: report.position)
            durableRevision = max(durableRevision, report.position.lastRevision)
        }
    }

    /// Syncs the file, or stops using it if the sync fails. Waits for a sync on the queue first: the kernel reports a
    /// lost write to one sync only. If the sync on the queue fails, a second sync would succeed although data is lost.
    mutating func sync(_ log: Log) {
        syncTask.wait()
        collectSyncResult(log)
        do throws(JournalFile.Failure) {
            try file?.sync()
            durableRevision = file?.end.lastRevision ?? durableRevision
        } catch {
            log.error("cannot sync the journal: \(error.cause); the daemon continues with a new journal")
            file = nil
        }
    }

    /// Appends the line that marks a clean stop after a revision. From this line, the next start knows that no commit
    /// is lost.
    mutating func close(after revision: Revision) throws(FileError) {
        var batch = JournalBatch()
        batch.addCleanStop(after: revision)
        do throws(JournalFile.Failure) {
            try file?.append(batch)
            file?.truncatePadding()
            try file?.sync()
        } catch {
            throw error.cause
        }
    }
}
