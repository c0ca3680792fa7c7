package import SettingsAPI
internal import SettingsModel

/// The part of the history that is in memory: the recent commits of a state, limited by number, by memory and by age.
/// Past files may have older commits; this type does not know them.
///
/// A commit *affects* a suite (a named set of settings) if it changes the suite, its schema or its keys. Each suite
/// *protects* a limited number of the newest commits that affect it. When the history exceeds a limit, it examines the
/// first commit of the list ``newest``. If no suite protects the commit, the history *evicts* (removes) the commit.
/// Otherwise the history moves the commit to the list ``older``. The commit stays there until no suite protects it any
/// more, or until ``older`` exceeds its share of the limits (see ``Limits/newestPercent``). The commits of a suite with
/// frequent writes therefore do not evict the protected commits of a suite with rare writes.
package struct History: Sendable {
    /// The commits up to the revision (number) ``evictedThrough`` that were not evicted, because a suite protects them.
    private(set) var older = CommitList()
    private var olderBytes = 0
    /// All commits after ``evictedThrough``, except the commits that were larger than the limit of bytes.
    private(set) var newest = CommitList()
    /// For each suite, a *log*: the list of the commits of ``older`` and ``newest`` that affect the suite.
    private(set) var logs: SuiteLogs
    /// The approximate number of bytes of memory that the commits take.
    package private(set) var size = 0
    /// The number and the total size of all commits that were ever appended, even if they were evicted later.
    package private(set) var appended = (count: 0, size: 0)
    /// The estimate of the present time from which the history computes the ages of the commits.
    private var agreedTime = AgreedTime()
    /// The oldest revision at which every suite can still be read: the history has every later commit.
    package private(set) var oldestAvailable: Revision
    /// The time of the commit at ``oldestAvailable``; nil if the time is not known.
    package private(set) var oldestAvailableTime: Timestamp?
    /// Each commit up to this revision was evicted or is in ``older``.
    package private(set) var evictedThrough = Revision.zero

    package init(oldestAvailable: Revision) {
        self.oldestAvailable = oldestAvailable
        logs = SuiteLogs(oldestAvailableWithoutLog: oldestAvailable)
    }

    /// Makes a history from a snapshot (a file with a whole state). The `logs` have no commits yet. The calling code
    /// appends the commits, then calls ``finishRestoring(evictedThrough:)``.
    ///
    /// - Parameters:
    ///   - oldestAvailable: the oldest revision at which every suite can still be read.
    ///   - time: the time of the commit `oldestAvailable`; nil if the time is not known.
    ///   - oldestAvailableWithoutLog: the oldest revision at which every suite without a log can still be read. The
    ///     eviction of commits of suites with a log does not raise this value, so it may be lower than
    ///     `oldestAvailable`.
    package init(
        oldestAvailable: Revision, at time: Timestamp?, oldestAvailableWithoutLog: Revision, logs: OrderedTree<SuiteLog>
    ) {
        self.oldestAvailable = oldestAvailable
        oldestAvailableTime = time
        self.logs = SuiteLogs(logs, oldestAvailableWithoutLog: oldestAvailableWithoutLog)
    }

    package var count: Int { older.count + newest.count }
}

