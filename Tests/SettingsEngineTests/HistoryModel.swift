import SettingsAPI
import SettingsEngine
import SettingsModel

/// A simple model of the history: one array, in which every query searches linearly.
struct HistoryModel {
    struct Entry {
        let commit: RetainedCommit
        let suites: Set<SuiteName>
        var isRetained = false

        var revision: Revision { commit.commit.revision }
    }

    struct Log {
        var evictedThrough: Revision
        var lastOversized = Revision.zero

        var oldestAvailable: Revision { max(evictedThrough, lastOversized) }
    }

    let limits: History.Limits
    private(set) var kept: [Entry] = []
    private(set) var logs: [SuiteName: Log] = [:]
    private(set) var oldestAvailable: Revision
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
    func held(by suite: SuiteName) -> [Entry] {
        guard let log = logs[suite] else { return [] }
        return kept.filter { $0.suites.contains(suite) && $0.revision > log.evictedThrough }
    }

    private func protects(_ suite: SuiteName, _ entry: Entry) -> Bool {
        Self.newest(held(by: suite), limits).contains { $0.revision == entry.revision }
    }

    /// The newest commits of a suite, which the suite protects from eviction.
    static func newest(_ entries: [Entry], _ limits: History.Limits) -> [Entry] {
        var newest: [Entry] = []
        var size = 0
        for entry in entries.reversed() {
            size += entry.commit.size
            guard newest.count < limits.suiteCommits, size <= limits.suiteBytes else { break }
            newest.append(entry)
        }
        return newest.reversed()
    }

    private func isHeld(_ entry: Entry) -> Bool {
        entry.suites.contains { suite in logs[suite].map { entry.revision > $0.evictedThrough } ?? false }
    }

    /// True if the commits are within the share of the limits that is reserved for protected commits.
    static func fits(_ entries: [Entry], _ limits: History.Limits) -> Bool {
        entries.count <= limits.commits - limits.commits * limits.newestPercent / 100
            && entries.reduce(0) { $0 + $1.commit.size } <= limits.bytes - limits.bytes * limits.newestPercent / 100
    }

    /// Appends a commit and returns the revisions of the evicted commits.
    mutating func append(_ entry: Entry) -> [Revision] {
        let before = kept.map(\.revision) + [entry.revision]
        if entry.commit.size > limits.bytes {
            for suite in entry.suites {
                if logs[suite] == nil { oldestAvailableWithoutLog = entry.revision }
                logs[suite]?.lastOversized = entry.revision
            }
        } else {
            kept.append(entry)
            for suite in entry.suites where logs[suite] == nil {
                logs[suite] = Log(evictedThrough: oldestAvailableWithoutLog)
            }
            evictBeyondLimits(after: entry)
        }
        let left = Set(kept.map(\.revision))
        let evicted = before.filter { !left.contains($0) }
        oldestAvailable = max(oldestAvailable, evicted.last ?? oldestAvailable)
        return evicted
    }

    private mutating func evictBeyondLimits(after newest: Entry) {
        for suite in newest.suites {
            let unprotected = held(by: suite).filter { $0.isRetained && !protects(suite, $0) }
            for entry in unprotected { logs[suite]?.evictedThrough = entry.revision }
        }
        kept = kept.filter { entry in !entry.isRetained || isHeld(entry) }
        if exceeds(limits.commits, limits.bytes) {
            while exceeds(limits.commits - limits.commits / 1024, limits.bytes - limits.bytes / 1024) { evictOldest() }
        }
        for (suite, log) in logs where held(by: suite).isEmpty {
            oldestAvailableWithoutLog = max(oldestAvailableWithoutLog, log.oldestAvailable)
            logs[suite] = nil
        }
    }

    private func exceeds(_ commits: Int, _ bytes: Int) -> Bool {
        kept.count > commits || kept.reduce(0) { $0 + $1.commit.size } > bytes
    }

    private mutating func evictOldest() {
        let retained = kept.filter(\.isRetained)
        let recent = kept.firstIndex { !$0.isRetained }
        if let recent, retained.isEmpty || Self.fits(retained, limits) {
            let entry = kept[recent]
            for suite in entry.suites where !protects(suite, entry) { logs[suite]?.evictedThrough = entry.revision }
            if isHeld(entry) { kept[recent].isRetained = true } else { kept.remove(at: recent) }
        } else {
            let entry = kept.removeFirst()
            for suite in entry.suites where (logs[suite]?.evictedThrough ?? entry.revision) < entry.revision {
                logs[suite]?.evictedThrough = entry.revision
            }
        }
    }
}
