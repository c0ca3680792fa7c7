package import SettingsAPI
package import SettingsModel

/// A decision on a write: the answer to it, and the commit that it makes.
///
/// A refusal is not a decision but a `Problem` that is thrown.
package struct WriteDecision: Sendable {
    /// The answer to give once the commit is durable.
    package var answer: WriteAnswer
    /// The commit; nil if nothing changes, or if nothing was to be changed.
    package var commit: Commit?
    /// The schema that the commit sets.
    package var schema: Schema?
}

extension State {
    /// Decides a write. Changes nothing.
    ///
    /// - Parameters:
    ///   - revision: the revision of the commit, if there is one.
    ///   - time: the time of the commit.
    ///   - createsSuites: true if a write may create a suite by storing something in it.
    ///   - commitKeys: the most keys that the write may change.
    ///   - quotas: the quotas of what is stored.
    package func decide(
        _ request: WriteRequest, revision: Revision, time: Timestamp, createsSuites: Bool = true,
        commitKeys: Int = .max, quotas: Quotas = .none
    ) throws(Problem) -> WriteDecision {
        var draft = WriteDraft(
            request: request, state: self, revision: revision, time: time, createsSuites: createsSuites,
            commitKeys: commitKeys, quotas: quotas)
        switch request.command {
        case .setting(let operation): return try draft.writeSetting(operation)
        case .mergeSuite(let suite, let values): return try draft.merge(suite, values)
        case .replaceSuite(let suite, let values): return try draft.replace(suite, values)
        case .resetSuite(let suite, let prefix): return try draft.reset(suite, prefix: prefix)
        case .dropSuite(let suite): return try draft.drop(suite)
        case .setSchema(let suite, let schema, let policy):
            return try draft.setSchema(suite, schema, onConflict: policy)
        case .refuseSchema(let suite, let problem): throw draft.refusal(of: suite, problem)
        case .removeSchema(let suite): return try draft.removeSchema(suite)
        case .transaction(let transaction): return try draft.writeTransaction(transaction)
        case .undo(let undo, let suite, let policy): return try draft.undo(undo, of: suite, onConflict: policy)
        case .restore(let suite, let restore, let skips):
            return try draft.restore(suite, restore, skipsConflicts: skips)
        }
    }
}

/// The ends of a write.
extension WriteDraft {
    /// The suite or schema that a write is about. Its revision is the tag of the answer.
    enum Target {
        case suite(SuiteName)
        case schema(of: SuiteName)
    }

    /// Checks a write to several keys, and decides it.
    mutating func checkAndDecide(_ target: Target?) throws(Problem) -> WriteDecision {
        try check()
        return try decide(target, suites: createdSuites(), changes())
    }

    /// Decides a write that was checked, by what it changes. Throws if that exceeds a quota.
    func decide(
        _ target: Target?, suites: [SuiteChange], _ changes: [Change], created: Bool = false, schema: Schema? = nil
    ) throws(Problem) -> WriteDecision {
        try quotas.checkGrowth(
            suites, changes, by: request.origin, on: state, for: request.reader)
        let isChanged = !suites.isEmpty || !changes.isEmpty
        let isDone = isChanged && !request.isDryRun
        // If nothing is done, the revision is one that holds as a guard.
        let shown = isDone ? revision : target.map(currentRevision) ?? state.revision
        var changes = changes
        if let origin = request.origin {
            for index in changes.indices { changes[index].origin = origin }
        }
        if request.isDryRun {
            // The next revision may be given to another write.
            for index in changes.indices { changes[index].revision = shown }
        }
        var summary = WriteSummary(
            revision: shown, changed: isChanged, changes: changes, isDryRun: request.isDryRun)
        if case .schema? = target { summary.schemaRevision = shown }
        let isGone = isDone && suites.contains { $0.kind == .dropped }
        let tag = target == nil ? nil : isGone ? .zero : shown
        guard isDone else { return makeEmptyDecision(.summary(summary), created: created, tag: tag) }
        return makeCommitDecision(.summary(summary), created: created, tag: tag, suites: suites, changes, schema: schema)
    }

