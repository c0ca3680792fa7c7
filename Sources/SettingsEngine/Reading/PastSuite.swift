package import SettingsAPI
package import SettingsModel

extension RecentPast {
    /// A suite (a named set of settings) as it was at a revision (the number of a commit): the current suite without
    /// the later commits. Nil if the suite did not exist at the revision.
    package func suite(_ name: SuiteName, at revision: Revision) throws(Problem) -> Suite? {
        try checkAvailable(revision, of: name)
        return suite(
            name, at: revision, from: state.suite(name), undoing: history.commits(of: name, after: revision),
            lastBefore: history.last(of: name, upTo: revision)
        ) { history.origin(of: $0) }
    }

    /// A suite as it was at a revision: a later version of the suite without the commits in between; nil if the suite
    /// did not exist at the revision.
    ///
    /// - Parameters:
    ///   - later: the suite after the last of the commits; nil if the suite did not exist after that commit.
    ///   - commits: all commits that affect (change) the suite, after the revision and up to the later version, in
    ///     order.
    ///   - last: the last commit up to the revision that affects the suite; nil if this commit is not known.
    ///   - origin: finds the caller that made a commit, and the caller's reason (`note`).
    package func suite(
        _ name: SuiteName, at revision: Revision, from later: Suite?, undoing commits: [RetainedCommit],
        lastBefore last: @autoclosure () -> Revision?, origin: (Revision) -> CommitOrigin?
    ) -> Suite? {
        guard let firstUndone = commits.first else { return later }
        var suite = later
        for retained in commits.reversed() { suite.undo(retained.commit, of: name, origin) }
        guard var past = suite else { return nil }
        markSecrets(in: &past)
        // A change of the suite as a whole records the revision that the suite had before the change. A change of a key
        // does not record this revision.
        let change = firstUndone.commit.suiteChanges.first { $0.suite == name }
        past.revision = change?.oldRevision ?? last() ?? past.newestRevision
        return past
    }

    /// True if a suite did not change after an instant and up to a revision. Also false if the time of the last change
    /// is unknown.
    func isUnchanged(_ name: SuiteName, after instant: Timestamp, upTo revision: Revision) -> Bool {
        guard let suite = try? suite(name, at: revision), let time = suite.changeTime else { return false }
        return time <= instant
    }

    /// The estimated cost of rendering a suite as it was at a moment (a revision or an instant) from the commits in
    /// memory.
    package func renderingCost(ofPast name: SuiteName, at moment: Moment, within limit: Cost) -> Cost {
        var meter = CostMeter(within: limit)
        state.suite(name)?.addRenderingCost(to: &meter)
        // The revision of an instant is not known here, so the estimate includes all commits of the suite.
        let start: Revision = if case .revision(let revision) = moment { revision } else { .zero }
        history.addCost(ofCommitsOf: name, after: start, to: &meter, Cost.readingPast)
        return meter.cost
    }

    /// Marks values in an earlier version of a suite as secret if the current schema declares their keys secret.
    package func markSecrets(in past: inout Suite) {
        if let schema = state.suite(past.id)?.schema?.schema { past.markSecrets(of: schema) }
    }

    /// The error for a suite that did not exist at a revision. If a later commit created the suite, the error names
    /// this commit. `restrictedGrants` is the grants (rights) of a caller that may not read everything; otherwise nil.
    package func unknownSuite(_ name: SuiteName, for restrictedGrants: Grants?, at revision: Revision) -> Problem {
        let later = history.commits(of: name, after: revision)
        guard let creation = later.first(where: { $0.commit.creates(name) }) else {
            return state.unknownSuite(name, for: restrictedGrants)
        }
        return Problem(
            .unknownSuite,
            "suite \(name) did not exist at revision \(revision); it was created at revision \(creation.revision)")
    }
}

