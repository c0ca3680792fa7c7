package import SettingsAPI
package import SettingsModel

/// All suites (named sets of settings) and the history in memory, as of one revision (the number of a commit).
///
/// A state is a value type: later commits do not change a copy that a reader has. Copies share their storage.
package struct State: Sendable {
    /// An array with one element, so that a copy of the state increments only one reference count. A write makes about
    /// ten copies. Access through `span` does not copy the element.
    private var contents: [Contents]
    /// The digest of the grants (rights) of the caller for which this copy was made (see ``withGrantsDigest(of:)``);
    /// nil if the caller may read everything. ``epoch`` appends the digest to the epoch (the name of the history).
    private var digest: String?

    fileprivate struct Contents {
        var epoch: Epoch
        var revision: Revision
        var time: Timestamp
        var suites = OrderedTree<Suite>()
        var size = 0
        var lastDropRevision = Revision.zero
        var history: History
        var limits: History.Limits
        var pending = PendingActions()
    }

    /// Makes a state without suites and without commits.
    package init(epoch: Epoch, revision: Revision = .zero, limits: History.Limits = History.Limits()) {
        contents = [
            Contents(
                epoch: epoch, revision: revision, time: Timestamp(milliseconds: 0),
                history: History(oldestAvailable: revision), limits: limits)
        ]
    }

    /// Makes a state from the data of a snapshot, which is a file with a whole state.
    package init(
        epoch: Epoch, revision: Revision, time: Timestamp, suites: OrderedTree<Suite>, lastDropRevision: Revision,
        history: History, limits: History.Limits, pending: PendingActions = PendingActions()
    ) {
        var size = pending.size
        suites.forEach { suite in
            size += suite.size
            return true
        }
        contents = [
            Contents(
                epoch: epoch, revision: revision, time: time, suites: suites, size: size,
                lastDropRevision: lastDropRevision, history: history, limits: limits, pending: pending)
        ]
    }

    /// The name of this history, which distinguishes its revisions from the revisions of other histories. If this copy
    /// is for a caller that may not read everything, the name ends in the digest of the caller's grants.
    package var epoch: Epoch {
        let epoch = contents.span[0].epoch
        return digest.map(epoch.appending) ?? epoch
    }
    /// The revision of the last commit.
    package var revision: Revision { contents.span[0].revision }
    /// The time of the last commit. An earlier commit may have a later time, because the clock may have been set back.
    package var time: Timestamp { contents.span[0].time }
    package var suites: OrderedTree<Suite> { contents.span[0].suites }
    /// The approximate number of bytes of memory that the suites and the pending actions take, without the history.
    package var size: Int { contents.span[0].size }
    /// The revision of the last commit that dropped (deleted) a suite. A key that was never written has at least this
    /// revision in a suite created later, so that a conditional write (`If-Match`) with a revision from before the drop
    /// fails.
    package var lastDropRevision: Revision { contents.span[0].lastDropRevision }
    package var history: History { contents.span[0].history }
    package var limits: History.Limits { contents.span[0].limits }
    /// The reverts and the writes that the daemon will carry out at their deadlines.
    package var pending: PendingActions { contents.span[0].pending }
    /// This property is cheaper than `pending.isEmpty`, because it copies nothing.
    package var hasPendingActions: Bool { !contents.span[0].pending.isEmpty }
    /// The revision of the last commit that changed the pending actions. See ``PendingActions/lastChange``.
    package var lastPendingChange: Revision { contents.span[0].pending.lastChange }
    /// The epoch and the revision of the state. A client that waits for changes passes the cursor to get later commits.
    package var cursor: Cursor { Cursor(epoch: epoch, revision: revision) }

    /// The cursor without a digest of grants.
    package var baseCursor: Cursor { Cursor(epoch: contents.span[0].epoch, revision: revision) }

    /// Returns the state with cursors whose epoch ends in the digest of a caller's grants.
    func with(digest: String) -> State {
        var state = self
        state.digest = digest
        return state
    }

    /// True if the state includes the commit of a cursor. The epoch of the cursor may end in a digest of grants.
    package func hasReached(_ cursor: Cursor) -> Bool {
        contents.span[0].epoch.isBase(of: cursor.epoch) && revision >= cursor.revision
    }

    /// True if a suite has this name.
    package func hasSuite(_ name: SuiteName) -> Bool { contents.span[0].hasSuite(name) }

    /// The schema of a suite; nil if the suite has no schema or does not exist.
    package func schema(of name: SuiteName) -> SchemaVersion? {
        contents.span[0].suites.with(name.text.utf8Span.span) { $0.schema } ?? nil
    }

    package func suite(_ name: SuiteName) -> Suite? { contents.span[0].suites.find(name.text.utf8Span.span) }

    /// Visits the suites by name, from the first whose name is not before `start`, until the body returns false.
    package func forEachSuite(startingAt start: String = "", _ body: (Suite) -> Bool) {
        suites.forEach(startingAt: start, body)
    }

    /// The oldest revision at which a suite can still be read: the history has all later commits that affect the suite.
    package func oldestAvailable(of name: SuiteName) -> Revision {
        // If no commit of the history affects the suite, the suite is unchanged since its own revision, and can be read
        // at each revision from then on. The suite can also be read from `oldestAvailableWithoutLog` on: no later
        // commit that affects a suite without commits in the history was evicted (removed from memory).
        if !history.hasCommits(of: name), let suite = suite(name) {
            return min(suite.revision, history.oldestAvailableWithoutLog)
        }
        return history.oldestAvailable(of: name)
    }
}

