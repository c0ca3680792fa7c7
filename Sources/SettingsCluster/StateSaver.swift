internal import Dispatch
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsStorage
internal import Synchronization

/// Saves the published state of a daemon on etcd: as a copy in the data directory, from which this daemon starts, and
/// as a snapshot in etcd, from which new daemons start.
///
/// The commit stage calls all methods. Background queues write the copies and the snapshots.
final class StateSaver: Sendable {
    /// The state that was published last, and the data that determine when the saver saves it.
    private struct PublishedState: Sendable {
        var state: State
        /// The head of the last batch in the state. A head is the first line of a batch, and identifies the batch.
        var head: LogHead
        /// The head of the last batch in the copy in the data directory; nil if there is no copy.
        var copiedHead: LogHead?
        /// When the last copy began, or the log was opened, in monotonic nanoseconds.
        var copyTime: UInt64
        /// The size of all batches ever added to the log (`LogHead.logBytes`) at which the saver checks again whether a
        /// snapshot is due; 0 to check at once.
        var nextSnapshotBytes: Int64 = 0
    }

    /// The maximum time that ``close(within:)`` waits for a running snapshot to stop, in nanoseconds.
    private static let snapshotStopTimeout: UInt64 = 3_000_000_000

    private let options: EtcdLog.Options
    private let keys: LogKeys
    private let directory: DataDirectory
    private let cache: LogCache
    private let inbox: LogInbox
    private let metrics: LogMetrics
    /// The log with messages for operators. In this file, all other uses of "log" mean the commit log.
    private let log: Log
    /// Returns the monotonic time in nanoseconds.
    private let clock: @Sendable () -> UInt64
    private let latest: Mutex<PublishedState>
    private let copyTask = BackgroundTask<LogHead?>(label: "settingsd.copies", qos: .utility, runsSynchronously: false)
    private let snapshotTask = BackgroundTask<Int64?>(
        label: "settingsd.snapshots", qos: .utility, runsSynchronously: false)

    /// - Parameter copiedHead: the head of the last batch in the copy in the data directory; nil if there is no copy.
    init(
        _ start: LogInbox.LoadedState, copiedHead: LogHead?, _ keys: LogKeys, _ directory: DataDirectory,
        _ cache: LogCache, _ inbox: LogInbox, _ options: EtcdLog.Options, _ metrics: LogMetrics, _ log: Log,
        _ clock: @escaping @Sendable () -> UInt64
    ) {
        (self.keys, self.directory, self.cache, self.inbox) = (keys, directory, cache, inbox)
        (self.options, self.metrics, self.log, self.clock) = (options, metrics, log, clock)
        latest = Mutex(PublishedState(state: start.state, head: start.head, copiedHead: copiedHead, copyTime: clock()))
    }

    /// Records the published state. `head` is the head of the last batch in the state.
    func recordPublication(of state: State, at head: LogHead) {
        latest.withLock { latest in (latest.state, latest.head) = (state, head) }
    }

    /// Begins a copy or a snapshot, or both, if they are due.
    func saveIfDue() {
        collectTaskResults()
        let (latest, now) = (latest.withLock { $0 }, clock())
        let isCopyDue = latest.copiedHead == nil || now &- latest.copyTime >= options.copyInterval
        if latest.copiedHead != latest.head, isCopyDue, !copyTask.isBusy {
            self.latest.withLock { $0.copyTime = now }
            beginCopy(latest)
        }
        if latest.head.logBytes >= latest.nextSnapshotBytes, inbox.readFailure == nil, !snapshotTask.isBusy {
            beginSnapshot(latest)
        }
    }

    private func collectTaskResults() {
        if let copiedHead = copyTask.takeResult(), let copiedHead { latest.withLock { $0.copiedHead = copiedHead } }
        // If the result is nil, `nextSnapshotBytes` keeps its value, so the next call of `saveIfDue` starts a task
        // that computes the new value.
        if let bytes = snapshotTask.takeResult(), let bytes { latest.withLock { $0.nextSnapshotBytes = bytes } }
    }

    /// Copies the state to the data directory. The result is the head of the copy; nil if the copy failed.
    private func beginCopy(_ latest: PublishedState) {
        copyTask.begin { [cache, inbox, log] _ in
            do throws(FileError) {
                try cache.save(latest.state, at: latest.head, staleness: inbox.staleness)
                return latest.head
            } catch {
                log.warning("cannot copy the state into the data directory: \(error); the daemon will try again")
                return nil
            }
        }
    }

    /// Puts a snapshot into etcd if the log has grown enough since the last snapshot. The result is the value of
    /// `LogHead.logBytes` at which to check again; nil if the task has put a snapshot or was cancelled.
    private func beginSnapshot(_ latest: PublishedState) {
        let (options, keys, directory, log, metrics) = (options, keys, directory, log, metrics)
        snapshotTask.begin { task in
            var client = EtcdClient(options.etcd)
            // If another daemon puts a snapshot, or after a failure, the next attempt waits until the log has grown
            // more.
            let retryBytes = latest.head.logBytes + Int64(options.snapshotLogBytes / 8)
            do throws(EtcdError) {
                let pointer = try client.readSnapshotPointer(keys, by: .now + options.flushTimeout)
                let dueBytes = (pointer?.head.logBytes ?? 0) + Int64(max(options.snapshotLogBytes, pointer?.bytes ?? 0))
                guard latest.head.logBytes >= dueBytes else { return dueBytes }
                // If another daemon holds the lock, the other daemon puts a snapshot.
                guard var lock = try SnapshotLock(&client, keys) else { return retryBytes }
                // If the pointer in etcd is still `pointer`, the new snapshot is incomplete, and `release` deletes its
                // parts.
                defer { lock.release(keeping: pointer, &client, by: .now + .seconds(1)) }
                try lock.putSnapshot(
                    latest.state, at: latest.head, replacing: pointer, in: directory,
                    isCancelled: { task.isCancelled }, &client)
                log.info("put a snapshot of revision \(latest.head.revision) into etcd")
                return nil
            } catch {
                guard !task.isCancelled else { return nil }
                metrics.update { $0.failedSnapshots += 1 }
                log.warning("cannot put a snapshot into etcd: \(error); the daemon will try again")
                return retryBytes
            }
        }
    }

    /// Waits for the end of a running snapshot, at most `bound` nanoseconds or ``snapshotStopTimeout``, whichever is
    /// shorter. Then waits, without a limit, for the end of a running copy, and copies the state to the data directory.
    func close(within bound: UInt64) throws(FileError) {
        snapshotTask.cancelAndWait(atMost: min(bound, Self.snapshotStopTimeout))
        copyTask.wait()
        collectTaskResults()
        let latest = latest.withLock { $0 }
        guard latest.copiedHead != latest.head else { return }
        // If the directory was moved, another directory may be at its path. The copy must not be written there.
        try cache.verifyPath()
        try cache.save(latest.state, at: latest.head, staleness: inbox.staleness)
    }
}
