internal import Dispatch
internal import Platform
internal import Synchronization

/// Syncs a journal beside the writer, from time to time.
final class JournalSync: Sendable {
    /// How a sync went, of which journal.
    enum Report: Sendable {
        case synced(generation: Int, Journal.Place)
        case failed(generation: Int, FileError)
    }

    private struct Progress {
        var report: Report?
        var isRunning = false
        var last: UInt64 = 0
    }

    private let queue = DispatchQueue(label: "settingsd.sync", qos: .userInitiated)
    private let isSingleFile: Bool
    private let progress = Mutex(Progress())

    init(isSingleFile: Bool) {
        self.isSingleFile = isSingleFile
    }

    /// Begins a sync, unless one is running or the last was not long ago.
    func begin(_ journal: Journal, every interval: UInt64, now: UInt64) {
        let mayBegin = progress.withLock { progress in
            guard !progress.isRunning, progress.report == nil, now &- progress.last >= interval else { return false }
            progress.isRunning = true
            progress.last = now
            return true
        }
        guard mayBegin else { return }
        if isSingleFile {
            run(journal)
        } else {
            queue.async { self.run(journal) }
        }
    }

    /// Waits for the end of a sync that is running.
    func wait() {
        queue.sync {}
    }

    func takeReport() -> Report? {
        progress.withLock { progress in
            defer { progress.report = nil }
            return progress.report
        }
    }

    private func run(_ journal: Journal) {
        let report: Report
        do throws(FileError) {
            try journal.file.syncData()
            report = .synced(generation: journal.generation, journal.place)
        } catch {
            report = .failed(generation: journal.generation, error)
        }
        progress.withLock { progress in
            progress.report = report
            progress.isRunning = false
        }
    }
}