/// The error for a commit that contradicts the state, for example because its suite does not exist. The cause is damage
/// of the stored commits, or a defect of the program.
package struct CommitMismatch: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

extension State {
    /// Applies a commit, which comes from a write, from another daemon, or from a journal (a file of commits) when the
    /// daemon starts. No other method changes the suites.
    ///
    /// - Parameter schema: the compiled form of the schema that the commit sets; nil to compile the schema here.
    /// - Returns: the commits that the history evicted to stay within its limits.
    @discardableResult
    package mutating func apply(_ retained: RetainedCommit, schema: Schema? = nil) throws(CommitMismatch)
        -> [RetainedCommit]
    {
        try contents[0].apply(retained, schema: schema)
    }

    /// Applies a commit for which the calling code has no ``RetainedCommit``.
    ///
    /// - Returns: the commits that the history evicted to stay within its limits.
    @discardableResult
    package mutating func apply(_ commit: Commit, schema: Schema? = nil) throws(CommitMismatch) -> [RetainedCommit] {
        try apply(RetainedCommit(commit), schema: schema)
    }

    /// Adds the replaced values to a commit from a journal. The journal omits the replaced values, because the state
    /// before the commit, which is this state, contains them.
    package func addingReplacedValues(to commit: Commit) throws(CommitMismatch) -> Commit {
        var commit = commit
        for index in commit.changes.indices where commit.changes[index].lacksOldValue {
            let change = commit.changes[index]
            let found = contents.span[0].suites.with(change.suite.text.utf8Span.span) { $0.knownRecord(change.key) }
            guard let record = found ?? nil, record.valueSource == .stored else {
                throw CommitMismatch(
                    "the commit replaces the value of \(change.suite)/\(change.key), but this key has no value")
            }
            commit.changes[index].old = record.stored
            commit.changes[index].record = Change.Record(
                before: record, invalidValue: change.record.invalidValue, isSecret: change.record.isSecret)
        }
        return commit
    }

    /// Replaces the limits of the history, and evicts the commits that exceed them.
    package mutating func setHistoryLimits(_ limits: History.Limits) {
        contents[0].limits = limits
        contents[0].history.applyLimits(limits)
    }

    /// Begins a new epoch: the history gets another name, which invalidates all cursors. The history keeps its commits,
    /// so that a client that repeats a request gets the answer to the first request. `revision` is the revision of the
    /// state in the new epoch: a new epoch skips revisions, so that no revision is assigned twice.
    package mutating func beginEpoch(_ epoch: Epoch, at revision: Revision) {
        contents[0].epoch = epoch
        contents[0].revision = revision
    }
}

extension State.Contents {
    func hasSuite(_ name: SuiteName) -> Bool { suites.with(name.text.utf8Span.span) { _ in true } ?? false }

