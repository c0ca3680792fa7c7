internal import SettingsAPI
internal import SettingsModel

/// A suite as a value, with the rules of the daemon: revisions, changes with their sources, conditions, a schema.
struct InMemorySuite: Sendable {
    let name: SuiteName
    var schema: Schema?
    /// The commit that set the schema or removed it.
    var schemaRevision: Revision
    /// Whether something may be stored that the schema does not allow: it was there before.
    var hasLeftovers = false
    private(set) var cursor: Cursor

    private(set) var records: [KeyName: Record] = [:]
    private var exists: Bool
    private var history: [Commit] = []
    /// The place that the history kept begins after.
    private var oldest = Revision.zero
    private var answers: [RequestKey: Answer] = [:]
    private var answered: [RequestKey] = []

    private static let mostKept = 1024

    /// What is known of a key that was ever stored.
    struct Record: Sendable {
        var stored: JSONValue?
        var revision = Revision.zero
        var modified: Timestamp?
        /// True if what is stored is a secret, whatever the schema says.
        var isSecret = false
    }

    private struct Commit: Sendable {
        let revision: Revision
        let changes: [Change]
    }

    /// What was asked for under a request key.
    enum Request: Hashable, Sendable {
        case transaction(Transaction)
        case reset
        case schema(JSONValue)
    }

    private struct Answer: Sendable {
        let request: Request
        let summary: WriteSummary
    }

    init(name: SuiteName, schema: Schema?, epoch: Epoch) {
        self.name = name
        self.schema = schema
        exists = schema != nil
        // A suite with a schema says so by a revision, as it tells that values may be defaults.
        schemaRevision = schema == nil ? .zero : Revision(1) ?? .zero
        cursor = Cursor(epoch: epoch, revision: schemaRevision)
    }

    /// What a new observer is told.
    func state(isReset: Bool = false) -> ObservedState {
        var keys = Set(records.keys)
        for key in schema?.keys ?? [] {
            if let name = try? KeyName(key.name) { keys.insert(name) }
        }
        let values = keys.sorted().compactMap { key in
            effective(key, records[key]?.stored).value.map { SuiteContents.Entry(key: key, value: $0) }
        }
        let contents = SuiteContents(
            suite: name, schemaRevision: schemaRevision, values: values, invalid: leftovers(among: keys),
            violations: violations)
        return ObservedState(.one(contents), cursor: cursor, isReset: isReset)
    }

    /// What happened after a place in history; nil if nothing did.
    func observation(since place: Cursor) -> SettingsObservation? {
        guard place.epoch == cursor.epoch, place.revision >= oldest else { return .state(state(isReset: true)) }
        guard place.revision < cursor.revision else { return nil }
        let known = history.lastIndex { $0.revision <= place.revision }
        let changes = history[(known.map { $0 + 1 } ?? 0)...].flatMap(\.changes)
        return .changes(
            ObservedChanges(
                .one(schema: SuiteRevision(suite: name, revision: schemaRevision), isDropped: false), cursor: cursor,
                changes: changes))
    }

    /// One setting as it is.
    func setting(_ key: KeyName) -> SettingState {
        let record = records[key] ?? Record()
        let (value, source) = effective(key, record.stored)
        var setting = SettingState(
            suite: name, key: key, value: value, source: source, revision: record.revision, modified: record.modified)
        setting.isSecret = isSecret(key)
        if source == .invalid, !setting.isSecret { setting.stored = record.stored }
        return setting
    }

    /// True if a key is a secret, or was one when what is stored was written, or since.
    func isSecret(_ key: KeyName) -> Bool {
        records[key]?.isSecret ?? false || schema?.key(key.text)?.isSecret ?? false
    }

    /// Has what is stored under secrets stay secret when the schema goes.
    mutating func keepSecrets() {
        for (key, record) in records where record.stored != nil && isSecret(key) { records[key]?.isSecret = true }
    }

    func effective(_ key: KeyName, _ stored: JSONValue?) -> (value: JSONValue?, source: Source) {
        if let stored { return isLeftover(key, stored) ? (nil, .invalid) : (stored, .stored) }
        let value = schema?.key(key.text)?.defaultValue
        return (value, value == nil ? .unset : .default)
    }
}

