internal import Dispatch
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// Determines when to write a past file (a file with older commits), and writes one file at a time on a queue.
///
/// The history in memory is limited and evicts its oldest commits. It has every commit after its revision
/// `oldestAvailable`. A state is immutable and includes the history, so a queued state keeps its commits in memory
/// until they are in a file. Runs on the commit thread of ``WritePipeline``.
struct PastSchedule {
    /// The result of writing a file.
    private struct Report: Sendable {
        let result: Result<Void, FileError>
        /// The value of `PastSchedule.bytesSinceBase` after the file was written.
        let bytesSinceBase: [SuiteName: Int]
    }

    /// A file is written each time new commits have filled a quarter of the limits of the history.
    private static let filesPerHistory = 4
    let files: PastFiles
    private let limits: History.Limits
    private let task: BackgroundTask<Report>
    /// The states whose commits must be written, oldest first.
    private var queuedStates: [State] = []
    /// The number of queued states, from the first, whose commits the task is writing; 0 if there is no task.
    private var writingCount = 0
    /// The total number and bytes of the commits that the history had received when the last state was enqueued.
    /// `init` subtracts the commits that are not in a file yet, so that ``isDue(_:)`` treats them as new commits.
    private var enqueuedTotals: (count: Int, size: Int)
    /// For each suite (named set of settings), the bytes of its commits that were written to files after its last
    /// *base*. A base is a copy of the suite in a file. ``PastWriter`` writes a new base as soon as the base takes
    /// fewer bytes than these commits.
    private var bytesSinceBase: [SuiteName: Int] = [:]
    /// The number of failures since the last success; 6 if there were more, so that the delay stays at most 64 s.
    private var consecutiveFailures: UInt64 = 0
    /// After a failure, the monotonic time before which no file begins; otherwise 0.
    private var earliestRetry: UInt64 = 0

    /// - Parameter history: all recovered commits, including commits beyond the limits.
    init(_ files: PastFiles, _ history: History, limits: History.Limits, runsSynchronously: Bool) {
        self.files = files
        self.limits = limits
        task = BackgroundTask(label: "settingsd.past", qos: .utility, runsSynchronously: runsSynchronously)
        enqueuedTotals = history.appended
        history.forEach(after: files.newest?.to ?? history.oldestAvailable) { commit in
            enqueuedTotals = (enqueuedTotals.count - 1, enqueuedTotals.size - commit.size)
            return true
        }
    }

    /// True if the commits since the last enqueued state are enough for another file.
    func isDue(_ state: State) -> Bool {
        let added = state.history.appended
        return added.count - enqueuedTotals.count >= max(1, limits.commits / Self.filesPerHistory)
            || added.size - enqueuedTotals.size >= limits.bytes / Self.filesPerHistory
    }

    /// True if the history of a state has evicted commits that are not in a file yet. These commits are in the queued
    /// states and in the journals, so no snapshot may replace the journals. False after a failed write of a file,
    /// because the journals would otherwise grow for as long as writes fail. A stop of the daemon may then lose these
    /// commits.
    func hasUnwrittenCommits(_ state: State) -> Bool {
        consecutiveFailures == 0 && !queuedStates.isEmpty && state.history.oldestAvailable > files.newest?.to ?? .zero
    }

    /// The approximate bytes of the commits that queued states contain and that the given state has evicted.
    func evictedBytes(notIn state: State) -> Int {
        guard let first = queuedStates.first else { return 0 }
        func evictedBytes(_ history: History) -> Int { history.appended.size - history.size }
        return max(0, evictedBytes(state.history) - evictedBytes(first.history))
    }

    /// Adds a state to the queue. All of its commits must be durable.
    mutating func enqueue(_ state: State) {
        if queuedStates.count > writingCount {
            let coveredRevision = queuedStates.dropLast().last?.revision ?? files.newest?.to ?? .zero
            // Replace the last queued state if the new state has all of its unwritten commits. Replace it also if the
            // queue uses too much memory; no past file will then have the commits that only the replaced state has.
            if state.history.oldestAvailable <= coveredRevision || evictedBytes(notIn: state) > 2 * limits.bytes {
                queuedStates.removeLast()
            }
        }
        queuedStates.append(state)
        enqueuedTotals = state.history.appended
    }

    /// Begins to write the next file, unless the queue is empty, a file is being written, or a retry is not due yet.
    mutating func beginNextFile(now: UInt64) {
        guard !queuedStates.isEmpty, !task.isBusy, now >= earliestRetry else { return }
        // Write the last state that still has all unwritten commits, because it has the commits of the states before
        // it, too. If no state has all of them, write the first state; the missing commits are lost.
        let fileEnd = files.newest?.to ?? .zero
        let index = queuedStates.lastIndex { $0.history.oldestAvailable <= fileEnd } ?? 0
        let state = queuedStates[index]
        writingCount = index + 1
        let (files, bytesSinceBase) = (files, bytesSinceBase)
        task.begin { task in
            var bytesSinceBase = bytesSinceBase
            do throws(FileError) {
                try Self.write(state, files, &bytesSinceBase) { task.isCancelled }
                return Report(result: .success(()), bytesSinceBase: bytesSinceBase)
            } catch {
                // Without an entry, a suite gets a base in the next file.
                return Report(result: .failure(error), bytesSinceBase: [:])
            }
        }
    }

    /// Writes the commits of a state that are not in a file yet, and removes expired files.
    private static func write(
        _ state: State, _ files: PastFiles, _ bytesSinceBase: inout [SuiteName: Int],
        isCancelled: @escaping () -> Bool
    ) throws(FileError) {
        let history = state.history
        var (from, time) = (history.oldestAvailable, history.oldestAvailableTime)
        if let newest = files.newest, newest.to >= from { (from, time) = (newest.to, newest.toTime) }
        let file = try PastWriter.write(
            state, after: from, at: time, in: files.directory, &bytesSinceBase, isCancelled: isCancelled)
        guard let file else { return }
        files.add(file)
        files.removeExpiredFiles(maximumAge: state.limits.age)
    }

    /// Collects the result of a file that was written, or could not be written.
    mutating func collectResult(now: UInt64, _ log: Log) {
        guard let report = task.takeResult() else { return }
        bytesSinceBase = report.bytesSinceBase
        defer { writingCount = 0 }
        switch report.result {
        case .success:
            queuedStates.removeFirst(writingCount)
            (consecutiveFailures, earliestRetry) = (0, 0)
        case .failure(let error) where error.code == SystemErrorCode.cancelled: break
        case .failure(let error):
            consecutiveFailures = min(consecutiveFailures + 1, 6)
            earliestRetry = now &+ (1_000_000_000 << consecutiveFailures)
            log.error("cannot write commits to a past file: \(error); the daemon tries again, but may lose history")
        }
    }

    /// Writes the queued states until a deadline. The next start finds the remaining commits in the journals.
    mutating func writeQueuedStates(until deadline: UInt64, clock: () -> UInt64, _ log: Log) {
        // If an earlier write failed, try again now.
        (consecutiveFailures, earliestRetry) = (0, 0)
        while true {
            // The time that remains; 0 after the deadline.
            let isDone = task.wait(for: deadline - min(clock(), deadline))
            if !isDone { task.cancelAndWait() }
            collectResult(now: clock(), log)
            guard isDone, consecutiveFailures == 0, !queuedStates.isEmpty, clock() < deadline else { return }
            beginNextFile(now: clock())
        }
    }
}
