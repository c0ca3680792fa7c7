import SettingsAPI
import SettingsModel

/// Judges states and commits.
extension TranscriptCheck {
    mutating func judge(_ state: ObservedState, _ received: Received) {
        guard take(state.cursor, received, from: known.cursor ?? .zero, isNewest: true) else { return }
        let place = state.cursor.revision
        if state.isReset {
            if let cursor = known.cursor, !record.isForgotten(cursor, at: place), !isMissing {
                refuse("it was reset at \(place), though it knew \(cursor), which was not forgotten")
            }
            if known.cursor == nil { refuse("it was reset, though it knew nothing") }
        } else if known.cursor != nil {
            refuse("it got the state at \(place), though it came with a cursor")
        }
        advance(to: place)
        var shown: [SuiteName: WatchedModel.Contents] = [:]
        for contents in state.suites {
            var suite = WatchedModel.Contents(schema: contents.schemaRevision)
            for entry in contents.values {
                if suite.values.updateValue(entry.value, forKey: entry.key) != nil {
                    refuse("\(entry.key) comes twice")
                }
            }
            for entry in contents.invalid {
                if let key = entry.key { suite.invalid[key] = entry.stored }
            }
            shown[contents.suite] = suite
        }
        for name in transcript.watched.suites where !same(known.model.suites[name], shown[name]) {
            refuse(
                "the state at \(place) is \(String(describing: shown[name])), not "
                    + String(describing: known.model.suites[name]))
        }
        if shown.keys.contains(where: { !transcript.watched.suites.contains($0) }) { refuse("a suite too many") }
        if case .several(_, let missing) = state.scope, missing != known.model.missing {
            refuse("\(missing) are called missing at \(place), not \(known.model.missing)")
        }
        known.view = shown.mapValues(\.values)
        settle(at: place)
    }

    private func same(_ one: WatchedModel.Contents?, _ other: WatchedModel.Contents?) -> Bool {
        guard let one, let other else { return one == nil && other == nil }
        return one.shows(other)
    }

    mutating func judge(absentAt cursor: Cursor, _ received: Received) {
        guard take(cursor, received, from: .zero, isNewest: true) else { return }
        guard transcript.watched.isOne else { return refuse("several suites are absent") }
        let missed = expected(upTo: cursor.revision)
        if let known = known.cursor, let first = missed.first, !record.isForgotten(known, at: cursor.revision) {
            refuse("\(first.commit.revision) was left out, and the suite is absent at \(cursor)")
        }
        var model = known.model
        for concern in missed { model.apply(concern.commit) }
        if !model.suites.isEmpty { refuse("the suite exists at \(cursor)") }
    }

    mutating func judge(_ content: ObservedChanges, _ received: Received) {
        guard let since = known.cursor, received.ask.since?.revision == since else {
            return refuse(
                "changes answer a watcher that asked since \(String(describing: received.ask.since)) "
                    + "and knows \(String(describing: known.cursor))")
        }
        guard take(content.cursor, received, from: since, isNewest: !content.hasMore) else { return }
        let place = content.cursor.revision
        let expected = expected(upTo: place)
        judge(content.changes, against: expected, received)
        judge(limitOf: content, expected, received)
        if let first = expected.first {
            judgeDelay(of: first, received)
        } else {
            judgeQuiet(received)
        }
        if content.retryAfterMs != nil && !isStopping(received) { refuse("it was sent away without a stop") }
        take(content.changes)
        let commits = expected.map(\.commit)
        settle(at: place)
        let drops = transcript.watched.suites.filter { name in commits.contains { $0.drops(name) } }
        switch content.scope {
        case .one(let schema, let isDropped):
            judge(schemas: [schema.suite: schema.revision], absentAsZero: true, at: place)
            if isDropped == drops.isEmpty { refuse("dropped is \(isDropped) up to \(place)") }
        case .several(let schemas, let dropped, let missing):
            judge(
                schemas: Dictionary(schemas.map { ($0.suite, $0.revision) }) { one, _ in one },
                absentAsZero: content.hasMore, at: place)
            if dropped != drops { refuse("\(dropped) are called dropped up to \(place), not \(drops)") }
            // With more to come, missing suites are those of now.
            if !content.hasMore, missing != known.model.missing {
                refuse("\(missing) are called missing at \(place), not \(known.model.missing)")
            }
        }
    }

    /// - Parameter absentAsZero: true if a suite that does not exist there may be named with zero, or left out.
    private mutating func judge(schemas: [SuiteName: Revision], absentAsZero: Bool, at place: Revision) {
        for name in transcript.watched.suites {
            let there = known.model.schemas[name]
            guard schemas[name] != there, !absentAsZero || (schemas[name] ?? .zero) != (there ?? .zero) else {
                continue
            }
            if absentAsZero, schemas[name] == nil { continue }
            refuse("the schema of \(name) is \(schemas[name] ?? .zero) at \(place), not \(there ?? .zero)")
        }
    }

