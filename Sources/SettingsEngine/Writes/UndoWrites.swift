internal import SettingsAPI
internal import SettingsModel

/// Writes that put back what was: the inverse of a commit, and what a suite stored at some place in the past.
extension WriteDraft {
    /// A stored value to put back; nil for none.
    private struct PastValue {
        let key: KeyName
        let stored: JSONValue?
        /// True if it was a secret then.
        let isSecret: Bool
    }

    /// Undoes what a commit did, to one suite or to all that it touched.
    mutating func undo(
        _ undo: UndoRequest, of name: SuiteName?, onConflict policy: WriteRequest.ConflictPolicy
    ) throws(Problem) -> WriteDecision {
        let commit = try commit(toUndo: undo.revision, in: name)
        if let name { try checkGuards(of: name) }
        let parts = commit.parts.filter { name == nil || $0.suite == name }
        if !undo.isForced {
            let read = request.past?.later ?? []
            let later = parts.compactMap {
                state.recentPast.changes(since: $0, of: commit.revision, read, for: request.reader)
            }
            guard later.isEmpty else { throw Self.changedSince(commit.revision, Array(later.joined())) }
        }
        var inverse = Inverse()
        for part in parts { try self.undo(part, onConflict: policy, &inverse) }
        return try decide(
            name.map { .suite($0) }, suites: inverse.suites, inverse.changes.filter(\.isDifferent),
            schema: inverse.schema)
    }

    /// Returns a commit that is to be undone, once the writer has the rights on all that it did. That cannot be told from
    /// names, so a refusal names nothing that the writer may not read.
    private func commit(toUndo revision: Revision, in name: SuiteName?) throws(Problem) -> Commit {
        let read = request.past?.commit
        guard let grants = request.grants else {
            return try state.recentPast.commit(toUndo: revision, in: name, for: nil, read: read)
        }
        let hidden = Problem(
            .forbidden,
            "this caller may not undo commit \(revision): not all that it did is the caller's to read, or it did nothing"
        )
        let commit: Commit
        do throws(Problem) {
            commit = try state.recentPast.commit(toUndo: revision, in: name, for: grants.reader, read: read)
        } catch {
            // Of all suites, a writer that does not see them all cannot tell a hidden commit from none.
            throw name == nil && grants.reader != nil ? hidden : error
        }
        // A suite that began with the commit stays.
        for change in commit.suiteChanges where change.kind != .created && (name == nil || change.suite == name) {
            guard grants.showAll(of: change.suite) else { throw hidden }
            try grants.demand(.schema, on: change.suite, .all)
        }
        let rights: [Rights] = request.overridesLocks ? [.write, .override] : [.write]
        for change in commit.changes where name == nil || change.suite == name {
            guard grants.show(change.suite, change.key) else { throw hidden }
            for right in rights { try grants.demand(right, on: change.suite, .key(change.key.text)) }
        }
        return commit
    }

    /// Makes what a suite stores what it was at a place in the past, under the schema of now.
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
        let decision = try putBack(values, in: name)
        return decision.listing(skipped)
    }
}

extension WriteDraft {
    /// The suite to restore, as it was.
    private func past(of name: SuiteName, _ restore: RestoreRequest) throws(Problem) -> Suite {
        if var past = request.past?.suite {
            state.recentPast.keepSecrets(in: &past)
            return past
        }
        let place = try state.recentPast.revision(at: restore.moment, of: name)
        guard let past = try state.recentPast.suite(name, at: place) else {
            throw state.recentPast.unknownSuite(name, for: request.reader, at: place)
        }
        return past
    }

    /// What an inverse does to suites and to keys.
    private struct Inverse {
        var suites: [SuiteChange] = []
        var changes: [Change] = []
        /// The schema that it sets, unless it sets several.
        var schema: Schema?
    }

    private static func changedSince(_ revision: Revision, _ changes: [Change]) -> Problem {
        let keys = changes.first.map { ": \($0.key) of suite \($0.suite) at revision \($0.revision)" } ?? ""
        var problem = Problem(
            .changedSince, "what commit \(revision) did was changed since\(keys); \"force\":true undoes it all the same"
        )
        problem.changes = changes
        return problem
    }

