internal import SettingsAPI
internal import SettingsModel

/// Undo: a write that applies the inverse of an earlier commit. A draft is a write that is being decided: checked
/// against the staged state (the newest state, with the commits that are not durable yet), to compute its commit or its
/// refusal. `restrictedGrants` is the grants (rights) of a caller that may not read everything; otherwise nil.
extension WriteDraft {
    /// Undoes a commit, in one suite (a named set of settings) or, if the name is nil, in all of its suites.
    mutating func undo(
        _ undo: UndoRequest, of name: SuiteName?, onConflict policy: ConflictPolicy
    ) throws(Problem) -> WriteDecision {
        let commit = try commit(toUndo: undo.revision, in: name)
        if let name { try checkGuards(of: name) }
        let parts = commit.parts.filter { name == nil || $0.suite == name }
        if !undo.isForced {
            let commitsFromFiles = request.pastFileData?.later ?? []
            let later = parts.compactMap {
                state.recentPast.laterChanges(
                    of: $0, after: commit.revision, commitsFromFiles, for: request.restrictedGrants)
            }
            guard later.isEmpty else { throw Self.changedSince(commit.revision, Array(later.joined())) }
        }
        var inverse = Inverse()
        for part in parts { try self.undo(part, onConflict: policy, &inverse) }
        return try decide(
            target: name.map { .suite($0) }, suites: inverse.suites, changes: inverse.changes.filter(\.hasEffect),
            schema: inverse.schema)
    }

    /// Returns the commit to undo. Throws if the caller has no right to undo the commit. The error does not show
    /// whether keys exist that the caller may not read.
    private func commit(toUndo revision: Revision, in name: SuiteName?) throws(Problem) -> Commit {
        let fromFile = request.pastFileData?.commit
        guard let grants = request.grants else {
            return try state.recentPast.commit(toUndo: revision, in: name, for: nil, fromFile: fromFile)
        }
        let hiddenCommitProblem = Problem(
            .forbidden,
            "cannot undo commit \(revision): it does not exist, is no longer kept or changed nothing, or this caller "
                + "may not read all of its changes")
        let commit: Commit
        do throws(Problem) {
            commit = try state.recentPast.commit(
                toUndo: revision, in: name, for: grants.restrictedGrants, fromFile: fromFile)
        } catch {
            // A caller that may not see all suites gets the same error for a commit in hidden suites as for a commit
            // that does not exist.
            throw name == nil && grants.restrictedGrants != nil ? hiddenCommitProblem : error
        }
        // An undo keeps a suite that the commit created, so the caller needs no right to drop the suite.
        for change in commit.suiteChanges where change.kind != .created && (name == nil || change.suite == name) {
            guard grants.canReadAll(of: change.suite) else { throw hiddenCommitProblem }
            try grants.demand(.schema, on: change.suite, .all)
        }
        let rights: [Rights] = request.overridesLocks ? [.write, .override] : [.write]
        for change in commit.changes where name == nil || change.suite == name {
            guard grants.canRead(change.suite, change.key) else { throw hiddenCommitProblem }
            for right in rights { try grants.demand(right, on: change.suite, .key(change.key.text)) }
        }
        return commit
    }

    /// The inverse of a commit: the changes that undo the commit.
    struct Inverse {
        var suites: [SuiteChange] = []
        var changes: [Change] = []
        /// The compiled schema that the inverse sets. Nil if the inverse sets no schema. Also nil if the inverse may
        /// set several schemas, because `State.apply` then compiles each of them.
        var schema: Schema?

        /// Adds the changes of two commits: `schemaCommit` restores the schema of a suite, and `valueCommit` then
        /// restores values of this suite. A commit is nil if there is nothing to restore.
        mutating func add(schema schemaCommit: Commit?, values valueCommit: Commit?) {
            suites += (schemaCommit?.suiteChanges ?? []) + (valueCommit?.suiteChanges ?? [])
            changes += (schemaCommit?.changes ?? []).merged(with: valueCommit?.changes ?? [])
        }
    }

    /// Makes the error for a commit whose settings or schemas were changed by later commits.
    private static func changedSince(_ revision: Revision, _ changes: [Change]) -> Problem {
        let cause =
            changes.first.map { "\($0.key) of suite \($0.suite) was changed at revision \($0.revision)" }
            ?? "a later commit changed the suite"
        var problem = Problem(
            .changedSince, "cannot undo commit \(revision): \(cause); \"force\":true undoes the commit anyway")
        problem.changes = changes
        return problem
    }

