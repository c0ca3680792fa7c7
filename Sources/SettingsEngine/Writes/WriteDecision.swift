package import SettingsAPI
package import SettingsModel

/// The decision on an accepted write: its answer and its commit. To decide a write is to check it against a state, and
/// to compute its commit (an atomic change of settings) or its refusal. A function that decides a write throws a
/// `Problem` to refuse the write.
package struct WriteDecision: Sendable {
    /// The answer, which is sent after the commit is durable.
    package var answer: WriteAnswer
    /// The commit; nil for a dry run, and for a write that changes nothing and has no request key (`Idempotency-Key`).
    package var commit: Commit?
    /// The compiled schema that the commit sets; nil if it sets none.
    package var schema: Schema?
}

extension State {
    /// Decides a write on this state. Does not apply the commit to the state.
    ///
    /// - Parameters:
    ///   - revision: the number of the commit.
    ///   - time: the time of the commit.
    ///   - createsSuites: true if a write that stores a value may create its suite (a named set of settings).
    ///   - commitKeys: the maximum number of keys that the write may change or check.
    package func decide(
        _ request: WriteRequest, revision: Revision, time: Timestamp, createsSuites: Bool = true,
        commitKeys: Int = .max, quotas: Quotas = .none
    ) throws(Problem) -> WriteDecision {
        var draft = WriteDraft(
            request: request, state: self, revision: revision, time: time, createsSuites: createsSuites,
            commitKeys: commitKeys, quotas: quotas)
        if let deadlines = request.deadlines { return try draft.decide(with: deadlines) }
        let decision = try draft.decideIgnoringDeadlines()
        // An undo or a drop also ends the pending actions (reverts and writes at a deadline) that it makes pointless.
        return hasPendingActions ? draft.endingPendingActions(with: decision) : decision
    }
}

extension WriteDraft {
    /// Decides the task of the request. Ignores the deadlines at which the daemon reverts or carries out the write.
    mutating func decideIgnoringDeadlines() throws(Problem) -> WriteDecision {
        switch request.task {
        case .command(let command): return try decide(command)
        // The document is not a valid schema. If a guard (a precondition such as `If-Match`) does not hold, `refusal`
        // returns the error of the guard.
        case .refuseSchema(let suite, let problem): throw refusal(of: suite, problem)
        case .pending(let id, let pendingRequest): return try decide(pendingRequest, about: id)
        case .carryOut(let id, let deadline): return try carryOut(id, deadline: deadline)
        }
    }

    private mutating func decide(_ command: WriteCommand) throws(Problem) -> WriteDecision {
        switch command {
        case .setting(let operation): return try writeSetting(operation)
        case .mergeSuite(let suite, let values): return try merge(suite, values)
        case .replaceSuite(let suite, let values): return try replace(suite, values)
        case .resetSuite(let suite, let prefix): return try reset(suite, prefix: prefix)
        case .dropSuite(let suite): return try drop(suite)
        case .setSchema(let suite, let schema, let policy):
            return try setSchema(suite, schema, onConflict: policy)
        case .removeSchema(let suite): return try removeSchema(suite)
        case .transaction(let transaction): return try writeTransaction(transaction)
        case .undo(let undo, let suite, let policy): return try self.undo(undo, of: suite, onConflict: policy)
        case .restore(let suite, let restore, let skips):
            return try self.restore(suite, restore, skipsConflicts: skips)
        }
    }
}

/// Making the decision of a draft, which is a write that is being decided.
extension WriteDraft {
    /// The suite or the schema that a write names. The `ETag` of the answer contains the revision of the target.
    enum Target {
        case suite(SuiteName)
        case schema(of: SuiteName)
    }

    /// Validates the draft, and makes the decision. The target is nil for a transaction.
    mutating func checkAndDecide(target: Target?) throws(Problem) -> WriteDecision {
        try check()
        return try decide(target: target, suites: createdSuites(), changes: changes())
    }

    /// Makes the decision from validated changes. Throws if the changes exceed a quota. The target is nil for a
    /// transaction, for an undo that names no suite, and for the revert of a pending action. `created` is true if the
    /// write sets a schema where there was none.
    func decide(
        target: Target?, suites: [SuiteChange], changes: [Change], created: Bool = false, schema: Schema? = nil
    ) throws(Problem) -> WriteDecision {
        try quotas.checkGrowth(suites, changes, by: request.origin, on: state, for: request.restrictedGrants)
        let isChanged = !suites.isEmpty || !changes.isEmpty
        let appliesChanges = isChanged && !request.isDryRun
        // For a dry run, and for a write that changes nothing, the answer has the present revision, which a client can
        // use in a precondition.
        let shownRevision = appliesChanges ? revision : target.map(currentRevision) ?? state.revision
        var changes = changes
        if let origin = request.origin {
            for index in changes.indices { changes[index].origin = origin }
        }
        if request.isDryRun {
            // A dry run makes no commit, so the next revision will be the revision of another write.
            for index in changes.indices { changes[index].revision = shownRevision }
        }
        var summary = WriteSummary(
            revision: shownRevision, changed: isChanged, changes: changes, isDryRun: request.isDryRun)
        if case .schema? = target { summary.schemaRevision = shownRevision }
        let isDropped = appliesChanges && suites.contains { $0.kind == .dropped }
        let tag = target == nil ? nil : isDropped ? .zero : shownRevision
        guard appliesChanges else { return makeEmptyDecision(.summary(summary), created: created, tag: tag) }
        return makeCommitDecision(
            .summary(summary), created: created, tag: tag, suites: suites, changes: changes, schema: schema)
    }

