package import SettingsAPI
internal import SettingsModel

// The data of responses and events for watchers: clients that wait for changes of a *subject* (``WatchSubject``), which
// is a set of suites (named sets of settings) and of keys in these suites.
extension WatchReader {
    /// The values of a subject, for a response; nil if the subject is a single suite that does not exist. If `isReset`
    /// is true, the response tells the client to discard its earlier state.
    package func observed(_ subject: WatchSubject, isReset: Bool) -> ObservedState? {
        var existing: [SuiteContents] = []
        var missing: [SuiteName] = []
        for name in names(of: subject) {
            if let suite = state.suite(name) {
                existing.append(suite.shown(suite.contents(passing: subject.filter), to: subject.restrictedGrants))
            } else {
                missing.append(name)
            }
        }
        if subject.isSingleSuite {
            guard let contents = existing.first else { return nil }
            return ObservedState(.one(contents), cursor: state.cursor, isReset: isReset)
        }
        return ObservedState(.several(existing, missing: missing), cursor: state.cursor, isReset: isReset)
    }

    /// An upper bound for the cost of rendering the values of a subject: the cost of all keys in its suites.
    package func renderingCost(of subject: WatchSubject, within limit: Cost) -> Cost {
        var meter = CostMeter(within: limit)
        func add(_ suite: Suite) -> Bool {
            // A unit is a JSON value, or eight bytes of text (see `Cost`). The fields of the suite itself, such as its
            // name and the revision of its schema, count as four units.
            meter.add(4 * .renderedUnit)
            suite.addRenderingCost(to: &meter)
            return !meter.isExceeded
        }
        for name in subject.suites where !meter.isExceeded {
            if let suite = state.suite(name) { _ = add(suite) }
        }
        for prefix in subject.suitePrefixes where !meter.isExceeded { forEachSuite(prefix, add) }
        return meter.cost
    }

    /// The estimated cost of rendering the changes of the first commits, up to the maximum size of one response.
    package func renderingCost(ofChangesIn commits: [RetainedCommit]) -> Cost {
        var bytes = 0
        for retained in commits {
            guard bytes == 0 || bytes + retained.size <= Self.maximumAnswerBytes else { break }
            bytes += retained.size
        }
        return .rendering(commitBytes: bytes)
    }

    /// The suites that the subject names, and the existing readable suites with one of its prefixes.
    private func names(of subject: WatchSubject) -> [SuiteName] {
        guard !subject.suitePrefixes.isEmpty else { return subject.suites }
        var names = Set(subject.suites)
        for prefix in subject.suitePrefixes {
            forEachSuite(prefix) { suite in
                if subject.includes(suite.id) { names.insert(suite.id) }
                return true
            }
        }
        return names.ordered(by: <)
    }

    private func forEachSuite(_ prefix: UTF8Text, _ body: (Suite) -> Bool) {
        state.suites.forEach(prefix: prefix.string, body)
    }

    /// The maximum size in memory of the commits in one response. A single commit may exceed the maximum. A client that
    /// needs more commits sends another request with the cursor of the response (the name of the history, and the
    /// revision of the last commit in the response).
    package static let maximumAnswerBytes = 8 << 20

    /// The changes that commits made to the keys of a subject, for a response.
    ///
    /// - Parameters:
    ///   - commits: the commits that match the subject, oldest first.
    ///   - position: the revision (the number of the last commit) of the data that the client has. The client may be
    ///     ahead of this state: several daemons can share a log, and another daemon may have sent newer commits to the
    ///     client.
    ///   - limit: the maximum number of changes; nil for no limit. A response has only whole commits, and at least one
    ///     commit, which may exceed the limit.
    ///   - mergesByKey: true to merge the changes of each key into one change.
    package func observed(
        _ subject: WatchSubject, _ commits: [RetainedCommit], from position: Revision, limit: Int? = nil,
        mergesByKey: Bool = false
    ) -> ObservedChanges {
        var changes: [Change] = []
        var (includedCount, size) = (0, 0)
        for retained in commits {
            size += retained.size
            if includedCount > 0, size > Self.maximumAnswerBytes { break }
            let matching = retained.commit.changes.filter(subject.matches)
            if includedCount > 0, let limit, changes.count + matching.count > limit { break }
            changes += matching
            includedCount += 1
        }
        let hasMore = includedCount < commits.count
        // The client has all changes up to this revision when it has got the response.
        let reached = hasMore ? commits[includedCount - 1].commit.revision : max(state.revision, position)
        return ObservedChanges(
            scope(subject, commits[..<includedCount], later: commits[includedCount...]),
            cursor: Cursor(epoch: state.epoch, revision: reached),
            changes: state.shown(mergesByKey ? changes.mergedByKey : changes, to: subject.restrictedGrants),
            hasMore: hasMore)
    }

