internal import Dispatch
package import Platform
package import SettingsAPI
internal import Synchronization

/// Reads the files of a data directory while the daemon runs, and reports damaged files: journals (one line for each
/// commit), snapshots (a complete state) and past files (older commits). One pass over all files is called a scrub.
///
/// A start verifies most files too, but a daemon may run for years. A damaged file does not stop the daemon, because
/// the state and the recent history are in memory. Thread-safe.
package final class Scrub: Sendable {
    private let directory: DataDirectory
    private let metrics: StorageMetrics
    private let log: Log
    private let publishedRevision: @Sendable () -> Revision
    private let pace: ReadPace
    private let queue = DispatchQueue(label: "settingsd.scrub", qos: .background)
    private let isRunning = Atomic(false)

    /// - Parameters:
    ///   - pace: the speed limit with which the file system of `directory` was created. When the pace is stopped, a
    ///     running scrub ends without a result.
    ///   - publishedRevision: returns the revision of the last commit that is durable and visible to readers. The
    ///     journals must have this commit.
    package init(
        _ directory: DataDirectory, pace: ReadPace, _ metrics: StorageMetrics, _ log: Log,
        publishedRevision: @escaping @Sendable () -> Revision
    ) {
        (self.directory, self.pace, self.metrics, self.log) = (directory, pace, metrics, log)
        self.publishedRevision = publishedRevision
    }

    /// Begins to read the directory on the queue, unless a scrub is running.
    package func begin() {
        guard !isRunning.exchange(true, ordering: .acquiring) else { return }
        queue.async {
            self.run()
            self.isRunning.store(false, ordering: .releasing)
        }
    }

    /// Abandons the running scrub, without waiting for a disk that may not respond. Later scrubs do nothing.
    package func stop() {
        pace.stop()
    }

    /// Reads the directory once. Runs on the queue.
    package func run() {
        // Read the last published commit before listing the files: the journals in the list must have this commit.
        let published = publishedRevision()
        var report = Report()
        do throws(FileError) {
            let listing = try directory.list()
            for file in listing.snapshots {
                verify(file.name, &report, ifDamaged: Self.backupRemedy) { () throws(RecoveryError) in
                    try SnapshotReader.verify(file, in: directory)
                }
            }
            for file in listing.pastFiles {
                verify(file.name, &report, ifDamaged: Self.replacementRemedy) { () throws(RecoveryError) in
                    _ = try PastReader(PastReader.index(file, in: directory), in: directory).verify()
                }
            }
            // The newest journal comes first, because the head of a journal says where the journal before it must end.
            var end: Revision? = published
            for (position, file) in listing.journals.reversed().enumerated() {
                var next: Revision?
                verify(file.name, &report, ifDamaged: Self.backupRemedy) { () throws(RecoveryError) in
                    next = try verifyJournal(file.name, upTo: end, isNewest: position == 0)
                }
                end = next
            }
        } catch {
            // Counts as a damaged file, so that the alert about damaged files also shows this failure.
            report.failures.append("cannot list \(directory.path): \(error)")
        }
        guard !pace.isStopped else { return }
        for failure in report.failures { log.error("the scrub of the stored files found a problem: \(failure)") }
        log.debug("scrub read \(report.fileCount) files, failures: \(report.failures.count)")
        let now = MonotonicClock.system.now()
        metrics.update { metrics in
            (metrics.scrubTime, metrics.scrubbedFiles) = (now, report.fileCount)
            metrics.damagedFiles = report.failures.count
        }
    }

    private static let backupRemedy =
        "the daemon has all of its data in memory; make a backup with GET /v1/backup now, then check the disk"
    private static let replacementRemedy = "put a copy of the file back, or history is lost; then check the disk"

    private struct Report {
        var fileCount = 0
        var failures: [String] = []
    }

    /// Calls a function that reads a file, and reports the result, unless the daemon has removed the file since.
    private func verify(
        _ name: String, _ report: inout Report, ifDamaged remedy: String, _ read: () throws(RecoveryError) -> Void
    ) {
        guard !pace.isStopped else { return }
        do throws(RecoveryError) {
            try read()
            report.fileCount += 1
        } catch {
            guard !pace.isStopped else { return }
            do throws(FileError) {
                guard try directory.list().contains(name) else { return }
            } catch {
                return report.failures.append("cannot list \(directory.path): \(error)")
            }
            // An error of the file system, such as a missing permission, does not show that the content is damaged.
            guard error.kind == .damaged else { return log.warning("the scrub cannot read \(name): \(error.reason)") }
            report.fileCount += 1
            report.failures.append("\(directory.path)/\(error.locatedReason); \(remedy)")
        }
    }

    /// Reads a journal, which must have the commits up to `end` unless it begins at or after `end`. With durability
    /// `snapshot`, a journal has no commits, so this method reads only its head. `end` is nil if the next journal
    /// cannot be read. Returns the revision of the last commit that the previous journal must have.
    private func verifyJournal(_ name: String, upTo end: Revision?, isNewest: Bool) throws(RecoveryError) -> Revision {
        // A failed write or a crash may leave an incomplete last line, which is not damage. The reader may reach this
        // line in the newest journal, or if `end` is nil. With `isNewest`, the reader does not report the line.
        let reader = JournalReader(directory: directory, name: name, isNewest: isNewest || end == nil)
        let head = try reader.head()
        guard head.durability != .snapshot, end.map({ head.revision < $0 }) ?? true else { return head.predecessor }
        let contents = try reader.read(after: head.revision, upTo: end) { _ in }
        if let damage = contents.damage { throw damage }
        if let end, contents.lastRevision != end {
            throw directory.damage(name, "the file ends before commit \(end)")
        }
        return head.predecessor
    }
}
