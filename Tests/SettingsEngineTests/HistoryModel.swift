import SettingsAPI
import SettingsEngine
import SettingsModel

/// A simple model of `History`: one array, in which every query searches linearly.
///
/// Each suite has a log: the commits that change the suite and are later than the revision `evictedThrough` of the log.
/// Each suite protects its newest commits from eviction (removal). An eviction removes a commit from the logs of
/// suites. The history removes a commit that is in no log.
struct HistoryModel {
    struct Entry {
        let commit: RetainedCommit
        /// The suites that the commit changes.
        let suites: Set<SuiteName>
        /// True if the commit is in the list `History.older`: the history would have evicted the commit, but a suite
        /// protected it.
        var isInOlderList = false

        var revision: Revision { commit.commit.revision }
    }

    struct Log {
        /// The highest revision that was removed from the log.
        var evictedThrough: Revision
        /// The revision of the last commit of the suite that was larger than the limit of the whole history.
        var lastOversized = Revision.zero

        var oldestAvailable: Revision { max(evictedThrough, lastOversized) }
    }

    let limits: History.Limits
    private(set) var entries: [Entry] = []
    private(set) var logs: [SuiteName: Log] = [:]
    /// The oldest revision at which every suite can be read.
    private(set) var oldestAvailable: Revision
    /// The oldest revision at which every suite without a log can be read.
    private var oldestAvailableWithoutLog: Revision

    init(_ limits: History.Limits, oldestAvailable: Revision) {
        self.limits = limits
        self.oldestAvailable = oldestAvailable
        oldestAvailableWithoutLog = oldestAvailable
    }

    func oldestAvailable(of suite: SuiteName) -> Revision {
        logs[suite]?.oldestAvailable ?? oldestAvailableWithoutLog
    }

    /// The commits in the log of a suite.
    func entriesInLog(of suite: SuiteName) -> [Entry] {
        guard let log = logs[suite] else { return [] }
        return entries.filter { $0.suites.contains(suite) && $0.revision > log.evictedThrough }
    }

    private func protects(_ suite: SuiteName, _ entry: Entry) -> Bool {
        Self.protectedEntries(in: entriesInLog(of: suite), limits).contains { $0.revision == entry.revision }
    }

    /// The newest of the commits of a suite: the commits that the suite protects from eviction.
    static func protectedEntries(in entries: [Entry], _ limits: History.Limits) -> [Entry] {
        var newest: [Entry] = []
        var size = 0
        for entry in entries.reversed() {
            size += entry.commit.size
            guard newest.count < limits.suiteCommits, size <= limits.suiteBytes else { break }
            newest.append(entry)
        }
        return newest.reversed()
    }

    private func isInLog(_ entry: Entry) -> Bool {
        entry.suites.contains { suite in logs[suite].map { entry.revision > $0.evictedThrough } ?? false }
    }

    /// True if the commits are within the share of the limits that protected commits may use: the limits without
    /// the percentage `newestPercent`, which is reserved for the newest commits.
    static func fitProtectedShare(_ entries: [Entry], _ limits: History.Limits) -> Bool {
        entries.count <= limits.commits - limits.commits * limits.newestPercent / 100
            && entries.reduce(0) { $0 + $1.commit.size } <= limits.bytes - limits.bytes * limits.newestPercent / 100
    }

    /// Appends a commit and returns the revisions of the evicted commits.
    mutating func append(_ entry: Entry) -> [Revision] {
        let before = entries.map(\.revision) + [entry.revision]
        if entry.commit.size > limits.bytes {
            for suite in entry.suites {
                if logs[suite] == nil { oldestAvailableWithoutLog = entry.revision }
                logs[suite]?.lastOversized = entry.revision
            }
        } else {
            entries.append(entry)
            for suite in entry.suites where logs[suite] == nil {
                logs[suite] = Log(evictedThrough: oldestAvailableWithoutLog)
            }
            evictBeyondLimits(afterAppending: entry)
        }
        let remaining = Set(entries.map(\.revision))
        let evicted = before.filter { !remaining.contains($0) }
        oldestAvailable = max(oldestAvailable, evicted.last ?? oldestAvailable)
        return evicted
    }

    private mutating func evictBeyondLimits(afterAppending newest: Entry) {
        for suite in newest.suites {
            let unprotected = entriesInLog(of: suite).filter { $0.isInOlderList && !protects(suite, $0) }
            for entry in unprotected { logs[suite]?.evictedThrough = entry.revision }
        }
        entries = entries.filter { entry in !entry.isInOlderList || isInLog(entry) }
        if exceeds(limits.commits, limits.bytes) {
            // As in `History.Limits.slightlyReduced`, an eviction continues until the history is 1/1024 below its
            // limits.
            while exceeds(limits.commits - limits.commits / 1024, limits.bytes - limits.bytes / 1024) { evictOldest() }
        }
        for (suite, log) in logs where entriesInLog(of: suite).isEmpty {
            oldestAvailableWithoutLog = max(oldestAvailableWithoutLog, log.oldestAvailable)
            logs[suite] = nil
        }
    }

    private func exceeds(_ commits: Int, _ bytes: Int) -> Bool {
        entries.count > commits || entries.reduce(0) { $0 + $1.commit.size } > bytes
    }

    private mutating func evictOldest() {
        let older = entries.filter(\.isInOlderList)
        let firstRecent = entries.firstIndex { !$0.isInOlderList }
        if let firstRecent, older.isEmpty || Self.fitProtectedShare(older, limits) {
            let entry = entries[firstRecent]
            for suite in entry.suites where !protects(suite, entry) { logs[suite]?.evictedThrough = entry.revision }
            if isInLog(entry) { entries[firstRecent].isInOlderList = true } else { entries.remove(at: firstRecent) }
        } else {
            // The commits that only their protection keeps exceed their share, so the oldest of them is evicted.
            let entry = entries.removeFirst()
            for suite in entry.suites where (logs[suite]?.evictedThrough ?? entry.revision) < entry.revision {
                logs[suite]?.evictedThrough = entry.revision
            }
        }
    }
}
