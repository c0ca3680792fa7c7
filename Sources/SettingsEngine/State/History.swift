package import SettingsAPI
package import SettingsModel

/// The recent commits, bounded by number and by memory, in all and by the suites that they touch.
///
/// The newest commits are kept whatever they touch. The oldest of them is dropped when a bound is exceeded, unless a
/// suite protects it as one of its own newest. Then it is *spared*: kept until the suite has newer ones, or until the
/// spared take more than their share. So a suite that is written to all the time pushes out its own commits, and a quiet
/// one keeps its history for long.
package struct History: Sendable {
    /// The commits of so many revisions in a row are indexed together.
    static let batch = 16

    /// The commits up to ``passed`` that are spared.
    private var spared = OrderedTree<KeptCommit>()
    private var sparedSize = 0
    /// The commits after ``passed``, all of them.
    private var newest = CommitQueue()
    /// The commits up to ``indexed``, spared or among the newest, by the suites that they touch.
    private var logs: SuiteLogs
    /// The commits after this one, at most a batch, are in no log yet. Adding a commit to one log copies parts of the tree of
    /// all logs. A batch copies them once; one by one, a write of a client that writes alone would cost a sixth more.
    private var indexed = Revision.zero
    /// About how many bytes of memory the commits take.
    package private(set) var size = 0
    /// The commits that were ever added to this value and those that it was made from, dropped ones included.
    package private(set) var added = (count: 0, size: 0)
    private var time = AgreedTime()
    /// Every commit after this one is kept, whatever it touches.
    package private(set) var floor: Revision
    /// The time of the commit at ``floor``; nil if that is not known.
    package private(set) var floorTime: Timestamp?
    /// The floor of suites of which no commit is kept: the highest of those that had one.
    package var base: Revision { logs.base }
    /// The last commit that was spared or dropped for a bound.
    package private(set) var passed = Revision.zero

    package init(floor: Revision) {
        self.floor = floor
        logs = SuiteLogs(base: floor)
    }

    /// A history from a snapshot. Its commits are still to be appended, and then ``restore(passed:limits:)`` to be called.
    package init(
        floor: Revision, at floorTime: Timestamp? = nil, base: Revision, logs: OrderedTree<SuiteLog> = OrderedTree()
    ) {
        self.floor = floor
        self.floorTime = floorTime
        self.logs = SuiteLogs(logs, base: base)
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
        guard let next = revision.advanced(by: 1), let unindexed = indexed.advanced(by: 1),
            logs.forEach(of: suite, startingAt: next, body)
        else { return }
        _ = newest.forEach(startingAt: max(next, unindexed)) { !$0.touches(suite) || body($0) }
    }

    /// Visits the commits before a revision that touched a suite, the newest first, until `body` returns false.
    package func forEachReversed(of suite: SuiteName, before revision: Revision, _ body: (KeptCommit) -> Bool) {
        var (isUnindexed, isGoingOn) = (true, true)
        _ = newest.forEachReversed(before: revision) { commit in
            isUnindexed = commit.revision > indexed
            isGoingOn = !isUnindexed || !commit.touches(suite) || body(commit)
            return isUnindexed && isGoingOn
        }
        if isGoingOn { logs.forEachReversed(of: suite, before: revision, body) }
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

    /// Adds the cost of work on the commits after a revision that touched a suite.
    ///
    /// - Parameter cost: returns the cost for the size of a commit.
    func addCost(
        ofCommitsOf suite: SuiteName, after revision: Revision, to meter: inout CostMeter, _ cost: (Int) -> Cost
    ) {
        guard !meter.isExceeded else { return }
        forEach(of: suite, after: revision) { kept in
            meter.add(cost(kept.size))
            return !meter.isExceeded
        }
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
    package func floor(of suite: SuiteName) -> Revision { logs.floor(of: suite) }

    /// True if a commit is kept that touched the suite.
    package func hasCommits(of suite: SuiteName) -> Bool {
        if logs.hasLog(of: suite) { return true }
        var isFound = false
        forEach(of: suite, after: indexed) { _ in
            isFound = true
            return false
        }
        return isFound
    }

    /// Visits the logs of the suites by name until `body` returns false, each with all commits of its suite.
    package func forEachLog(_ body: (SuiteLog) -> Bool) {
        var all = self
        var dropped: [KeptCommit] = []
        all.index(by: .unbounded, &dropped)
        all.logs.forEach(body)
    }

    /// Visits the floors of the suites whose names begin with a prefix until `body` returns false. One without a log, all of
    /// whose commits are still to be indexed, has the floor ``base``, and is left out.
    func forEachFloor(prefix: String, _ body: (Revision) -> Bool) { logs.forEach(prefix: prefix) { body($0.floor) } }
}

/// Changing.
extension History {
    /// Adds the newest commit. Returns the commits that were dropped, which may include this very one.
    @discardableResult
    package mutating func append(_ commit: KeptCommit, limits: Limits) -> [KeptCommit] {
        var dropped: [KeptCommit] = []
        guard commit.size <= limits.bytes else {
            catchUp(by: limits, &dropped)
            raiseFloor(to: commit)
            logs.noteGap(commit)
            return dropped + [commit]
        }
        let last = newest.last?.revision ?? passed
        guard commit.revision > last else { return [] }
        // By revisions, so that a history which was read from the disk goes on as the one that was written.
        if last.number / Int64(Self.batch) != commit.revision.number / Int64(Self.batch) {
            catchUp(by: limits, &dropped)
        }
        newest.append(commit)
        time.add(commit.commit.time, age: limits.age)
        size += commit.size
        added = (added.count + 1, added.size + commit.size)
        if !limits.takesBatches || commit.size > limits.largestInBatch || isOutdated(age: limits.age) {
            catchUp(by: limits, &dropped)
        }
        return dropped
    }

    /// Ends what the bounds of suites do not protect, and spares or drops the oldest until no other bound is exceeded.
    mutating func bound(by limits: Limits) {
        var dropped: [KeptCommit] = []
        index(by: limits, &dropped)
        for suite in logs.suites {
            drop(logs.release(of: suite, limits, upTo: passed), outgrownBy: suite, &dropped)
        }
        logs.removeEmpty()
        bound(by: limits, &dropped)
    }

    /// Indexes what waits for its batch, and keeps to the bounds.
    private mutating func catchUp(by limits: Limits, _ dropped: inout [KeptCommit]) {
        index(by: limits, &dropped)
        bound(by: limits, &dropped)
    }

    /// Adds the commits to the logs that are in none yet. Drops what the bounds of suites do not protect any more.
    private mutating func index(by limits: Limits, _ dropped: inout [KeptCommit]) {
        guard let last = newest.last?.revision, last > indexed, let unindexed = indexed.advanced(by: 1) else { return }
        // A copy, as the body changes the history.
        let commits = newest
        _ = commits.forEach(startingAt: unindexed) { commit in
            commit.forEachSuite { suite in
                drop(logs.add(commit, to: suite, limits, upTo: passed), outgrownBy: suite, &dropped)
            }
            return true
        }
        indexed = last
    }

    /// Spares or drops the oldest until no bound is exceeded. Leaves room for a batch. All commits have to be indexed.
    private mutating func bound(by limits: Limits, _ dropped: inout [KeptCommit]) {
        let room = limits.takesBatches ? Self.batch : 0
        while count > limits.commits - room || size > limits.bytes - room * limits.largestInBatch {
            if newest.isEmpty || areExceededBySpared(limits), let first = firstSpared {
                drop(spared: first, &dropped)
            } else if !pass(&dropped) {
                break
            }
        }
        while isOutdated(age: limits.age) {
            if let oldest = firstSpared { drop(spared: oldest, &dropped) } else if !pass(&dropped) { break }
        }
    }

    /// True if the oldest commit is older than commits are kept.
    private func isOutdated(age: Int64) -> Bool {
        guard let earliest = time.earliest(age: age), let oldest = firstSpared ?? newest.first else { return false }
        return oldest.commit.time.milliseconds < earliest
    }

    /// True if the spared commits take more than their part of a bound.
    private func areExceededBySpared(_ limits: Limits) -> Bool {
        spared.count > limits.commits - limits.commits * limits.newestPercent / 100
            || sparedSize > limits.bytes - limits.bytes * limits.newestPercent / 100
    }

    /// Drops commits that were spared for a suite, unless another has them, too.
    private mutating func drop(_ released: [KeptCommit], outgrownBy suite: SuiteName, _ dropped: inout [KeptCommit]) {
        for commit in released where !logs.isHeld(commit, besides: suite) {
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
            if !logs.dropFirst(oldest, of: suite, unlessProtected: true) { isProtected = true }
        }
        if isProtected, spared.append(oldest) {
            sparedSize += oldest.size
        } else {
            forget(oldest, &dropped)
        }
        return true
    }

    private mutating func drop(spared commit: KeptCommit, _ dropped: inout [KeptCommit]) {
        commit.forEachSuite { suite in _ = logs.dropFirst(commit, of: suite) }
        forget(spared: commit, &dropped)
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
    package mutating func restore(passed: Revision, limits: Limits) {
        var dropped: [KeptCommit] = []
        // Else the last ones wait for their batch, as they did in the history that was written.
        if passed > indexed { index(by: limits, &dropped) }
        while let next = newest.first, next.revision <= passed, pass(&dropped) {}
        self.passed = max(self.passed, passed)
        var waiting: Set<SuiteName> = []
        if let unindexed = indexed.advanced(by: 1) {
            _ = newest.forEach(startingAt: unindexed) { commit in
                commit.forEachSuite { waiting.insert($0) }
                return true
            }
        }
        logs.removeEmpty(besides: waiting)
    }
}
