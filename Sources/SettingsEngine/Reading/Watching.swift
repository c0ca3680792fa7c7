package import SettingsAPI
internal import SettingsModel

// Answers.
extension WatchReader {
    /// The state of all that is watched; nil if it is one suite that does not exist.
    package func observed(_ subject: WatchSubject, isReset: Bool) -> ObservedState? {
        var found: [SuiteContents] = []
        var missing: [SuiteName] = []
        for name in names(of: subject) {
            if let suite = state.suite(name) {
                found.append(suite.shown(suite.contents(passing: subject.filter), to: subject.reader))
            } else {
                missing.append(name)
            }
        }
        if subject.isSingleSuite {
            guard let contents = found.first else { return nil }
            return ObservedState(.one(contents), cursor: state.cursor, isReset: isReset)
        }
        return ObservedState(.several(found, missing: missing), cursor: state.cursor, isReset: isReset)
    }

    /// The cost of rendering the state of everything that a subject names. The filter of keys may leave less to render.
    package func renderingCost(of subject: WatchSubject, within limit: Cost) -> Cost {
        var meter = CostMeter(within: limit)
        func add(_ suite: Suite) -> Bool {
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

    /// The cost of rendering the changes of commits, at most as many as one answer has.
    package func renderingCost(ofChangesIn commits: [KeptCommit]) -> Cost {
        var bytes = 0
        for kept in commits {
            guard bytes == 0 || bytes + kept.size <= Self.maximumAnswerBytes else { break }
            bytes += kept.size
        }
        return .rendering(commitBytes: bytes)
    }

    /// The suites that a watcher's answer shows: those that it names, and those that exist of the others.
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

    /// The most memory of commits that go into one answer with changes, unless one commit alone takes more. A watcher that
    /// was away for long asks again for the rest, from the place that the answer names.
    package static let maximumAnswerBytes = 8 << 20

    /// The answer with what commits changed.
    ///
    /// - Parameters:
    ///   - commits: those that concern the watcher, oldest first; empty if there are none.
    ///   - position: the place that the watcher knows, which may be ahead of this state.
    ///   - limit: the most changes to return. A commit is never cut, and one is returned whatever its size.
    ///   - keepsLatest: true for one change a key, from before its first change to after its last.
    package func observed(
        _ subject: WatchSubject, _ commits: [KeptCommit], from position: Revision, limit: Int? = nil,
        keepsLatest: Bool = false
    ) -> ObservedChanges {
        var changes: [Change] = []
        var (taken, size) = (0, 0)
        for kept in commits {
            size += kept.size
            if taken > 0, size > Self.maximumAnswerBytes { break }
            let some = kept.commit.changes.filter(subject.matches)
            if taken > 0, let limit, changes.count + some.count > limit { break }
            changes += some
            taken += 1
        }
        let hasMore = taken < commits.count
        let last = hasMore ? commits[taken - 1].commit.revision : max(state.revision, position)
        return ObservedChanges(
            scope(subject, commits[..<taken], later: commits[taken...]),
            cursor: Cursor(epoch: state.epoch, revision: last),
            changes: state.shown(keepsLatest ? changes.latest : changes, to: subject.reader), hasMore: hasMore)
    }

    private func scope(
        _ subject: WatchSubject, _ told: ArraySlice<KeptCommit>, later: ArraySlice<KeptCommit>
    ) -> ObservedChanges.Scope {
        let dropped = Set(told.flatMap { $0.commit.dropped(of: subject) }).ordered(by: <)
        let missing = subject.suites.filter { !state.hasSuite($0) }
        var names = subject.suites
        if !subject.suitePrefixes.isEmpty {
            // Of the suites that come and go, those that something happened to: there may be very many.
            var touched = Set(names)
            for kept in told { kept.forEachSuite { if subject.includes($0) { touched.insert($0) } } }
            names = touched.ordered(by: <)
        }
        let schemas = names.compactMap { name -> SuiteRevision? in
            guard subject.isSingleSuite || state.hasSuite(name) else { return nil }
            return SuiteRevision(suite: name, revision: schemaRevision(of: name, before: later))
        }
        if subject.isSingleSuite, let schema = schemas.first { return .one(schema: schema, isDropped: !dropped.isEmpty) }
        return .several(schemas: schemas, dropped: dropped, missing: missing)
    }

    /// The revision of a suite's schema before the commits of later answers.
    private func schemaRevision(of name: SuiteName, before later: ArraySlice<KeptCommit>) -> Revision {
        for kept in later {
            guard let change = kept.commit.suiteChanges.first(where: { $0.suite == name }) else { continue }
            return change.replaced?.revision ?? change.oldSchemaRevision ?? .zero
        }
        return state.suites.with(name.text.utf8Span.span) { $0.schemaRevision } ?? .zero
    }

    /// The event of one commit in a stream.
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
            changes: state.shown(commit.changes.filter(subject.matches), to: subject.reader))
    }
}

extension Commit {
    /// The suites that it drops of those that are watched, in order.
    fileprivate func dropped(of subject: WatchSubject) -> [SuiteName] {
        suiteChanges.filter { $0.kind == .dropped && subject.includes($0.suite) }.map(\.suite).ordered(by: <)
    }
}

extension SuiteChange {
    /// The revision of the schema after the change; nil if the change is not about it.
    fileprivate func schemaRevision(at commit: Revision) -> Revision? {
        switch kind {
        case .schemaSet(let revision, _): revision
        case .schemaRemoved: commit
        case .created, .dropped: nil
        }
    }
}

extension [Change] {
    /// Of each key one change, from before its first to after its last, in order of the last ones.
    fileprivate var latest: [Change] {
        var first: [KeyAddress: Change] = [:]
        for change in self where first[change.address] == nil { first[change.address] = change }
        var told: Set<KeyAddress> = []
        var latest: [Change] = []
        for change in reversed() where told.insert(change.address).inserted {
            let earlier = first[change.address]
            latest.append(earlier.map { $0.revision == change.revision ? change : change.following($0) } ?? change)
        }
        return latest.reversed()
    }
}

extension Change {
    fileprivate var address: KeyAddress { KeyAddress(suite: suite, key: key) }
}
