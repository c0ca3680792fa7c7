import SettingsAPI
import SettingsModel

/// Checks of the states and commits that a watcher received. `transcript` has the requests of the watcher with their
/// answers, `watcher` is the state that these answers must have led to, and `record` has all commits of the daemon.
extension TranscriptCheck {
    mutating func check(_ state: ObservedState, _ received: Received) {
        let previous = watcher.cursor ?? .zero
        guard checkCursor(state.cursor, received, from: previous, showsPresentState: true) else { return }
        let revision = state.cursor.revision
        if state.isReset {
            // A stream that has reported its suite as missing (`isMissing`) is reset when the suite is created.
            if let cursor = watcher.cursor, !record.mayBeEvicted(cursor, at: revision), !isMissing {
                recordViolation("the watcher was reset at \(revision), although the history has its cursor \(cursor)")
            }
            if watcher.cursor == nil { recordViolation("the watcher was reset, although it had no cursor") }
        } else if watcher.cursor != nil {
            recordViolation("the watcher received the state at \(revision), although it has sent a cursor")
        }
        advance(to: revision)
        var shown: [SuiteName: WatchedModel.Contents] = [:]
        for contents in state.suites {
            var suite = WatchedModel.Contents(schema: contents.schemaRevision)
            for entry in contents.values {
                if suite.values.updateValue(entry.value, forKey: entry.key) != nil {
                    recordViolation("the state has the key \(entry.key) twice")
                }
            }
            for entry in contents.invalid {
                if let key = entry.key { suite.invalid[key] = entry.stored }
            }
            shown[contents.suite] = suite
        }
        for name in transcript.watched.suites where !looksEqual(watcher.model.suites[name], shown[name]) {
            recordViolation(
                "the state at \(revision) is \(String(describing: shown[name])), not "
                    + String(describing: watcher.model.suites[name]))
        }
        if shown.keys.contains(where: { !transcript.watched.suites.contains($0) }) {
            recordViolation("the state has a suite that the watcher does not watch")
        }
        if case .several(_, let missing) = state.scope, missing != watcher.model.missing {
            recordViolation("the missing suites at \(revision) are \(missing), not \(watcher.model.missing)")
        }
        watcher.receivedValues = shown.mapValues(\.values)
        advanceAndCompare(to: revision)
    }

    /// True if a watcher sees no difference between both contents; nil stands for a missing suite.
    private func looksEqual(_ one: WatchedModel.Contents?, _ other: WatchedModel.Contents?) -> Bool {
        guard let one, let other else { return one == nil && other == nil }
        return one.looksLike(other)
    }

    /// Checks an answer or an event that says that the watched suite does not exist at the cursor.
    mutating func check(absentAt cursor: Cursor, _ received: Received) {
        guard checkCursor(cursor, received, from: .zero, showsPresentState: true) else { return }
        guard transcript.watched.usesSuitePath else {
            return recordViolation("an answer about several suites says that a suite does not exist")
        }
        let missed = expected(upTo: cursor.revision)
        if let known = watcher.cursor, let first = missed.first, !record.mayBeEvicted(known, at: cursor.revision) {
            recordViolation(
                "the watcher did not receive the commit \(first.commit.revision), and the suite is absent at \(cursor)")
        }
        var model = watcher.model
        for watchedCommit in missed { model.apply(watchedCommit.commit) }
        if !model.suites.isEmpty { recordViolation("the suite exists at \(cursor)") }
    }

