internal import SettingsAPI
internal import SettingsModel

/// One ``SuiteLog`` for each suite that commits of the ``History`` affect. A log has the commits that affect its suite.
struct SuiteLogs: Sendable {
    private var logs: OrderedTree<SuiteLog>
    /// The oldest available revision of every suite without a log: the highest oldest available revision of the logs
    /// that were removed because they became empty.
    private(set) var oldestAvailableWithoutLog: Revision

    init(_ logs: OrderedTree<SuiteLog> = OrderedTree(), oldestAvailableWithoutLog: Revision) {
        self.logs = logs
        self.oldestAvailableWithoutLog = oldestAvailableWithoutLog
    }

    /// The oldest revision at which a suite can still be read: every later commit that affects the suite is in its log.
    func oldestAvailable(of suite: SuiteName) -> Revision {
        logs.with(suite.text.utf8Span.span) { $0.oldestAvailable } ?? oldestAvailableWithoutLog
    }

    func hasLog(of suite: SuiteName) -> Bool {
        logs.with(suite.text.utf8Span.span) { _ in true } ?? false
    }

    /// Visits the logs of the suites whose names begin with a prefix, by name, until the body returns false.
    func forEach(prefix: String = "", _ body: (SuiteLog) -> Bool) {
        logs.forEach(prefix: prefix, body)
    }

    /// Visits the commits of a suite after a revision in order until the body returns false.
    func forEach(of suite: SuiteName, after revision: Revision, _ body: (KeptCommit) -> Bool) {
        logs.with(suite.text.utf8Span.span) { $0.forEach(after: revision, body) }
    }

    /// Visits the commits of a suite before a revision, the newest first, until the body returns false.
    func forEachReversed(of suite: SuiteName, before revision: Revision, _ body: (KeptCommit) -> Bool) {
        logs.with(suite.text.utf8Span.span) { $0.forEachReversed(before: revision, body) }
    }

    /// True if at least one log contains the commit.
    func isHeld(_ commit: KeptCommit) -> Bool {
        var isHeld = false
        commit.forEachSuite { suite in
            isHeld = isHeld || logs.with(suite.text.utf8Span.span) { $0.holds(commit) } ?? false
        }
        return isHeld
    }
}

// Changes.
extension SuiteLogs {
    /// Appends a commit to the log of one of the suites that it affects. The suite protects the commit. Therefore the
    /// suite may cease to protect older commits, because the limits bound the protected commits of a suite.
    ///
    /// - Parameter evictedThrough: the history keeps commits up to this revision only if a suite protects them.
    /// - Returns: the commits that were removed from the log because the suite no longer protects them.
    mutating func append(
        _ commit: KeptCommit, to suite: SuiteName, evictedThrough: Revision, limits: History.Limits
    ) -> [KeptCommit] {
        func append(to log: inout SuiteLog) -> [KeptCommit] {
            // While a snapshot is loaded, a commit of several suites can arrive that this log evicted and another suite
            // protects.
            guard log.holds(commit) else { return [] }
            log.append(commit)
            return log.removeUnprotected(through: evictedThrough, limits: limits)
        }
        if let removed = logs.update(suite.text.utf8Span.span, append) { return removed }
        var log = SuiteLog(suite, evictedThrough: oldestAvailableWithoutLog)
        let removed = append(to: &log)
        logs.set(log)
        return removed
    }

    /// Applies changed limits to all logs: removes the commits up to a revision that the suites no longer protect.
    ///
    /// - Returns: the removed commits. A commit that affects several suites may occur more than once.
    mutating func removeUnprotected(through revision: Revision, limits: History.Limits) -> [KeptCommit] {
        logs.elements.flatMap { log in
            logs.update(log.name.utf8Span.span) { $0.removeUnprotected(through: revision, limits: limits) } ?? []
        }
    }

    /// Records in the logs that a commit is larger than the whole history may be, so that the history cannot contain
    /// it.
    mutating func recordOversized(_ commit: KeptCommit) {
        commit.forEachSuite { suite in
            let wasRecorded = logs.update(suite.text.utf8Span.span) { log in
                log.lastOversized = max(log.lastOversized, commit.revision)
                return true
            }
            if wasRecorded == nil { oldestAvailableWithoutLog = max(oldestAvailableWithoutLog, commit.revision) }
        }
    }

    /// Removes a commit from the logs that contain it. The commit must be the oldest commit of each log that removes
    /// it.
    ///
    /// - Parameter keepingProtected: if true, a log whose suite protects the commit keeps the commit.
    mutating func removeFirst(_ commit: KeptCommit, keepingProtected: Bool) {
        commit.forEachSuite { suite in
            let isEmpty = logs.update(suite.text.utf8Span.span) { log in
                guard log.holds(commit), !keepingProtected || !log.protects(commit) else { return false }
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

    mutating func removeEmptyLogs() {
        for log in logs.elements where log.isEmpty { removeLog(of: log.suite) }
    }
}