    /// The part of a response that concerns suites as a whole. The response has the commits `included`. The client gets
    /// the commits `later`, which the state also contains, in another response.
    private func scope(
        _ subject: WatchSubject, _ included: ArraySlice<RetainedCommit>, later: ArraySlice<RetainedCommit>
    ) -> ObservedChanges.Scope {
        let dropped = Set(included.flatMap { $0.commit.dropped(of: subject) }).ordered(by: <)
        let missing = subject.suites.filter { !state.hasSuite($0) }
        var names = subject.suites
        if !subject.suitePrefixes.isEmpty {
            // The response omits suites that only match a prefix and were not changed, because a prefix may match very
            // many suites.
            var affected = Set(names)
            for retained in included { retained.forEachSuite { if subject.includes($0) { affected.insert($0) } } }
            names = affected.ordered(by: <)
        }
        let schemas = names.compactMap { name -> SuiteRevision? in
            guard subject.isSingleSuite || state.hasSuite(name) else { return nil }
            return SuiteRevision(suite: name, revision: schemaRevision(of: name, before: later))
        }
        if subject.isSingleSuite, let schema = schemas.first {
            return .one(schema: schema, isDropped: !dropped.isEmpty)
        }
        return .several(schemas: schemas, dropped: dropped, missing: missing)
    }

    /// The revision of the schema of a suite before the commits `later`.
    private func schemaRevision(of name: SuiteName, before later: ArraySlice<RetainedCommit>) -> Revision {
        for retained in later {
            guard let change = retained.commit.suiteChanges.first(where: { $0.suite == name }) else { continue }
            return change.replaced?.revision ?? change.oldSchemaRevision ?? .zero
        }
        return state.suites.with(name.text.utf8Span.span) { $0.schemaRevision } ?? .zero
    }

    /// The data of an event for one commit in an event stream.
    package func streamed(_ subject: WatchSubject, _ commit: Commit) -> StreamCommit {
        let dropped = commit.dropped(of: subject)
        let schemas = commit.suiteChanges.compactMap { change -> SuiteRevision? in
            guard subject.includes(change.suite), let revision = change.schemaRevision(at: commit.revision)
            else { return nil }
            return SuiteRevision(suite: change.suite, revision: revision)
        }
        return StreamCommit(
            subject.isSingleSuite
                ? .one(schemaRevision: schemas.last?.revision, isDropped: !dropped.isEmpty)
                : .several(schemas: schemas, dropped: dropped),
            cursor: Cursor(epoch: state.epoch, revision: commit.revision),
            changes: state.shown(commit.changes.filter(subject.matches), to: subject.restrictedGrants))
    }
}

extension Commit {
    /// The suites of a subject that the commit drops, sorted.
    fileprivate func dropped(of subject: WatchSubject) -> [SuiteName] {
        suiteChanges.filter { $0.kind == .dropped && subject.includes($0.suite) }.map(\.suite).ordered(by: <)
    }
}

extension SuiteChange {
    /// The revision of the schema after the change; nil if the change does not set or remove the schema.
    fileprivate func schemaRevision(at commit: Revision) -> Revision? {
        switch kind {
        case .schemaSet(let revision, _): revision
        case .schemaRemoved: commit
        case .created, .dropped: nil
        }
    }
}

extension [Change] {
    /// One change for each key: from the value before the first change of the key to the value after its last change.
    /// The order is the order of the last changes.
    fileprivate var mergedByKey: [Change] {
        var firstChanges: [KeyAddress: Change] = [:]
        for change in self where firstChanges[change.address] == nil { firstChanges[change.address] = change }
        var mergedChanges: [Change] = []
        // The first change of a key that this loop finds is the last change of the key.
        for change in reversed() {
            guard let first = firstChanges.removeValue(forKey: change.address) else { continue }
            mergedChanges.append(first.revision == change.revision ? change : change.merged(withEarlier: first))
        }
        return mergedChanges.reversed()
    }
}

extension Change {
    fileprivate var address: KeyAddress { KeyAddress(suite: suite, key: key) }
}