extension Suite? {
    /// Undoes the changes of a commit to this suite. A suite that does not exist is nil, so the name is a parameter.
    /// `origin` finds the caller that made a commit, and the caller's reason (`note`).
    ///
    /// A suite has a record for each key with a value, and a tombstone for each key that was removed recently. If this
    /// method restores a dropped suite, the suite gets its `unknownKeyRevision` again. This revision applies to each
    /// key that was never written, or whose tombstone was discarded.
    package mutating func undo(_ commit: Commit, of name: SuiteName, _ origin: (Revision) -> CommitOrigin?) {
        for change in commit.suiteChanges.reversed() where change.suite == name {
            switch change.kind {
            case .created: self = nil
            case .dropped:
                self = Suite(
                    name, revision: change.oldRevision ?? .zero,
                    unknownKeyRevision: change.forgotten?.unknownKeyRevision ?? .zero)
                self?.restoreSchema(before: change)
                for key in change.forgotten?.keys ?? [] { self?.put(KeyRecord(key)) }
            case .schemaSet, .schemaRemoved: self?.restoreSchema(before: change)
            }
        }
        for change in commit.changes where change.suite == name {
            // If a newer version of the daemon made the commit, this version may not know the source of the value, and
            // then cannot make the earlier record. The key then keeps its later record.
            guard let valueSource = KeyRecord.ValueSource(change.oldSource) else { continue }
            let revision = change.record.oldRevision ?? .zero
            self?.put(
                KeyRecord(
                    key: change.key, stored: change.oldStored, valueSource: valueSource, revision: revision,
                    modified: change.record.oldModified ?? Timestamp(milliseconds: 0),
                    origin: origin(revision), isSecret: change.record.wasSecret))
        }
    }
}

extension Commit {
    fileprivate func creates(_ suite: SuiteName) -> Bool {
        suiteChanges.contains { $0.suite == suite && $0.kind == .created }
    }
}

extension Suite {
    /// The highest revision of the schema, the records and the tombstones of the suite.
    fileprivate var newestRevision: Revision { max(schemaRevision, newestRecord?.revision ?? .zero) }

    /// The time of the last commit that changed the suite; nil if the time is unknown, because that commit changed no
    /// key, or may have removed a key whose tombstone was discarded.
    fileprivate var changeTime: Timestamp? {
        guard let newestRecord, newestRecord.revision >= max(schemaRevision, removed.unknownKeyRevision) else {
            return nil
        }
        return newestRecord.changeTime
    }

    /// The record or tombstone with the highest revision.
    private var newestRecord: KeyRecord? {
        var newest = removed.records.last
        records.forEach { record in
            if record.revision >= newest?.revision ?? .zero { newest = record }
            return true
        }
        return newest
    }

    /// Restores the schema that the suite had before a change. Removes the schema if the suite had none, or if this
    /// version of the daemon does not accept the old schema.
    fileprivate mutating func restoreSchema(before change: SuiteChange) {
        guard let replaced = change.replaced, let schema = try? Schema(stored: replaced.document, text: replaced.text)
        else {
            setSchema(nil, revision: change.oldSchemaRevision ?? .zero)
            return
        }
        setSchema(SchemaVersion(schema, revision: replaced.revision), revision: replaced.revision)
    }
}

extension Suite {
    /// The keys without a value that have a record or a tombstone. The commit that drops (deletes) the suite records
    /// these keys, so that an undo of the commit restores the revisions of the keys. The oldest tombstones come first,
    /// because a suite discards its tombstones in this order.
    var forgottenKeys: ForgottenKeys {
        // A removed key that the schema lists has a record without a value instead of a tombstone.
        let recordsWithoutValue = records.elements.filter { $0.valueSource == .unset }
        let keys = (removed.records + recordsWithoutValue).map { record in
            ForgottenKeys.Key(key: record.key, revision: record.revision, modified: record.changeTime)
        }
        return ForgottenKeys(unknownKeyRevision: removed.unknownKeyRevision, keys: keys)
    }
}

extension KeyRecord {
    fileprivate init(_ key: ForgottenKeys.Key) {
        self.init(
            key: key.key, stored: nil, valueSource: .unset, revision: key.revision,
            modified: key.modified ?? Timestamp(milliseconds: 0))
    }
}
