internal import Dispatch
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// When snapshots are written, and the queue beside the writer that writes them: one at a time, never so soon after one
/// that failed.
final class SnapshotSchedule: Sendable {
    /// How a snapshot went.
    enum Report: Sendable {
        case wrote(Revision, size: Int)
        /// `grown`: how many bytes of commits it was to save the replay of.
        case failed(FileError, grown: Int)
    }

    private struct Progress {
        /// The newest snapshot; zero if there is none.
        var latest: Revision
        var size = 0
        /// When the last one was begun.
        var time: UInt64
        var isRunning = false
        var report: Report?
        /// None is begun before, after one failed.
        var notBefore: UInt64 = 0
        var failures: UInt64 = 0

        mutating func note(_ revision: Revision, size: Int, now: UInt64) {
            latest = max(latest, revision)
            self.size = size
            time = now
            notBefore = 0
            failures = 0
        }

        mutating func postpone(now: UInt64) {
            failures = min(failures + 1, 6)
            notBefore = now &+ (1_000_000_000 << failures)
        }
    }

    private let queue = DispatchQueue(label: "settingsd.snapshots", qos: .utility)
    private let journalBytes: Int
    private let interval: UInt64
    private let isSingleFile: Bool
    private let progress: Mutex<Progress>
    private let isAbandoned = Atomic(false)

    init(latest: Revision, journalBytes: Int, interval: UInt64, isSingleFile: Bool, now: UInt64) {
        self.journalBytes = journalBytes
        self.interval = interval
        self.isSingleFile = isSingleFile
        progress = Mutex(Progress(latest: latest, time: now))
    }

    var latest: Revision { progress.withLock { $0.latest } }

    /// Whether the last one failed.
    var isRetry: Bool { progress.withLock { $0.failures > 0 } }

    /// Whether it is time for a snapshot of a revision, so many bytes of commits beyond the last.
    func isDue(_ revision: Revision, grown: Int, now: UInt64) -> Bool {
        progress.withLock { progress in
            guard !progress.isRunning, revision > progress.latest, now >= progress.notBefore else { return false }
            return grown >= max(journalBytes, progress.size) || now &- progress.time >= interval
        }
    }

    func begin(_ state: State, journal: Revision, grown: Int, in directory: DataDirectory) {
        progress.withLock { $0.isRunning = true }
        if isSingleFile {
            run(state, journal, grown, directory)
        } else {
            queue.async { self.run(state, journal, grown, directory) }
        }
    }

    /// Takes note of a snapshot that somebody else wrote.
    func wrote(_ revision: Revision, size: Int, now: UInt64) {
        progress.withLock { $0.note(revision, size: size, now: now) }
    }

    /// Lets some time pass before the next one, more after each that fails.
    func postpone(now: UInt64) {
        progress.withLock { $0.postpone(now: now) }
    }

    /// Gives up a snapshot that is being written, and waits until nothing is.
    func abandon() {
        isAbandoned.store(true, ordering: .relaxed)
        queue.sync {}
    }

    /// How the last one went, if that was not said yet.
    func takeReport(now: UInt64) -> Report? {
        progress.withLock { progress -> Report? in
            guard let report = progress.report else { return nil }
            progress.report = nil
            progress.isRunning = false
            switch report {
            case .wrote(let revision, let size): progress.note(revision, size: size, now: now)
            case .failed: progress.postpone(now: now)
            }
            return report
        }
    }

    private func run(_ state: State, _ journal: Revision, _ grown: Int, _ directory: DataDirectory) {
        let report: Report
        do throws(FileError) {
            let size = try SnapshotWriter.write(
                state, journal: journal, in: directory, isAbandoned: { self.isAbandoned.load(ordering: .relaxed) })
            report = .wrote(state.revision, size: size)
            // What cannot be removed now is removed after the next one.
            try? directory.removeOutdated()
        } catch {
            // Whoever gave it up knows.
            guard !isAbandoned.load(ordering: .relaxed) else { return }
            report = .failed(error, grown: grown)
        }
        progress.withLock { $0.report = report }
    }
}
