internal import SettingsAPI
internal import SettingsModel

/// One ``SuiteLog`` for each suite (named set of settings) that commits of the ``History`` (the commits in memory)
/// affect: a commit affects a suite if it changes the suite, its schema or its keys. A log has the commits that affect
/// its suite.
struct SuiteLogs: Sendable {
    private var logs: OrderedTree<SuiteLog>
    /// The oldest revision (commit number) at which every suite without a log can still be read. It rises when an empty
    /// log is removed, and when a commit that affects a suite without a log is too large for the history.
    private(set) var oldestAvailableWithoutLog: Revision

    init(_ logs: OrderedTree<SuiteLog> = OrderedTree(), oldestAvailableWithoutLog: Revision) {
        self.logs = logs
        self.oldestAvailableWithoutLog = oldestAvailableWithoutLog
    }

    /// The oldest revision at which a suite can still be read: every later commit that affects the suite is in its log.
    func oldestAvailable(of suite: SuiteName) -> Revision {
        logs.with(suite.text.utf8Span.span) { $0.oldestAvailable } ?? oldestAvailableWithoutLog
    }

    func hasLog(of suite: SuiteName) -> Bool { logs.with(suite.text.utf8Span.span) { _ in true } ?? false }

    /// Visits the logs of the suites whose names begin with a prefix, by name, until the body returns false.
    func forEach(prefix: String = "", _ body: (SuiteLog) -> Bool) { logs.forEach(prefix: prefix, body) }

    /// Visits the logs by name, from the first whose name is not before `start`, until the body returns false.
    func forEach(startingAt start: String, _ body: (SuiteLog) -> Bool) { logs.forEach(startingAt: start, body) }

    /// Visits the commits of a suite after a revision in order until the body returns false.
    func forEach(of suite: SuiteName, after revision: Revision, _ body: (RetainedCommit) -> Bool) {
        logs.with(suite.text.utf8Span.span) { $0.forEach(after: revision, body) }
    }

    /// Visits the commits of a suite before a revision, the newest first, until the body returns false.
    func forEachReversed(of suite: SuiteName, before revision: Revision, _ body: (RetainedCommit) -> Bool) {
        logs.with(suite.text.utf8Span.span) { $0.forEachReversed(before: revision, body) }
    }

    /// True if at least one log contains the commit. The commit must have been appended to the log of each suite that
    /// it affects.
    func contains(_ commit: RetainedCommit) -> Bool {
        var isFound = false
        commit.forEachSuite { suite in
            isFound = isFound || logs.with(suite.text.utf8Span.span) { !$0.hasEvicted(commit) } ?? false
        }
        return isFound
    }
}

// Methods that change the logs.
extension SuiteLogs {
    /// Appends a commit to the log of a suite that the commit affects. The suite then protects the commit from eviction
    /// (removal from the history), and may no longer protect older commits. If the suite no longer protects a commit up
    /// to `evictedThrough`, this method removes that commit from the log. Returns the removed commits.
    mutating func append(
        _ commit: RetainedCommit, to suite: SuiteName, evictedThrough: Revision, limits: History.Limits
    ) -> [RetainedCommit] {
        func append(to log: inout SuiteLog) -> [RetainedCommit] {
            // A snapshot (a file with a whole state) can contain a commit that this log no longer has, because another
            // suite protects the commit.
            guard !log.hasEvicted(commit) else { return [] }
            log.append(commit)
            return log.removeUnprotected(through: evictedThrough, limits: limits)
        }
        if let removed = logs.update(suite.text.utf8Span.span, append) { return removed }
        var log = SuiteLog(suite, evictedThrough: oldestAvailableWithoutLog)
        let removed = append(to: &log)
        logs.set(log)
        return removed
    }

    /// Applies changed limits to all logs. If a suite no longer protects a commit up to `revision`, this method removes
    /// that commit from the log of the suite. Returns the removed commits. A commit that was removed from several logs
    /// is in the result several times.
    mutating func removeUnprotected(through revision: Revision, limits: History.Limits) -> [RetainedCommit] {
        logs.elements.flatMap { log in
            logs.update(log.name.utf8Span.span) { $0.removeUnprotected(through: revision, limits: limits) } ?? []
        }
    }

    /// Records in the logs that a commit is missing because it is too large for the history.
    mutating func recordOversized(_ commit: RetainedCommit) {
        commit.forEachSuite { suite in
            let wasRecorded = logs.update(suite.text.utf8Span.span) { log in
                log.lastOversized = max(log.lastOversized, commit.revision)
                return true
            }
            if wasRecorded == nil { oldestAvailableWithoutLog = max(oldestAvailableWithoutLog, commit.revision) }
        }
    }

    /// Removes the first commit of each log that begins with `commit`. If `keepingProtected` is true, the logs of
    /// suites that protect the commit keep the commit.
    mutating func removeFirst(_ commit: RetainedCommit, keepingProtected: Bool) {
        commit.forEachSuite { suite in
            let isEmpty = logs.update(suite.text.utf8Span.span) { log in
                guard !log.hasEvicted(commit), !keepingProtected || !log.protects(commit) else { return false }
                log.removeFirst()
                return log.isEmpty
            }
            if isEmpty ?? false { removeLog(of: suite) }
        }
    }

    private mutating func removeLog(of suite: SuiteName) {
        guard let log = logs.remove(suite.text.utf8Span.span) else { return }
        oldestAvailableWithoutLog = max(oldestAvailableWithoutLog, log.oldestAvailable)
    }

    mutating func removeEmptyLogs() { for log in logs.elements where log.isEmpty { removeLog(of: log.suite) } }
}
