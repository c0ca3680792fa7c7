internal import SettingsModel

/// What a server said last of a suite, as a value: with the own writes that it has acknowledged.
struct SuiteSnapshot: Sendable {
    private let suite: SuiteName
    private(set) var cursor: Cursor
    /// Grows with each change.
    private(set) var version = 1
    /// That of a suite that does not exist is nil.
    private var schemaRevision: Revision?
    private var values: [KeyName: JSONValue] = [:]
    private var invalid: Set<KeyName> = []
    private var secrets: Set<KeyName> = []
    /// Keys of which is known what a later place in history made of them.
    private var ahead: [KeyName: Revision] = [:]

    init(_ state: ObservedState, of suite: SuiteName) {
        self.suite = suite
        cursor = state.cursor
        replace(by: state)
    }

    /// The state that an observer would be told.
    var state: ObservedState {
        guard let schemaRevision else { return ObservedState(.several([], missing: [suite]), cursor: cursor) }
        let contents = SuiteContents(
            suite: suite, schemaRevision: schemaRevision,
            values: values.sorted { $0.key < $1.key }.map { SuiteContents.Entry(key: $0.key, value: $0.value) },
            invalid: invalid.sorted().map { SchemaConflict(key: $0, stored: nil, errors: []) },
            secrets: secrets.sorted())
        return ObservedState(.one(contents), cursor: cursor)
    }

    /// Takes in what was told by following.
    mutating func take(_ observation: SettingsObservation) {
        switch observation {
        case .state(let state): take(state)
        case .changes(let told):
            guard told.cursor.epoch == cursor.epoch else { return }
            for change in told.changes { take(change) }
            guard told.cursor.revision > cursor.revision else { return }
            version += 1
            cursor = told.cursor
            if let schema = told.schema(of: suite) { schemaRevision = schema }
            ahead = ahead.filter { $0.value > told.cursor.revision }
        }
    }

    /// Takes in what an own write did.
    mutating func take(_ summary: WriteSummary) {
        for change in summary.changes { take(change) }
    }

    private mutating func take(_ state: ObservedState) {
        guard state.cursor.epoch == cursor.epoch else {
            // Only whoever follows leads from one history to another.
            guard state.isReset else { return }
            let version = version
            self = SuiteSnapshot(state, of: suite)
            self.version = version + 1
            return
        }
        guard state.cursor.revision > cursor.revision else { return }
        let known = self
        version += 1
        cursor = state.cursor
        replace(by: state)
        ahead = known.ahead.filter { $0.value > state.cursor.revision }
        for key in ahead.keys {
            values[key] = known.values[key]
            if known.invalid.contains(key) { invalid.insert(key) } else { invalid.remove(key) }
            if known.secrets.contains(key) { secrets.insert(key) } else { secrets.remove(key) }
        }
        if !ahead.isEmpty, schemaRevision == nil { schemaRevision = known.schemaRevision }
    }

    private mutating func replace(by state: ObservedState) {
        let contents = state.suites.first
        schemaRevision = contents?.schemaRevision
        values = Dictionary((contents?.values ?? []).map { ($0.key, $0.value) }, uniquingKeysWith: { $1 })
        invalid = Set((contents?.invalid ?? []).compactMap(\.key))
        secrets = Set(contents?.secrets ?? [])
    }

    private mutating func take(_ change: Change) {
        guard change.revision > max(cursor.revision, ahead[change.key] ?? .zero) else { return }
        version += 1
        ahead[change.key] = change.revision
        // Whatever is stored in a suite, the suite is there.
        schemaRevision = schemaRevision ?? .zero
        values[change.key] = change.new
        if change.source == .invalid { invalid.insert(change.key) } else { invalid.remove(change.key) }
        if change.isConcealed, change.source != .unset {
            secrets.insert(change.key)
        } else {
            secrets.remove(change.key)
        }
    }
}

extension ObservedChanges {
    /// The revision of the schema of a suite; nil if that is not told, as the suite does not exist.
    fileprivate func schema(of suite: SuiteName) -> Revision? {
        switch scope {
        case .one(let schema, _): schema.revision
        case .several(let schemas, _, _): schemas.first { $0.suite == suite }?.revision
        }
    }
}
