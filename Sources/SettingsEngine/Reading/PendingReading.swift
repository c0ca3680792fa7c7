package import SettingsAPI
package import SettingsModel

// Descriptions of pending actions for a caller. `readLimits` is the grants of a caller that may not read everything,
// and nil for any other caller.
extension State {
    /// The action that will revert a setting, for the answer to a read; nil for nearly every setting.
    package func pendingRevert(of record: KeyRecord) -> PendingDescription? {
        guard !hasNoPendingActions else { return nil }
        // A revert restores a setting only if the setting still has the revision of the commit.
        return pending.revert(of: record.revision).map { PendingDescription($0.action) }
    }

    /// The pending actions that a caller may see, by deadline. The name of a suite limits the result to its actions.
    package func pendingListing(of suite: SuiteName?, for readLimits: Grants?) -> PendingListing {
        let entries = pending.byDeadline.filter { entry in suite.map(entry.concerns) ?? true }
        return PendingListing(entries.compactMap { describe($0, for: readLimits) }, revision: revision)
    }

    /// Describes a pending action with all its members. Throws if it has ended, or if the caller may not see it.
    package func pendingDescription(_ id: PendingID, for readLimits: Grants?) throws(Problem) -> PendingDescription {
        guard let entry = pending[id], let description = describe(entry, for: readLimits) else {
            throw problem(ofMissingPendingAction: id, for: readLimits, status: 410)
        }
        return description
    }

    /// The error for an action that has ended, that never existed, or that the caller may not see. The status is for an
    /// action whose end is in the history.
    package func problem(ofMissingPendingAction id: PendingID, for readLimits: Grants?, status: Int) -> Problem {
        let found = pending[id] == nil ? endOfPendingAction(id) : nil
        guard let found, found.end.isVisible(to: readLimits) else {
            return Problem(.unknownPending, "there is no pending action \(id); GET /v1/pending lists the actions")
        }
        let outcome = found.end.outcome.rawValue.replacing("_", with: " ")
        var problem = Problem(
            .pendingEnded, status: status, "\(id) has ended: \(outcome) at revision \(found.commit.revision)")
        problem.pending = PendingDescription(found.end, endedBy: found.commit).shown(to: readLimits)
        return problem
    }

    private func describe(_ entry: PendingEntry, for readLimits: Grants?) -> PendingDescription? {
        guard entry.action.isVisible(to: readLimits) else { return nil }
        var description = PendingDescription(entry.action)
        description.created = entry.action.created
        description.origin = entry.action.origin
        description.scopes = entry.action.scopes
        if let write = entry.action.scheduledWrite {
            description.operations = write.operations.compactMap { operation in
                show(operation, to: readLimits)
            }
            description.conditions = write.conditions.compactMap { show($0, to: readLimits) }
        }
        return description.shown(to: readLimits)
    }

    /// The JSON of an operation as a caller may see it: without values of secrets; nil if the caller may not read the
    /// key.
    private func show(_ operation: ScheduledOperation, to readLimits: Grants?) -> JSONValue? {
        let json = operation.json
        guard let readLimits, var object = json.object else { return json }
        switch operation {
        case .setting(let operation):
            guard readLimits.canRead(operation.suite, operation.key) else { return nil }
            if isHidden(operation.suite, operation.key, from: readLimits) {
                object.removeAll { !["op", "suite", "key"].contains($0.name) }
            }
        case .mergeSuite(let suite, let values), .replaceSuite(let suite, let values):
            var values = values
            values.removeAll { member in
                guard let key = try? KeyName(member.name) else { return true }
                return !readLimits.canRead(suite, key) || isHidden(suite, key, from: readLimits)
            }
            object["values"] = .object(values)
        case .setSchema(let suite, _, _, _):
            if !readLimits.allows(.secrets, on: suite.text, .all) {
                object["schema"] = nil
                object["schemaText"] = nil
            }
        case .resetSuite, .dropSuite, .removeSchema, .undo, .restore: break
        }
        return .object(object)
    }

    private func show(_ condition: Transaction.Condition, to readLimits: Grants?) -> JSONValue? {
        let json = (try? JSONValue(parsing: condition.jsonBytes())) ?? .null
        guard let readLimits, case .setting(let suite, let key, _) = condition, var object = json.object else {
            return json
        }
        guard readLimits.canRead(suite, key) else { return nil }
        if isHidden(suite, key, from: readLimits) { object["value"] = nil }
        return .object(object)
    }

    private func isHidden(_ suite: SuiteName, _ key: KeyName, from readLimits: Grants) -> Bool {
        guard let suite = self.suite(suite) else { return false }
        return suite.isHidden(suite.record(key), from: readLimits)
    }
}

extension ScheduledOperation {
    /// The operation as answers show it: a schema is the document, not its text.
    fileprivate var json: JSONValue {
        var json = (try? JSONValue(parsing: jsonBytes())) ?? .null
        if case .setSchema(_, let document, .some, _) = self, var object = json.object {
            object["schemaText"] = nil
            object["schema"] = document
            json = .object(object)
        }
        return json
    }
}

extension EntityTag {
    /// Returns the tag of an answer that shows a pending action: another tag if the action ends or its deadline moves.
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
    /// The scope without the keys that a caller may not read; nil if the caller may read none of them.
    fileprivate func shown(to readLimits: Grants) -> PendingScope? {
        guard let keys else { return readLimits.canRead(suite) ? self : nil }
        var shown = self
        let readable = keys.filter { readLimits.canRead(suite, $0) }
        shown.keys = readable
        return readable.isEmpty && !keys.isEmpty || !readLimits.canRead(suite) ? nil : shown
    }
}

extension [PendingScope] {
    fileprivate func isVisible(to readLimits: Grants?) -> Bool {
        guard let readLimits else { return true }
        return contains { $0.shown(to: readLimits) != nil }
    }
}

extension PendingAction {
    /// True if a caller may read at least one of the keys that the action concerns.
    func isVisible(to readLimits: Grants?) -> Bool { scopes.isVisible(to: readLimits) }
}

extension PendingEnd {
    fileprivate func isVisible(to readLimits: Grants?) -> Bool { scopes.isVisible(to: readLimits) }
}

extension PendingDescription {
    /// The description without the keys that a caller may not read.
    package func shown(to readLimits: Grants?) -> PendingDescription {
        guard let readLimits else { return self }
        var shown = self
        shown.scopes = scopes.compactMap { $0.shown(to: readLimits) }
        shown.end?.kept.removeAll { !$0.isShown(to: readLimits) }
        return shown
    }
}

extension KeptSetting {
    package func isShown(to readLimits: Grants?) -> Bool {
        guard let readLimits else { return true }
        return key.map { readLimits.canRead(suite, $0) } ?? readLimits.canRead(suite)
    }
}
