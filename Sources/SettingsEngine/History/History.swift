package import SettingsAPI
package import SettingsModel

/// The recent commits, bounded by number and by bytes, in all and by the suites that they touch.
///
/// The newest commits are in ``recent``, whatever they touch. Over the bound its oldest is forgotten, unless a suite
/// that it touches protects it as one of its own newest: then it is spared, until the suite has newer ones, or until
/// the spared take more than their share. So who writes a lot pushes out what is its own, and a quiet suite remembers
/// for long.
///
/// A copy costs nothing, and one that is held by a reader makes an append copy a few short arrays.
package struct History: Sendable {
    /// The bounds.
    package struct Limits: Sendable {
        /// How many commits are kept at most.
        package var commits = 65_536
        /// About how many bytes of memory they take at most.
        package var bytes = 64 << 20
        /// So many of the newest commits of a suite are not pushed out by others,
        package var suiteCommits = 256
        /// as far as they take no more bytes.
        package var suiteBytes = 64 << 10
        /// The part of both bounds that is for the newest commits, whatever they touch. With none, and many suites, one
        /// that is written to all the time would have no more than it protects, too little for requests that are
        /// repeated.
        package var newestPercent = 50

        package init() {}

        fileprivate func isExceeded(by spared: SparedCommits) -> Bool {
            spared.count > commits - commits * newestPercent / 100
                || spared.size > bytes - bytes * newestPercent / 100
        }
    }

    private var recent = CommitQueue()
    private var spared = SparedCommits()
    private var logs = OrderedTree<SuiteLog>()
    /// The number of commits.
    package private(set) var count = 0
    /// About how many bytes of memory the commits take.
    package private(set) var size = 0
    /// Every commit after this one is kept, whatever it touches.
    package private(set) var floor: Revision
    /// The floor of suites without a log: the highest of those that had one.
    package private(set) var base: Revision
    /// The last commit that was due to be forgotten: those up to here that are kept are spared, those after it recent.
    package private(set) var passed = Revision.zero

    package init(floor: Revision, base: Revision? = nil) {
        self.floor = floor
        self.base = base ?? floor
    }
}

/// Reading.
extension History {
    /// The commits that are kept of those after a revision, in order. None is missing if that is not before ``floor``.
    package func commits(after revision: Revision) -> some Sequence<KeptCommit> {
        [AnySequence(spared.after(revision)), AnySequence(recent.after(revision))].lazy.joined()
    }

    /// All commits that are kept, in order.
    package var all: some Sequence<KeptCommit> { commits(after: .zero) }

    /// The commits after a revision that touched a suite, in order. None is missing if that is not before the suite's
    /// floor.
    package func commits(of suite: SuiteName, after revision: Revision) -> Slice<CommitQueue> {
        (logs.find(suite.text)?.commits ?? CommitQueue()).after(revision)
    }

    /// Every commit after this one that touched the suite is kept.
    package func floor(of suite: SuiteName) -> Revision {
        logs.with(suite.text.utf8Span.span) { $0.floor } ?? base
    }

    /// Whether anything is kept that touched a suite.
    package func hasLog(of suite: SuiteName) -> Bool {
        logs.with(suite.text.utf8Span.span) { _ in true } ?? false
    }

    /// Goes through the logs by their suites' names, from the first that is not before `start`, until `body` returns false.
    package func forEachLog(startingAt start: String = "", _ body: (SuiteLog) -> Bool) {
        logs.forEach(startingAt: start, body)
    }
}

/// Changing.
extension History {
    /// Adds the newest commit and returns what had to be forgotten for it, which may be this very one.
    mutating func append(_ commit: KeptCommit, limits: Limits) -> [KeptCommit] {
        guard commit.size <= limits.bytes else {
            noteGap(commit)
            return [commit]
        }
        var forgotten: [KeptCommit] = []
        recent.append(commit)
        count += 1
        size += commit.size
        commit.forEachSuite { suite in add(commit, to: suite, limits, &forgotten) }
        while count > limits.commits || size > limits.bytes {
            if recent.isEmpty || limits.isExceeded(by: spared), let oldest = spared.popFirst() {
                oldest.forEachSuite { suite in takeOut(oldest, of: suite) }
                forget(oldest, &forgotten)
            } else if !pass(&forgotten) {
                break
            }
        }
        return forgotten
    }