// Methods that change the history.
extension History {
    /// Appends the newest commit. Returns the commits that the history evicts. If the new commit is larger than
    /// `limits.bytes`, the history does not add it, and returns only this commit. Ignores a commit that is not newer
    /// than the commits of the history.
    @discardableResult
    package mutating func append(_ commit: RetainedCommit, limits: Limits) -> [RetainedCommit] {
        guard commit.size <= limits.bytes else {
            raiseOldestAvailable(to: commit)
            logs.recordOversized(commit)
            return [commit]
        }
        guard commit.revision > newest.last?.revision ?? evictedThrough else { return [] }
        newest.append(commit)
        agreedTime.add(commit.commit.time, maximumAge: limits.age)
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

    /// Evicts the commits that exceed new limits.
    mutating func applyLimits(_ limits: Limits) {
        var evicted: [RetainedCommit] = []
        evict(logs.removeUnprotected(through: evictedThrough, limits: limits), into: &evicted)
        logs.removeEmptyLogs()
        evictBeyond(limits, into: &evicted)
    }

    /// Moves every commit up to a revision from `newest` to `older`, or evicts the commit.
    package mutating func finishRestoring(evictedThrough revision: Revision) {
        var evicted: [RetainedCommit] = []
        while let next = newest.first, next.revision <= revision { moveOrEvictFirstOfNewest(into: &evicted) }
        evictedThrough = max(evictedThrough, revision)
        logs.removeEmptyLogs()
    }

    /// Evicts commits until the number and the memory are within the limits, then evicts the commits that are too old.
    private mutating func evictBeyond(_ limits: Limits, into evicted: inout [RetainedCommit]) {
        if exceeds(limits) {
            // Evict a little more than necessary, so that most of the next commits evict nothing.
            let target = limits.slightlyReduced
            while exceeds(target) {
                if newest.isEmpty || olderExceedsShare(of: limits), let first = older.first {
                    evict(protected: first, into: &evicted)
                } else if !newest.isEmpty {
                    moveOrEvictFirstOfNewest(into: &evicted)
                } else {
                    break
                }
            }
        }
        // The history evicts an outdated commit even if a suite protects the commit: the first iteration may move the
        // commit to `older`, and the next iteration then evicts it.
        while let oldest = older.first ?? newest.first, isOutdated(oldest, maximumAge: limits.age) {
            if older.isEmpty {
                moveOrEvictFirstOfNewest(into: &evicted)
            } else {
                evict(protected: oldest, into: &evicted)
            }
        }
    }

    private func exceeds(_ limits: Limits) -> Bool { count > limits.commits || size > limits.bytes }

    private func isOutdated(_ commit: RetainedCommit, maximumAge: Int64) -> Bool {
        guard let earliest = agreedTime.earliest(maximumAge: maximumAge) else { return false }
        return commit.commit.time.milliseconds < earliest
    }

    private func olderExceedsShare(of limits: Limits) -> Bool {
        older.count > limits.commits - limits.commits * limits.newestPercent / 100
            || olderBytes > limits.bytes - limits.bytes * limits.newestPercent / 100
    }

    /// Removes the first commit from `newest`. Moves the commit to `older` if a suite protects it. Otherwise evicts the
    /// commit.
    private mutating func moveOrEvictFirstOfNewest(into evicted: inout [RetainedCommit]) {
        guard let oldest = newest.popFirst() else { return }
        evictedThrough = oldest.revision
        logs.removeFirst(oldest, keepingProtected: true)
        if logs.contains(oldest) {
            older.append(oldest)
            olderBytes += oldest.size
        } else {
            evict(oldest, into: &evicted)
        }
    }

    /// Evicts the first commit of `older`, although a suite protects it.
    private mutating func evict(protected commit: RetainedCommit, into evicted: inout [RetainedCommit]) {
        logs.removeFirst(commit, keepingProtected: false)
        evict([commit], into: &evicted)
    }

    /// Evicts the given commits that are in `older` and that no suite protects any more.
    private mutating func evict(_ unprotected: [RetainedCommit], into evicted: inout [RetainedCommit]) {
        for commit in unprotected where !logs.contains(commit) && older.remove(commit.revision) {
            olderBytes -= commit.size
            evict(commit, into: &evicted)
        }
    }

    private mutating func evict(_ commit: RetainedCommit, into evicted: inout [RetainedCommit]) {
        size -= commit.size
        raiseOldestAvailable(to: commit)
        evicted.append(commit)
    }

    /// Records that the history lacks a commit. The earlier revisions of the affected suites can then no longer be
    /// read.
    private mutating func raiseOldestAvailable(to commit: RetainedCommit) {
        guard commit.revision > oldestAvailable else { return }
        (oldestAvailable, oldestAvailableTime) = (commit.revision, commit.commit.time)
    }
}
