package import SettingsAPI
package import SettingsModel

/// The recent commits, bounded by number and by memory, in all and by the suites that they touch.
///
/// The newest commits are kept whatever they touch. The oldest of them is dropped when a bound is exceeded, unless a
/// suite protects it as one of its own newest. Then it is *spared*: kept until the suite has newer ones, or until the
/// spared take more than their share. So a suite that is written to all the time pushes out its own commits, and a quiet
/// one keeps its history for long.
package struct History: Sendable {
    /// The bounds.
    package struct Limits: Sendable {
        /// The number of commits that are kept at most.
        package var commits = 65_536
        /// The bytes of memory that they take at most, about.
        package var bytes = 64 << 20
        /// How many milliseconds a commit is kept, counted back from the ``AgreedTime``.
        package var age = Int64.max
        /// The number of a suite's newest commits that others do not push out,
        package var suiteCommits = 256
        /// as far as they take no more bytes.
        package var suiteBytes = 64 << 10
        /// The part of both bounds for the newest commits, whatever they touch. With none, and many suites, a busy one
        /// would have only what it protects, too little for requests that are repeated.
        package var newestPercent = 50

        package init() {}

        /// No bounds.
        package static var unbounded: Limits {
            var limits = Limits()
            (limits.commits, limits.bytes) = (.max, .max)
            (limits.suiteCommits, limits.suiteBytes) = (.max, .max)
            return limits
        }
    }

    /// The commits up to ``passed`` that are spared.
    private var spared = OrderedTree<KeptCommit>()
    private var sparedSize = 0
    /// The commits after ``passed``, all of them.
    private var newest = CommitQueue()
    /// The same commits by the suites that they touch.
    private var logs = OrderedTree<SuiteLog>()
    /// About how many bytes of memory the commits take.
    package private(set) var size = 0
    /// The commits that were ever added to this value and those that it was made from, dropped ones included.
    package private(set) var added = (count: 0, size: 0)
    private var time = AgreedTime()
    /// Every commit after this one is kept, whatever it touches.
    package private(set) var floor: Revision
    /// The time of the commit at ``floor``; nil if that is not known.
    package private(set) var floorTime: Timestamp?
    /// The floor of suites without a log: the highest of those that had one.
    package private(set) var base: Revision
    /// The last commit that was spared or dropped for a bound.
    package private(set) var passed = Revision.zero

    package init(floor: Revision) {
        self.floor = floor
        base = floor
    }

    /// A history from a snapshot. Its commits are still to be appended, and then ``restore(passed:)`` to be called.
    package init(
        floor: Revision, at floorTime: Timestamp? = nil, base: Revision, logs: OrderedTree<SuiteLog> = OrderedTree()
    ) {
        self.floor = floor
        self.floorTime = floorTime
        self.base = base
        self.logs = logs
    }

    /// The number of commits.
    package var count: Int { spared.count + newest.count }
}

/// Reading.
extension History {
    /// The commits that are kept of those after a revision, in order. None is missing if that is not before ``floor``.
    package func commits(after revision: Revision) -> [KeptCommit] {
        collect { forEach(after: revision, $0) }
    }

    private func collect(_ visit: ((KeptCommit) -> Bool) -> Void) -> [KeptCommit] {
        var found: [KeptCommit] = []
        visit { commit in
            found.append(commit)
            return true
        }
        return found
    }

    /// The origin of a commit, as far as it is kept.
    package func origin(of revision: Revision) -> CommitOrigin? {
        commit(revision)?.commit.origin
    }

    /// All commits that are kept, in order.
    package var all: [KeptCommit] { collect { forEach(after: .zero, $0) } }

    /// Visits the commits after a revision in order until `body` returns false.
    package func forEach(after revision: Revision, _ body: (KeptCommit) -> Bool) {
        guard let next = revision.advanced(by: 1) else { return }
        var isGoingOn = true
        // Reads are mostly of what is newer than all that is spared.
        if revision < passed {
            spared.forEach(startingAt: next) { commit in
                isGoingOn = body(commit)
                return isGoingOn
            }
        }
        _ = isGoingOn && newest.forEach(startingAt: next, body)
    }

    /// The commits after a revision that touched a suite, in order. None is missing if that is not before the suite's floor.
    package func commits(of suite: SuiteName, after revision: Revision) -> [KeptCommit] {
        collect { forEach(of: suite, after: revision, $0) }
    }

    /// The commits after a revision that touched a suite, in order, also those that only other suites protect. None is missing
    /// if that is not before ``floor``.
    package func commits(touching suite: SuiteName, after revision: Revision) -> [KeptCommit] {
        guard floor(of: suite) > revision else { return commits(of: suite, after: revision) }
        return commits(after: revision).filter { $0.touches(suite) }
    }