    /// Decides the inverse of a commit in one suite: first the schema, then the values, under that schema.
    private mutating func undo(
        _ part: CommitPart, onConflict policy: WriteRequest.ConflictPolicy, _ inverse: inout Inverse
    ) throws(Problem) {
        let name = part.suite
        for change in part.changes where change.isSecret || state.suite(name)?.isSecret(change.key) ?? false {
            try checkSecret(change.key, of: name)
        }
        var draft = self.part(on: state)
        var first: Commit?
        if let change = part.suiteChanges.first(where: { $0.kind != .created }) {
            let decision = try draft.putBack(change, onConflict: policy)
            first = decision.commit
            var state = state
            if let commit = first {
                do {
                    try state.apply(commit, schema: decision.schema)
                } catch {
                    throw Problem(.storageFailed, "internal error: \(error); this is a bug, please report it")
                }
                inverse.schema = inverse.suites.isEmpty ? decision.schema : nil
            }
            steps = draft.steps
            draft = self.part(on: state)
        }
        let values = part.changes.map { change in
            PastValue(
                key: change.key, stored: change.oldStored,
                isSecret: change.record.wasSecret || change.isSecret && change.oldStored != nil)
        }
        try draft.checkCount(values.count)
        let second = try draft.putBack(values, in: name).commit
        steps = draft.steps
        inverse.suites += (first?.suiteChanges ?? []) + (second?.suiteChanges ?? [])
        inverse.changes += (first?.changes ?? []).followed(by: second?.changes ?? [])
    }

    /// Throws if a key is a secret that the writer may not read: what comes of putting a value back would tell if it is the
    /// one that is there.
    private func checkSecret(_ key: KeyName, of suite: SuiteName) throws(Problem) {
        guard let reader = request.reader, !reader.showSecret(suite, key) else { return }
        throw Problem(secret: key, of: suite, to: "put back")
    }

    private func checkSecrets(of past: Suite, _ suite: Suite?, _ filter: KeyFilter) throws(Problem) {
        guard request.reader != nil else { return }
        let keys = Set((past.records.elements + (suite?.records.elements ?? [])).map(\.key).filter(filter.admits))
        for key in keys.ordered(by: <) {
            let (then, now) = (past.record(key), suite?.record(key))
            guard past.isSecret(then) || now.map({ suite?.isSecret($0) ?? false }) ?? false else { continue }
            if then.revision != now?.revision { try checkSecret(key, of: past.id) }
        }
    }

    /// A draft of a part of this write, without what is about the write as a whole: guards and quotas.
    private func part(on state: State) -> WriteDraft {
        var request = request
        (request.guards, request.requestKey, request.isDryRun, request.steps) = ([], nil, false, steps)
        return WriteDraft(
            request: request, state: state, revision: revision, time: time, createsSuites: createsSuites,
            commitKeys: commitKeys, quotas: .none)
    }

    /// Puts back the schema that was in force before a change, or the suite that it dropped.
    private mutating func putBack(
        _ change: SuiteChange, onConflict policy: WriteRequest.ConflictPolicy
    ) throws(Problem) -> WriteDecision {
        if let replaced = change.replaced {
            do {
                let schema = try Schema(kept: replaced.document, text: replaced.text)
                return try setSchema(change.suite, schema, onConflict: policy)
            } catch let problem as Problem {
                throw problem
            } catch {
                throw Problem(.invalidSchema, "the schema before is none that this version takes: \(error)")
            }
        }
        if state.hasSuite(change.suite) { return try removeSchema(change.suite) }
        return try decide(
            .suite(change.suite),
            suites: change.kind == .dropped ? [SuiteChange(suite: change.suite, kind: .created)] : [], [])
    }

    /// Stores values again. Throws with all conflicts if the schema of now does not allow them.
    private mutating func putBack(_ values: [PastValue], in name: SuiteName) throws(Problem) -> WriteDecision {
        let suite = state.suite(name)
        let changed = values.filter { suite?.record($0.key).stored != $0.stored }
        for value in changed { try checkLock(value.key, in: suite) }
        let conflicts = conflicts(changed, in: suite)
        try checkSteps()
        guard conflicts.isEmpty else { throw Self.conflict(conflicts.keys, more: conflicts.unlisted.count, in: name) }
        for value in changed {
            let key = try findOrAddKey(suite, name, value.key, namedIn: .path, isRemoval: value.stored == nil)
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
            throw Self.conflict(StoredConflicts(keys: [], suite: error.errors).all, more: 0, in: name)
        }
    }

    /// The values that the schema of now does not allow by themselves.
    private mutating func conflicts(_ values: [PastValue], in suite: Suite?) -> StoredConflicts {
        guard let schema = suite?.schema?.schema else { return StoredConflicts(keys: []) }
        let settings = values.compactMap { value in
            value.stored.map { StoredSetting(key: value.key, value: $0, isSecret: value.isSecret) }
        }
        let found = schema.conflicts(storing: settings, steps: &steps)
        return StoredConflicts(keys: found.keys, unlisted: found.unlisted)
    }

    private static func conflict(_ conflicts: [SchemaConflict], more: Int, in suite: SuiteName) -> Problem {
        let told = conflicts.map { $0.inSuite(suite) }
        let others = told.count + more - 1
        var problem = Problem(
            .schemaConflict,
            "the schema of suite \(suite) does not allow what was stored: \(told.first?.errors.first?.sentence ?? "")"
                + (others > 0 ? " (and \(others) more)" : "") + "; ?onConflict=skip restores the rest")
        problem.conflicts = told
        return problem
    }
}

