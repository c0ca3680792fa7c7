package import SettingsAPI
package import SettingsModel

// Descriptions of pending actions for a caller. A pending action is a revert or a scheduled write that the daemon
// carries out at a deadline. `restrictedGrants` is the grants (rights) of a caller that may not read everything; nil
// for any other caller. A scope is the part of a suite that an action concerns: some keys, the keys with a prefix, or
// the whole suite.
extension State {
    /// The pending action that will revert a setting, for the response to a read; nil for nearly every setting.
    package func pendingRevert(of record: KeyRecord) -> PendingDescription? {
        guard hasPendingActions else { return nil }
        // A revert restores a setting only if no later commit changed the setting. The setting then has the revision
        // (the number) of the commit that the action reverts.
        return pending.revert(of: record.revision).map { PendingDescription($0.action) }
    }

    /// The pending actions that a caller may see, by deadline. If `suite` is the name of a suite (a named set of
    /// settings), the result has only the actions that concern this suite.
    package func pendingListing(of suite: SuiteName?, for restrictedGrants: Grants?) -> PendingListing {
        let entries = pending.byDeadline.filter { entry in suite.map(entry.action.concerns) ?? true }
        return PendingListing(entries.compactMap { describe($0, for: restrictedGrants) }, revision: revision)
    }

    /// Describes a pending action in full, including a scheduled write. Throws if the action has ended, or if the
    /// caller may not see the action.
    package func pendingDescription(_ id: PendingID, for restrictedGrants: Grants?) throws(Problem)
        -> PendingDescription
    {
        guard let entry = pending[id], let description = describe(entry, for: restrictedGrants) else {
            throw problem(ofMissingPendingAction: id, for: restrictedGrants, status: 410)
        }
        return description
    }

    /// The error for an action that has ended, that never existed, or that the caller may not see. `status` is the HTTP
    /// status if the history in memory has the end of the action: 410 for a read, 409 for a request to change the
    /// action.
    package func problem(ofMissingPendingAction id: PendingID, for restrictedGrants: Grants?, status: Int) -> Problem {
        let ended = pending[id] == nil ? endOfPendingAction(id) : nil
        guard let ended, let end = ended.end, ended.scopes.isVisible(to: restrictedGrants) else {
            return Problem(.unknownPending, "there is no pending action \(id); GET /v1/pending lists the actions")
        }
        let outcome = end.outcome.rawValue.replacing("_", with: " ")
        var problem = Problem(
            .pendingEnded, status: status, "\(id) has ended: \(outcome) at revision \(ended.endCommit ?? .zero)")
        problem.pending = ended.shown(to: restrictedGrants)
        return problem
    }

    /// Describes an ended action. Returns nil if the action has not ended or never existed, or if the history no longer
    /// has the commit that ended the action.
    private func endOfPendingAction(_ id: PendingID) -> PendingDescription? {
        guard id.revision <= revision else { return nil }
        var found: PendingDescription?
        history.forEach(after: id.revision) { retained in
            found = retained.commit.pending.first { $0.action.id == id && $0.end != nil }
                .map { PendingDescription($0, in: retained.commit) }
            return found == nil
        }
        return found
    }

    private func describe(_ entry: PendingEntry, for restrictedGrants: Grants?) -> PendingDescription? {
        let action = entry.action
        guard action.scopes.isVisible(to: restrictedGrants) else { return nil }
        var description = PendingDescription(action)
        (description.created, description.origin, description.scopes) = (action.created, action.origin, action.scopes)
        if let command = action.write?.command {
            let start = action.id.revision
            description.operations = command.operations.compactMap {
                visibleJSON(of: $0, since: start, for: restrictedGrants)
            }
            description.conditions = command.conditions.compactMap {
                visibleJSON(of: $0, since: start, for: restrictedGrants)
            }
        }
        return description.shown(to: restrictedGrants)
    }

    /// The JSON of an operation as a caller may see it: without the values of secrets; nil if the caller may not read
    /// the key. The JSON has the document of a schema, and not the text from which the document was parsed. `start` is
    /// the revision at which the write was scheduled.
    private func visibleJSON(
        of operation: WriteCommand, since start: Revision, for restrictedGrants: Grants?
    ) -> JSONValue? {
        var json = operation.jsonValue.object ?? [:]
        switch operation {
        case .setting(let operation):
            guard canRead(operation.suite, operation.key, restrictedGrants) else { return nil }
            if isHidden(operation.suite, operation.key, since: start, from: restrictedGrants) {
                // All other members may show the value.
                json.removeAll { !["op", "suite", "key"].contains($0.name) }
            }
        case .mergeSuite(let suite, var values), .replaceSuite(let suite, var values):
            values.removeAll { member in
                guard let key = try? KeyName(member.name) else { return restrictedGrants != nil }
                return !canRead(suite, key, restrictedGrants)
                    || isHidden(suite, key, since: start, from: restrictedGrants)
            }
            json["values"] = .object(values)
        case .setSchema(let suite, let schema, _):
            // The description has the schema as JSON instead of the text of the schema, and only for a caller that may
            // read secrets, because the schema may contain the defaults of secrets.
            json["schemaText"] = nil
            json["schema"] = restrictedGrants?.allows(.secrets, on: suite.text, .all) ?? true ? schema.document : nil
        case .resetSuite, .dropSuite, .removeSchema, .transaction, .undo, .restore: break
        }
        return .object(json)
    }

