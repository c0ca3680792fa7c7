internal import SettingsAPI
internal import SettingsModel

/// Setting and removing schemas.
extension WriteDraft {
    mutating func setSchema(
        _ name: SuiteName, _ schema: Schema, onConflict policy: WriteRequest.ConflictPolicy
    ) throws(Problem) -> WriteDecision {
        let suite = state.suite(name)
        try checkSecrets(of: suite, stayUnder: schema)
        try checkSchemaGuards(of: name, suite)
        if let current = suite?.schema, current.schema.document == schema.document {
            return try finish(.schema(of: name), suites: [], [])
        }
        try checkCount((suite?.records.count ?? 0) + schema.keys.count)
        // The schema before has to be asked, too, for the keys that it calls secrets.
        steps += Self.stepsForKey * (suite?.records.count ?? 0) * (suite?.schema == nil ? 1 : 2)
        if let keyword = schema.broadSuiteRule {
            let count = schema.effectiveValues(stored: suite?.storedValues() ?? [:]).count
            if count > Schema.mostKeysUnderBroadRule {
                let violation = Violation(tooManyKeysUnder: keyword)
                var problem = Problem(
                    .invalidSchema, "\(keyword) \(violation.detail), and \(name) would have \(count)")
                problem.errors = [violation]
                throw problem
            }
        }
        var reset: Set<KeyName> = []
        if policy != .keep, let stored = suite?.storedSettings(), !stored.isEmpty {
            let conflicts = schema.conflicts(storing: stored, steps: &steps)
            try checkSteps()
            reset = Set(conflicts.keys.compactMap(\.key) + conflicts.unlisted)
            let kept = stored.filter { !reset.contains($0.key) }
            // Rules are not held against a suite that stores nothing, as with a new one.
            let rest =
                kept.isEmpty ? nil : conflicts.isEmpty ? conflicts : schema.conflicts(storing: kept, steps: &steps)
            try checkSteps()
            let told = policy == .refuse ? conflicts : rest
            if let told, !told.isEmpty {
                throw Self.conflict(told, in: name, resetHelps: rest?.isEmpty ?? true)
            }
        }
        var suites = suite == nil ? [SuiteChange(suite: name, kind: .created)] : []
        var change = SuiteChange(
            name, .schemaSet(revision: revision, document: schema.document), endingSchemaOf: suite)
        change.schemaText = schema.text
        suites.append(change)
        let changes = changes(of: suite, name, to: schema) { reset.contains($0) }
        try checkSteps()
        return try finish(
            .schema(of: name), suites: suites, changes, created: suite?.schema == nil, schema: schema)
    }

    /// Returns the problem of a document that is no schema: its mistakes, unless a guard does not hold.
    func refusal(of name: SuiteName, _ problem: Problem) -> Problem {
        do throws(Problem) {
            try checkSchemaGuards(of: name, state.suite(name))
            return problem
        } catch {
            return error
        }
    }

    mutating func removeSchema(_ name: SuiteName) throws(Problem) -> WriteDecision {
        let suite = try existing(name)
        try checkSecrets(of: suite, stayUnder: nil)
        try checkSchemaGuards(of: name, suite)
        guard suite.schema != nil else { return try finish(.schema(of: name), suites: [], []) }
        try checkCount(suite.records.count)
        let removed = SuiteChange(name, .schemaRemoved, endingSchemaOf: suite)
        steps += Self.stepsForKey * suite.records.count
        let changes = changes(of: suite, name, to: nil) { _ in false }
        try checkSteps()
        return try finish(.schema(of: name), suites: [removed], changes)
    }

    /// The changes of keys when another schema, or none, comes into force: of those that are stored, and of those that
    /// either of the schemas lists.
    private mutating func changes(
        of suite: Suite?, _ name: SuiteName, to schema: Schema?, removing isReset: (KeyName) -> Bool
    ) -> [Change] {
        let suite = suite ?? Suite(name, revision: .zero, unknownKeyRevision: state.lastDrop)
        var changes: [Change] = []
        var recorded: Set<KeyName> = []
        suite.records.forEach { record in
            recorded.insert(record.key)
            let stored = isReset(record.key) ? nil : record.stored
            let change = Change(
                from: record, of: suite, to: stored, schema: schema, revision: revision, time: time, steps: &steps)
            if let change { changes.append(change) }
            return steps > 0
        }
        for listed in schema?.keys ?? [] where listed.defaultValue != nil {
            // The schema was compiled: its keys are names.
            guard let key = try? KeyName(listed.name), !recorded.contains(key) else { continue }
            let change = Change(
                from: suite.record(key), of: suite, to: nil, schema: schema, revision: revision, time: time,
                steps: &steps)
            if let change { changes.append(change) }
        }
        return changes.ordered { $0.key < $1.key }
    }