extension SchemaConflict {
    fileprivate func inSuite(_ suite: SuiteName) -> SchemaConflict {
        var conflict = self
        conflict.errors = errors.map { $0.inSuite(suite, under: .root) }
        return conflict
    }
}

extension WriteDecision {
    /// Lists the keys that a restore left out. A commit with a request key keeps its answer then.
    fileprivate consuming func listing(_ skipped: [SchemaConflict]) -> WriteDecision {
        guard !skipped.isEmpty, case .summary(var summary) = answer.body else { return self }
        summary.skipped = skipped
        answer.body = .summary(summary)
        if commit?.requestKey != nil { commit?.answer = .summary(summary) }
        return self
    }
}

extension RecentPast {
    /// Returns a commit that is to be undone. Throws if it is not kept, or did nothing to the suite, or to any.
    ///
    /// - Parameter read: the commit, if it was read from where memory does not reach.
    fileprivate func commit(
        toUndo revision: Revision, in name: SuiteName?, for reader: Grants?, read: KeptCommit?
    ) throws(Problem) -> Commit {
        guard revision <= state.revision else {
            throw Problem(.badRequest, "revision \(revision) is still to come; the newest is \(state.revision)")
        }
        if let name {
            guard state.hasSuite(name) || history.hasCommits(of: name) || read?.touches(name) ?? false else {
                throw state.unknownSuite(name, for: reader)
            }
            if read == nil { try checkKept(revision.advanced(by: -1) ?? .zero, of: name) }
        }
        if let kept = read ?? history.commit(revision) {
            if name.map({ kept.touches($0) }) ?? (kept.firstSuite != nil) { return kept.commit }
        } else if name == nil, revision <= history.oldestAvailable {
            var problem = Problem(.historyGone, "commit \(revision) is no longer kept")
            problem.oldest = history.oldestAvailable
            throw problem
        }
        throw Problem(.badRequest, "revision \(revision) changed nothing\(name.map { " in suite \($0)" } ?? "")")
    }

    /// The later changes of what a commit did to a suite; nil if there are none.
    fileprivate func changes(
        since part: CommitPart, of revision: Revision, _ read: [KeptCommit], for reader: Grants?
    ) -> [Change]? {
        let (name, suite) = (part.suite, state.suite(part.suite))
        let kept = history.commits(of: name, after: revision).map(\.commit)
        let isKept = Set(kept.map(\.revision))
        let commits = read.filter { !isKept.contains($0.revision) && $0.touches(name) }.map(\.commit) + kept
        let keys = Set(part.changes.map(\.key).filter { suite?.record($0).revision != revision })
        let isSuiteChanged = part.suiteChanges.contains { change in
            switch change.kind {
            case .created: false
            case .dropped: suite != nil
            case .schemaSet, .schemaRemoved: suite?.schemaRevision != revision
            }
        }
        // The keys of a suite that was dropped are gone in that very commit.
        let isGone = suite == nil && part.suiteChanges.contains { $0.kind == .dropped }
        guard isSuiteChanged || !keys.isEmpty && !isGone || isGone && !commits.isEmpty else { return nil }
        let later = commits.flatMap(\.changes)
        // An error has the value of no secret, for any reader.
        return state.shown(later.filter { $0.suite == name && keys.contains($0.key) }, to: reader).map {
            $0.isSecret ? $0.concealed() : $0
        }
    }
}

extension Suite {
    /// The keys, in order, of which something else is stored here than in another state of the suite.
    fileprivate func differences(from other: Suite?, _ filter: KeyFilter) -> [KeyName] {
        var keys: [KeyName] = []
        records.forEach { record in
            let differs = other?.records.find(record.name)?.stored != record.stored
            if differs, filter.admits(record.key) { keys.append(record.key) }
            return true
        }
        other?.records.forEach { record in
            let isGone = record.stored != nil && records.find(record.name) == nil
            if isGone, filter.admits(record.key) { keys.append(record.key) }
            return true
        }
        return keys.ordered(by: <)
    }
}

extension [Change] {
    /// The changes with later ones of the same suite, of each key one, ordered by key.
    fileprivate func followed(by later: [Change]) -> [Change] {
        var all = Dictionary(map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
        for change in later { all[change.key] = all[change.key].map(change.following) ?? change }
        return all.values.ordered { $0.key < $1.key }
    }
}

extension Change {
    /// True if it changes what is stored, or what readers get.
    fileprivate var isDifferent: Bool {
        old != new || oldSource != source || oldStored != stored
    }
}
