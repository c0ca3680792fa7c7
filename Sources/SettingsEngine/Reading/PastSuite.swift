package import SettingsAPI
package import SettingsModel

extension RecentPast {
    /// A suite as it stood after a commit: the present one with everything undone that was committed since.
    ///
    /// - Returns: nil if there was no such suite then.
    package func suite(_ name: SuiteName, at moment: Revision) throws(Problem) -> Suite? {
        try checkAvailable(moment, of: name)
        let since = history.commits(of: name, after: moment)
        return suite(
            name, at: moment, from: state.suite(name), undoing: since, lastBefore: history.last(of: name, upTo: moment)
        ) { history.origin(of: $0) }
    }

    /// A suite as it stood after a commit, from what it was later.
    ///
    /// - Parameters:
    ///   - later: the suite as it stood after the last of the commits.
    ///   - commits: those after the moment that touched it, in order.
    ///   - last: the last commit up to the moment that touched it, as far as that is known.
    ///   - origin: finds the origin of a commit.
    /// - Returns: nil if there was no such suite then.
    package func suite(
        _ name: SuiteName, at moment: Revision, from later: Suite?, undoing commits: [KeptCommit],
        lastBefore last: @autoclosure () -> Revision?, origin: (Revision) -> CommitOrigin?
    ) -> Suite? {
        guard let next = commits.first else { return later }
        var suite = later
        for kept in commits.reversed() { suite.undo(kept.commit, of: name, origin) }
        guard var past = suite else { return nil }
        markSecrets(in: &past)
        let change = next.commit.suiteChanges.first { $0.suite == name }
        past.revision = change?.oldRevision ?? last() ?? past.newestRevision
        return past
    }

    /// True if the last change of a suite up to a commit was not later than an instant. False if that is not known.
    func isChanged(_ name: SuiteName, at place: Revision, notAfter instant: Timestamp) -> Bool {
        guard let suite = try? suite(name, at: place), let time = suite.changeTime else { return false }
        return time <= instant
    }

    /// The cost of rendering a suite as it was at a moment, from the commits in memory.
    package func renderingCost(ofPast name: SuiteName, at moment: Moment, within limit: Cost) -> Cost {
        var meter = CostMeter(within: limit)
        state.suite(name)?.addRenderingCost(to: &meter)
        // Finding the last commit before an instant may take all commits.
        let start: Revision = if case .revision(let revision) = moment { revision } else { .zero }
        history.addCost(ofCommitsOf: name, after: start, to: &meter, Cost.readingPast)
        return meter.cost
    }

    /// Marks what is a secret now: it is one in what was before, too.
    package func markSecrets(in past: inout Suite) {
        if let schema = state.suite(past.id)?.schema?.schema { past.markSecrets(of: schema) }
    }

    /// The error for a suite that did not exist after a commit. It names the commit that created it, if that was later.
    package func unknownSuite(_ name: SuiteName, for reader: Grants?, at moment: Revision) -> Problem {
        let later = history.commits(of: name, after: moment)
        guard let beginning = later.first(where: { $0.commit.creates(name) }) else {
            return state.unknownSuite(name, for: reader)
        }
        return Problem(
            .unknownSuite,
            "suite \(name) did not exist at revision \(moment); it came into being at revision \(beginning.revision)")
    }
}

extension Suite? {
    /// Undoes what a commit did to the suite of a name.
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
            guard let standing = KeyRecord.Standing(change.oldSource) else { continue }
            let revision = change.record.oldRevision ?? .zero
            self?.put(
                KeyRecord(
                    key: change.key, stored: change.oldStored, standing: standing, revision: revision,
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
    /// The newest revision in the suite.
    fileprivate var newestRevision: Revision { max(schemaRevision, newestRecord?.revision ?? .zero) }

    /// The time of the last commit that changed the suite; nil if no record has it, as of one that only set the schema.
    fileprivate var changeTime: Timestamp? {
        guard let newestRecord, newestRecord.revision >= max(schemaRevision, removed.unknownKeyRevision) else {
            return nil
        }
        return newestRecord.changeTime
    }

    private var newestRecord: KeyRecord? {
        var newest = removed.records.last
        records.forEach { record in
            if record.revision >= newest?.revision ?? .zero { newest = record }
            return true
        }
        return newest
    }

    /// Puts the schema back in force that was before a change. It was compiled once, so it compiles again.
    fileprivate mutating func restoreSchema(before change: SuiteChange) {
        guard let replaced = change.replaced, let schema = try? Schema(kept: replaced.document, text: replaced.text)
        else {
            setSchema(nil, revision: change.oldSchemaRevision ?? .zero)
            return
        }
        setSchema(SchemaVersion(schema, revision: replaced.revision), revision: replaced.revision)
    }
}

extension Suite {
    /// Keys without a value that have a revision of their own, those first that would be forgotten first.
    var forgottenKeys: ForgottenKeys {
        let listed = records.elements.filter { $0.standing == .unset }
        let keys = (removed.records + listed).map { record in
            let isTimed = record.modified.milliseconds != 0
            return ForgottenKeys.Key(
                key: record.key, revision: record.revision, modified: isTimed ? record.modified : nil)
        }
        return ForgottenKeys(unknownKeyRevision: removed.unknownKeyRevision, keys: keys)
    }
}

extension KeyRecord {
    fileprivate init(_ key: ForgottenKeys.Key) {
        self.init(
            key: key.key, stored: nil, standing: .unset, revision: key.revision,
            modified: key.modified ?? Timestamp(milliseconds: 0))
    }
}
