internal import Dispatch
package import Platform
package import SettingsAPI
internal import Synchronization

/// A scrub that reads the journals, snapshots and past files of a data directory again while the daemon runs, and reports
/// those that are not as they were written.
///
/// A start reads them, too, but a daemon may run for years, and a disk forgets meanwhile. The daemon goes on whatever is
/// found: it has everything but the far past in memory. On a queue of its own.
package final class Scrub: Sendable {
    private let directory: DataDirectory
    private let figures: StorageFigures
    private let log: Log
    /// The last commit that was published.
    private let published: @Sendable () -> Revision
    private let pace: ReadPace
    private let queue = DispatchQueue(label: "settingsd.scrub", qos: .background)
    private let isUnderWay = Atomic(false)

    /// - Parameters:
    ///   - pace: the pace of the directory's file system, which is stopped to abandon a scrub.
    ///   - published: returns the last commit that was published.
    package init(
        _ directory: DataDirectory, pace: ReadPace, _ figures: StorageFigures, _ log: Log,
        published: @escaping @Sendable () -> Revision
    ) {
        self.directory = directory
        self.pace = pace
        self.figures = figures
        self.log = log
        self.published = published
    }

    /// Reads the directory, unless it is being read. From any thread.
    package func begin() {
        guard !isUnderWay.exchange(true, ordering: .acquiring) else { return }
        queue.async {
            self.run()
            self.isUnderWay.store(false, ordering: .releasing)
        }
    }

    /// Abandons what is under way, without waiting for a disk that does not answer. Later ones do nothing.
    package func stop() {
        pace.stop()
    }

    /// Reads the directory once. Runs on the queue.
    package func run() {
        // Before the files are listed: a journal that is begun meanwhile is not missed, and none lacks this commit.
        let published = published()
        var report = Report()
        do throws(FileError) {
            let listing = try directory.list()
            for file in listing.snapshots {
                look(at: file.name, &report, ifDamaged: Self.backUp) { () throws(RecoveryError) in
                    try SnapshotReader.check(file, in: directory)
                }
            }
            for file in listing.past {
                look(at: file.name, &report, ifDamaged: Self.replace) { () throws(RecoveryError) in
                    _ = try PastReader(PastReader.index(file, in: directory), in: directory).check()
                }
            }
            // Each journal counts up to where the next one goes on.
            var end: Revision? = published
            for (position, file) in listing.journals.reversed().enumerated() {
                var next: Revision?
                look(at: file.name, &report, ifDamaged: Self.backUp) { () throws(RecoveryError) in
                    next = try check(file.name, upTo: end, isNewest: position == 0)
                }
                end = next
            }
        } catch {
            report.failures.append("cannot list \(directory.path): \(error)")
        }
        guard !pace.isStopped else { return }
        for failure in report.failures { log.error("scrub failed: \(failure)") }
        log.debug("scrub read \(report.files) files, failures: \(report.failures.count)")
        let now = MonotonicClock.system.now()
        figures.update { figures in
            (figures.scrubTime, figures.scrubbedFiles) = (now, report.files)
            figures.damagedFiles = report.failures.count
        }
    }

    private static let backUp =
        "the daemon has all of it in memory: take a backup with GET /v1/backup now, then look at the disk"
    private static let replace = "put a copy of the file back, or the history ends there; then look at the disk"

    private struct Report {
        var files = 0
        var failures: [String] = []
    }

    /// Reads one file, and adds it to a report. A file that was removed meanwhile, as it is not needed any more, does not
    /// count.
    private func look(
        at name: String, _ report: inout Report, ifDamaged remedy: String, _ read: () throws(RecoveryError) -> Void
    ) {
        guard !pace.isStopped else { return }
        do throws(RecoveryError) {
            try read()
            report.files += 1
        } catch {
            guard !pace.isStopped else { return }
            do throws(FileError) {
                guard try directory.list().contains(name) else { return }
            } catch {
                report.failures.append("cannot list \(directory.path): \(error)")
            }
            // That a file cannot be opened now says nothing of what is in it.
            guard error.kind == .damaged else { return log.warning("scrub cannot read \(name): \(error.reason)") }
            report.files += 1
            report.failures.append("\(directory.path)/\(error.located); \(remedy)")
        }
    }

    /// Reads a journal up to a commit that it has if it is of its time. Returns the commit up to which the journal before
    /// it counts.
    private func check(_ name: String, upTo end: Revision?, isNewest: Bool) throws(RecoveryError) -> Revision {
        // Where the next journal cannot be read, this one may end as the newest does.
        let reader = JournalReader(directory: directory, name: name, isNewest: isNewest || end == nil)
        let head = try reader.head()
        guard head.durability != .snapshot, end.map({ head.revision < $0 }) ?? true else { return head.after }
        let found = try reader.read(after: head.revision, upTo: end) { _ in }
        if let damage = found.damage { throw damage }
        if let end, found.last != end {
            throw directory.damage(name, "it ends before commit \(end)")
        }
        return head.after
    }
}