    private mutating func judge(limitOf content: ObservedChanges, _ expected: ArraySlice<Concern>, _ received: Received)
    {
        guard case .poll(_, let limit, _) = received.ask.form, let limit else {
            // An answer without a limit ends at some megabytes of commits, of which it may show one change a key.
            let bytes = expected.reduce(0) { $0 + $1.commit.jsonBytes().count }
            if content.hasMore, bytes < 1 << 20 { refuse("there is more, without a limit") }
            return
        }
        let count = expected.reduce(0) { $0 + $1.changes.count }
        if count > limit && expected.count > 1 { refuse("\(count) changes, over the limit of \(limit)") }
        guard content.hasMore else { return }
        guard let next = concerning[(known.position + expected.count)...].first, let last = expected.last else {
            return refuse("there is said to be more, and is not")
        }
        if last.commit.revision != content.cursor.revision { refuse("the cursor is not that of the last commit") }
        if count + next.changes.count <= limit {
            refuse("\(count) changes, and more would be within \(limit)")
        }
    }

    mutating func judge(_ content: StreamCommit, _ received: Received) {
        guard let since = known.cursor else { return refuse("a commit comes before any state") }
        guard take(content.cursor, received, from: since, isNewest: false) else { return }
        let place = content.cursor.revision
        let expected = expected(upTo: place)
        guard expected.count == 1, let next = expected.first, next.commit.revision == place else {
            // A stream whose place is forgotten gets the drop without what led to it.
            guard content.scope == .one(schemaRevision: nil, isDropped: true), content.changes.isEmpty,
                record.isForgotten(since, at: place)
            else { return refuse("\(place) comes as one commit where \(expected.map(\.commit.revision)) come next") }
            advance(to: place)
            if !known.model.suites.isEmpty { refuse("the suite exists at \(place)") }
            known.view = [:]
            return settle(at: place)
        }
        judge(content.changes, against: expected, received)
        judgeDelay(of: next, received)
        take(content.changes)
        settle(at: place)
        let schemas = next.commit.suiteChanges.compactMap { change -> SuiteRevision? in
            guard transcript.watched.suites.contains(change.suite) else { return nil }
            return switch change.kind {
            case .schemaSet(let revision, _): SuiteRevision(suite: change.suite, revision: revision)
            case .schemaRemoved: SuiteRevision(suite: change.suite, revision: place)
            case .created, .dropped: nil
            }
        }
        let drops = transcript.watched.suites.filter(next.commit.drops)
        let scope: StreamCommit.Scope =
            transcript.watched.isOne
            ? .one(schemaRevision: schemas.last?.revision, isDropped: !drops.isEmpty)
            : .several(schemas: schemas, dropped: drops)
        if content.scope != scope { refuse("\(place) comes with \(content.scope), not \(scope)") }
    }

    /// Compares changes with those of the expected commits.
    private mutating func judge(_ changes: [Change], against expected: ArraySlice<Concern>, _ received: Received) {
        for change in changes where !transcript.watched.admits(change) {
            refuse("\(change.brief) is not what is watched")
        }
        for (one, next) in zip(changes, changes.dropFirst()) where one.revision > next.revision {
            refuse("\(next.brief) comes after \(one.brief)")
        }
        var due = expected.flatMap(\.changes)
        if case .poll(_, _, true) = received.ask.form { due = due.newest() }
        guard changes.inOrder() != due.inOrder() else { return }
        let missing = due.filter { !changes.contains($0) }
        let wrong = changes.filter { !due.contains($0) }
        refuse(
            "up to \(expected.last?.commit.revision ?? .zero) are missing: \(missing.map(\.brief)), and unexpected: "
                + "\(wrong.map(\.brief)), of \(due.count) and \(changes.count)")
    }
}

extension Commit {
    /// True if it drops a suite.
    func drops(_ suite: SuiteName) -> Bool {
        suiteChanges.contains { $0.suite == suite && $0.kind == .dropped }
    }
}

extension Change {
    /// What a message says of it.
    var brief: String {
        "\(revision) \(suite)/\(key) \(old?.jsonText() ?? "-") \(oldSource) -> \(new?.jsonText() ?? "-") \(source)"
    }
}

extension [Change] {
    /// By revision, suite and key, since the order within a commit is not promised.
    fileprivate func inOrder() -> [Change] {
        sorted { ($0.revision, $0.suite, $0.key) < ($1.revision, $1.suite, $1.key) }
    }

    /// Of each key the last change, from before its first.
    fileprivate func newest() -> [Change] {
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
