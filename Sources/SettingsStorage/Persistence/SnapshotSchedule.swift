internal import Dispatch
internal import Platform
internal import SettingsAPI
internal import SettingsEngine

/// A schedule of snapshots, with the task that writes them: one at a time, and never soon after one that failed.
struct SnapshotSchedule {
    /// The end of a snapshot.
    private struct Report: Sendable {
        let revision: Revision
        /// The bytes of commits whose replay the snapshot saves.
        let grown: Int
        let result: Result<Int, FileError>
    }

    /// The newest snapshot; zero if there is none.
    private(set) var latest: Revision
    /// The bytes of commits behind the newest snapshot.
    var grown: Int
    private let options: LocalLog.Options
    private let task: BackgroundTask<Report>
    private(set) var size = 0
    /// When the newest was written; nil if none was since the start.
    private(set) var written: UInt64?
    private(set) var failed = 0
    /// The time when the newest was written.
    private var time: UInt64
    /// The time before which none is begun, after one failed.
    private var notBefore: UInt64 = 0
    private var failures: UInt64 = 0
    /// About how much memory the snapshot under way holds of large values that were replaced since it began.
    private var replaced = 0 {
        didSet { if replaced != oldValue { options.chargeReplaced(replaced) } }
    }
    /// A commit of at least this size is assumed to replace large values.
    static let largeCommitBytes = 256 << 10

    init(latest: Revision, grown: Int, _ options: LocalLog.Options, now: UInt64) {
        self.latest = latest
        self.grown = grown
        self.options = options
        task = BackgroundTask(label: "settingsd.snapshots", qos: .utility, runsInline: options.runsInline)
        time = now
    }

    /// True if the last one failed.
    var isRetry: Bool { failures > 0 }

    /// True if it is time for a snapshot of a revision.
    func isDue(_ revision: Revision, now: UInt64) -> Bool {
        guard revision > latest, now >= notBefore, !task.isBusy else { return false }
        return grown >= max(options.snapshotJournalBytes, size) || now &- time >= options.snapshotInterval
    }

    /// True while a snapshot is being written.
    var isWriting: Bool { task.isBusy }

    /// Records commits that one flush has written.
    ///
    /// - Parameters:
    ///   - bytes: what they take in the journal.
    ///   - replacedBytes: the memory of large values that they replaced.
    mutating func noteCommits(bytes: Int, replacedBytes: Int) {
        grown += bytes
        if task.isBusy { replaced += replacedBytes }
    }

    /// Begins to write a snapshot, which a journal goes on from.
    mutating func begin(_ state: State, journal: Revision, in directory: DataDirectory) {
        let (grown, options) = (grown, options)
        self.grown = 0
        task.begin { task in
            do throws(FileError) {
                let size = try SnapshotWriter.write(
                    state, journal: journal, in: directory, isAbandoned: { task.isAbandoned },
                    chargeLine: options.chargeSnapshotLine)
                // What cannot be removed now is removed after the next one.
                try? directory.removeOutdated()
                return Report(revision: state.revision, grown: grown, result: .success(size))
            } catch {
                return Report(revision: state.revision, grown: grown, result: .failure(error))
            }
        }
    }

    /// Takes note of a snapshot that the task has ended. Returns its revision if it was written.
    mutating func takeReport(now: () -> UInt64, _ log: Log) -> Revision? {
        guard let report = task.takeReport() else { return nil }
        let now = now()
        replaced = 0
        switch report.result {
        case .success(let size):
            note(report.revision, size: size, now: now)
            log.debug("wrote a snapshot of revision \(report.revision), \(size) bytes")
            return report.revision
        case .failure(let error):
            grown += report.grown
            postpone(now: now)
            if error.code == SystemErrorCode.cancelled { return nil }
            failed += 1
            log.warning("cannot write a snapshot: \(error); it is retried, nothing is lost")
            return nil
        }
    }

    /// Takes note of a snapshot that the caller wrote.
    mutating func note(_ revision: Revision, size: Int, now: UInt64) {
        latest = max(latest, revision)
        self.size = size
        written = now
        time = now
        notBefore = 0
        failures = 0
    }

    /// Backs off after a failure, longer after each.
    mutating func postpone(now: UInt64) {
        failures = min(failures + 1, 6)
        notBefore = now &+ (1_000_000_000 << failures)
    }

    /// Abandons a snapshot that is being written, and waits until none is.
    func abandon() {
        task.abandon()
    }
}
