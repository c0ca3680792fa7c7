package import SettingsAPI
internal import SettingsModel

/// The recent commits of a state in memory, limited by number, by memory and by age.
///
/// Each suite *protects* a limited number of its own newest commits. When the history exceeds a limit, it processes its
/// oldest commit: if no suite protects the commit, the commit is *evicted* (removed). Otherwise the commit is
/// *retained*: it stays until the suite has enough newer commits, or until all retained commits together exceed their
/// share of the limits (see ``Limits/newestPercent``). A busy suite therefore evicts its own commits, and a quiet suite
/// keeps its history.
package struct History: Sendable {
    /// The retained commits, which are all commits of the history up to ``evictedThrough``.
    private(set) var retained = CommitList()
    private var retainedBytes = 0
    /// All commits after ``evictedThrough``.
    private(set) var newest = CommitList()
    /// The commits of both lists, for each suite the commits that affect it.
    private(set) var logs: SuiteLogs
    /// The approximate number of bytes of memory that the commits take.
    package private(set) var size = 0
    /// The total number and size of all appended commits, including evicted commits. Copies continue the totals.
    package private(set) var appended = (count: 0, size: 0)
    /// The reference time for the ages of the commits.
    private var time = AgreedTime()
    /// The oldest revision at which every suite can still be read: the history has every later commit.
    package private(set) var oldestAvailable: Revision
    /// The time of the commit at ``oldestAvailable``; nil if the time is not known.
    package private(set) var oldestAvailableTime: Timestamp?
    /// Each commit up to this revision was evicted or is retained.
    package private(set) var evictedThrough = Revision.zero

    package init(oldestAvailable: Revision) {
        self.oldestAvailable = oldestAvailable
        logs = SuiteLogs(oldestAvailableWithoutLog: oldestAvailable)
    }

    /// Makes a history from a snapshot. The `logs` have no commits yet. The caller appends the commits, then calls
    /// ``finishRestoring(evictedThrough:limits:)``.
    package init(
        oldestAvailable: Revision, at time: Timestamp?, oldestAvailableWithoutLog: Revision, logs: OrderedTree<SuiteLog>
    ) {
        self.oldestAvailable = oldestAvailable
        oldestAvailableTime = time
        self.logs = SuiteLogs(logs, oldestAvailableWithoutLog: oldestAvailableWithoutLog)
    }

    /// The number of commits.
    package var count: Int { retained.count + newest.count }
}

// Changes.
extension History {
    /// Appends the newest commit. Returns the evicted commits. A commit larger than `limits.bytes` is evicted at once.
    @discardableResult
    package mutating func append(_ commit: RetainedCommit, limits: Limits) -> [RetainedCommit] {
        guard commit.size <= limits.bytes else {
            raiseOldestAvailable(to: commit)
            logs.recordOversized(commit)
            return [commit]
        }
        guard commit.revision > newest.last?.revision ?? evictedThrough else { return [] }
        newest.append(commit)
        time.add(commit.commit.time, age: limits.age)
        size += commit.size
        appended = (appended.count + 1, appended.size + commit.size)
        var evicted: [RetainedCommit] = []
        commit.forEachSuite { suite in
            let unprotected = logs.append(commit, to: suite, evictedThrough: evictedThrough, limits: limits)
            evict(unprotected, into: &evicted)
        }
        evictBeyond(limits, into: &evicted)
        return evicted
    }

    /// Evicts the commits that exceed changed limits.
    mutating func applyLimits(_ limits: Limits) {
        var evicted: [RetainedCommit] = []
        evict(logs.removeUnprotected(through: evictedThrough, limits: limits), into: &evicted)
        logs.removeEmptyLogs()
        evictBeyond(limits, into: &evicted)
    }

    /// Retains or evicts every commit up to a revision, to restore the division into `retained` and `newest`.
    package mutating func finishRestoring(evictedThrough revision: Revision, limits: Limits) {
        var evicted: [RetainedCommit] = []
        while let next = newest.first, next.revision <= revision { retainOrEvictOldest(into: &evicted) }
        evictedThrough = max(evictedThrough, revision)
        logs.removeEmptyLogs()
    }

    /// Retains or evicts the oldest commits until the history is within the limits.
    private mutating func evictBeyond(_ limits: Limits, into evicted: inout [RetainedCommit]) {
        if exceeds(limits) {
            let target = limits.slightlyReduced
            while exceeds(target) {
                if newest.isEmpty || retainedExceedShare(of: limits), let first = retained.first {
                    evict(retained: first, into: &evicted)
                } else if !newest.isEmpty {
                    retainOrEvictOldest(into: &evicted)
                } else {
                    break
                }
            }
        }
        while let oldest = retained.first ?? newest.first, isOutdated(oldest, age: limits.age) {
            if retained.isEmpty {
                retainOrEvictOldest(into: &evicted)
            } else {
                evict(retained: oldest, into: &evicted)
            }
        }
    }

    private func exceeds(_ limits: Limits) -> Bool { count > limits.commits || size > limits.bytes }

    private func isOutdated(_ commit: RetainedCommit, age: Int64) -> Bool {
        guard let earliest = time.earliest(age: age) else { return false }
        return commit.commit.time.milliseconds < earliest
    }

    private func retainedExceedShare(of limits: Limits) -> Bool {
        retained.count > limits.commits - limits.commits * limits.newestPercent / 100
            || retainedBytes > limits.bytes - limits.bytes * limits.newestPercent / 100
    }

    /// Removes the first commit from `newest`. Retains the commit if a suite protects it, and otherwise evicts it.
    private mutating func retainOrEvictOldest(into evicted: inout [RetainedCommit]) {
        guard let oldest = newest.popFirst() else { return }
        evictedThrough = oldest.revision
        logs.removeFirst(oldest, keepingProtected: true)
        if logs.isHeld(oldest) {
            retained.append(oldest)
            retainedBytes += oldest.size
        } else {
            evict(oldest, into: &evicted)
        }
    }

    /// Evicts a retained commit, although a suite protects it.
    private mutating func evict(retained commit: RetainedCommit, into evicted: inout [RetainedCommit]) {
        logs.removeFirst(commit, keepingProtected: false)
        evict([commit], into: &evicted)
    }

    /// Evicts those of the given commits that are retained and that no suite protects any more.
    private mutating func evict(_ unprotected: [RetainedCommit], into evicted: inout [RetainedCommit]) {
        for commit in unprotected where !logs.isHeld(commit) && retained.remove(commit.revision) {
            retainedBytes -= commit.size
            evict(commit, into: &evicted)
        }
    }

    private mutating func evict(_ commit: RetainedCommit, into evicted: inout [RetainedCommit]) {
        size -= commit.size
        raiseOldestAvailable(to: commit)
        evicted.append(commit)
    }

    private mutating func raiseOldestAvailable(to commit: RetainedCommit) {
        guard commit.revision > oldestAvailable else { return }
        (oldestAvailable, oldestAvailableTime) = (commit.revision, commit.commit.time)
    }
}
