package import SettingsAPI
internal import SettingsModel

/// Carries out pending actions. A draft is a write that is being decided: checked against the staged state (the newest
/// state, with the commits that are not durable yet), to compute its commit or its refusal.
extension WriteDraft {
    /// Carries out a pending action. The same commit also ends the action, or makes the action revert a scheduled write
    /// at its next deadline. Therefore each task of an action is carried out exactly once. Makes no commit if the action
    /// has ended, or if its deadline was moved.
    func carryOut(_ id: PendingID, deadline: Timestamp) throws(Problem) -> WriteDecision {
        guard let entry = state.pending[id], entry.action.deadline == deadline else {
            let summary = WriteSummary(revision: state.revision, changed: false, changes: [])
            return WriteDecision(answer: WriteAnswer(.summary(summary), cursor: state.cursor))
        }
        switch entry.action.task {
        case .revert: return try revert(entry, by: entry.action.originOfRevert)
        case .write(let write, let until): return carryOut(write, of: entry, until: until)
        }
    }

    /// Reverts the commit of a pending action: restores each setting and schema that no later commit changed,
    /// unless a schema does not allow a resulting value. The event that ends the action lists the settings and schemas
    /// that were not restored, with the reasons.
    ///
    /// The daemon has checked the grants, the guards and the quotas of the original write. Therefore the revert ignores
    /// grants, guards and quotas. The revert also overrides locks.
    func revert(_ entry: PendingEntry, by origin: CommitOrigin?) throws(Problem) -> WriteDecision {
        var request = request
        request.origin = origin
        (request.grants, request.overridesLocks, request.guards) = (nil, true, [])
        // Deciding the revert takes about as many steps as deciding the commit, which had a limit.
        request.steps = 1 << 40
        var draft = WriteDraft(
            request: request, state: state, revision: revision, time: time, createsSuites: true, commitKeys: .max,
            quotas: .none)
        var inverse = Inverse()
        var kept: [KeptSetting] = []
        for part in entry.commit?.commit.parts ?? [] { try draft.revert(part, of: entry, &inverse, &kept) }
        var decision = try draft.decide(
            nil, suites: inverse.suites, inverse.changes.filter(\.hasEffect), schema: inverse.schema)
        let event = PendingEvent.ended(PendingEnd(of: entry.action, .reverted, kept: kept))
        decision.add(event, by: draft)
        decision.describe(event)
        return decision
    }

    private mutating func revert(
        _ part: CommitPart, of entry: PendingEntry, _ inverse: inout Inverse, _ kept: inout [KeptSetting]
    ) throws(Problem) {
        let (name, revision) = (part.suite, entry.action.commit ?? .zero)
        let suite = state.suite(name)
        let wasDropped = part.suiteChanges.contains { $0.kind == .dropped }
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
                    let decision = try draft.restoreSchema(before: change, onConflict: .keep)
                    if let reason = reasonToKeepSchema(decision, suite, since: revision) {
                        keep(nil, reason)
                    } else {
                        schemaCommit = decision.commit
                        if schemaCommit != nil { inverse.schema = inverse.suites.isEmpty ? decision.schema : nil }
                        draft = makeSubdraft(on: try state(after: decision))
                    }
                } catch {
                    keep(nil, error.detail)
                    draft = makeSubdraft(on: state)
                }
            }
        }
        let isRestored = !wasDropped || draft.state.hasSuite(name) && !state.hasSuite(name)
        var values: [PastValue] = []
        for change in part.changes {
            guard let suite else {
                guard isRestored, wasDropped else {
                    keep(change.key, "the suite was dropped")
                    continue
                }
                values.append(PastValue(before: change))
                continue
            }
            let current = suite.record(change.key).revision
            if wasDropped {
                keep(change.key, "the suite was dropped and created again")
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
            inverse.add(schemaCommit, valueCommit)
        } catch {
            // The schema has a rule about the suite as a whole that the previous values violate.
            for value in values { keep(value.key, error.detail) }
            inverse.add(schemaCommit, nil)
        }
    }

    /// Returns the reason for which a revert keeps the schema that its commit set, removed or dropped; nil if no later
    /// commit changed the schema.
    private func reasonToKeepSchema(_ change: SuiteChange, of entry: PendingEntry, _ suite: Suite?) -> String? {
        if change.kind == .dropped {
            return suite == nil && !entry.recreated.contains(change.suite)
                ? nil : "the suite was dropped and created again"
        }
        guard let suite else { return "the suite was dropped" }
        return suite.schemaRevision == entry.action.commit
            ? nil : "the schema was changed at revision \(suite.schemaRevision)"
    }

    /// Returns the reason for which a revert keeps the present schema: the previous schema does not allow a value that
    /// was stored after the commit; nil if there is no such value.
    private func reasonToKeepSchema(_ decision: WriteDecision, _ suite: Suite?, since revision: Revision) -> String? {
        for change in decision.commit?.changes ?? [] where change.source == .invalid {
            guard let current = suite?.record(change.key).revision, current > revision else { continue }
            return "the previous schema does not allow the value of \(change.key), which was changed at revision "
                + "\(current)"
        }
        return nil
    }

    /// Returns the values that the schema of a suite does not allow, with the reasons.
    private mutating func refusedValues(_ values: [PastValue], in name: SuiteName) -> [(key: KeyName, reason: String)] {
        let suite = state.suite(name)
        let conflicts = conflicts(values.filter { suite?.record($0.key).stored != $0.stored }, in: suite)
        let listed = conflicts.keys.compactMap { conflict in
            conflict.key.map { ($0, conflict.errors.first?.sentence ?? Self.refusalByPresentSchema) }
        }
        return listed + conflicts.unlisted.map { ($0, Self.refusalByPresentSchema) }
    }

    private static let refusalByPresentSchema = "the schema does not allow the previous value"

    /// Carries out a scheduled write. If the write is refused, the commit has no changes and records the refusal.
    private func carryOut(_ write: ScheduledWrite, of entry: PendingEntry, until: Timestamp?) -> WriteDecision {
        let action = entry.action
        var request = request
        request.origin = action.origin
        do throws(Problem) {
            var scheduled = try WriteRequest(write)
            (scheduled.origin, scheduled.past) = (action.origin, request.past)
            scheduled.takesOneCommit = true
            var draft = makeDraft(scheduled)
            var decision = draft.endingPendingActions(with: try draft.decideCommand(), except: action.id)
            let event = decision.commit.flatMap { nextEvent(of: action, after: $0, until: until) }
            decision.add(event ?? .ended(PendingEnd(of: action, .carriedOut)), by: draft)
            decision.describe(event ?? .ended(PendingEnd(of: action, .carriedOut)))
            return decision
        } catch {
            let refusal = PendingEnd.Refusal(error)
            return makeDraft(request).makeDecision(of: .ended(PendingEnd(of: action, .refused, refusal: refusal)))
        }
    }

    /// Returns the event that makes an action revert the commit of its scheduled write; nil if the action has no
    /// `until` time, or if the commit changed nothing.
    private func nextEvent(of action: PendingAction, after commit: Commit, until: Timestamp?) -> PendingEvent? {
        guard let until, !commit.changes.isEmpty || !commit.suiteChanges.isEmpty else { return nil }
        var next = action
        (next.kind, next.deadline, next.task) = (.until, until, .revert(revision))
        next.period = max(0, until.milliseconds - time.milliseconds)
        next.scopes = commit.pendingScopes
        return .moved(next)
    }
}

