internal import Dispatch
internal import Glibc
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import Synchronization

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
    /// The bytes of commits that are written at once from which on they have large values.
    private static let large = 256 << 10

    init(latest: Revision, grown: Int, _ options: LocalLog.Options, now: UInt64) {
        self.latest = latest
        self.grown = grown
        self.options = options
        task = BackgroundTask(label: "settingsd.snapshots", qos: .utility, runsInline: options.runsInline)
        time = now
    }

    /// True if the end of one is to be noted.
    var hasReport: Bool { task.hasReport }

    /// True if the last one failed.
    var isRetry: Bool { failures > 0 }

    /// True if it is time for a snapshot of a revision.
    func isDue(_ revision: Revision, now: UInt64) -> Bool {
        guard revision > latest, now >= notBefore, !task.isBusy else { return false }
        return grown >= max(options.snapshotJournalBytes, size) || now &- time >= options.snapshotInterval
    }

    /// Takes note of commits that were written at once.
    mutating func noteCommits(bytes: Int) {
        grown += bytes
        // A value takes about twice the memory of its text.
        if bytes >= Self.large, task.isBusy { replaced += 2 * bytes }
    }

    /// Begins to write a snapshot, which a journal goes on from.
    mutating func begin(_ state: State, journal: Revision, in directory: DataDirectory) {
        let grown = grown
        self.grown = 0
        task.begin { task in
            do throws(FileError) {
                let size = try SnapshotWriter.write(
                    state, journal: journal, in: directory, isAbandoned: { task.isAbandoned })
                // What cannot be removed now is removed after the next one.
                try? directory.removeOutdated()
                return Report(revision: state.revision, grown: grown, result: .success(size))
            } catch {
                return Report(revision: state.revision, grown: grown, result: .failure(error))
            }
        }
    }

    /// Takes note of a snapshot that the task has ended. Returns its revision if it was written.
    mutating func takeReport(now: UInt64, _ log: Log) -> Revision? {
        guard let report = task.takeReport() else { return nil }
        replaced = 0
        switch report.result {
        case .success(let size):
            note(report.revision, size: size, now: now)
            log.debug("wrote a snapshot of revision \(report.revision), \(size) bytes")
            return report.revision
        case .failure(let error):
            grown += report.grown
            postpone(now: now)
            if error.code == ECANCELED { return nil }
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

/// A queue that runs one task at a time beside the writer, and keeps its result until the writer takes it.
final class BackgroundTask<Report: Sendable>: Sendable {
    private struct Progress {
        var isBusy = false
        var report: Report?
    }

    private let queue: DispatchQueue
    private let runsInline: Bool
    private let progress = Mutex(Progress())
    private let abandoned = Atomic(false)

    /// - Parameter runsInline: true to run each task in the call that begins it.
    init(label: String, qos: DispatchQoS, runsInline: Bool) {
        queue = DispatchQueue(label: label, qos: qos)
        self.runsInline = runsInline
    }

    /// True from the beginning of a task until its result is taken.
    var isBusy: Bool { progress.withLock { $0.isBusy } }

    /// True if a result waits to be taken.
    var hasReport: Bool { progress.withLock { $0.report != nil } }

    /// True once the task has to end as soon as it can.
    var isAbandoned: Bool { abandoned.load(ordering: .relaxed) }

    /// Begins a task. The caller has seen that none is under way.
    func begin(_ body: @escaping @Sendable (BackgroundTask) -> Report) {
        progress.withLock { $0.isBusy = true }
        let run: @Sendable () -> Void = { [self] in
            let report = body(self)
            progress.withLock { $0.report = report }
        }
        if runsInline { run() } else { queue.async(execute: run) }
    }

    /// Waits for the end of a task that is under way.
    func wait() {
        queue.sync {}
    }

    /// Waits for the end of a task that is under way, for so many nanoseconds at most. Returns false if it goes on.
    func wait(for time: UInt64) -> Bool {
        let done = DispatchSemaphore(value: 0)
        queue.async { done.signal() }
        // A look at a task that has ended needs a moment, too.
        let time = min(max(time, 1_000_000), 1 << 60)
        return done.wait(timeout: .now() + .nanoseconds(Int(time))) == .success
    }

    /// Makes a task that is under way end, and those that follow, and waits for that.
    func abandon() {
        abandoned.store(true, ordering: .relaxed)
        wait()
    }

    /// As ``abandon()``, but waits for so many nanoseconds at most.
    func abandon(waiting time: UInt64) {
        abandoned.store(true, ordering: .relaxed)
        _ = wait(for: time)
    }

    func takeReport() -> Report? {
        progress.withLock { progress in
            guard let report = progress.report else { return nil }
            progress = Progress()
            return report
        }
    }
}