    /// Throws if a stored secret that the writer may not read would be one no more.
    private func checkSecrets(of suite: Suite?, stayUnder schema: Schema?) throws(Problem) {
        guard let reader = request.reader, let suite else { return }
        var lifted: KeyName?
        suite.records.forEach { record in
            let isLifted =
                record.stored != nil && suite.isHidden(record, from: reader)
                && !(schema?.judges(record.name, as: suite.schema?.schema) ?? false)
            if isLifted { lifted = record.key }
            return !isLifted
        }
        if let lifted { throw Problem(secret: lifted, of: suite.id, to: "change the rules of") }
    }

    private func checkSchemaGuards(of name: SuiteName, _ suite: Suite?) throws(Problem) {
        let revision = suite?.schemaRevision ?? .zero
        try checkGuards(
            of: "the schema of suite \(name)", at: revision, exists: suite?.schema != nil,
            current: .suite(SuiteRevision(suite: name, revision: revision)))
    }

    /// - Parameter resetHelps: true if the rest is valid without the values that do not fit by themselves.
    private static func conflict(
        _ conflicts: StoredConflicts, in suite: SuiteName, resetHelps: Bool
    ) -> Problem {
        let told = conflicts.all.map { conflict in
            var conflict = conflict
            conflict.errors = conflict.errors.map { $0.inSuite(suite, under: .root) }
            return conflict
        }
        let reason = told.first?.errors.first?.sentence ?? ""
        let others = told.count + conflicts.unlisted.count - 1
        let more = others > 0 ? " (and \(others) more)" : ""
        let remedy =
            resetHelps
            ? "?onConflict=keep leaves such values as they are, ?onConflict=reset removes them"
            : "change what is stored, or leave it as it is with ?onConflict=keep; the values left by ?onConflict=reset "
                + "would not fit together either"
        var problem = Problem(
            .schemaConflict, "what suite \(suite) stores does not fit the schema: \(reason)\(more); \(remedy)")
        problem.conflicts = told
        problem.errors = conflicts.suite.map { $0.inSuite(suite, under: .root) }
        return problem
    }
}

extension Schema {
    /// True if a key is a secret here and has the same rules as in another schema. A caller could guess a secret letter by
    /// letter with rules of its own.
    fileprivate func judges(_ name: String, as other: Schema?) -> Bool {
        guard isSecret(name), let rules = key(name), let other, let others = other.key(name) else { return false }
        return standaloneDocument(of: rules) == other.standaloneDocument(of: others)
            && (!hasSuiteRules || suiteRules == other.suiteRules)
    }

    /// The document without the rules of single keys.
    private var suiteRules: JSONObject {
        var rules = document.object ?? [:]
        rules["properties"] = nil
        return rules
    }
}

extension Change {
    /// The change of a key under a schema, or none, with a stored value or none; nil if it stays as it is. Takes the steps of
    /// checking from those that are left.
    init?(
        from record: KeyRecord, of suite: Suite, to stored: JSONValue?, schema: Schema?, revision: Revision,
        time: Timestamp, steps: inout Int
    ) {
        let key = schema?.key(record.name, steps: &steps)
        var isValid = schema == nil
        if let stored, let key { isValid = key.allows(stored, steps: &steps) }
        let standing: KeyRecord.Standing
        let value: JSONValue?
        if let stored {
            standing = isValid ? .stored : .invalid
            value = isValid ? stored : nil
        } else {
            value = key?.defaultValue
            standing = value == nil ? .unset : .default
        }
        let old = suite.effectiveValue(of: record)
        let wasSecret = record.isSecret || suite.schema?.schema.isSecret(record.name, steps: &steps) ?? false
        let isSecret = wasSecret || key?.isSecret ?? false
        guard standing != record.standing || stored != record.stored || old != value else { return nil }
        self.init(
            suite: suite.id, key: record.key, old: old, new: value, oldSource: record.standing.source,
            source: standing.source, revision: revision, modified: time,
            isSecret: isSecret,
            record: Record(
                before: record, rejected: standing == .invalid ? stored : nil, isSecret: isSecret && stored != nil))
    }
}