/// Writes.
extension InMemorySuite {
    /// Does a transaction, or nothing of it.
    mutating func commit(
        _ transaction: Transaction, requestKey: RequestKey, at time: Timestamp
    ) throws(Problem) -> WriteSummary {
        if let summary = try replay(.transaction(transaction), requestKey) { return summary }
        try checkNames(in: transaction)
        try check(transaction.conditions)
        var stored: [KeyName: JSONValue?] = [:]
        for operation in transaction.operations {
            try apply(operation, to: &stored)
        }
        try checkValues(stored)
        let summary = store(stored, at: time)
        keep(summary, of: .transaction(transaction), for: requestKey)
        return summary
    }

    /// Takes all stored values away.
    mutating func reset(requestKey: RequestKey, at time: Timestamp) throws(Problem) -> WriteSummary {
        if let summary = try replay(.reset, requestKey) { return summary }
        guard exists else { throw unknownSuite }
        let keys = records.filter { $0.value.stored != nil }.keys
        for key in keys where schema?.key(key.text)?.isLocked ?? false { throw locked(key) }
        let summary = store(Dictionary(uniqueKeysWithValues: keys.map { ($0, nil) }), at: time)
        keep(summary, of: .reset, for: requestKey)
        return summary
    }

    /// The first answer to a request that was done already.
    func replay(_ request: Request, _ requestKey: RequestKey) throws(Problem) -> WriteSummary? {
        guard let answer = answers[requestKey] else { return nil }
        guard answer.request == request else {
            throw Problem(.idempotencyMismatch, "the request key was used for another request")
        }
        var summary = answer.summary
        summary.isReplayed = true
        return summary
    }

    mutating func keep(_ summary: WriteSummary, of request: Request, for requestKey: RequestKey) {
        answers[requestKey] = Answer(request: request, summary: summary)
        answered.append(requestKey)
        // Half at a time, so that keeping the newest costs nothing on average.
        guard answered.count > 2 * Self.mostKept else { return }
        for old in answered.prefix(Self.mostKept) { answers[old] = nil }
        answered.removeFirst(Self.mostKept)
    }

    private func checkNames(in transaction: Transaction) throws(Problem) {
        let stores = transaction.operations.contains { if case .set = $0.action { true } else { false } }
        for operation in transaction.operations {
            guard operation.suite == name, exists || stores else { throw unknownSuite }
            guard let schema else { continue }
            guard let key = schema.key(operation.key.text) else {
                // What another schema left can be taken away.
                if operation.action == .delete, records[operation.key]?.stored != nil { continue }
                throw Problem(.unknownKey, status: 422, "suite \(name) has no key \(operation.key)")
            }
            if key.isLocked { throw locked(operation.key) }
        }
    }

    private func check(_ conditions: [Transaction.Condition]) throws(Problem) {
        var failed: [Problem.FailedCondition] = []
        for (index, condition) in conditions.enumerated() {
            switch condition {
            case .suite(let suite, let revision):
                let current = suite == name && exists ? cursor.revision : .zero
                if current == revision { continue }
                let state = SuiteRevision(suite: suite, revision: current)
                failed.append(Problem.FailedCondition(index: Int64(index), current: .suite(state)))
            case .setting(let suite, let key, let test):
                guard suite == name else { throw unknownSuite }
                let current = setting(key)
                if Self.holds(test, of: current) { continue }
                failed.append(Problem.FailedCondition(index: Int64(index), current: .setting(current.toldInErrors)))
            }
        }
        guard let first = failed.first else { return }
        var problem = Problem(.preconditionFailed, "condition \(first.index) does not hold")
        problem.failed = failed
        throw problem
    }

    private static func holds(_ test: Transaction.Condition.Test, of setting: SettingState) -> Bool {
        switch test {
        case .revision(let revision): setting.revision == revision
        case .stored(let isStored): setting.source.isStored == isStored
        case .value(let value): setting.value.map { value.isMathematicallyEqual(to: $0) } ?? false
        }
    }