    /// Visits the commits after a revision that touched a suite, in order, until `body` returns false.
    func forEach(of suite: SuiteName, after revision: Revision, _ body: (KeptCommit) -> Bool) {
        guard let next = revision.advanced(by: 1) else { return }
        logs.with(suite.text.utf8Span.span) { $0.forEach(startingAt: next, body) }
    }

    /// Visits the commits before a revision that touched a suite, the newest first, until `body` returns false.
    package func forEachReversed(of suite: SuiteName, before revision: Revision, _ body: (KeptCommit) -> Bool) {
        logs.with(suite.text.utf8Span.span) { $0.forEachReversed(before: revision, body) }
    }

    /// The last commit up to a moment that touched a suite, as far as that is known. What is kept from before a gap may not
    /// be the last that there was.
    func last(of suite: SuiteName, upTo moment: Revision) -> Revision? {
        var last: Revision?
        guard let end = moment.advanced(by: 1) else { return nil }
        forEachReversed(of: suite, before: end) { kept in
            last = kept.revision
            return false
        }
        return last.flatMap { $0 > floor(of: suite) ? $0 : nil }
    }

    /// The weight of undoing the commits after a revision that touched a suite; if that is more than a limit, some number
    /// above the limit.
    func weight(of suite: SuiteName, after revision: Revision, upTo limit: Int) -> Int {
        var weight = 0
        forEach(of: suite, after: revision) { kept in
            weight += kept.size / 8
            return weight <= limit
        }
        return weight
    }

    /// Returns the last commit that was not later than an instant; nil if none that is kept was. Looks at one commit after
    /// the other, as a clock that was set back leaves their times out of order.
    func last(notAfter instant: Timestamp) -> KeptCommit? {
        guard let end = Revision(Int64.max) else { return nil }
        var found: KeptCommit?
        func look(at commit: KeptCommit) -> Bool {
            if commit.commit.time.milliseconds <= instant.milliseconds { found = commit }
            return found == nil
        }
        if newest.forEachReversed(before: end, look) { spared.forEachReversed(before: end, look) }
        return found
    }

    /// The commit with a revision; nil if it is not kept.
    package func commit(_ revision: Revision) -> KeptCommit? {
        guard revision > passed else { return spared.find(revision) }
        var found: KeptCommit?
        _ = newest.forEach(startingAt: revision) { commit in
            found = commit.revision == revision ? commit : nil
            return false
        }
        return found
    }

    /// Every commit after this one that touched the suite is kept.
    package func floor(of suite: SuiteName) -> Revision {
        logs.with(suite.text.utf8Span.span) { $0.floor } ?? base
    }

    /// True if a commit is kept that touched the suite.
    package func hasLog(of suite: SuiteName) -> Bool {
        logs.with(suite.text.utf8Span.span) { _ in true } ?? false
    }

    /// Visits the logs of the suites by name until `body` returns false.
    package func forEachLog(_ body: (SuiteLog) -> Bool) {
        logs.forEach(body)
    }

    /// Visits the logs of the suites whose names begin with a prefix.
    func forEachLog(prefix: String, _ body: (SuiteLog) -> Bool) {
        logs.forEach(prefix: prefix, body)
    }
}

/// Changing.
extension History {
    /// Adds the newest commit. Returns those that were dropped for it, which may include this very one.
    @discardableResult
    package mutating func append(_ commit: KeptCommit, limits: Limits) -> [KeptCommit] {
        guard commit.size <= limits.bytes else {
            noteGap(commit)
            return [commit]
        }
        var dropped: [KeptCommit] = []
        guard commit.revision > newest.last?.revision ?? passed else { return [] }
        newest.append(commit)
        time.add(commit.commit.time, age: limits.age)
        size += commit.size
        added = (added.count + 1, added.size + commit.size)
        commit.forEachSuite { suite in add(commit, to: suite, limits, &dropped) }
        bound(by: limits, &dropped)
        return dropped
    }

    /// Ends what the bounds of suites do not protect, and spares or drops the oldest until no other bound is exceeded.
    mutating func bound(by limits: Limits) {
        var dropped: [KeptCommit] = []
        for suite in logs.elements.map(\.suite) {
            let released = logs.update(suite.text.utf8Span.span) { $0.release(limits, upTo: passed) } ?? []
            drop(released, outgrownBy: suite, &dropped)
        }
        removeEmptyLogs()
        bound(by: limits, &dropped)
    }

