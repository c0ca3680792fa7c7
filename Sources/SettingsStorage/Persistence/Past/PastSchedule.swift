internal import Dispatch
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// A schedule of past files, with the task that writes them: one at a time, before memory has no room for their commits.
///
/// The states that wait hold the commits that are still to be written.
struct PastSchedule {
    private struct Report: Sendable {
        let result: Result<Int, FileError>
        let sinceBase: [SuiteName: Int]
    }

    /// The part of the bounds of the history after which a file is written.
    private static let part = 4
    let files: PastFiles
    private let limits: History.Limits
    private let task: BackgroundTask<Report>
    private var waiting: [State] = []
    /// The first of them that the task is writing.
    private var writing = 0
    /// The commits that were added to the history up to the last state that was to be written.
    private var requested: (count: Int, size: Int)
    private var sinceBase: [SuiteName: Int] = [:]
    private var failures: UInt64 = 0
    private var notBefore: UInt64 = 0

    /// - Parameter history: the commits that were recovered, also those that there is no room for.
    init(_ files: PastFiles, _ history: History, limits: History.Limits, runsInline: Bool) {
        self.files = files
        self.limits = limits
        task = BackgroundTask(label: "settingsd.past", qos: .utility, runsInline: runsInline)
        requested = history.appended
        history.forEach(after: files.newest?.to ?? history.oldestAvailable) { kept in
            requested = (requested.count - 1, requested.size - kept.size)
            return true
        }
    }

    /// True if the history of a state has enough commits for another file.
    func isDue(_ state: State) -> Bool {
        let added = state.history.appended
        return added.count - requested.count >= max(1, limits.commits / Self.part)
            || added.size - requested.size >= limits.bytes / Self.part
    }

    /// True if commits left the memory that are not on disk yet. They are in the states that wait, and in the journals:
    /// until they are on disk, no snapshot takes the place of those.
    func isBehind(_ state: State) -> Bool {
        failures == 0 && !waiting.isEmpty && state.history.oldestAvailable > files.newest?.to ?? .zero
    }

    /// About the bytes of the commits that the states which wait hold beside the history of the newest state.
    func heldBytes(beside state: State) -> Int {
        guard let first = waiting.first else { return 0 }
        func dropped(_ history: History) -> Int { history.appended.size - history.size }
        return max(0, dropped(state.history) - dropped(first.history))
    }

    /// Adds a state, all of which is durable.
    mutating func add(_ state: State) {
        if waiting.count > writing {
            let covered = waiting.dropLast().last?.revision ?? files.newest?.to ?? .zero
            // The last one gives way if this one has all that it has, or where too much waits: commits are lost with it then.
            if state.history.oldestAvailable <= covered || heldBytes(beside: state) > 2 * limits.bytes {
                waiting.removeLast()
            }
        }
        waiting.append(state)
        requested = state.history.appended
    }

    /// Begins to write the next file, if one waits and it is time.
    mutating func begin(now: UInt64) {
        guard !waiting.isEmpty, !task.isBusy, now >= notBefore else { return }
        // The last that still has all that is in no file has what those before it have, too.
        let end = files.newest?.to ?? .zero
        let position = waiting.lastIndex { $0.history.oldestAvailable <= end } ?? 0
        let state = waiting[position]
        writing = position + 1
        let (files, sinceBase) = (files, sinceBase)
        task.begin { task in
            var sinceBase = sinceBase
            do throws(FileError) {
                let count = try Self.write(state, files, &sinceBase) { task.isAbandoned }
                return Report(result: .success(count), sinceBase: sinceBase)
            } catch {
                return Report(result: .failure(error), sinceBase: [:])
            }
        }
    }

    /// Writes the commits of a state that are in no file yet, and removes files that are too old.
    private static func write(
        _ state: State, _ files: PastFiles, _ sinceBase: inout [SuiteName: Int],
        isAbandoned: @escaping () -> Bool
    ) throws(FileError) -> Int {
        let history = state.history
        var (from, time) = (history.oldestAvailable, history.oldestAvailableTime)
        if let newest = files.newest, newest.to >= from { (from, time) = (newest.to, newest.toTime) }
        let file = try PastWriter.write(
            state, after: from, at: time, in: files.directory, sinceBase: &sinceBase, isAbandoned: isAbandoned)
        guard let file else { return 0 }
        files.add(file)
        files.removeOutdated(after: state.limits.age)
        return file.commits.count
    }

    /// Takes note of a file that the task has ended.
    mutating func takeReport(now: UInt64, _ log: Log) {
        guard let report = task.takeReport() else { return }
        sinceBase = report.sinceBase
        defer { writing = 0 }
        switch report.result {
        case .success:
            waiting.removeFirst(writing)
            (failures, notBefore) = (0, 0)
        case .failure(let error) where error.code == SystemErrorCode.cancelled: break
        case .failure(let error):
            failures = min(failures + 1, 6)
            notBefore = now &+ (1_000_000_000 << failures)
            log.error("cannot write commits to a past file: \(error); it is retried, history may be lost meanwhile")
        }
    }

    /// Writes what waits, until a time. The journals have what is left then, and the next start goes on with it.
    mutating func finish(until end: UInt64, clock: () -> UInt64, _ log: Log) {
        // One that failed gets another chance.
        (failures, notBefore) = (0, 0)
        while true {
            let isDone = task.wait(for: end - min(clock(), end))
            if !isDone { task.abandon() }
            takeReport(now: clock(), log)
            guard isDone, failures == 0, !waiting.isEmpty, clock() < end else { return }
            begin(now: clock())
        }
    }
}