    private func apply(_ operation: Transaction.Operation, to stored: inout [KeyName: JSONValue?]) throws(Problem) {
        let key = operation.key
        let rules = schema?.key(key.text)
        switch operation.action {
        case .set(let value):
            stored[key] = .some(rules?.normalized(value) ?? value)
        case .delete:
            stored[key] = .some(nil)
        case .change(let change):
            guard let value = effective(key, stored[key] ?? records[key]?.stored).value else {
                throw Problem(.notSet, "\(key) of suite \(name) is not set and has no default")
            }
            let result: JSONValue
            do {
                result = try change.applied(to: value, holdsIntegers: rules?.holdsIntegers ?? false)
            } catch {
                throw Problem(error, ofSecret: isSecret(key))
            }
            stored[key] = .some(rules?.normalized(result) ?? result)
        }
    }

    private func checkValues(_ stored: [KeyName: JSONValue?]) throws(Problem) {
        guard let schema else { return }
        var violations: [Violation] = []
        for (key, value) in stored.sorted(by: { $0.key < $1.key }) {
            guard let value, let rules = schema.key(key.text) else { continue }
            violations += rules.violations(of: value, isSecret: isSecret(key))
        }
        if schema.hasSuiteRules {
            let before = records.compactMapValues(\.stored)
            let after = records.mapValues(\.stored).merging(stored) { $1 }.compactMapValues(\.self)
            violations += schema.newSuiteViolations(
                before: schema.effectiveValues(stored: Self.object(before)),
                after: schema.effectiveValues(stored: Self.object(after)),
                secrets: records.filter(\.value.isSecret).map(\.key))
        }
        guard violations.isEmpty else { throw Problem(violations: violations) }
    }

    private static func object(_ values: [KeyName: JSONValue]) -> JSONObject {
        var object = JSONObject()
        for (key, value) in values { object[key.text] = value }
        return object
    }

    /// Makes the commit, if anything changes.
    private mutating func store(_ stored: [KeyName: JSONValue?], at time: Timestamp) -> WriteSummary {
        let revision = cursor.revision.advanced(by: 1) ?? cursor.revision
        var changes: [Change] = []
        for (key, value) in stored.sorted(by: { $0.key < $1.key }) {
            var record = records[key] ?? Record()
            guard record.stored != value else { continue }
            let (old, oldSource) = effective(key, record.stored)
            let (new, source) = effective(key, value)
            changes.append(
                Change(
                    suite: name, key: key, old: old, new: new, oldSource: oldSource, source: source,
                    revision: revision, modified: time, isSecret: isSecret(key)))
            let isSecret = value != nil && schema?.key(key.text)?.isSecret ?? false
            record = Record(stored: value, revision: revision, modified: time, isSecret: isSecret)
            records[key] = record
        }
        guard !changes.isEmpty else {
            return WriteSummary(revision: cursor.revision, changed: false, changes: [])
        }
        finish(changes, at: revision)
        return WriteSummary(revision: revision, changed: true, changes: changes)
    }

    private mutating func finish(_ changes: [Change], at revision: Revision) {
        exists = true
        cursor = Cursor(epoch: cursor.epoch, revision: revision)
        history.append(Commit(revision: revision, changes: changes))
        if history.count > 2 * Self.mostKept {
            oldest = history[Self.mostKept - 1].revision
            history.removeFirst(Self.mostKept)
        }
    }

    /// Commits what became of keys otherwise than by storing something.
    mutating func commit(_ changes: [Change], stored: [KeyName: JSONValue?], at revision: Revision, _ time: Timestamp) {
        for change in changes {
            let value = stored[change.key] ?? records[change.key]?.stored
            let isSecret = value != nil && isSecret(change.key)
            records[change.key] = Record(stored: value, revision: revision, modified: time, isSecret: isSecret)
        }
        finish(changes, at: revision)
    }

    private var unknownSuite: Problem {
        Problem(.unknownSuite, "there is no suite \(name)")
    }

    private func locked(_ key: KeyName) -> Problem {
        Problem(.locked, "\(key) of suite \(name) is read-only")
    }
}
