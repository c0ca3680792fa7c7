package import SettingsAPI
package import SettingsModel

/// What a write amounts to, decided on one state and without changing it.
package enum Evaluation: Sendable {
    /// A commit, with the answer for when it is durable, and the schema that it sets.
    case commit(Commit, WriteAnswer, schema: Schema?)
    /// Nothing would change, or nothing was to be changed; the answer as things are.
    case unchanged(WriteAnswer)

    /// Decides a write on a state.
    ///
    /// - Parameters:
    ///   - revision: what the commit will be called, if there is one.
    ///   - time: when it is made.
    ///   - opensSuites: whether storing something may bring a suite into being.
    package init(
        _ request: WriteRequest, on state: State, revision: Revision, time: Timestamp, opensSuites: Bool = true
    ) throws(Problem) {
        let evaluator = Evaluator(
            request: request, state: state, revision: revision, time: time, opensSuites: opensSuites)
        switch request.command {
        case .setting(let operation): self = try evaluator.setting(operation)
        case .mergeSuite(let suite, let values): self = try evaluator.merge(suite, values)
        case .replaceSuite(let suite, let values): self = try evaluator.replace(suite, values)
        case .resetSuite(let suite, let prefix): self = try evaluator.reset(suite, prefix: prefix)
        case .dropSuite(let suite): self = try evaluator.drop(suite)
        case .setSchema(let suite, let schema, let policy):
            self = try evaluator.setSchema(suite, schema, onConflict: policy)
        case .refuseSchema(let suite, let problem): throw evaluator.refusal(of: suite, problem)
        case .removeSchema(let suite): self = try evaluator.removeSchema(suite)
        case .transaction(let transaction): self = try evaluator.transaction(transaction)
        }
    }
}

/// Deciding one write. Each command has its part in a file of its group.
struct Evaluator {
    let request: WriteRequest
    let state: State
    let revision: Revision
    let time: Timestamp
    let opensSuites: Bool

    /// The place in history that an answer is true at if nothing is committed.
    var present: Cursor { state.cursor }

    /// A commit of these changes.
    func commit(suites: [SuiteChange] = [], _ changes: [Change]) -> Commit {
        Commit(
            revision: revision, time: time, suiteChanges: suites, changes: changes, requestKey: request.requestKey,
            requestDigest: request.requestKey == nil ? nil : request.digest)
    }

    /// What a write to several keys, or to a schema, is about: its answer has the tag of that.
    enum Subject {
        case suite(SuiteName)
        case schema(of: SuiteName)
    }

    /// The end of a write to several keys.
    func finish(_ draft: Draft, of subject: Subject?) throws(Problem) -> Evaluation {
        try draft.check()
        return finish(suites: draft.created(), draft.changes(revision: revision, time: time), of: subject)
    }

    /// The end of a write that was checked, with what changes.
    func finish(
        suites: [SuiteChange], _ changes: [Change], of subject: Subject?, created: Bool = false, schema: Schema? = nil
    ) -> Evaluation {
        let isChanged = !suites.isEmpty || !changes.isEmpty
        let isDone = isChanged && !request.isDryRun
        // If nothing is done, the revision is one that holds as a guard.
        let told = isDone ? revision : subject.map(presentRevision) ?? state.revision
        var changes = changes
        if request.isDryRun {
            // What would be called by the next revision has none: another write may be given that.
            for index in changes.indices { changes[index].revision = told }
        }
        var summary = WriteSummary(
            revision: told, changed: isChanged, changes: changes, isDryRun: request.isDryRun)
        if case .schema? = subject { summary.schemaRevision = told }
        let isGone = isDone && suites.contains { $0.kind == .dropped }
        let answer = WriteAnswer(
            .summary(summary), created: created,
            cursor: isDone ? Cursor(epoch: state.epoch, revision: revision) : present,
            tag: subject == nil ? nil : isGone ? .zero : told, commit: isDone ? revision : nil)
        return isDone ? .commit(commit(suites: suites, changes), answer, schema: schema) : unchanged(answer)
    }

    /// The end of a write that changes nothing, or is not to. What its caller named is kept, as a commit without changes.
    func unchanged(_ answer: WriteAnswer) -> Evaluation {
        guard request.requestKey != nil, !request.isDryRun else { return .unchanged(answer) }
        var kept = commit([])
        switch answer.body {
        case .setting(let setting): kept.answer = .setting(setting)
        case .summary(let summary): kept.answer = .summary(summary)
        }
        var answer = answer
        answer.cursor = Cursor(epoch: state.epoch, revision: revision)
        answer.commit = revision
        return .commit(kept, answer, schema: nil)
    }

    /// The revision that a guard on a write about this is compared with.
    private func presentRevision(of subject: Subject) -> Revision {
        switch subject {
        case .suite(let name): state.suite(name)?.revision ?? .zero
        case .schema(let name): state.suite(name)?.schemaRevision ?? .zero
        }
    }

    /// Refuses a write to a locked key.
    func checkLock(_ key: KeyName, in suite: Suite?) throws(Problem) {
        guard !request.overridesLocks, let suite, suite.isLocked(key) else { return }
        throw suite.lockedKey(key)
    }

    /// The suite, which must exist.
    func existing(_ name: SuiteName) throws(Problem) -> Suite {
        guard let suite = state.suite(name) else { throw state.unknownSuite(name) }
        return suite
    }

    /// Refuses a write about a suite whose guards do not hold.
    func checkGuards(of name: SuiteName) throws(Problem) {
        let suite = state.suite(name)
        let current = suite?.revision ?? .zero
        for condition in request.guards where !condition.holds(revision: current, exists: suite != nil) {
            var problem = Problem(
                .preconditionFailed, condition.detail("suite \(name)", revision: current, exists: suite != nil))
            problem.current = .suite(SuiteRevision(suite: name, revision: current))
            throw problem
        }
    }
}

extension WriteRequest.Guard {
    /// Whether the guard lets a write to such a thing pass.
    package func holds(revision current: Revision, exists: Bool) -> Bool {
        switch self {
        case .isAt(let revisions): revisions.contains(current)
        case .isNotAt(let revisions): !revisions.contains(current)
        case .exists: exists
        case .isAbsent: !exists
        }
    }

    /// Why it does not.
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
