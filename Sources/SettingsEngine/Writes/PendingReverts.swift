internal import SettingsAPI
internal import SettingsModel

/// Carries out pending actions. A pending action is a revert or a scheduled write that the daemon carries out at a
/// deadline. A draft is a write that is being decided: checked against the staged state (the newest state, with the
/// commits that are not durable yet), to compute its commit or its refusal. A suite is a named set of settings.
extension WriteDraft {
    /// Carries out a pending action. The same commit also ends the action, or turns a scheduled write into the revert
    /// of this write at another deadline. The daemon therefore carries out each task of an action exactly once. Makes
    /// no commit if the action has ended, or if its deadline was moved.
    func carryOut(_ id: PendingID, deadline: Timestamp) throws(Problem) -> WriteDecision {
        guard let entry = state.pending[id], entry.action.deadline == deadline else {
            let summary = WriteSummary(revision: state.revision, changed: false, changes: [])
            return WriteDecision(answer: WriteAnswer(.summary(summary), cursor: state.cursor))
        }
        guard let write = entry.action.write else { return try revert(entry, by: entry.action.originOfRevert) }
        return carryOut(write, of: entry.action)
    }

    /// Reverts the commit of a pending action: restores each setting and schema that no later commit changed. Does not
    /// restore a schema that does not allow a value of a later commit. Does not restore a value that the schema of its
    /// suite does not allow. The event that ends the action lists the settings and schemas that were not restored, with
    /// the reasons.
    ///
    /// The daemon has checked the grants (rights), the guards (preconditions) and the quotas of the original write, so
    /// the revert ignores grants, guards and quotas. The revert also changes locked (read-only) keys.
    func revert(_ entry: PendingEntry, by origin: CommitOrigin?) throws(Problem) -> WriteDecision {
        var request = request
        request.origin = origin
        (request.grants, request.overridesLocks, request.guards) = (nil, true, [])
        // The limit is too high to be reached. A revert needs no limit of validation steps, because its decision takes
        // about as many steps as the decision on the reverted commit, which had a limit.
        request.steps = 1 << 40
        var draft = WriteDraft(
            request: request, state: state, revision: revision, time: time, createsSuites: true, commitKeys: .max,
            quotas: .none)
        var inverse = Inverse()
        var kept: [KeptSetting] = []
        for part in entry.commit?.commit.parts ?? [] { try draft.revert(part, of: entry, &inverse, &kept) }
        var decision = try draft.decide(
            target: nil, suites: inverse.suites, changes: inverse.changes.filter(\.hasEffect), schema: inverse.schema)
        decision.addAndDescribe(PendingEvent(endOf: entry.action, .reverted, kept: kept), by: draft)
        return decision
    }

    /// Adds the inverse of a commit in one suite to `inverse`. Adds to `kept` the settings and the schema that the
    /// revert does not restore.
    private mutating func revert(
        _ part: CommitPart, of entry: PendingEntry, _ inverse: inout Inverse, _ kept: inout [KeptSetting]
    ) throws(Problem) {
        let (name, revision) = (part.suite, entry.action.commit ?? .zero)
        let suite = state.suite(name)
        let commitDropsSuite = part.suiteChanges.contains { $0.kind == .dropped }
        /// `key` is nil for the schema.
        func keep(_ key: KeyName?, _ reason: String) {
            kept.append(KeptSetting(suite: name, key: key, reason: reason))
        }
        var draft = makeSubdraft(on: state)
        var schemaCommit: Commit?
        if let change = part.suiteChanges.first(where: { $0.kind != .created }) {
            if let reason = reasonToKeepSchema(change, of: entry, suite) {
                keep(nil, reason)
            } else {
                do throws(Problem) {
                    // `.keep` keeps the values that the previous schema does not allow. `reasonToKeepSchema` examines
                    // them.
                    let decision = try draft.restoreSchema(before: change, onConflict: .keep)
                    if let reason = reasonToKeepSchema(decision, suite, since: revision) {
                        keep(nil, reason)
                    } else {
                        schemaCommit = decision.commit
                        // The inverse of a commit that set several schemas has no single compiled schema.
                        if schemaCommit != nil { inverse.schema = inverse.suites.isEmpty ? decision.schema : nil }
                        draft = makeSubdraft(on: try state(after: decision))
                    }
                } catch {
                    keep(nil, error.detail)
                    draft = makeSubdraft(on: state)
                }
            }
        }
        let recreatesSuite = commitDropsSuite && draft.state.hasSuite(name)
        var values: [PastValue] = []
        for change in part.changes {
            guard let current = suite?.record(change.key).revision else {
                if recreatesSuite { values.append(PastValue(before: change)) } else { keep(change.key, Self.dropped) }
                continue
            }
            if commitDropsSuite {
                keep(change.key, Self.droppedAndRecreated)
            } else if current == revision {
                values.append(PastValue(before: change))
            } else {
                keep(change.key, "changed at revision \(current)")
            }
        }
        let refused = draft.refusedValues(values, in: name)
        for (key, reason) in refused { keep(key, reason) }
        values.removeAll { value in refused.contains { $0.key == value.key } }
        do throws(Problem) {
            let valueCommit = try draft.restoreValues(values, in: name).commit
            inverse.add(schema: schemaCommit, values: valueCommit)
        } catch {
            // The previous values violate a rule of the schema about the suite as a whole.
            for value in values { keep(value.key, error.detail) }
            inverse.add(schema: schemaCommit, values: nil)
        }
    }