    /// The commit is too large to be kept: whoever asks for what came before it must know that something is missing.
    private mutating func noteGap(_ commit: KeptCommit) {
        floor = max(floor, commit.revision)
        commit.forEachSuite { suite in
            if logs.update(suite.text, { $0.noteGap(at: commit.revision) }) == nil {
                base = max(base, commit.revision)
            }
        }
    }

    private mutating func add(
        _ commit: KeptCommit, to suite: SuiteName, _ limits: Limits, _ forgotten: inout [KeptCommit]
    ) {
        let (base, passed) = (base, passed)
        let released = logs.update(suite.text) { log in
            // A snapshot also has commits that are there for another suite that they touched.
            log.holds(commit) ? log.append(commit, limits: limits, spared: passed) : []
        }
        guard let released else {
            guard commit.revision > base else { return }
            var log = SuiteLog(suite, start: base)
            _ = log.append(commit, limits: limits, spared: passed)
            logs.set(log)
            return
        }
        for commit in released where !isHeld(commit, besides: suite) {
            spared.remove(commit)
            forget(commit, &forgotten)
        }
    }

    /// Has the oldest of the recent commits be spared or forgotten; false if there is none.
    private mutating func pass(_ forgotten: inout [KeptCommit]) -> Bool {
        guard let oldest = recent.popFirst() else { return false }
        passed = oldest.revision
        var isProtected = false
        oldest.forEachSuite { suite in
            if logs.with(suite.text.utf8Span.span, { $0.holds(oldest) && $0.protects(oldest) }) ?? false {
                isProtected = true
            } else {
                takeOut(oldest, of: suite)
            }
        }
        if isProtected { spared.append(oldest) } else { forget(oldest, &forgotten) }
        return true
    }

    /// Whether another suite has it in its log.
    private func isHeld(_ commit: KeptCommit, besides first: SuiteName) -> Bool {
        var isHeld = false
        commit.forEachSuite { suite in
            guard suite != first, !isHeld else { return }
            isHeld = logs.with(suite.text.utf8Span.span) { $0.holds(commit) } ?? false
        }
        return isHeld
    }

    /// Takes the oldest commit of a suite out of its log, if it is there.
    private mutating func takeOut(_ commit: KeptCommit, of suite: SuiteName) {
        let rest = logs.update(suite.text) { log -> Int? in
            guard log.holds(commit) else { return nil }
            log.dropFirst()
            return log.commits.count
        }
        if rest == 0 { discardLog(of: suite) }
    }

    private mutating func discardLog(of suite: SuiteName) {
        if let log = logs.remove(suite.text) { base = max(base, log.floor) }
    }

    private mutating func forget(_ commit: KeptCommit, _ forgotten: inout [KeptCommit]) {
        count -= 1
        size -= commit.size
        floor = max(floor, commit.revision)
        forgotten.append(commit)
    }
}

/// Reading a snapshot: first the logs, then the commits, as they come to be, then the end.
extension History {
    /// Begins a suite's log; does nothing and says so if its name does not come after those of the others.
    mutating func restore(_ log: SuiteLog) -> Bool {
        logs.append(log)
    }

    /// Has everything up to a commit be spared or forgotten that was so before.
    mutating func restore(passed: Revision) {
        var forgotten: [KeptCommit] = []
        while let oldest = recent.first, oldest.revision <= passed, pass(&forgotten) {}
        self.passed = max(self.passed, passed)
        var empty: [SuiteName] = []
        logs.forEach { log in
            if log.commits.isEmpty { empty.append(log.suite) }
            return true
        }
        for suite in empty { discardLog(of: suite) }
    }
}
