internal import SettingsAPI
internal import SettingsModel

/// From a draft to the changes that it amounts to.
extension Draft {
    /// How many unknown keys are held against those that there are, to say what may have been meant. Each costs a look
    /// at all of them, and the writer is one for all.
    private static let mostSuggested = 16

    /// Everything that the schemas say against the draft, all of it: names and single values first, then suites as a
    /// whole.
    func check() throws(Problem) {
        var violations: [Violation] = []
        for key in touched where key.isDifferent && !key.isChecked {
            guard let stored = key.stored, let schema = key.schema else { continue }
            for violation in schema.violations(of: stored, isSecret: key.isStoredSecret || schema.isSecret) {
                violations.append(violation.inSuite(key.suite, under: key.place))
            }
        }
        if let first = unknown.first {
            var problem = first.suite.unknownKey(first.key, status: 422)
            problem.pointer = first.pointer
            problem.errors = unknown.enumerated().map { $1.violation(suggests: $0 < Self.mostSuggested) } + violations
            throw problem
        }
        violations += suiteViolations()
        guard violations.isEmpty else { throw Problem(violations: violations) }
    }

    /// What the write breaks of rules about suites as a whole that was not broken before.
    private func suiteViolations() -> [Violation] {
        var judged: Set<SuiteName> = []
        var violations: [Violation] = []
        for key in touched where key.isDifferent && !judged.contains(key.suite) {
            let hasRules = state.suites.with(key.suite.text.utf8Span.span) { $0.schema?.schema.hasSuiteRules ?? false }
            guard hasRules ?? false else { continue }
            judged.insert(key.suite)
            guard let suite = state.suite(key.suite), let schema = suite.schema?.schema, schema.hasSuiteRules else {
                continue
            }
            let before = suite.storedValues()
            var after = before
            for key in touched where key.suite == suite.id && key.isChanged { after[key.key.text] = key.stored }
            let secrets = touched.filter { $0.suite == suite.id && $0.isStoredSecret }.map(\.key)
            let new = schema.newSuiteViolations(
                before: schema.effectiveValues(stored: before), after: schema.effectiveValues(stored: after),
                secrets: suite.keptSecrets() + secrets)
            violations += new.map { $0.inSuite(suite.id, under: .root) }
        }
        return violations
    }

    /// The changes, in the order in which keys were first touched.
    func changes(revision: Revision, time: Timestamp) -> [Change] {
        touched.filter(\.isDifferent).map { $0.change(revision: revision, time: time) }
    }

    /// The suites that come into being because something is stored in them.
    func created() -> [SuiteChange] {
        var created: [SuiteChange] = []
        var names: Set<SuiteName> = []
        for key in touched where key.isDifferent && key.stored != nil && !state.hasSuite(key.suite) {
            guard names.insert(key.suite).inserted else { continue }
            created.append(SuiteChange(suite: key.suite, kind: .created))
        }
        return created
    }
}

extension Draft.Touched {
    /// The change that this amounts to.
    func change(revision: Revision, time: Timestamp) -> Change {
        Change(
            suite: suite, key: key, old: valueBefore, new: value, oldSource: before.standing.source,
            source: standing.source, revision: revision, modified: time, isSecret: isSecret,
            record: Change.Record(
                oldRejected: before.standing == .invalid ? before.stored : nil,
                oldRevision: before.revision == .zero ? nil : before.revision,
                oldModified: before.modified.milliseconds == 0 ? nil : before.modified,
                wasSecret: before.isSecret, isSecret: isStoredSecret))
    }

    /// The setting as it is after the write, or as it stands if the write changes nothing.
    func setting(revision: Revision, time: Timestamp?) -> SettingState {
        var setting = SettingState(
            suite: suite, key: key, value: isDifferent ? value : valueBefore, source: standing.source,
            revision: revision, modified: time)
        setting.isSecret = isSecret
        setting.changed = isDifferent
        setting.previous = SettingState.Previous(
            value: valueBefore, source: before.standing.source, revision: before.revision)
        return setting
    }
}

extension Draft.UnknownKey {
    /// The key as one of all things that are wrong.
    fileprivate func violation(suggests: Bool) -> Violation {
        Violation(
            suite: suite.name, key: key.text, pointer: pointer, keyword: "additionalProperties",
            detail: suite.unknownKey(key, suggests: suggests).detail)
    }
}

extension Violation {
    /// The violation of a value that stands somewhere in a request about a suite.
    func inSuite(_ suite: SuiteName, under place: JSONPointer) -> Violation {
        var violation = self
        violation.suite = suite.text
        if place != .root { violation.pointer = JSONPointer(place.tokens + violation.pointer.tokens) }
        return violation
    }
}