    mutating func check(_ content: ObservedChanges, _ received: Received) {
        guard let since = watcher.cursor, received.request.since?.revision == since else {
            return recordViolation(
                "changes answer a request since \(String(describing: received.request.since)) "
                    + "of a watcher with the cursor \(String(describing: watcher.cursor))")
        }
        guard checkCursor(content.cursor, received, from: since, showsPresentState: !content.hasMore) else { return }
        let revision = content.cursor.revision
        let expected = expected(upTo: revision)
        check(content.changes, against: expected, received)
        check(limitOf: content, expected, received)
        if let first = expected.first {
            checkDelay(of: first, received)
        } else {
            checkWaitDuration(received)
        }
        if content.retryAfterMs != nil && !isStopping(received) {
            recordViolation("the answer asks for a retry, although the daemon was not stopping")
        }
        applyToReceivedValues(content.changes)
        let commits = expected.map(\.commit)
        advanceAndCompare(to: revision)
        let drops = transcript.watched.suites.filter { name in commits.contains { $0.drops(name) } }
        switch content.scope {
        case .one(let schema, let isDropped):
            check(schemas: [schema.suite: schema.revision], absentAsZero: true, at: revision)
            // `dropped` must be true exactly if a commit drops the suite.
            if isDropped == drops.isEmpty { recordViolation("dropped is \(isDropped) up to \(revision)") }
        case .several(let schemas, let dropped, let missing):
            check(
                schemas: Dictionary(schemas.map { ($0.suite, $0.revision) }) { one, _ in one },
                absentAsZero: content.hasMore, at: revision)
            if dropped != drops { recordViolation("the dropped suites up to \(revision) are \(dropped), not \(drops)") }
            // An answer that announces more changes lists the suites that are missing now, not at its cursor.
            if !content.hasMore, missing != watcher.model.missing {
                recordViolation("the missing suites at \(revision) are \(missing), not \(watcher.model.missing)")
            }
        }
    }

    /// - Parameter absentAsZero: True if `schemas` may omit a suite, and may give a missing suite the revision zero. An
    ///   answer about one suite gives a missing suite the revision zero. An answer that announces more changes lists
    ///   the suites that exist now, not at its cursor.
    private mutating func check(schemas: [SuiteName: Revision], absentAsZero: Bool, at revision: Revision) {
        for name in transcript.watched.suites {
            let expected = watcher.model.schemas[name]
            guard schemas[name] != expected, !absentAsZero || (schemas[name] ?? .zero) != (expected ?? .zero) else {
                continue
            }
            if absentAsZero, schemas[name] == nil { continue }
            recordViolation(
                "the schema of \(name) is \(schemas[name] ?? .zero) at \(revision), not \(expected ?? .zero)")
        }
    }

    private mutating func check(
        limitOf content: ObservedChanges, _ expected: ArraySlice<WatchedCommit>, _ received: Received
    ) {
        guard case .poll(_, let limit, _) = received.request.kind, let limit else {
            // The daemon splits an answer without a limit after some megabytes of commits. With `latest`, the answer
            // shows only one change for each key, so the bytes of the commits are counted.
            let bytes = expected.reduce(0) { $0 + $1.commit.jsonBytes().count }
            if content.hasMore, bytes < 1 << 20 {
                recordViolation("the answer announces more changes, although the request has no limit")
            }
            return
        }
        let count = expected.reduce(0) { $0 + $1.changes.count }
        // The daemon does not split a commit, so a single commit may exceed the limit.
        if count > limit && expected.count > 1 { recordViolation("\(count) changes, over the limit of \(limit)") }
        guard content.hasMore else { return }
        guard let next = watchedCommits[(watcher.position + expected.count)...].first, let last = expected.last else {
            return recordViolation("the answer announces more changes, but there are none")
        }
        if last.commit.revision != content.cursor.revision {
            recordViolation("the cursor of the answer is not the revision of its last commit")
        }
        if count + next.changes.count <= limit {
            recordViolation("\(count) changes, although more would be within the limit of \(limit)")
        }
    }

