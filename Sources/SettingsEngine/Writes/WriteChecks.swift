internal import SettingsAPI
internal import SettingsModel

/// The bounds of a write, which are checked on the way.
extension WriteDraft {
    /// Throws when all steps are taken. Inlined, as the draft is copied for a call.
    @inline(__always)
    func checkSteps() throws(Problem) {
        if steps <= 0 { throw .tooManySteps }
    }

    /// Throws if a write changes too many keys, which would hold up all others. Inlined, as the draft is copied for a call.
    @inline(__always)
    func checkCount(_ keys: Int) throws(Problem) {
        if keys > commitKeys { throw Problem(touchesMoreThan: commitKeys) }
    }

    /// Takes the steps of finding out what is wrong with an invalid value, which a refusal shows.
    mutating func checkInvalid(_ record: KeyRecord, in suite: Suite?) throws(Problem) {
        guard record.standing == .invalid, let suite else { return }
        _ = suite.invalidity(of: record, steps: &steps)
        try checkSteps()
    }
}

/// The check of the values that are left in the end.
extension WriteDraft {
    /// The number of unknown keys that get a suggestion. Each costs a search of all names, and other writes wait.
    private static let mostSuggested = 16
    /// From so many violations on no further value is checked.
    private static let mostListed = 1000

    /// Throws if the schemas do not allow the write, with all violations: names and single values first, then suites.
    mutating func check() throws(Problem) {
        try check(touched)
    }

    /// Throws if the schemas do not allow what the write does to its keys.
    mutating func check(_ keys: some Collection<KeyDraft>) throws(Problem) {
        var violations: [Violation] = []
        for key in keys {
            key.isDifferent = key.differs
            guard key.isDifferent, !key.isChecked, key.schema != nil else { continue }
            if violations.count < Self.mostListed, steps > 0 { violations += self.violations(of: key) }
        }
        try checkSteps()
        if let first = unknown.first {
            var problem = first.suite.unknownKey(first.key, for: request.reader, status: 422)
            problem.pointer = first.pointer
            let reader = request.reader
            problem.errors =
                unknown.enumerated().map { $1.violation(for: reader, suggests: $0 < Self.mostSuggested) } + violations
            throw problem
        }
        if keys.contains(where: { $0.isUnderSuiteRules }) {
            violations += suiteViolations(Array(keys))
            try checkSteps()
        }
        if !violations.isEmpty { throw Problem(violations: violations) }
    }

    /// Throws if the rules of a suite do not allow that it stores nothing.
    mutating func checkRules(ofEmptied suite: Suite) throws(Problem) {
        guard let schema = suite.schema?.schema, schema.hasSuiteRules else { return }
        let keys = schema.suiteRuleKeys
        let violations = schema.newSuiteViolations(
            before: schema.effectiveValues(stored: suite.storedValues(of: keys), of: keys),
            after: schema.effectiveValues(stored: JSONObject(), of: keys), secrets: suite.keptSecrets(of: keys),
            steps: &steps)
        try checkSteps()
        if !violations.isEmpty {
            throw Problem(
                violations: violations.map {
                    $0.inSuite(suite.id, under: .root).shown(to: request.reader, of: suite.id)
                })
        }
    }

    private mutating func violations(of key: KeyDraft) -> [Violation] {
        guard let stored = key.stored, let schema = key.schema else { return [] }
        let isSecret = key.isStoredSecret || schema.isSecret
        return schema.violations(of: stored, isSecret: isSecret, steps: &steps).map {
            $0.inSuite(key.suite, under: key.pointer)
        }
    }

    /// The violations of rules about suites as a whole that the write adds.
    private mutating func suiteViolations(_ touched: [KeyDraft]) -> [Violation] {
        var judged: Set<SuiteName> = []
        var violations: [Violation] = []
        for key in touched where key.isUnderSuiteRules && key.isDifferent && !judged.contains(key.suite) {
            judged.insert(key.suite)
            guard let suite = state.suite(key.suite), let schema = suite.schema?.schema else { continue }
            let keys = schema.suiteRuleKeys
            let touched = touched.filter { key in
                key.suite == suite.id && keys?.contains(UTF8Text(key.key.text)) ?? true
            }
            guard touched.contains(where: \.isDifferent) else { continue }
            let stored = suite.storedValues(of: keys)
            var storedAfter = stored
            for key in touched where key.isWritten { storedAfter[key.key.text] = key.stored }
            let before = schema.effectiveValues(stored: stored, of: keys)
            let after = schema.effectiveValues(stored: storedAfter, of: keys)
            let secrets = touched.filter(\.isStoredSecret).map(\.key)
            let new = schema.newSuiteViolations(
                before: before, after: after, secrets: suite.keptSecrets(of: keys) + secrets, steps: &steps)
            violations += new.map { $0.inSuite(suite.id, under: .root).shown(to: request.reader, of: suite.id) }
            if after.count > max(before.count, Schema.mostKeysUnderBroadRule), let keyword = schema.broadSuiteRule {
                violations.append(Violation(tooManyKeysUnder: keyword).inSuite(suite.id, under: .root))
            }
        }
        return violations
    }
}

extension Problem {
    /// The problem of a write that takes more steps of checking than it has.
    fileprivate static var tooManySteps: Problem {
        Problem(violations: [
            Violation(
                pointer: .root, keyword: "limit",
                detail: "the names and values of this write take too long to check together; write fewer at a time")
        ])
    }

    fileprivate init(touchesMoreThan keys: Int) {
        self.init(.tooLarge, "the write touches more than \(keys) keys; do it in parts, or raise limits.commitKeys")
        self.limit = Int64(keys)
    }
}

extension Violation {
    /// The violation of a suite with more keys than are checked with each write.
    init(tooManyKeysUnder keyword: String) {
        self.init(
            pointer: .root, keyword: keyword,
            detail: "looks at all keys of the suite with each write, so the suite may have at most "
                + "\(Schema.mostKeysUnderBroadRule)")
    }
}

extension WriteDraft.UnknownKey {
    fileprivate func violation(for reader: Grants?, suggests: Bool) -> Violation {
        Violation(
            suite: suite.name, key: key.text, pointer: pointer, keyword: "additionalProperties",
            detail: suite.unknownKey(key, for: reader, suggests: suggests).detail)
    }
}

extension Violation {
    /// The violation without what a writer may not see.
    fileprivate func shown(to reader: Grants?, of suite: SuiteName) -> Violation {
        guard let reader, !isShown(to: reader, of: suite) else { return self }
        return Violation(
            suite: suite.text, keyword: keyword, detail: "has a rule about keys that this caller may not read")
    }
}
