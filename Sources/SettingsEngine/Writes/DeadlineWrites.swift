internal import SettingsAPI
internal import SettingsModel

/// Writes with a deadline, and requests about pending actions. A pending action is a revert or a write that the daemon
/// carries out at a deadline. A draft is a write that is being decided: checked against the staged state (the newest
/// state, with the commits that are not durable yet), to compute its commit or its refusal. `restrictedGrants` is the
/// grants (rights) of a caller that may not read everything; otherwise nil.
extension WriteDraft {
    /// Decides a write with deadlines. If the write takes effect now, makes its commit, and creates an action that
    /// reverts the commit. If the write takes effect later, creates an action that carries out the command.
    mutating func decide(with deadlines: WriteRequest.Deadlines) throws(Problem) -> WriteDecision {
        let until = try deadlines.until.map { until throws(Problem) in
            let start = deadlines.effective?.instant(from: time) ?? time
            return try instant(until, from: start, in: "Settings-Until")
        }
        if let effective = deadlines.effective {
            let deadline = try instant(effective, from: time, in: "Settings-Effective")
            if let until, until <= deadline {
                throw Problem(.badRequest, "Settings-Until must be later than Settings-Effective, \(deadline)")
            }
            return try schedule(at: deadline, until: until)
        }
        // Deadlines without `effective` and `until` have `confirm`.
        let deadline = until ?? PendingTime.after(milliseconds: deadlines.confirm ?? 0).instant(from: time)
        var decision = endingPendingActions(with: try decideIgnoringDeadlines())
        guard let commit = decision.commit, !commit.changes.isEmpty || !commit.suiteChanges.isEmpty else {
            return decision
        }
        let action = PendingAction(
            createdBy: revision, at: time, kind: until == nil ? .confirm : .until, deadline: deadline,
            origin: request.origin, scopes: commit.pendingScopes, commit: revision)
        try checkRoom(for: PendingEntry(action, commit: RetainedCommit(commit)))
        decision.addAndDescribe(.created(action), by: self)
        return decision
    }

    /// Returns the instant of a deadline. A deadline that is a duration counts from `start`. Throws if the instant is
    /// not later than the commit of this write, or is too far in the future. `field` names the deadline in the error.
    /// `maximum` is the longest time from this commit to the deadline, in milliseconds; nil for the default.
    private func instant(
        _ deadline: PendingTime, from start: Timestamp, in field: String, atMost maximum: Int64? = nil
    ) throws(Problem) -> Timestamp {
        let instant = deadline.instant(from: start)
        guard instant > time else {
            throw Problem(.badRequest, "\(field) must be later than now, \(time) (got \(instant))")
        }
        let maximum = maximum ?? PendingTime.maximumDistance
        guard instant.milliseconds - time.milliseconds <= maximum else {
            let days = Plural.count(Int(maximum / 86_400_000), "day")
            throw Problem(.badRequest, "\(field) must be at most \(days) after now, \(time) (got \(instant))")
        }
        return instant
    }

    /// Throws if there are too many pending actions for another action, or if the stored data would exceed its quota.
    private func checkRoom(for entry: PendingEntry) throws(Problem) {
        func problem(_ cause: String, limit: Int) -> Problem {
            var problem = Problem(.insufficientStorage, "cannot create a pending action: \(cause)")
            problem.outcome = .notDone
            problem.limit = Int64(limit)
            return problem
        }
        func tooManyActions(_ phrase: String, limit: Int) -> Problem {
            problem(
                "there are \(limit) pending actions \(phrase), which is the maximum; confirm, revert or cancel some of "
                    + "them", limit: limit)
        }
        let pending = state.pending
        guard pending.count < PendingActions.maximumCount else {
            throw tooManyActions("in all", limit: PendingActions.maximumCount)
        }
        for suite in entry.suites where pending.count(of: suite) >= PendingActions.maximumCountPerSuite {
            throw tooManyActions("of suite \(suite)", limit: PendingActions.maximumCountPerSuite)
        }
        guard state.size + entry.size <= quotas.totalBytes else {
            throw problem(
                "the data of the action would increase the stored data beyond quotas.totalBytes, "
                    + "\(quotas.totalBytes) bytes; end other pending actions, or raise quotas.totalBytes",
                limit: quotas.totalBytes)
        }
    }

