internal import SettingsAPI
internal import SettingsModel

/// Stores values and schemas of the past again: for an undo, for a restore, and for a revert at a deadline. A draft is
/// a write that is being decided: checked against the staged state (the newest state, with the commits that are not
/// durable yet), to compute its commit or its refusal. A suite is a named set of settings.
extension WriteDraft {
    /// The value of a key in the past, which the write stores again.
    struct PastValue {
        let key: KeyName
        /// The stored value in the past; nil if the key had no stored value, so that the write removes the present
        /// value.
        let stored: JSONValue?
        /// True if the value was a secret in the past.
        let isSecret: Bool

        init(key: KeyName, stored: JSONValue?, isSecret: Bool) {
            self.key = key
            self.stored = stored
            self.isSecret = isSecret
        }

        /// Makes the value of a key before a change.
        init(before change: Change) {
            key = change.key
            stored = change.oldStored
            // `wasSecret` can be false for a value that was stored before a schema declared the key secret. `isSecret`
            // is true for the change of such a value.
            isSecret = change.record.wasSecret || change.isSecret && change.oldStored != nil
        }
    }

    /// Makes a draft for a part of the write, without the guards, the request key (`Idempotency-Key`) and the quotas of
    /// the whole write. The draft is never a dry run, because ``state(after:)`` needs the commit of its
    /// decision.
    func makeSubdraft(on state: State) -> WriteDraft {
        var request = request
        (request.guards, request.requestKey, request.isDryRun, request.steps) = ([], nil, false, steps)
        return WriteDraft(
            request: request, state: state, revision: revision, time: time, createsSuites: createsSuites,
            commitKeys: commitKeys, quotas: .none)
    }

    /// Returns the state after the commit of a decision; the unchanged state if the decision has no commit.
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

    /// Restores the schema that a suite had before a change. If the suite had no schema, removes the present schema. If
    /// the change dropped the suite, creates the suite again.
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
            target: .suite(change.suite),
            suites: change.kind == .dropped ? [SuiteChange(suite: change.suite, kind: .created)] : [], changes: [])
    }

    /// Stores values of the past. If the present schema does not allow some values, throws an error that lists the
    /// conflicts up to a maximum number, and counts the further conflicts.
    mutating func restoreValues(_ values: [PastValue], in name: SuiteName) throws(Problem) -> WriteDecision {
        let suite = state.suite(name)
        let changed = values.filter { suite?.record($0.key).stored != $0.stored }
        for value in changed { try checkLock(value.key, in: suite) }
        let conflicts = conflicts(changed, in: suite)
        try checkValidationSteps()
        guard conflicts.isEmpty else { throw conflict(conflicts.keys, more: conflicts.unlisted.count, in: name) }
        for value in changed {
            let key = try findOrAddKey(suite, name, value.key, namedIn: .notInRequest, isRemoval: value.stored == nil)
            guard let stored = value.stored else {
                remove(key)
                continue
            }
            set(key, to: stored)
            if value.isSecret { key.isStoredSecret = true }
        }
        do throws(Problem) {
            return try checkAndDecide(target: .suite(name))
        } catch {
            guard error.code == .invalidValue else { throw error }
            // These errors are violations of rules about the suite as a whole.
            throw conflict(StoredConflicts(keys: [], suite: error.errors).all, more: 0, in: name)
        }
    }

    /// Returns the values that the present schema does not allow. An error lists only the conflicts in `keys` of the
    /// result; `unlisted` has the keys of further conflicts. Does not check the schema's rules about the suite as a
    /// whole.
    mutating func conflicts(_ values: [PastValue], in suite: Suite?) -> StoredConflicts {
        guard let schema = suite?.schema?.schema else { return StoredConflicts(keys: []) }
        let settings = values.compactMap { value in
            value.stored.map { StoredSetting(key: value.key, value: $0, isSecret: value.isSecret) }
        }
        let found = schema.conflicts(storing: settings, steps: &steps)
        return StoredConflicts(keys: found.keys, unlisted: found.unlisted)
    }

    /// Makes the error for values that the present schema does not allow. The error lists `conflicts`, and adds the
    /// number `more` of further conflicts to the count in its message.
    private func conflict(_ conflicts: [SchemaConflict], more: Int, in suite: SuiteName) -> Problem {
        let listed = conflicts.map { $0.located(inSuite: suite) }
        let furtherCount = listed.count + more - 1
        let remedy =
            if case .restore = request.command { "?onConflict=skip restores the other values" } else {
                "change the schema first"
            }
        var problem = Problem(
            .schemaConflict,
            "the schema of suite \(suite) does not allow the restored values: "
                + (listed.first?.errors.first?.sentence ?? "") + (furtherCount > 0 ? ", and \(furtherCount) more" : "")
                + "; \(remedy)")
        problem.conflicts = listed
        return problem
    }

    /// Throws if the caller may not read a secret, because the answer to the write would show whether the present value
    /// of the secret equals the restored value.
    func checkSecret(_ key: KeyName, of suite: SuiteName) throws(Problem) {
        guard let restrictedGrants = request.restrictedGrants, !restrictedGrants.canReadSecret(suite, key) else {
            return
        }
        throw Problem(secret: key, of: suite, to: "restore")
    }
}

extension SchemaConflict {
    /// Returns the conflict with the name of the suite in each of its errors.
    fileprivate func located(inSuite suite: SuiteName) -> SchemaConflict {
        var conflict = self
        conflict.errors = errors.map { $0.located(inSuite: suite) }
        return conflict
    }
}