    mutating func check(_ content: StreamCommit, _ received: Received) {
        guard let since = watcher.cursor else { return recordViolation("a commit arrived before any state") }
        guard checkCursor(content.cursor, received, from: since, showsPresentState: false) else { return }
        let revision = content.cursor.revision
        let expected = expected(upTo: revision)
        guard expected.count == 1, let next = expected.first, next.commit.revision == revision else {
            // A stream whose cursor is older than the history receives the drop without the preceding changes.
            guard content.scope == .one(schemaRevision: nil, isDropped: true), content.changes.isEmpty,
                record.mayBeEvicted(since, at: revision)
            else {
                return recordViolation(
                    "the event has the commit \(revision), but the next commits are \(expected.map(\.commit.revision))")
            }
            advance(to: revision)
            if !watcher.model.suites.isEmpty { recordViolation("the suite exists at \(revision)") }
            watcher.receivedValues = [:]
            return advanceAndCompare(to: revision)
        }
        check(content.changes, against: expected, received)
        checkDelay(of: next, received)
        applyToReceivedValues(content.changes)
        advanceAndCompare(to: revision)
        let schemas = next.commit.suiteChanges.compactMap { change -> SuiteRevision? in
            guard transcript.watched.suites.contains(change.suite) else { return nil }
            return switch change.kind {
            case .schemaSet(let revision, _): SuiteRevision(suite: change.suite, revision: revision)
            case .schemaRemoved: SuiteRevision(suite: change.suite, revision: revision)
            case .created, .dropped: nil
            }
        }
        let drops = transcript.watched.suites.filter(next.commit.drops)
        let scope: StreamCommit.Scope =
            transcript.watched.usesSuitePath
            ? .one(schemaRevision: schemas.last?.revision, isDropped: !drops.isEmpty)
            : .several(schemas: schemas, dropped: drops)
        if content.scope != scope { recordViolation("the scope of \(revision) is \(content.scope), not \(scope)") }
    }

    /// Compares the received changes with the changes of the expected commits.
    private mutating func check(_ changes: [Change], against expected: ArraySlice<WatchedCommit>, _ received: Received)
    {
        for change in changes where !transcript.watched.admits(change) {
            recordViolation("the watcher does not watch \(change.brief)")
        }
        for (one, next) in zip(changes, changes.dropFirst()) where one.revision > next.revision {
            recordViolation("\(next.brief) is listed after \(one.brief)")
        }
        var expectedChanges = expected.flatMap(\.changes)
        // The request has the parameter `latest`.
        if case .poll(_, _, true) = received.request.kind { expectedChanges = expectedChanges.latestOfEachKey() }
        guard changes.inOrder() != expectedChanges.inOrder() else { return }
        let missing = expectedChanges.filter { !changes.contains($0) }
        let wrong = changes.filter { !expectedChanges.contains($0) }
        recordViolation(
            "up to \(expected.last?.commit.revision ?? .zero), missing: \(missing.map(\.brief)), unexpected: "
                + "\(wrong.map(\.brief)); \(expectedChanges.count) changes were expected, and \(changes.count) received"
        )
    }
}

extension Commit {
    /// True if the commit drops a suite.
    func drops(_ suite: SuiteName) -> Bool {
        suiteChanges.contains { $0.suite == suite && $0.kind == .dropped }
    }
}

extension Change {
    /// A short description for messages.
    var brief: String {
        "\(revision) \(suite)/\(key) \(old?.jsonText() ?? "-") \(oldSource) -> \(new?.jsonText() ?? "-") \(source)"
    }
}

extension [Change] {
    /// Sorted by revision, suite and key, because the order of changes within a commit is undefined.
    fileprivate func inOrder() -> [Change] {
        sorted { ($0.revision, $0.suite, $0.key) < ($1.revision, $1.suite, $1.key) }
    }

    /// The last change of each key, with the old value from the first change.
    fileprivate func latestOfEachKey() -> [Change] {
        var changes: [Address: Change] = [:]
        for change in self {
            let address = Address(suite: change.suite, key: change.key)
            var newest = change
            if let first = changes[address] { (newest.old, newest.oldSource) = (first.old, first.oldSource) }
            changes[address] = newest
        }
        return Array(changes.values)
    }
}

private struct Address: Hashable {
    let suite: SuiteName
    let key: KeyName
}