extension PendingAction {
    /// The origin of the commit that reverts a commit at the deadline.
    fileprivate var originOfRevert: CommitOrigin? {
        let reason =
            kind == .confirm
            ? "not confirmed within \(PendingTime.text(ofMilliseconds: period))" : "in effect until \(deadline)"
        return CommitOrigin(by: origin?.by, note: "\(reason) (commit \(commit ?? .zero))")
    }
}

extension ScheduledWrite {
    /// Makes the scheduled form of a request; nil for a request that cannot be scheduled.
    init?(_ request: WriteRequest) {
        var conditions: [Transaction.Condition] = []
        let operations: [ScheduledOperation]
        switch request.command {
        case .setting(let operation): operations = [.setting(operation)]
        case .mergeSuite(let suite, let values): operations = [.mergeSuite(suite, values)]
        case .replaceSuite(let suite, let values): operations = [.replaceSuite(suite, values)]
        case .resetSuite(let suite, let prefix): operations = [.resetSuite(suite, prefix: prefix)]
        case .dropSuite(let suite): operations = [.dropSuite(suite)]
        case .setSchema(let suite, let schema, let policy):
            operations = [.setSchema(suite, schema.document, text: schema.text, onConflict: policy)]
        case .removeSchema(let suite): operations = [.removeSchema(suite)]
        case .transaction(let transaction):
            conditions = transaction.conditions
            operations = transaction.operations.map { .setting($0) }
        case .undo(let undo, let suite, let policy): operations = [.undo(undo, of: suite, onConflict: policy)]
        case .restore(let suite, let restore, let skips):
            operations = [.restore(suite, restore, skipsConflicts: skips)]
        case .refuseSchema, .pending, .carryOut: return nil
        }
        self.init(
            operations, if: conditions, guards: request.guards, overridesLocks: request.overridesLocks,
            grants: request.grants?.list.map(\.description))
    }
}

extension WriteRequest {
    /// Makes the request of a scheduled write. Throws if the schema of the write is no longer accepted.
    package init(_ write: ScheduledWrite) throws(Problem) {
        var settings: [Transaction.Operation] = []
        var command: Command?
        for operation in write.operations {
            switch operation {
            case .setting(let operation): settings.append(operation)
            case .mergeSuite(let suite, let values): command = .mergeSuite(suite, values)
            case .replaceSuite(let suite, let values): command = .replaceSuite(suite, values)
            case .resetSuite(let suite, let prefix): command = .resetSuite(suite, prefix: prefix)
            case .dropSuite(let suite): command = .dropSuite(suite)
            case .setSchema(let suite, let document, let text, let policy):
                do {
                    command = .setSchema(suite, try Schema(document, text: text), onConflict: policy)
                } catch {
                    throw Problem(error)
                }
            case .removeSchema(let suite): command = .removeSchema(suite)
            case .undo(let undo, let suite, let policy): command = .undo(undo, of: suite, onConflict: policy)
            case .restore(let suite, let restore, let skips):
                command = .restore(suite, restore, skipsConflicts: skips)
            }
        }
        if command == nil, settings.count == 1, write.conditions.isEmpty, let operation = settings.first {
            command = .setting(operation)
        }
        self.init(command ?? .transaction(Transaction(if: write.conditions, do: settings)))
        guards = write.guards
        overridesLocks = write.overridesLocks
        guard let texts = write.grants else { return }
        var grants: [Grant] = []
        for text in texts {
            do {
                grants.append(try Grant(text))
            } catch {
                throw Problem(error)
            }
        }
        self.grants = Grants(grants)
    }
}
