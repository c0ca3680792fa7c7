package import SettingsAPI
package import SettingsModel

/// The writes that set or remove the schema of a suite, which is a named set of settings. A draft is a write that is
/// being decided: checked against the staged state (the newest state, with the commits that are not durable yet), to
/// compute its commit or its refusal.
extension WriteDraft {
    /// Sets the schema of a suite. Creates the suite if it does not exist. The policy says whether stored values that
    /// the schema does not allow are kept or removed, or whether the write is refused.
    mutating func setSchema(
        _ name: SuiteName, _ schema: Schema, onConflict policy: ConflictPolicy
    ) throws(Problem) -> WriteDecision {
        let suite = state.suite(name)
        try checkSecretsStay(in: suite, under: schema)
        try checkSchemaGuards(of: name, suite)
        if let current = suite?.schema, current.schema.document == schema.document {
            return try decide(target: .schema(of: name), suites: [], changes: [])
        }
        try checkKeyCount((suite?.records.count ?? 0) + schema.keys.count)
        // The write looks each key up in the new schema, and in the old schema (if any) to find out whether the key was
        // a secret. So that these lookups do not exhaust the validation steps, each lookup gets additional steps.
        steps += Self.stepsPerKey * (suite?.records.count ?? 0) * (suite?.schema == nil ? 1 : 2)
        // Each write checks a keyword such as `propertyNames` on all keys of the suite, so the number of keys is
        // limited.
        if let keyword = schema.allKeysKeyword {
            let keyCount = schema.effectiveValues(stored: suite?.storedValues() ?? [:]).count
            if keyCount > Schema.maximumKeysForAllKeysKeyword {
                let violation = Violation(tooManyKeysFor: keyword)
                var problem = Problem(
                    .invalidSchema, "\(keyword) \(violation.detail), and suite \(name) would have \(keyCount) keys")
                problem.errors = [violation]
                throw problem
            }
        }
        var resetKeys: Set<KeyName> = []
        if policy != .keep, let stored = suite?.storedSettings(), !stored.isEmpty {
            let conflicts = schema.conflicts(storing: stored, steps: &steps)
            try checkValidationSteps()
            // `unlisted` has the conflicting keys beyond the maximum number that an error lists.
            resetKeys = Set(conflicts.keys.compactMap(\.key) + conflicts.unlisted)
            let kept = stored.filter { !resetKeys.contains($0.key) }
            // The daemon accepts a schema for a suite without stored values even if the suite violates a rule about the
            // suite as a whole, such as `minProperties`.
            let conflictsAfterReset =
                kept.isEmpty ? nil : conflicts.isEmpty ? conflicts : schema.conflicts(storing: kept, steps: &steps)
            try checkValidationSteps()
            let refused = policy == .refuse ? conflicts : conflictsAfterReset
            if let refused, !refused.isEmpty {
                throw Self.conflict(refused, in: name, resetHelps: conflictsAfterReset?.isEmpty ?? true)
            }
        }
        var suites = suite == nil ? [SuiteChange(suite: name, kind: .created)] : []
        var change = SuiteChange(
            name, .schemaSet(revision: revision, document: schema.document), recordingOldSchemaOf: suite)
        change.schemaText = schema.text
        suites.append(change)
        let changes = changes(of: suite, name, to: schema) { resetKeys.contains($0) }
        try checkValidationSteps()
        return try decide(
            target: .schema(of: name), suites: suites, changes: changes, created: suite?.schema == nil, schema: schema)
    }

    /// Returns the error for a document that is not a valid schema: the error of the first guard (precondition such as
    /// `If-Match`) that does not hold; the given problem if all guards hold.
    func refusal(of name: SuiteName, _ problem: Problem) -> Problem {
        do throws(Problem) {
            try checkSchemaGuards(of: name, state.suite(name))
            return problem
        } catch {
            return error
        }
    }

    mutating func removeSchema(_ name: SuiteName) throws(Problem) -> WriteDecision {
        let suite = try requireSuite(name)
        try checkSecretsStay(in: suite, under: nil)
        try checkSchemaGuards(of: name, suite)
        guard suite.schema != nil else { return try decide(target: .schema(of: name), suites: [], changes: []) }
        try checkKeyCount(suite.records.count)
        let removed = SuiteChange(name, .schemaRemoved, recordingOldSchemaOf: suite)
        steps += Self.stepsPerKey * suite.records.count
        let changes = changes(of: suite, name, to: nil) { _ in false }
        try checkValidationSteps()
        return try decide(target: .schema(of: name), suites: [removed], changes: changes)
    }

    /// Returns the changes of the keys of a suite that gets another schema (nil: none). The keys for which `isReset`
    /// returns true lose their stored values. A change has the effective value (the stored value, otherwise the default
    /// of the schema) and the source of the value (stored, default, unset or invalid).
    private mutating func changes(
        of suite: Suite?, _ name: SuiteName, to schema: Schema?, removing isReset: (KeyName) -> Bool
    ) -> [Change] {
        // The keys of a new suite have the revision (the number) of the last commit that dropped a suite, because a
        // dropped suite may have had the same keys.
        let suite = suite ?? Suite(name, revision: .zero, unknownKeyRevision: state.lastDropRevision)
        var changes: [Change] = []
        var recorded: Set<KeyName> = []
        suite.records.forEach { record in
            recorded.insert(record.key)
            let stored = isReset(record.key) ? nil : record.stored
            let change = Change(
                from: record, of: suite, to: stored, schema: schema, revision: revision, time: time, steps: &steps)
            if let change { changes.append(change) }
            // If no validation steps remain, the calling code refuses the write.
            return steps > 0
        }
        for listed in schema?.keys ?? [] where listed.defaultValue != nil {
            // `KeyName` never throws here, because the compiler of schemas accepts valid key names only.
            guard let key = try? KeyName(listed.name), !recorded.contains(key) else { continue }
            let change = Change(
                from: suite.record(key), of: suite, to: nil, schema: schema, revision: revision, time: time,
                steps: &steps)
            if let change { changes.append(change) }
        }
        return changes.ordered { $0.key < $1.key }
    }

