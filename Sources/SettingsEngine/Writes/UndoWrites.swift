internal import SettingsAPI
internal import SettingsModel

/// Undo, which applies the inverse of a commit, and restore, which stores the values of a moment in the past again. A
/// draft is a write that is being decided: checked against the staged state (the newest state, with the commits that
/// are not durable yet), to compute its commit or its refusal.
extension WriteDraft {
    struct PastValue {
        let key: KeyName
        /// The value; nil if the key had no stored value, so that the write removes its value.
        let stored: JSONValue?
        /// True if the value was a secret in the past.
        let isSecret: Bool

        init(key: KeyName, stored: JSONValue?, isSecret: Bool) {
            self.key = key
            self.stored = stored
            self.isSecret = isSecret
        }

        /// The value before a change.
        init(before change: Change) {
            key = change.key
            stored = change.oldStored
            // `wasSecret` can be false for a value that was stored before a schema declared the key secret. The change
            // of such a value has `isSecret`.
            isSecret = change.record.wasSecret || change.isSecret && change.oldStored != nil
        }
    }

    /// Undoes a commit, in one suite (a named set of settings) or, if the name is nil, in all suites that it changed.
    mutating func undo(
        _ undo: UndoRequest, of name: SuiteName?, onConflict policy: ConflictPolicy
    ) throws(Problem) -> WriteDecision {
        let commit = try commit(toUndo: undo.revision, in: name)
        if let name { try checkGuards(of: name) }
        let parts = commit.parts.filter { name == nil || $0.suite == name }
        if !undo.isForced {
            let commitsFromFiles = request.past?.later ?? []
            let later = parts.compactMap {
                state.recentPast.laterChanges(of: $0, after: commit.revision, commitsFromFiles, for: request.readLimits)
            }
            guard later.isEmpty else { throw Self.changedSince(commit.revision, Array(later.joined())) }
        }
        var inverse = Inverse()
        for part in parts { try self.undo(part, onConflict: policy, &inverse) }
        return try decide(
            name.map { .suite($0) }, suites: inverse.suites, inverse.changes.filter(\.hasEffect),
            schema: inverse.schema)
    }

    /// Returns the commit to undo. Throws if the caller has no right to undo the commit. The error does not show
    /// whether keys exist that the caller may not read.
    private func commit(toUndo revision: Revision, in name: SuiteName?) throws(Problem) -> Commit {
        let fromFile = request.past?.commit
        guard let grants = request.grants else {
            return try state.recentPast.commit(toUndo: revision, in: name, for: nil, fromFile: fromFile)
        }
        let hidden = Problem(
            .forbidden,
            "cannot undo commit \(revision): it does not exist, is no longer kept or changed nothing, or this caller "
                + "may not read all of its changes")
        let commit: Commit
        do throws(Problem) {
            commit = try state.recentPast.commit(toUndo: revision, in: name, for: grants.readLimits, fromFile: fromFile)
        } catch {
            // A caller that may not see all suites gets the same error for a commit in hidden suites as for no commit.
            throw name == nil && grants.readLimits != nil ? hidden : error
        }
        // An undo keeps a suite that the commit created, so it needs no right to drop the suite.
        for change in commit.suiteChanges where change.kind != .created && (name == nil || change.suite == name) {
            guard grants.canReadAll(of: change.suite) else { throw hidden }
            try grants.demand(.schema, on: change.suite, .all)
        }
        let rights: [Rights] = request.overridesLocks ? [.write, .override] : [.write]
        for change in commit.changes where name == nil || change.suite == name {
            guard grants.canRead(change.suite, change.key) else { throw hidden }
            for right in rights { try grants.demand(right, on: change.suite, .key(change.key.text)) }
        }
        return commit
    }

    /// Makes a suite store the values of a moment in the past. The present schema stays in force. With
    /// `skipsConflicts`, leaves out values that the present schema does not allow, instead of throwing.
    mutating func restore(
        _ name: SuiteName, _ restore: RestoreRequest, skipsConflicts: Bool
    ) throws(Problem) -> WriteDecision {
        let past = try past(of: name, restore)
        try checkGuards(of: name)
        let filter = KeyFilter(keys: restore.keys ?? [], prefixes: restore.prefix.map { [$0] } ?? [])
        let suite = state.suite(name)
        try checkSecrets(of: past, suite, filter)
        var values = past.differences(from: suite, filter).map { key in
            let record = past.record(key)
            return PastValue(key: key, stored: record.stored, isSecret: past.isSecret(record))
        }
        try checkCount(values.count)
        var skipped: [SchemaConflict] = []
        if skipsConflicts {
            let conflicts = conflicts(values, in: suite)
            try checkSteps()
            let keys = Set(conflicts.keys.compactMap(\.key) + conflicts.unlisted)
            values.removeAll { keys.contains($0.key) }
            skipped = conflicts.keys
        }
        let decision = try restoreValues(values, in: name)
        return decision.listing(skipped: skipped)
    }
}