    /// Adds the inverse of a commit in one suite to `inverse`: first the schema, then the values under that schema.
    private mutating func undo(
        _ part: CommitPart, onConflict policy: ConflictPolicy, _ inverse: inout Inverse
    ) throws(Problem) {
        let name = part.suite
        for change in part.changes where change.isSecret || state.suite(name)?.isSecret(change.key) ?? false {
            try checkSecret(change.key, of: name)
        }
        var draft = makeSubdraft(on: state)
        var schemaCommit: Commit?
        if let change = part.suiteChanges.first(where: { $0.kind != .created }) {
            let decision = try draft.restoreSchema(before: change, onConflict: policy)
            schemaCommit = decision.commit
            let state = try self.state(after: decision)
            if schemaCommit != nil { inverse.schema = inverse.suites.isEmpty ? decision.schema : nil }
            steps = draft.steps
            draft = makeSubdraft(on: state)
        }
        let values = part.changes.map { PastValue(before: $0) }
        try draft.checkKeyCount(values.count)
        let valueCommit = try draft.restoreValues(values, in: name).commit
        steps = draft.steps
        inverse.add(schema: schemaCommit, values: valueCommit)
    }
}

extension RecentPast {
    /// Returns the commit to undo. `fromFile` is the commit, if it was read from a past file (a file with older
    /// commits); otherwise nil. Throws if `fromFile` is nil and the commit is not in memory, or if the commit did not
    /// change the suite `name` (any suite, if the name is nil).
    fileprivate func commit(
        toUndo revision: Revision, in name: SuiteName?, for restrictedGrants: Grants?, fromFile: RetainedCommit?
    ) throws(Problem) -> Commit {
        guard revision <= state.revision else {
            throw Problem(
                .badRequest, "revision \(revision) does not exist yet; the newest revision is \(state.revision)")
        }
        if let name {
            guard state.hasSuite(name) || history.hasCommits(of: name) || fromFile?.affects(name) ?? false else {
                throw state.unknownSuite(name, for: restrictedGrants)
            }
            if fromFile == nil { try checkAvailable(revision.advanced(by: -1) ?? .zero, of: name) }
        }
        if let found = fromFile ?? history.commit(revision) {
            if name.map({ found.affects($0) }) ?? (found.firstSuite != nil) { return found.commit }
        } else if name == nil, revision <= history.oldestAvailable {
            var problem = Problem(.historyGone, "commit \(revision) is no longer in the history; use a later revision")
            problem.oldest = history.oldestAvailable
            throw problem
        }
        throw Problem(
            .badRequest, "cannot undo revision \(revision): it changed nothing\(name.map { " in suite \($0)" } ?? "")")
    }

    /// Returns the later changes of the keys that a commit changed in a suite; nil if neither the keys, nor the suite
    /// or its schema, changed later. `fromFiles` are later commits that were read from past files, oldest first.
    fileprivate func laterChanges(
        of part: CommitPart, after revision: Revision, _ fromFiles: [RetainedCommit], for restrictedGrants: Grants?
    ) -> [Change]? {
        let (name, suite) = (part.suite, state.suite(part.suite))
        let recent = history.commits(of: name, after: revision).map(\.commit)
        let recentRevisions = Set(recent.map(\.revision))
        let older = fromFiles.filter { !recentRevisions.contains($0.revision) && $0.affects(name) }
        let commits = older.map(\.commit) + recent
        let changedKeys = Set(part.changes.map(\.key).filter { suite?.record($0).revision != revision })
        let isSuiteChanged = part.suiteChanges.contains { change in
            switch change.kind {
            case .created: false
            case .dropped: suite != nil
            case .schemaSet, .schemaRemoved: suite?.schemaRevision != revision
            }
        }
        // The keys of a dropped suite do not exist, so only later commits show whether the keys changed.
        let isDropped = suite == nil && part.suiteChanges.contains { $0.kind == .dropped }
        guard isSuiteChanged || !changedKeys.isEmpty && !isDropped || isDropped && !commits.isEmpty else { return nil }
        let laterChanges = commits.flatMap(\.changes).filter { $0.suite == name && changedKeys.contains($0.key) }
        // An error does not contain the value of a secret, even if the caller may read the secret.
        return state.shown(laterChanges, to: restrictedGrants).map { $0.isSecret ? $0.concealed() : $0 }
    }
}

extension [Change] {
    /// Merges the changes with later changes of the same suite. The result has one change for each key, ordered by key.
    func merged(with later: [Change]) -> [Change] {
        var all = Dictionary(map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
        for change in later { all[change.key] = all[change.key].map(change.merged(withEarlier:)) ?? change }
        return all.values.ordered { $0.key < $1.key }
    }
}

extension Change {
    /// True if the change alters the stored value, the effective value (the value that readers get), or the source of
    /// the effective value.
    var hasEffect: Bool {
        old != new || oldSource != source || oldStored != stored
    }
}
