import SettingsAPI
import SettingsEngine
import SettingsModel

/// A plain model of the history: one array, searched for everything.
struct HistoryModel {
    struct Entry {
        let commit: KeptCommit
        let suites: Set<SuiteName>
        var isSpared = false

        var revision: Revision { commit.commit.revision }
    }

    struct Log {
        var start: Revision
        var gap = Revision.zero

        var floor: Revision { max(start, gap) }
    }

    let limits: History.Limits
    private(set) var kept: [Entry] = []
    private(set) var logs: [SuiteName: Log] = [:]
    private(set) var floor: Revision
    private var base: Revision
    /// The commits up to this one are indexed by suites; the bounds held when that was done.
    private var indexed = Revision.zero

    init(_ limits: History.Limits, floor: Revision) {
        self.limits = limits
        self.floor = floor
        base = floor
    }

    func floor(of suite: SuiteName) -> Revision { logs[suite]?.floor ?? base }

    /// What a suite knows of itself.
    func held(by suite: SuiteName) -> [Entry] {
        guard let log = logs[suite] else { return [] }
        return kept.filter { $0.suites.contains(suite) && $0.revision > log.start && $0.revision <= indexed }
    }

    private func protects(_ suite: SuiteName, _ entry: Entry) -> Bool {
        Self.newest(held(by: suite), limits).contains { $0.revision == entry.revision }
    }

    /// The newest of a suite that others must not push out.
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
        entry.suites.contains { suite in logs[suite].map { entry.revision > $0.start } ?? false }
    }

    /// Whether so much fits into what the newest commits leave.
    static func fits(_ entries: [Entry], _ limits: History.Limits) -> Bool {
        entries.count <= limits.commits - limits.commits * limits.newestPercent / 100
            && entries.reduce(0) { $0 + $1.commit.size } <= limits.bytes - limits.bytes * limits.newestPercent / 100
    }

    /// A long history indexes the commits of 16 revisions at a time, and keeps room for as many, so that the bounds hold.
    private var takesBatches: Bool { limits.commits >= 1024 && limits.bytes >= 1 << 20 }

    /// Adds a commit and returns the revisions that had to go.
    mutating func append(_ entry: Entry) -> [Revision] {
        let before = kept.map(\.revision) + [entry.revision]
        if entry.commit.size > limits.bytes {
            index()
            for suite in entry.suites {
                if logs[suite] == nil { base = entry.revision }
                logs[suite]?.gap = entry.revision
            }
        } else {
            if let last = kept.last, last.revision.number / 16 != entry.revision.number / 16 { index() }
            kept.append(entry)
            if !takesBatches || entry.commit.size > limits.bytes / 4096 { index() }
        }
        let left = Set(kept.map(\.revision))
        let gone = before.filter { !left.contains($0) }
        floor = max(floor, gone.last ?? floor)
        return gone
    }

    private mutating func index() {
        let unindexed = kept.filter { $0.revision > indexed }
        guard !unindexed.isEmpty else { return }
        for entry in unindexed {
            indexed = entry.revision
            for suite in entry.suites where logs[suite] == nil { logs[suite] = Log(start: base) }
            for suite in entry.suites {
                let outgrown = held(by: suite).filter { $0.isSpared && !protects(suite, $0) }
                for entry in outgrown { logs[suite]?.start = entry.revision }
            }
            kept = kept.filter { entry in !entry.isSpared || isHeld(entry) }
        }
        let room = takesBatches ? (16, limits.bytes / 4096 * 16) : (0, 0)
        while kept.count > limits.commits - room.0
            || kept.reduce(0, { $0 + $1.commit.size }) > limits.bytes - room.1
        {
            dropOldest()
        }
        for (suite, log) in logs where held(by: suite).isEmpty {
            base = max(base, log.floor)
            logs[suite] = nil
        }
    }

    private mutating func dropOldest() {
        let spared = kept.filter(\.isSpared)
        let recent = kept.firstIndex { !$0.isSpared }
        if let recent, spared.isEmpty || Self.fits(spared, limits) {
            let entry = kept[recent]
            for suite in entry.suites where !protects(suite, entry) { logs[suite]?.start = entry.revision }
            if isHeld(entry) { kept[recent].isSpared = true } else { kept.remove(at: recent) }
        } else {
            let entry = kept.removeFirst()
            for suite in entry.suites where (logs[suite]?.start ?? entry.revision) < entry.revision {
                logs[suite]?.start = entry.revision
            }
        }
    }
}
