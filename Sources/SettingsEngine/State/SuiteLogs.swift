internal import SettingsAPI
internal import SettingsModel

/// A table of the logs of suites, which finds the indexed commits of a history by the suites that they touch.
struct SuiteLogs: Sendable {
    private var logs: OrderedTree<SuiteLog>
    /// The floor of suites without a log: the highest of those that had one.
    private(set) var base: Revision

    init(_ logs: OrderedTree<SuiteLog> = OrderedTree(), base: Revision) {
        self.logs = logs
        self.base = base
    }

    /// Every indexed commit after this one that touched the suite is there.
    func floor(of suite: SuiteName) -> Revision {
        logs.with(suite.text.utf8Span.span) { $0.floor } ?? base
    }

    /// The suites that have a log.
    var suites: [SuiteName] { logs.elements.map(\.suite) }

    func hasLog(of suite: SuiteName) -> Bool {
        logs.with(suite.text.utf8Span.span) { _ in true } ?? false
    }

    /// Visits the logs by name until `body` returns false.
    func forEach(_ body: (SuiteLog) -> Bool) {
        logs.forEach(body)
    }

    /// Visits the logs of the suites whose names begin with a prefix.
    func forEach(prefix: String, _ body: (SuiteLog) -> Bool) {
        logs.forEach(prefix: prefix, body)
    }

    /// Visits the commits of a suite in order, from the first that is not before `start`, until `body` returns false. Returns
    /// false if it did.
    func forEach(of suite: SuiteName, startingAt start: Revision, _ body: (KeptCommit) -> Bool) -> Bool {
        logs.with(suite.text.utf8Span.span) { $0.forEach(startingAt: start, body) } ?? true
    }

    /// Visits the commits of a suite backwards, from the last that is before `end`, until `body` returns false.
    func forEachReversed(of suite: SuiteName, before end: Revision, _ body: (KeptCommit) -> Bool) {
        logs.with(suite.text.utf8Span.span) { $0.forEachReversed(before: end, body) }
    }

    /// True if another suite has the commit in its log.
    func isHeld(_ commit: KeptCommit, besides first: SuiteName) -> Bool {
        var isHeld = false
        commit.forEachSuite { suite in
            guard suite != first, !isHeld else { return }
            isHeld = logs.with(suite.text.utf8Span.span) { $0.holds(commit) } ?? false
        }
        return isHeld
    }
}

/// Changing.
extension SuiteLogs {
    /// Adds a commit to the log of a suite. Returns the spared commits that the suite does not protect any more.
    mutating func add(
        _ commit: KeptCommit, to suite: SuiteName, _ limits: History.Limits, upTo passed: Revision
    ) -> [KeptCommit] {
        func add(to log: inout SuiteLog) -> [KeptCommit] {
            // A snapshot also has commits that are there for another suite that they touched.
            guard log.holds(commit) else { return [] }
            log.add(commit)
            return log.release(limits, upTo: passed)
        }
        if let released = logs.update(suite.text.utf8Span.span, add) { return released }
        var log = SuiteLog(suite, start: base)
        let released = add(to: &log)
        logs.set(log)
        return released
    }

    /// Ends the protection of the oldest commits of a suite until other bounds hold. Returns those of them that were spared.
    mutating func release(of suite: SuiteName, _ limits: History.Limits, upTo passed: Revision) -> [KeptCommit] {
        logs.update(suite.text.utf8Span.span) { $0.release(limits, upTo: passed) } ?? []
    }

    /// Notes that a commit is too large to be kept.
    mutating func noteGap(_ commit: KeptCommit) {
        commit.forEachSuite { suite in
            if logs.update(suite.text.utf8Span.span, { $0.gap = max($0.gap, commit.revision) }) == nil {
                base = max(base, commit.revision)
            }
        }
    }

    /// Removes the oldest commit of a suite from its log, if it is there. Returns false if the log protects it.
    mutating func dropFirst(_ commit: KeptCommit, of suite: SuiteName, unlessProtected: Bool = false) -> Bool {
        var (isDropped, isEmpty) = (true, false)
        logs.update(suite.text.utf8Span.span) { log in
            guard log.holds(commit) else { return }
            isDropped = !unlessProtected || !log.protects(commit)
            guard isDropped else { return }
            log.dropFirst()
            isEmpty = log.isEmpty
        }
        if isEmpty { removeLog(of: suite) }
        return isDropped
    }

    private mutating func removeLog(of suite: SuiteName) {
        if let log = logs.remove(suite.text.utf8Span.span) { base = max(base, log.floor) }
    }

    mutating func removeEmpty(besides kept: Set<SuiteName> = []) {
        for log in logs.elements where log.isEmpty && !kept.contains(log.suite) { removeLog(of: log.suite) }
    }
}