extension WriteDraft {
    /// Returns the suite as it was at the moment of a restore.
    private func past(of name: SuiteName, _ restore: RestoreRequest) throws(Problem) -> Suite {
        if var past = request.past?.suite {
            state.recentPast.markSecrets(in: &past)
            return past
        }
        let revision = try state.recentPast.revision(at: restore.moment, of: name)
        guard let past = try state.recentPast.suite(name, at: revision) else {
            throw state.recentPast.unknownSuite(name, for: request.readLimits, at: revision)
        }
        return past
    }

    /// The inverse of a commit: the changes that undo it.
    struct Inverse {
        var suites: [SuiteChange] = []
        var changes: [Change] = []
        /// The compiled schema that the inverse sets; nil for none, or for several, which `State.apply` compiles.
        var schema: Schema?

        /// Adds the commit that restores the schema of a suite, and the commit that restores values of this suite.
        mutating func add(_ schemaCommit: Commit?, _ valueCommit: Commit?) {
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
        try draft.checkCount(values.count)
        let valueCommit = try draft.restoreValues(values, in: name).commit
        steps = draft.steps
        inverse.add(schemaCommit, valueCommit)
    }

    /// Returns the state after the commit of a decision, if there is a commit.
    func state(after decision: WriteDecision) throws(Problem) -> State {
        var state = state
        guard let commit = decision.commit else { return state }
        do {
            try state.apply(commit, schema: decision.schema)
        } catch {
            throw Problem(.storageFailed, "internal error: \(error); this is a bug, please report it")
        }
        return state
    }

    /// Throws if the caller may not read a secret: the answer would show whether the secret has the restored value.
    private func checkSecret(_ key: KeyName, of suite: SuiteName) throws(Problem) {
        guard let readLimits = request.readLimits, !readLimits.canReadSecret(suite, key) else { return }
        throw Problem(secret: key, of: suite, to: "restore")
    }

    /// Throws if a restore may change a secret, past or present, that the caller may not read.
    private func checkSecrets(of past: Suite, _ suite: Suite?, _ filter: KeyFilter) throws(Problem) {
        guard request.readLimits != nil else { return }
        let keys = Set((past.records.elements + (suite?.records.elements ?? [])).map(\.key).filter(filter.admits))
        for key in keys.ordered(by: <) {
            let (then, now) = (past.record(key), suite?.record(key))
            guard past.isSecret(then) || now.map({ suite?.isSecret($0) ?? false }) ?? false else { continue }
            if then.revision != now?.revision { try checkSecret(key, of: past.id) }
        }
    }

    /// Makes a draft for a part of the write, without the preconditions, request key and quotas of the whole write.
    func makeSubdraft(on state: State) -> WriteDraft {
        var request = request
        (request.guards, request.requestKey, request.isDryRun, request.steps) = ([], nil, false, steps)
        return WriteDraft(
            request: request, state: state, revision: revision, time: time, createsSuites: createsSuites,
            commitKeys: commitKeys, quotas: .none)
    }

    /// Restores the schema before a change, or removes the schema if there was none. Recreates a dropped suite.
    mutating func restoreSchema(
        before change: SuiteChange, onConflict policy: ConflictPolicy
    ) throws(Problem) -> WriteDecision {
        if let replaced = change.replaced {
            do {
                let schema = try Schema(stored: replaced.document, text: replaced.text)
                return try setSchema(change.suite, schema, onConflict: policy)
            } catch let problem as Problem {
                throw problem
            } catch {
                throw Problem(
                    .invalidSchema,
                    "cannot restore the previous schema: this version of settingsd does not accept the schema: \(error)"
                )
            }
        }
        if state.hasSuite(change.suite) { return try removeSchema(change.suite) }
        return try decide(
            .suite(change.suite),
            suites: change.kind == .dropped ? [SuiteChange(suite: change.suite, kind: .created)] : [], [])
    }

    /// Stores values of the past. Throws an error with all conflicts if the present schema does not allow the values.
    mutating func restoreValues(_ values: [PastValue], in name: SuiteName) throws(Problem) -> WriteDecision {
        let suite = state.suite(name)
        let changed = values.filter { suite?.record($0.key).stored != $0.stored }
        for value in changed { try checkLock(value.key, in: suite) }
        let conflicts = conflicts(changed, in: suite)
        try checkSteps()
        guard conflicts.isEmpty else { throw conflict(conflicts.keys, more: conflicts.unlisted.count, in: name) }
        for value in changed {
            let key = try findOrAddKey(suite, name, value.key, namedIn: .noPart, isRemoval: value.stored == nil)
            guard let stored = value.stored else {
                remove(key)
                continue
            }
            set(key, to: stored)
            if value.isSecret { key.isStoredSecret = true }
        }
        do throws(Problem) {
            return try checkAndDecide(.suite(name))
        } catch {
            guard error.code == .invalidValue else { throw error }
            throw conflict(StoredConflicts(keys: [], suite: error.errors).all, more: 0, in: name)
        }
    }

    /// Returns the values that the present schema does not allow. Does not check its rules about the suite as a whole.
    mutating func conflicts(_ values: [PastValue], in suite: Suite?) -> StoredConflicts {
        guard let schema = suite?.schema?.schema else { return StoredConflicts(keys: []) }
        let settings = values.compactMap { value in
            value.stored.map { StoredSetting(key: value.key, value: $0, isSecret: value.isSecret) }
        }
        let found = schema.conflicts(storing: settings, steps: &steps)
        return StoredConflicts(keys: found.keys, unlisted: found.unlisted)
    }