    /// Decides a write by its commit.
    func makeCommitDecision(
        _ body: WriteAnswer.Body, created: Bool, tag: Revision? = nil, suites: [SuiteChange], _ changes: [Change],
        schema: Schema? = nil
    ) -> WriteDecision {
        WriteDecision(
            answer: WriteAnswer(
                body, created: created, cursor: Cursor(epoch: state.epoch, revision: revision), tag: tag,
                commit: revision),
            commit: Commit(
                revision: revision, time: time, suiteChanges: suites, changes: changes,
                by: request.origin,
                requestKey: request.requestKey, requestDigest: request.requestKey == nil ? nil : request.digest),
            schema: schema)
    }

    /// Decides a write that changes nothing, or is not to. One with a request key is kept as a commit without changes.
    func makeEmptyDecision(_ body: WriteAnswer.Body, created: Bool, tag: Revision? = nil) -> WriteDecision {
        guard request.requestKey != nil, !request.isDryRun else {
            return WriteDecision(answer: WriteAnswer(body, created: created, cursor: state.cursor, tag: tag))
        }
        var decision = makeCommitDecision(body, created: created, tag: tag, suites: [], [])
        switch body {
        case .setting(let setting): decision.commit?.answer = .setting(setting)
        case .summary(let summary): decision.commit?.answer = .summary(summary)
        case .change: break
        }
        return decision
    }

    /// The revision that a guard on a write about this is compared with.
    private func currentRevision(of target: Target) -> Revision {
        switch target {
        case .suite(let name): state.suite(name)?.revision ?? .zero
        case .schema(let name): state.suite(name)?.schemaRevision ?? .zero
        }
    }
}

/// Guards and locks.
extension WriteDraft {
    /// Throws if a guard does not hold of what the write is about.
    ///
    /// - Parameters:
    ///   - what: its name in the message.
    ///   - exists: true if it is there, or has a value.
    ///   - current: what the error shows of it.
    func checkGuards(
        of what: @autoclosure () -> String, at revision: Revision, exists: Bool,
        current: @autoclosure () -> Problem.Current
    ) throws(Problem) {
        for condition in request.guards where !condition.holds(revision: revision, exists: exists) {
            var problem = Problem(
                .preconditionFailed, condition.detail(what(), revision: revision, exists: exists))
            problem.current = current()
            throw problem
        }
    }

    /// Throws if a guard does not hold of a suite.
    func checkGuards(of name: SuiteName) throws(Problem) {
        let suite = state.suite(name)
        let revision = suite?.revision ?? .zero
        try checkGuards(
            of: "suite \(name)", at: revision, exists: suite != nil,
            current: .suite(SuiteRevision(suite: name, revision: revision)))
    }

    /// Throws if the key is locked.
    mutating func checkLock(_ key: KeyName, in suite: Suite?) throws(Problem) {
        guard !request.overridesLocks, let suite, let schema = suite.schema?.schema else { return }
        let isLocked = schema.isLocked(key.text, steps: &steps)
        try checkSteps()
        if isLocked { throw suite.lockedKey(key) }
    }

    /// Throws if the key is a secret that the writer may not read: what comes of changing it, or comparing it, would tell.
    func checkSecret(_ key: KeyName, in suite: Suite?) throws(Problem) {
        guard request.reader != nil, let suite, suite.isHidden(suite.record(key), from: request.reader) else { return }
        throw Problem(secret: key, of: suite.id, to: "change in place, or compare,")
    }

    /// Returns the suite. Throws if there is none.
    func requireSuite(_ name: SuiteName) throws(Problem) -> Suite {
        guard let suite = state.suite(name) else { throw state.unknownSuite(name, for: request.reader) }
        return suite
    }
}

extension WriteRequest.Guard {
    /// True if the guard lets a write pass to what is at a revision.
    package func holds(revision current: Revision, exists: Bool) -> Bool {
        switch self {
        case .isAt(let revisions): revisions.contains(current)
        case .isNotAt(let revisions): !revisions.contains(current)
        case .exists: exists
        case .isAbsent: !exists
        }
    }

    /// Says why the guard does not hold.
    package func detail(_ what: String, revision current: Revision, exists: Bool) -> String {
        switch self {
        case .isAt(let revisions):
            revisions.isEmpty
                ? "\(what) is at revision \(current), which is none of the tags that were given"
                : "\(what) is at revision \(current), not at \(revisions.map(\.description).joined(separator: " or "))"
        case .isNotAt: "\(what) is at revision \(current), one of those that it must not be at"
        case .exists: "nothing is stored for \(what)"
        case .isAbsent: "\(what) is there already, at revision \(current)"
        }
    }
}