    /// Validates a write now, and creates an action that carries out the write later. A dry run creates no action.
    private func schedule(at deadline: Timestamp, until: Timestamp?) throws(Problem) -> WriteDecision {
        var dryRun = request
        (dryRun.deadlines, dryRun.requestKey, dryRun.isDryRun) = (nil, nil, true)
        var draft = makeDraft(dryRun)
        let decision = try draft.decideIgnoringDeadlines()
        guard !request.isDryRun, let command = request.command else { return decision }
        let write = ScheduledWrite(
            command, guards: request.guards, overridesLocks: request.overridesLocks,
            grants: request.grants?.list.map(\.description))
        let action = PendingAction(
            createdBy: revision, at: time, kind: .effective, deadline: deadline, origin: request.origin,
            scopes: scopes(of: command), write: write, until: until)
        try checkRoom(for: PendingEntry(action, commit: nil))
        return makeDecision(of: .created(action))
    }

    /// The settings and schemas that a scheduled command concerns.
    private func scopes(of command: WriteCommand) -> [PendingScope] {
        switch command {
        case .setting(let operation): return [PendingScope(operation.suite, keys: [operation.key])]
        case .transaction(let transaction):
            var scopes: [PendingScope] = []
            var positions: [SuiteName: Int] = [:]
            var seen: Set<KeyAddress> = []
            for operation in transaction.operations
            where seen.insert(KeyAddress(suite: operation.suite, key: operation.key)).inserted {
                if let position = positions[operation.suite] {
                    scopes[position].keys?.append(operation.key)
                } else {
                    positions[operation.suite] = scopes.count
                    scopes.append(PendingScope(operation.suite, keys: [operation.key]))
                }
            }
            return scopes
        case .mergeSuite(let suite, let values):
            return [PendingScope(suite, keys: values.names.compactMap { try? KeyName($0) })]
        case .replaceSuite(let suite, _): return [PendingScope(suite)]
        case .resetSuite(let suite, let prefix): return [PendingScope(suite, prefix: prefix.isEmpty ? nil : prefix)]
        case .dropSuite(let suite), .setSchema(let suite, _, _), .removeSchema(let suite):
            return [PendingScope(suite, concernsSchema: true)]
        case .undo(let undo, let suite, _):
            let commit = request.pastFileData?.commit ?? state.history.commit(undo.revision)
            return (commit?.commit.pendingScopes ?? []).filter { suite == nil || $0.suite == suite }
        case .restore(let suite, let restore, _):
            return [PendingScope(suite, keys: restore.keys, prefix: restore.prefix)]
        }
    }

    /// Decides a request about a pending action. Throws if the caller may not see or change the action.
    mutating func decide(_ pendingRequest: PendingRequest, about id: PendingID) throws(Problem) -> WriteDecision {
        guard let entry = state.pending[id], entry.action.scopes.isVisible(to: request.restrictedGrants) else {
            throw state.problem(ofMissingPendingAction: id, for: request.restrictedGrants, status: 409)
        }
        var action = entry.action
        if let grants = request.grants {
            for scope in action.scopes { try scope.demandWriteAccess(of: grants) }
        }
        switch (pendingRequest, isRevert: action.commit != nil) {
        case (.confirm, true): return makeDecision(of: PendingEvent(endOf: action, .confirmed))
        case (.revert, true):
            let note = request.origin?.note ?? "reverted on request (commit \(action.commit ?? .zero))"
            return try revert(entry, by: CommitOrigin(by: request.origin?.by, note: note))
        case (.cancel, false): return makeDecision(of: PendingEvent(endOf: action, .cancelled))
        case (.extend(let time), _):
            let deadline = try instant(
                time, from: self.time, in: "deadline",
                atMost: action.kind == .confirm ? PendingTime.maximumConfirmation : nil)
            if let until = action.until, deadline >= until {
                throw Problem(.badRequest, "deadline must be earlier than \(until), at which the write is reverted")
            }
            action.move(to: deadline, at: self.time)
            return makeDecision(of: .moved(action))
        case (.confirm, false), (.revert, false):
            throw Problem(unsuitableAction: "\(id) is a scheduled write; use cancel or extend")
        case (.cancel, true):
            throw Problem(
                unsuitableAction:
                    "cannot cancel \(id): it reverts a commit that is in effect; use confirm, revert or extend")
        }
    }