    func makeCommitDecision(
        _ body: WriteAnswer.Body, created: Bool, tag: Revision? = nil, suites: [SuiteChange], changes: [Change],
        schema: Schema? = nil
    ) -> WriteDecision {
        WriteDecision(
            answer: WriteAnswer(
                body, created: created, cursor: Cursor(epoch: state.epoch, revision: revision), tag: tag,
                commit: revision),
            commit: Commit(
                revision: revision, time: time, suiteChanges: suites, changes: changes, by: request.origin,
                requestKey: request.requestKey, requestDigest: request.requestKey == nil ? nil : request.digest),
            schema: schema)
    }

    /// Makes the decision of a write that changes nothing, or of a dry run. If a write that changes nothing has a
    /// request key, its commit has no changes and stores the answer. A repeated request then gets the same answer, even
    /// if other writes came in between.
    func makeEmptyDecision(_ body: WriteAnswer.Body, created: Bool, tag: Revision? = nil) -> WriteDecision {
        guard request.requestKey != nil, !request.isDryRun else {
            return WriteDecision(answer: WriteAnswer(body, created: created, cursor: state.cursor, tag: tag))
        }
        var decision = makeCommitDecision(body, created: created, tag: tag, suites: [], changes: [])
        switch body {
        case .setting(let setting): decision.commit?.answer = .setting(setting)
        case .summary(let summary): decision.commit?.answer = .summary(summary)
        // Unreachable: only a write that changes a setting has this body, and that write calls `makeCommitDecision`.
        case .change: break
        }
        return decision
    }

    /// Returns the revision with which the preconditions of a write to the target are compared.
    private func currentRevision(of target: Target) -> Revision {
        switch target {
        case .suite(let name): state.suite(name)?.revision ?? .zero
        case .schema(let name): state.suite(name)?.schemaRevision ?? .zero
        }
    }
}

/// Checks of guards, locked keys and secrets. The `restrictedGrants` of the request are the grants (rights) of a caller
/// that may not read everything; nil if the caller may read everything.
extension WriteDraft {
    /// Throws if a guard of the request does not hold for the setting, suite or schema to which the write applies.
    ///
    /// - Parameters:
    ///   - name: the name of the setting, suite or schema for the error message.
    ///   - revision: the present revision of the setting, suite or schema.
    ///   - exists: true if the suite or schema exists, or if the setting has a stored value.
    ///   - current: the present setting or suite, which the error contains.
    func checkGuards(
        of name: @autoclosure () -> String, at revision: Revision, exists: Bool,
        current: @autoclosure () -> Problem.Current
    ) throws(Problem) {
        for condition in request.guards where !condition.holds(revision: revision, exists: exists) {
            var problem = Problem(.preconditionFailed, condition.detail(name(), revision: revision, exists: exists))
            problem.current = current()
            throw problem
        }
    }

    func checkGuards(of name: SuiteName) throws(Problem) {
        let suite = state.suite(name)
        let revision = suite?.revision ?? .zero
        try checkGuards(
            of: "suite \(name)", at: revision, exists: suite != nil,
            current: .suite(SuiteRevision(suite: name, revision: revision)))
    }

    /// Throws if the schema locks the key (declares it read-only) and the request does not override locks.
    mutating func checkLock(_ key: KeyName, in suite: Suite?) throws(Problem) {
        guard !request.overridesLocks, let suite, let schema = suite.schema?.schema else { return }
        let isLocked = schema.isLocked(key.text, steps: &steps)
        try checkValidationSteps()
        if isLocked { throw suite.lockedKey(key) }
    }

    /// Throws if the key is a secret that the caller may not read, because a change or a comparison of the value could
    /// reveal the secret.
    func checkSecret(_ key: KeyName, in suite: Suite?) throws(Problem) {
        guard request.restrictedGrants != nil, let suite,
            suite.isHidden(suite.record(key), from: request.restrictedGrants)
        else {
            return
        }
        throw Problem(secret: key, of: suite.id, to: "change or compare")
    }

    func requireSuite(_ name: SuiteName) throws(Problem) -> Suite {
        guard let suite = state.suite(name) else { throw state.unknownSuite(name, for: request.restrictedGrants) }
        return suite
    }
}

extension WriteGuard {
    /// True if the guard holds for a setting, suite or schema at the revision `current`. `exists` is true if the suite
    /// or schema exists, or if the setting has a stored value.
    package func holds(revision current: Revision, exists: Bool) -> Bool {
        switch self {
        case .isAt(let revisions): revisions.contains(current)
        case .isNotAt(let revisions): !revisions.contains(current)
        case .exists: exists
        case .isAbsent: !exists
        }
    }

    /// Returns a message that states why the guard does not hold for the named setting, suite or schema.
    package func detail(_ name: String, revision current: Revision, exists: Bool) -> String {
        switch self {
        case .isAt(let revisions):
            revisions.isEmpty
                ? "\(name) is at revision \(current), which matches no entity tag of the request"
                : "\(name) is at revision \(current), not at \(revisions.map(\.description).joined(separator: " or "))"
        case .isNotAt: "\(name) is at revision \(current), which If-None-Match excludes"
        case .exists: "nothing is stored for \(name)"
        case .isAbsent: "\(name) already exists, at revision \(current)"
        }
    }
}
