internal import SettingsAPI
internal import SettingsModel

/// Restore: a write that stores the values of a moment in the past again. A draft is a write that is being decided:
/// checked against the staged state (the newest state, with the commits that are not durable yet), to compute its
/// commit or its refusal. A suite is a named set of settings.
extension WriteDraft {
    /// Stores the values that a suite had at a moment in the past. The present schema stays in force. If the schema
    /// does not allow some of the values, this method skips these values if `skipsConflicts` is true, and otherwise
    /// throws.
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
        try checkKeyCount(values.count)
        var skipped: [SchemaConflict] = []
        if skipsConflicts {
            let conflicts = conflicts(values, in: suite)
            try checkValidationSteps()
            // The answer lists only the conflicts in `conflicts.keys`; `unlisted` has the keys of further conflicts.
            let keys = Set(conflicts.keys.compactMap(\.key) + conflicts.unlisted)
            values.removeAll { keys.contains($0.key) }
            skipped = conflicts.keys
        }
        let decision = try restoreValues(values, in: name)
        return decision.listing(skipped: skipped)
    }

    /// Returns the suite as it was at the moment of a restore.
    private func past(of name: SuiteName, _ restore: RestoreRequest) throws(Problem) -> Suite {
        // If the history in memory lacks the commits, the suite was read from past files (files with older commits)
        // before the write was queued. Since then, a schema may have declared further keys secret.
        if var past = request.pastFileData?.suite {
            state.recentPast.markSecrets(in: &past)
            return past
        }
        let revision = try state.recentPast.revision(at: restore.moment, of: name)
        guard let past = try state.recentPast.suite(name, at: revision) else {
            throw state.recentPast.unknownSuite(name, for: request.restrictedGrants, at: revision)
        }
        return past
    }

    /// Throws if the restore may change a secret that the caller may not read. A value counts as a secret if it is a
    /// secret now, or was a secret at the moment in the past.
    private func checkSecrets(of past: Suite, _ suite: Suite?, _ filter: KeyFilter) throws(Problem) {
        guard request.restrictedGrants != nil else { return }
        let keys = Set((past.records.elements + (suite?.records.elements ?? [])).map(\.key).filter(filter.admits))
        for key in keys.ordered(by: <) {
            let (pastRecord, record) = (past.record(key), suite?.record(key))
            guard past.isSecret(pastRecord) || record.map({ suite?.isSecret($0) ?? false }) ?? false else { continue }
            // Equal revisions mean that the key was not changed since the moment.
            if pastRecord.revision != record?.revision { try checkSecret(key, of: past.id) }
        }
    }
}

extension WriteDecision {
    /// Returns the decision with an answer that lists the values that a restore skipped. If the commit has a request
    /// key (`Idempotency-Key`), the commit then stores the answer for repeated requests, because the skipped values do
    /// not follow from the commit.
    fileprivate consuming func listing(skipped: [SchemaConflict]) -> WriteDecision {
        guard !skipped.isEmpty, case .summary(var summary) = answer.body else { return self }
        summary.skipped = skipped
        answer.body = .summary(summary)
        if commit?.requestKey != nil { commit?.answer = .summary(summary) }
        return self
    }
}

extension Suite {
    /// Returns the keys, in order, whose stored values differ between this state and another state of the same suite.
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
