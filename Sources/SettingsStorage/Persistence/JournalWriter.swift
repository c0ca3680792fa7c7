internal import Dispatch
internal import Platform
internal import SettingsAPI
internal import SettingsModel

/// A writer of the journal that begins another file after one that failed, and knows what is on disk for sure.
struct JournalWriter {
    /// The end of a sync on the other queue.
    private struct SyncReport: Sendable {
        let file: OpenFile
        let place: JournalFile.Place
        let error: FileError?
    }

    /// The file that is appended to; nil after it failed, until there is another.
    private(set) var file: JournalFile?
    /// The head of the present file, or of the last one.
    private(set) var head: JournalHead
    /// The last commit that is on disk for sure, in the journals or, with snapshots alone, not in any.
    var trusted: Revision
    private let directory: DataDirectory
    private let options: LocalLog.Options
    private let syncing: BackgroundTask<SyncReport>
    private let figures: StorageFigures
    private var lastSync: UInt64 = 0
    /// The bytes of the write that failed last.
    private var refused = 0

    /// - Parameter head: the head of the first file that is begun.
    init(_ head: JournalHead, in directory: DataDirectory, _ options: LocalLog.Options, _ figures: StorageFigures) {
        self.head = head
        self.directory = directory
        self.options = options
        self.figures = figures
        trusted = head.revision
        syncing = BackgroundTask(label: "settingsd.sync", qos: .userInitiated, runsInline: options.runsInline)
    }

    /// Begins a file behind a revision, with commits that it starts with.
    mutating func begin(after revision: Revision, _ commits: [Commit] = []) throws(FileError) {
        var next = head
        if revision != head.revision {
            next.revision = revision
            next.after = revision
        }
        file?.giveBackRoom()
        do throws(JournalFile.Failure) {
            let begun = try JournalFile(next, commits: commits, in: directory)
            head = next
            file = begun
            trusted = max(trusted, begun.place.last)
        } catch {
            // Where the new name may stand, recovery ignores what the file before has beyond it.
            if !error.isUndone { file = nil }
            throw error.cause
        }
    }

    /// Appends a batch, as durably as was promised.
    mutating func append(_ batch: JournalBatch) throws(CommitLogError) {
        guard options.durability != .snapshot else { return }
        do throws(JournalFile.Failure) {
            try file?.append(batch)
            if options.durability == .always {
                try figures.timing { () throws(JournalFile.Failure) in try file?.sync() }
                trusted = file?.place.last ?? trusted
            }
        } catch {
            refused = batch.bytes.count
            if error.isUndone { throw CommitLogError(.notDone, error.cause) }
            // What is on disk now is unknown, and another sync that succeeds would prove nothing.
            if options.durability == .always { file?.forgetUnsynced() }
            file = nil
            throw CommitLogError(.unknown, error.cause)
        }
    }

    /// No write within the usual limits is larger.
    private static let mostReserved = 16 << 20

    /// Tries a write as large as the one that failed, up to a bound. Throws if writes cannot be taken yet.
    mutating func reserve() throws(CommitLogError) {
        do throws(JournalFile.Failure) {
            try file?.reserve(min(max(refused, 4096), Self.mostReserved))
        } catch {
            if !error.isUndone { file = nil }
            throw CommitLogError(.notDone, error.cause)
        }
        refused = 0
    }

    /// Gives the file up. It is never appended to again.
    mutating func giveUp() {
        file = nil
    }

    /// Syncs the file on another queue, with durability `interval` and if it is time.
    mutating func syncIfDue(now: () -> UInt64) {
        guard options.durability == .interval, let file, !file.isSynced, !syncing.isBusy else { return }
        let now = now()
        guard now &- lastSync >= options.syncInterval else { return }
        lastSync = now
        syncing.begin { [figures] _ in
            do throws(FileError) {
                try figures.timing { () throws(FileError) in try file.file.syncData() }
                return SyncReport(file: file.file, place: file.place, error: nil)
            } catch {
                return SyncReport(file: file.file, place: file.place, error: error)
            }
        }
    }

    /// Takes note of a sync that has ended on the other queue.
    mutating func takeReport(_ log: Log) {
        guard let report = syncing.takeReport(), report.file === file?.file else { return }
        if let error = report.error {
            log.error("cannot sync the journal: \(error); another takes its place")
            file = nil
        } else {
            file?.noteSynced(to: report.place)
            trusted = max(trusted, report.place.last)
        }
    }

    /// Syncs the file, once a sync on the other queue has ended. A failed sync is reported once only: it must not be this
    /// one that seems to succeed. If it fails, the file is given up.
    mutating func sync(_ log: Log) {
        syncing.wait()
        takeReport(log)
        do throws(JournalFile.Failure) {
            try file?.sync()
            trusted = file?.place.last ?? trusted
        } catch {
            file = nil
        }
    }

    /// Marks a clean stop behind a revision.
    mutating func close(after revision: Revision) throws(FileError) {
        var mark = JournalBatch()
        mark.addClosed(after: revision)
        do throws(JournalFile.Failure) {
            try file?.append(mark)
            file?.giveBackRoom()
            try file?.sync()
        } catch {
            throw error.cause
        }
    }
}