    /// Throws if the new schema would reveal a secret that the caller may not read, or change the rules of such a
    /// secret. `restrictedGrants` is the grants (rights) of a caller that may not read everything; nil for any other
    /// caller.
    private func checkSecretsStay(in suite: Suite?, under schema: Schema?) throws(Problem) {
        guard let restrictedGrants = request.restrictedGrants, let suite else { return }
        var exposed: KeyName?
        suite.records.forEach { record in
            let isExposed =
                record.stored != nil && suite.isHidden(record, from: restrictedGrants)
                && !(schema?.keepsSecret(record.name, of: suite.schema?.schema) ?? false)
            if isExposed { exposed = record.key }
            return !isExposed
        }
        if let exposed { throw Problem(secret: exposed, of: suite.id, to: "change the rules of") }
    }

    /// Throws if a guard does not hold for the schema of the suite.
    private func checkSchemaGuards(of name: SuiteName, _ suite: Suite?) throws(Problem) {
        let revision = suite?.schemaRevision ?? .zero
        try checkGuards(
            of: "the schema of suite \(name)", at: revision, exists: suite?.schema != nil,
            current: .suite(SuiteRevision(suite: name, revision: revision)))
    }

    /// Makes the error for stored values that conflict with a new schema. `resetHelps` is true if the schema could be
    /// set after the conflicting values are removed.
    private static func conflict(_ conflicts: StoredConflicts, in suite: SuiteName, resetHelps: Bool) -> Problem {
        let listed = conflicts.all.map { conflict in
            var conflict = conflict
            conflict.errors = conflict.errors.map { $0.located(inSuite: suite) }
            return conflict
        }
        let reason = listed.first?.errors.first?.sentence ?? ""
        let furtherCount = listed.count + conflicts.unlisted.count - 1
        let more = furtherCount > 0 ? ", and \(furtherCount) more" : ""
        let remedy =
            resetHelps
            ? "?onConflict=keep keeps these values, ?onConflict=reset removes them"
            : "change the stored values, or keep them with ?onConflict=keep; the values that remain after "
                + "?onConflict=reset would not match either"
        var problem = Problem(
            .schemaConflict, "the content of suite \(suite) does not match the schema: \(reason)\(more); \(remedy)")
        problem.conflicts = listed
        problem.errors = conflicts.suite.map { $0.located(inSuite: suite) }
        return problem
    }
}

extension Schema {
    /// True if a key is a secret in this schema and has the same rules as in the old schema. With new rules, a caller
    /// could guess the secret, because a reader learns whether the secret satisfies the new rules.
    fileprivate func keepsSecret(_ name: String, of old: Schema?) -> Bool {
        guard isSecret(name), let rules = key(name), let old, let oldRules = old.key(name) else { return false }
        return standaloneDocument(of: rules) == old.standaloneDocument(of: oldRules)
            && (!hasSuiteRules || suiteRules == old.suiteRules)
    }

    /// The schema document without `properties`, which has the rules for the keys that the schema lists.
    private var suiteRules: JSONObject {
        var rules = document.object ?? [:]
        rules["properties"] = nil
        return rules
    }
}

extension Change {
    /// Makes the change of a key whose stored value becomes `stored` (nil: no value) and whose suite gets `schema`
    /// (nil: no schema). Returns nil if neither the value nor its source changes. Subtracts the steps of the validation
    /// from `steps`.
    init?(
        from record: KeyRecord, of suite: Suite, to stored: JSONValue?, schema: Schema?, revision: Revision,
        time: Timestamp, steps: inout Int
    ) {
        let key = schema?.key(record.name, steps: &steps)
        var isValid = schema == nil
        if let stored, let key { isValid = key.allows(stored, steps: &steps) }
        let valueSource: KeyRecord.ValueSource
        let value: JSONValue?
        if let stored {
            valueSource = isValid ? .stored : .invalid
            value = isValid ? stored : nil
        } else {
            value = key?.defaultValue
            valueSource = value == nil ? .unset : .default
        }
        let old = suite.effectiveValue(of: record)
        let wasSecret = record.isSecret || suite.schema?.schema.isSecret(record.name, steps: &steps) ?? false
        let isSecret = wasSecret || key?.isSecret ?? false
        guard valueSource != record.valueSource || stored != record.stored || old != value else { return nil }
        self.init(
            suite: suite.id, key: record.key, old: old, new: value, oldSource: record.valueSource.source,
            source: valueSource.source, revision: revision, modified: time, isSecret: isSecret,
            record: Record(
                before: record, invalidValue: valueSource == .invalid ? stored : nil,
                isSecret: isSecret && stored != nil))
    }
}

extension Problem {
    /// The error for a document that is not a valid schema. The error lists all faults of the document.
    package init(_ error: SchemaError) {
        let violations = error.problems.map { problem in
            Violation(pointer: problem.pointer, keyword: problem.keyword, detail: problem.detail)
        }
        let more = violations.count > 1 ? " (and \(violations.count - 1) more)" : ""
        self.init(.invalidSchema, (error.problems.first?.description ?? "the schema is not valid") + more)
        self.errors = violations
    }
}