    mutating func apply(_ retained: RetainedCommit, schema: Schema?) throws(CommitMismatch) -> [RetainedCommit] {
        guard retained.revision > revision else {
            throw CommitMismatch(
                "commit \(retained.revision) follows commit \(revision), but its revision is not higher")
        }
        for change in retained.commit.suiteChanges { try apply(change, of: retained.revision, schema: schema) }
        for index in retained.commit.changes.indices { try apply(changeAt: index, of: retained) }
        if !retained.commit.pending.isEmpty || !pending.isEmpty { try applyPendingEvents(of: retained) }
        revision = retained.revision
        time = retained.commit.time
        return history.append(retained, limits: limits)
    }

    private mutating func applyPendingEvents(of retained: RetainedCommit) throws(CommitMismatch) {
        let sizeBefore = pending.size
        try pending.apply(retained)
        size += pending.size - sizeBefore
    }

    private mutating func apply(
        _ change: SuiteChange, of commit: Revision, schema compiled: Schema?
    ) throws(CommitMismatch) {
        switch change.kind {
        case .created:
            guard !hasSuite(change.suite) else { throw CommitMismatch("suite \(change.suite) already exists") }
            let suite = Suite(change.suite, revision: commit, unknownKeyRevision: lastDropRevision)
            suites.set(suite)
            size += suite.size
        case .schemaSet(let revision, let document):
            // `revision` equals `commit`: a change of a schema contains the revision of its commit.
            let schema: Schema
            if let compiled {
                schema = compiled
            } else {
                schema = try compile(document, change.schemaText, of: change.suite)
            }
            let version = SchemaVersion(schema, revision: revision)
            try update(change.suite) { suite in
                suite.setSchema(version, revision: revision)
                suite.revision = commit
            }
        case .schemaRemoved:
            try update(change.suite) { suite in
                suite.setSchema(nil, revision: commit)
                suite.revision = commit
            }
        case .dropped:
            guard let dropped = suites.remove(change.suite.text.utf8Span.span) else { throw missing(change.suite) }
            size -= dropped.size
            lastDropRevision = commit
        }
    }

    /// Applies a change of a key. The parameter is an index, because passing the change itself would copy it.
    private mutating func apply(changeAt index: Int, of retained: RetainedCommit) throws(CommitMismatch) {
        let (changes, revision) = (retained.commit.changes, retained.revision)
        let change = changes.span
        let name = change[index].suite
        // A commit that drops a suite also has a change for each key that had a value. The removal of the suite has
        // already removed the keys.
        if lastDropRevision == revision && !hasSuite(name) { return }
        guard let valueSource = KeyRecord.ValueSource(change[index].source) else {
            throw CommitMismatch("\(name)/\(change[index].key) has the unknown source \(change[index].source)")
        }
        // If the schema does not allow the stored value, the key keeps the value, but has no effective value (`new`).
        let stored = valueSource == .stored ? change[index].new : change[index].record.invalidValue
        let record = KeyRecord(
            key: change[index].key, stored: stored, valueSource: valueSource, revision: revision,
            modified: retained.commit.time, origin: retained.commit.origin, isSecret: change[index].record.isSecret)
        try update(name) { suite in
            suite.put(record)
            suite.revision = revision
        }
    }

    private func compile(
        _ document: JSONValue, _ text: String?, of suite: SuiteName
    ) throws(CommitMismatch) -> Schema {
        do {
            // A stored schema may have features that a new schema may not have, because an earlier version of the
            // program accepted these features.
            return try Schema(stored: document, text: text)
        } catch {
            throw CommitMismatch("the schema of suite \(suite) is not valid: \(error)")
        }
    }

    private mutating func update(_ name: SuiteName, _ body: (inout Suite) -> Void) throws(CommitMismatch) {
        let growth = suites.update(name.text.utf8Span.span) { suite in
            let sizeBefore = suite.size
            body(&suite)
            return suite.size - sizeBefore
        }
        guard let growth else { throw missing(name) }
        size += growth
    }

    private func missing(_ suite: SuiteName) -> CommitMismatch { CommitMismatch("suite \(suite) does not exist") }
}