    /// The JSON of a condition as a caller may see it: without the value of a secret; nil if the caller may not read
    /// the suite or the key.
    private func visibleJSON(
        of condition: Transaction.Condition, since start: Revision, for restrictedGrants: Grants?
    ) -> JSONValue? {
        var json = condition.jsonValue.object ?? [:]
        switch condition {
        case .suite(let suite, _): guard restrictedGrants?.canRead(suite) ?? true else { return nil }
        case .setting(let suite, let key, _):
            guard canRead(suite, key, restrictedGrants) else { return nil }
            if isHidden(suite, key, since: start, from: restrictedGrants) { json["value"] = nil }
        }
        return .object(json)
    }

    private func canRead(_ suite: SuiteName, _ key: KeyName, _ restrictedGrants: Grants?) -> Bool {
        restrictedGrants?.canRead(suite, key) ?? true
    }

    /// True if a caller may not see a value of a write that was scheduled at the revision `start`. If the suite does
    /// not exist, but a suite was dropped since, the value may be a secret of the dropped suite.
    private func isHidden(
        _ name: SuiteName, _ key: KeyName, since start: Revision, from restrictedGrants: Grants?
    ) -> Bool {
        guard let restrictedGrants else { return false }
        guard let suite = suite(name) else {
            return lastDropRevision > start && !restrictedGrants.allows(.secrets, on: name.text, .key(key.text))
        }
        return suite.isHidden(suite.record(key), from: restrictedGrants)
    }
}

extension WriteCommand {
    /// The operations of a transaction; otherwise the command, which is the only operation.
    fileprivate var operations: [WriteCommand] {
        if case .transaction(let transaction) = self { transaction.operations.map { .setting($0) } } else { [self] }
    }

    fileprivate var conditions: [Transaction.Condition] {
        if case .transaction(let transaction) = self { transaction.conditions } else { [] }
    }
}

extension EntityTag {
    /// Returns the tag of a response that shows a pending action. The tag changes if the action ends, or if its
    /// deadline is moved.
    package func including(_ pending: PendingDescription?) -> EntityTag {
        guard let pending else { return self }
        let deadline = pending.deadline.map(\.description) ?? ""
        return including("\(pending.id) \(pending.kind.rawValue) \(deadline)")
    }

    /// Returns a tag whose digest also depends on a text.
    package func including(_ text: String) -> EntityTag {
        EntityTag(revision, digest: Grants.digest(of: Grant.fingerprint(of: "\(digest ?? "") \(text)")))
    }
}

extension PendingScope {
    /// The scope without the keys that a caller may not read; nil if the caller may read none of the keys in the scope,
    /// or no key of the suite.
    fileprivate func shown(to restrictedGrants: Grants) -> PendingScope? {
        guard let keys else { return restrictedGrants.canRead(suite) ? self : nil }
        var shown = self
        let readable = keys.filter { restrictedGrants.canRead(suite, $0) }
        shown.keys = readable
        return readable.isEmpty && !keys.isEmpty || !restrictedGrants.canRead(suite) ? nil : shown
    }
}

extension [PendingScope] {
    /// True if a caller may see at least one of the scopes: may read one of its listed keys or, for a prefix or a whole
    /// suite, any key of the suite.
    func isVisible(to restrictedGrants: Grants?) -> Bool {
        guard let restrictedGrants else { return true }
        return contains { $0.shown(to: restrictedGrants) != nil }
    }
}

extension PendingDescription {
    /// Describes the action of an event that a commit contains.
    init(_ event: PendingEvent, in commit: Commit) {
        self.init(event.action)
        guard let end = event.end else { return }
        // An ended action has no deadline any more, and no instant (`until`) at which its write would be reverted.
        (deadline, until, scopes) = (nil, nil, event.action.scopes)
        (self.end, endCommit, endTime, endedBy) = (end, commit.revision, commit.time, commit.origin?.by)
    }

    /// The description without the keys that a caller may not read.
    package func shown(to restrictedGrants: Grants?) -> PendingDescription {
        guard let restrictedGrants else { return self }
        var shown = self
        shown.scopes = scopes.compactMap { $0.shown(to: restrictedGrants) }
        shown.end?.kept.removeAll { !$0.isShown(to: restrictedGrants) }
        return shown
    }
}

extension KeptSetting {
    /// True if a caller may see this setting or schema, which a revert did not restore.
    package func isShown(to restrictedGrants: Grants?) -> Bool {
        guard let restrictedGrants else { return true }
        return key.map { restrictedGrants.canRead(suite, $0) } ?? restrictedGrants.canRead(suite)
    }
}