    /// Makes the decision of a write whose only effect is to create, move or end a pending action.
    func makeDecision(of event: PendingEvent) -> WriteDecision {
        let revision = request.isDryRun ? state.revision : revision
        let summary = WriteSummary(revision: revision, changed: false, changes: [], isDryRun: request.isDryRun)
        var decision = WriteDecision(answer: WriteAnswer(.summary(summary), cursor: state.cursor))
        decision.addAndDescribe(event, by: self)
        return decision
    }

    /// Makes a draft of another request on the same state.
    func makeDraft(_ request: WriteRequest) -> WriteDraft {
        WriteDraft(
            request: request, state: state, revision: revision, time: time, createsSuites: createsSuites,
            commitKeys: commitKeys, quotas: quotas)
    }

    /// If the write makes pending actions pointless, adds events to the commit that end these actions. An undo of a
    /// commit ends the action that would revert the same commit, if the undo concerns all suites (named sets of
    /// settings) of the action. A drop of a suite ends the actions that concern only this suite. `id` is the action
    /// that the daemon carries out with this write; this method does not end the action `id`, because another event of
    /// the commit does.
    func endingPendingActions(with decision: WriteDecision, except id: PendingID? = nil) -> WriteDecision {
        // A drop with a remainder has removed only a part of the keys, so its suite still exists.
        guard !request.isDryRun, decision.answer.remainder == nil else { return decision }
        var decision = decision
        switch request.command {
        case .undo(let undo, of: let suite, onConflict: _):
            guard let entry = state.pending.revert(of: undo.revision), suite.map({ entry.suites == [$0] }) ?? true
            else {
                break
            }
            decision.add(PendingEvent(endOf: entry.action, .undone), by: self)
        case .dropSuite(let suite):
            let entries = state.pending.all.filter { $0.suites == [suite] && $0.action.id != id }
            for entry in entries.sorted(by: { $0.action.id < $1.action.id }) {
                decision.add(PendingEvent(endOf: entry.action, .dropped), by: self)
            }
        default: break
        }
        return decision
    }
}

extension WriteDecision {
    /// Adds an event to the commit. If the write changes nothing else, makes a commit for the event. Does nothing for a
    /// dry run.
    mutating func add(_ event: PendingEvent, by draft: WriteDraft) {
        let request = draft.request
        guard !request.isDryRun else { return }
        if commit == nil {
            commit = Commit(
                revision: draft.revision, time: draft.time, by: request.origin, requestKey: request.requestKey,
                requestDigest: request.requestKey == nil ? nil : request.digest)
            answer.cursor = Cursor(epoch: draft.state.epoch, revision: draft.revision)
            answer.commit = draft.revision
        }
        commit?.pending.append(event)
    }

    /// Adds an event to the commit, and makes the answer describe the action. The answer to a dry run that ends the
    /// action does not describe the action.
    mutating func addAndDescribe(_ event: PendingEvent, by draft: WriteDraft) {
        add(event, by: draft)
        if let commit {
            answer.pending = WriteAnswer.Pending(PendingDescription(event, in: commit))
        } else if event.end == nil {
            answer.pending = WriteAnswer.Pending(PendingDescription(event.action))
        }
    }
}

extension Problem {
    /// The error for a request that the kind of its pending action does not allow. The member `do` of the body names
    /// the request.
    fileprivate init(unsuitableAction detail: String) {
        self.init(.invalidOperation, detail)
        self.errors = [Violation(pointer: ["do"], keyword: "do", detail: detail)]
    }
}

extension PendingTime {
    /// The longest time that a client may have to confirm a commit: one day in milliseconds.
    package static let maximumConfirmation: Int64 = 86_400_000
}

extension Commit {
    /// The settings and schemas that the commit changes.
    var pendingScopes: [PendingScope] {
        parts.map { part in
            let concernsSchema = part.suiteChanges.contains { $0.kind != .created }
            return PendingScope(
                part.suite, keys: concernsSchema ? nil : part.changes.map(\.key), concernsSchema: concernsSchema)
        }
    }
}

extension PendingScope {
    /// Throws a 403 error unless the grants permit the caller to write everything in the scope.
    fileprivate func demandWriteAccess(of grants: Grants) throws(Problem) {
        if concernsSchema { return try grants.demand(.schema, on: suite, .all) }
        guard let keys else { return try grants.demand(.write, on: suite, prefix.map { .prefix($0) } ?? .all) }
        for key in keys { try grants.demand(.write, on: suite, .key(key.text)) }
    }
}