    private mutating func bound(by limits: Limits, _ dropped: inout [KeptCommit]) {
        while count > limits.commits || size > limits.bytes {
            if newest.isEmpty || areExceededBySpared(limits), let first = firstSpared {
                drop(spared: first, &dropped)
            } else if !pass(&dropped) {
                break
            }
        }
        guard let earliest = time.earliest(age: limits.age) else { return }
        while let oldest = firstSpared ?? newest.first, oldest.commit.time.milliseconds < earliest {
            if !spared.isEmpty { drop(spared: oldest, &dropped) } else if !pass(&dropped) { break }
        }
    }

    /// True if the spared commits take more than their part of a bound.
    private func areExceededBySpared(_ limits: Limits) -> Bool {
        spared.count > limits.commits - limits.commits * limits.newestPercent / 100
            || sparedSize > limits.bytes - limits.bytes * limits.newestPercent / 100
    }

    /// Notes that a commit is too large to be kept, so that a read from before it finds that something is missing.
    private mutating func noteGap(_ commit: KeptCommit) {
        raiseFloor(to: commit)
        commit.forEachSuite { suite in
            if logs.update(suite.text.utf8Span.span, { $0.gap = max($0.gap, commit.revision) }) == nil {
                base = max(base, commit.revision)
            }
        }
    }

    private mutating func add(
        _ commit: KeptCommit, to suite: SuiteName, _ limits: Limits, _ dropped: inout [KeptCommit]
    ) {
        let passed = passed
        func add(to log: inout SuiteLog) -> [KeptCommit] {
            // A snapshot also has commits that are there for another suite that they touched.
            guard log.holds(commit) else { return [] }
            log.add(commit)
            return log.release(limits, upTo: passed)
        }
        if let released = logs.update(suite.text.utf8Span.span, add) {
            drop(released, outgrownBy: suite, &dropped)
        } else {
            var log = SuiteLog(suite, start: base)
            drop(add(to: &log), outgrownBy: suite, &dropped)
            logs.set(log)
        }
    }

    /// Drops commits that were spared for a suite, unless another has them, too.
    private mutating func drop(_ released: [KeptCommit], outgrownBy suite: SuiteName, _ dropped: inout [KeptCommit]) {
        for commit in released where !isHeld(commit, besides: suite) {
            forget(spared: commit, &dropped)
        }
    }

    private var firstSpared: KeptCommit? { spared.first(from: .zero) }

    /// Spares or drops the oldest of the newest commits. Returns false if there is none.
    private mutating func pass(_ dropped: inout [KeptCommit]) -> Bool {
        guard let oldest = newest.popFirst() else { return false }
        passed = oldest.revision
        var isProtected = false
        oldest.forEachSuite { suite in
            if !dropFromLog(oldest, of: suite, unlessProtected: true) { isProtected = true }
        }
        if isProtected, spared.append(oldest) {
            sparedSize += oldest.size
        } else {
            forget(oldest, &dropped)
        }
        return true
    }

    private mutating func drop(spared commit: KeptCommit, _ dropped: inout [KeptCommit]) {
        commit.forEachSuite { suite in _ = dropFromLog(commit, of: suite) }
        forget(spared: commit, &dropped)
    }

    /// True if another suite has the commit in its log.
    private func isHeld(_ commit: KeptCommit, besides first: SuiteName) -> Bool {
        var isHeld = false
        commit.forEachSuite { suite in
            guard suite != first, !isHeld else { return }
            isHeld = logs.with(suite.text.utf8Span.span) { $0.holds(commit) } ?? false
        }
        return isHeld
    }

    /// Removes the oldest commit of a suite from its log, if it is there. Returns false if the log protects it.
    private mutating func dropFromLog(
        _ commit: KeptCommit, of suite: SuiteName, unlessProtected: Bool = false
    ) -> Bool {
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

    private mutating func removeEmptyLogs() {
        for log in logs.elements where log.isEmpty { removeLog(of: log.suite) }
    }

    private mutating func forget(spared commit: KeptCommit, _ dropped: inout [KeptCommit]) {
        spared.remove(commit.revision)
        sparedSize -= commit.size
        forget(commit, &dropped)
    }

    private mutating func forget(_ commit: KeptCommit, _ dropped: inout [KeptCommit]) {
        size -= commit.size
        raiseFloor(to: commit)
        dropped.append(commit)
    }

    private mutating func raiseFloor(to commit: KeptCommit) {
        guard commit.revision > floor else { return }
        (floor, floorTime) = (commit.revision, commit.commit.time)
    }
}

extension History {
    /// Spares or drops everything up to a commit, as it was.
    package mutating func restore(passed: Revision) {
        var dropped: [KeptCommit] = []
        while let next = newest.first, next.revision <= passed, pass(&dropped) {}
        self.passed = max(self.passed, passed)
        removeEmptyLogs()
    }
}