    /// Makes the error for values that the present schema does not allow. Counts, but does not list, `more` conflicts.
    private func conflict(_ conflicts: [SchemaConflict], more: Int, in suite: SuiteName) -> Problem {
        let listed = conflicts.map { $0.located(inSuite: suite) }
        let others = listed.count + more - 1
        let remedy =
            if case .restore = request.command { "?onConflict=skip restores the other values" } else {
                "change the schema first"
            }
        var problem = Problem(
            .schemaConflict,
            "the schema of suite \(suite) does not allow the restored values: "
                + (listed.first?.errors.first?.sentence ?? "") + (others > 0 ? ", and \(others) more" : "")
                + "; \(remedy)")
        problem.conflicts = listed
        return problem
    }
}

extension SchemaConflict {
    /// The conflict with the name of the suite in each of its errors.
    fileprivate func located(inSuite suite: SuiteName) -> SchemaConflict {
        var conflict = self
        conflict.errors = errors.map { $0.located(inSuite: suite) }
        return conflict
    }
}

extension WriteDecision {
    /// Adds the values that a restore skipped to the answer. A commit with a request key then stores the answer,
    /// because the skipped values do not follow from the commit.
    fileprivate consuming func listing(skipped: [SchemaConflict]) -> WriteDecision {
        guard !skipped.isEmpty, case .summary(var summary) = answer.body else { return self }
        summary.skipped = skipped
        answer.body = .summary(summary)
        if commit?.requestKey != nil { commit?.answer = .summary(summary) }
        return self
    }
}

extension RecentPast {
    /// Returns the commit to undo: `fromFile` if it was read from a past file (a file with older commits), otherwise
    /// from memory. Throws if it is no longer kept, or did not change the suite (any suite, if the name is nil).
    fileprivate func commit(
        toUndo revision: Revision, in name: SuiteName?, for readLimits: Grants?, fromFile: RetainedCommit?
    ) throws(Problem) -> Commit {
        guard revision <= state.revision else {
            throw Problem(
                .badRequest, "revision \(revision) does not exist yet; the newest revision is \(state.revision)")
        }
        if let name {
            guard state.hasSuite(name) || history.hasCommits(of: name) || fromFile?.affects(name) ?? false else {
                throw state.unknownSuite(name, for: readLimits)
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
        of part: CommitPart, after revision: Revision, _ fromFiles: [RetainedCommit], for readLimits: Grants?
    ) -> [Change]? {
        let (name, suite) = (part.suite, state.suite(part.suite))
        let recent = history.commits(of: name, after: revision).map(\.commit)
        let recentRevisions = Set(recent.map(\.revision))
        let older = fromFiles.filter { !recentRevisions.contains($0.revision) && $0.affects(name) }
        let commits = older.map(\.commit) + recent
        let keys = Set(part.changes.map(\.key).filter { suite?.record($0).revision != revision })
        let isSuiteChanged = part.suiteChanges.contains { change in
            switch change.kind {
            case .created: false
            case .dropped: suite != nil
            case .schemaSet, .schemaRemoved: suite?.schemaRevision != revision
            }
        }
        // The keys of a dropped suite do not exist, so that only later commits show whether the keys changed.
        let isDropped = suite == nil && part.suiteChanges.contains { $0.kind == .dropped }
        guard isSuiteChanged || !keys.isEmpty && !isDropped || isDropped && !commits.isEmpty else { return nil }
        let later = commits.flatMap(\.changes)
        // An error does not contain the value of a secret, even if the caller may read the secret.
        return state.shown(later.filter { $0.suite == name && keys.contains($0.key) }, to: readLimits).map {
            $0.isSecret ? $0.concealed() : $0
        }
    }
}

extension Suite {
    /// Returns the keys, in order, whose stored values differ between two states of the same suite.
    fileprivate func differences(from other: Suite?, _ filter: KeyFilter) -> [KeyName] {
        var keys: [KeyName] = []
        records.forEach { record in
            let differs = other?.records.find(record.name)?.stored != record.stored
            if differs, filter.admits(record.key) { keys.append(record.key) }
            return true
        }
        other?.records.forEach { record in
            let isRemoved = record.stored != nil && records.find(record.name) == nil
            if isRemoved, filter.admits(record.key) { keys.append(record.key) }
            return true
        }
        return keys.ordered(by: <)
    }
}

extension [Change] {
    /// Merges the changes with later changes of the same suite. The result has one change for each key, ordered by key.
    func merged(with later: [Change]) -> [Change] {
        var all = Dictionary(map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
        for change in later { all[change.key] = all[change.key].map(change.following) ?? change }
        return all.values.ordered { $0.key < $1.key }
    }
}

extension Change {
    /// True if the change alters the stored value, the effective value, or its source.
    var hasEffect: Bool {
        old != new || oldSource != source || oldStored != stored
    }
}