    /// Returns the reason for which a revert does not restore the schema that a suite had before the change: a later
    /// commit changed the schema, or dropped or created the suite. Returns nil if there is no such commit.
    private func reasonToKeepSchema(_ change: SuiteChange, of entry: PendingEntry, _ suite: Suite?) -> String? {
        if change.kind == .dropped {
            return suite == nil && !entry.recreated.contains(change.suite) ? nil : Self.droppedAndRecreated
        }
        guard let suite else { return Self.dropped }
        return suite.schemaRevision == entry.action.commit
            ? nil : "the schema was changed at revision \(suite.schemaRevision)"
    }

    private static let dropped = "the suite was dropped"
    private static let droppedAndRecreated = "the suite was dropped and created again"

    /// Returns the reason for which a revert does not restore the previous schema: this schema does not allow a value
    /// that was stored after the commit `revision`. Returns nil if there is no such value. `decision` restores the
    /// schema.
    private func reasonToKeepSchema(_ decision: WriteDecision, _ suite: Suite?, since revision: Revision) -> String? {
        for change in decision.commit?.changes ?? [] where change.source == .invalid {
            guard let current = suite?.record(change.key).revision, current > revision else { continue }
            return "the previous schema does not allow the value of \(change.key), which was changed at revision "
                + "\(current)"
        }
        return nil
    }

    /// Returns the keys of the values that the schema of a suite does not allow, with the reasons.
    private mutating func refusedValues(_ values: [PastValue], in name: SuiteName) -> [(key: KeyName, reason: String)] {
        let suite = state.suite(name)
        let conflicts = conflicts(values.filter { suite?.record($0.key).stored != $0.stored }, in: suite)
        let listed = conflicts.keys.compactMap { conflict in
            conflict.key.map { ($0, conflict.errors.first?.sentence ?? Self.refusalByPresentSchema) }
        }
        return listed + conflicts.unlisted.map { ($0, Self.refusalByPresentSchema) }
    }

    private static let refusalByPresentSchema = "the schema does not allow the previous value"

    /// Carries out a scheduled write, without the deadlines of the write, which the action already has. As for any
    /// write, the commit also ends other pending actions that the write makes pointless. If the write is refused, the
    /// commit changes no settings, and its event records the refusal.
    private func carryOut(_ write: ScheduledWrite, of action: PendingAction) -> WriteDecision {
        var request = request
        request.origin = action.origin
        do throws(Problem) {
            // `pastFileData` has the data from past files (files with older commits) that an undo or a restore needs.
            var scheduled = try WriteRequest(write)
            (scheduled.origin, scheduled.pastFileData) = (action.origin, request.pastFileData)
            // Only a single commit can be reverted later.
            scheduled.takesOneCommit = true
            var draft = makeDraft(scheduled)
            var decision = draft.endingPendingActions(with: try draft.decideIgnoringDeadlines(), except: action.id)
            let event = decision.commit.flatMap { nextEvent(of: action, after: $0) }
            decision.addAndDescribe(event ?? PendingEvent(endOf: action, .carriedOut), by: draft)
            return decision
        } catch {
            let refusal = PendingEnd.Refusal(code: error.codeName, status: Int64(error.status), detail: error.detail)
            return makeDraft(request).makeDecision(of: PendingEvent(endOf: action, .refused, refusal: refusal))
        }
    }

    /// Returns the event that makes an action revert the commit of its scheduled write; nil if the action has no
    /// `until` time, or if the commit changed nothing.
    private func nextEvent(of action: PendingAction, after commit: Commit) -> PendingEvent? {
        guard let until = action.until, !commit.changes.isEmpty || !commit.suiteChanges.isEmpty else { return nil }
        var next = action
        (next.kind, next.commit, next.write, next.until) = (.until, revision, nil, nil)
        next.move(to: until, at: time)
        next.scopes = commit.pendingScopes
        return .moved(next)
    }
}

extension PendingAction {
    /// The origin (the name of a caller, and a note) of the commit that reverts another commit at the deadline.
    fileprivate var originOfRevert: CommitOrigin? {
        let reason =
            kind == .confirm
            ? "not confirmed within \(PendingTime.text(ofMilliseconds: period))" : "in effect until \(deadline)"
        return CommitOrigin(by: origin?.by, note: "\(reason) (commit \(commit ?? .zero))")
    }
}

extension WriteRequest {
    /// Makes the request of a scheduled write.
    fileprivate init(_ write: ScheduledWrite) throws(Problem) {
        self.init(write.command)
        guards = write.guards
        overridesLocks = write.overridesLocks
        do {
            grants = try write.grants.map { texts throws(BodyError) in Grants(try texts.map(Grant.init(_:))) }
        } catch {
            throw Problem(error)
        }
    }
}
