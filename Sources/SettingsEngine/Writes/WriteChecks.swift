internal import SettingsAPI
internal import SettingsModel

/// The limits of a draft. A draft is a write that is being decided: checked against the staged state (the newest state,
/// with the commits that are not durable yet), to compute its commit or its refusal. Each write has a budget of
/// validation steps, so that its validation does not delay other writes for long.
extension WriteDraft {
    /// Throws if the budget of validation steps is exhausted. Inlined, because the compiler would copy the whole
    /// `WriteDraft` for a call.
    @inline(__always)
    func checkValidationSteps() throws(Problem) {
        if steps <= 0 { throw .tooManySteps }
    }

    /// Throws if a write concerns too many keys, because it would delay other writes. Inlined, because the compiler
    /// would copy the whole `WriteDraft` for a call.
    @inline(__always)
    func checkKeyCount(_ keys: Int) throws(Problem) {
        if keys > commitKeys { throw Problem(tooManyKeys: commitKeys) }
    }

    /// Subtracts the steps of finding the violations of an invalid stored value, which the schema does not allow. An
    /// error about the setting lists the violations. Throws if the budget is exhausted.
    mutating func subtractStepsForViolations(of record: KeyRecord, in suite: Suite?) throws(Problem) {
        guard record.valueSource == .invalid, let suite else { return }
        _ = suite.violations(ofStoredValueIn: record, steps: &steps)
        try checkValidationSteps()
    }
}

/// Validation of the values that a write stores, after all its operations.
extension WriteDraft {
    /// The maximum number of unknown keys (keys that the schema does not admit) for which the error suggests similar
    /// keys. The number is small, because each suggestion takes a search of all keys.
    private static let maximumSuggestions = 16
    /// The number of violations after which the daemon validates no further value. It limits the size of the error.
    private static let maximumViolations = 1000

    /// Throws if the schemas do not allow the write. The error lists unknown keys and invalid values. If there are no
    /// unknown keys, it also lists violations of rules about suites (named sets of settings) as a whole, such as
    /// `minProperties`.
    mutating func check() throws(Problem) {
        try check(keyDrafts)
    }

    /// Does the same as ``check()``, but for the given keys only. Sets `isDifferent` of each key.
    mutating func check(_ keys: some Collection<KeyDraft>) throws(Problem) {
        var violations: [Violation] = []
        var bodyLocation = JSONPointer.root
        for key in keys {
            key.isDifferent = key.differsFromBefore
            guard key.isDifferent, !key.isChecked, key.schema != nil else { continue }
            guard violations.count < Self.maximumViolations, steps > 0 else { continue }
            if violations.isEmpty { bodyLocation = key.pointer }
            violations += self.violations(of: key)
        }
        try checkValidationSteps()
        if let first = unknownKeys.first {
            var problem = first.suite.unknownKey(first.key, for: request.restrictedGrants, status: 422)
            problem.pointer = first.pointer
            let restrictedGrants = request.restrictedGrants
            let maximum = Self.maximumSuggestions
            problem.errors =
                unknownKeys.enumerated().map { $1.violation(for: restrictedGrants, suggestsSimilarKeys: $0 < maximum) }
                + violations
            throw problem
        }
        if keys.contains(where: { $0.isUnderSuiteRules }) {
            violations += suiteViolations(Array(keys))
            try checkValidationSteps()
        }
        if !violations.isEmpty { throw Problem(violations: violations, bodyLocation: bodyLocation) }
    }

    /// Throws if the schema's rules about the suite as a whole do not allow the suite without any stored value. Ignores
    /// violations that the suite already has.
    mutating func checkRules(ofEmptied suite: Suite) throws(Problem) {
        guard let schema = suite.schema?.schema, schema.hasSuiteRules else { return }
        let keys = schema.suiteRuleKeys
        let violations = schema.newSuiteViolations(
            before: schema.effectiveValues(stored: suite.storedValues(of: keys), of: keys),
            after: schema.effectiveValues(stored: JSONObject(), of: keys), secrets: suite.markedSecrets(of: keys),
            steps: &steps)
        try checkValidationSteps()
        if !violations.isEmpty {
            throw Problem(
                violations: violations.map {
                    $0.located(inSuite: suite.id).shown(to: request.restrictedGrants, of: suite.id)
                })
        }
    }

    private mutating func violations(of key: KeyDraft) -> [Violation] {
        guard let stored = key.stored, let schema = key.schema else { return [] }
        let isSecret = key.isStoredSecret || schema.isSecret
        return schema.violations(of: stored, isSecret: isSecret, steps: &steps).map {
            $0.located(inSuite: key.suite, bodyLocation: key.pointer)
        }
    }

    /// Returns the violations of rules about suites as a whole, except violations that existed before the write.
    private mutating func suiteViolations(_ keyDrafts: [KeyDraft]) -> [Violation] {
        var checkedSuites: Set<SuiteName> = []
        var violations: [Violation] = []
        for key in keyDrafts where key.isUnderSuiteRules && key.isDifferent && !checkedSuites.contains(key.suite) {
            checkedSuites.insert(key.suite)
            guard let suite = state.suite(key.suite), let schema = suite.schema?.schema else { continue }
            // The keys that the rules use; nil if the rules use all keys.
            let keys = schema.suiteRuleKeys
            let relevantKeys = keyDrafts.filter { key in
                key.suite == suite.id && keys?.contains(UTF8Text(key.key.text)) ?? true
            }
            guard relevantKeys.contains(where: \.isDifferent) else { continue }
            let stored = suite.storedValues(of: keys)
            var storedAfter = stored
            for key in relevantKeys where key.isWritten { storedAfter[key.key.text] = key.stored }
            let before = schema.effectiveValues(stored: stored, of: keys)
            let after = schema.effectiveValues(stored: storedAfter, of: keys)
            let secrets = relevantKeys.filter(\.isStoredSecret).map(\.key)
            let added = schema.newSuiteViolations(
                before: before, after: after, secrets: suite.markedSecrets(of: keys) + secrets, steps: &steps)
            violations += added.map { $0.located(inSuite: suite.id).shown(to: request.restrictedGrants, of: suite.id) }
            if let keyword = schema.allKeysKeyword,
                after.count > max(before.count, Schema.maximumKeysForAllKeysKeyword)
            {
                violations.append(Violation(tooManyKeysFor: keyword).located(inSuite: suite.id))
            }
        }
        return violations
    }
}

extension Problem {
    fileprivate static var tooManySteps: Problem {
        Problem(violations: [
            Violation(
                pointer: .root, keyword: "limit",
                detail: "validating the names and values of the write takes too long; write fewer keys at a time")
        ])
    }

    fileprivate init(tooManyKeys limit: Int) {
        self.init(
            .tooLarge,
            "the write changes or checks more than \(limit) keys; split it into several writes, or raise "
                + "limits.commitKeys")
        self.limit = Int64(limit)
    }
}

extension Violation {
    /// Makes the violation of a suite with too many keys for a keyword that the daemon checks on all keys for each
    /// write.
    init(tooManyKeysFor keyword: String) {
        self.init(
            pointer: .root, keyword: keyword,
            detail: "applies to all keys of the suite, so the suite must have at most "
                + "\(Schema.maximumKeysForAllKeysKeyword) keys")
    }
}

extension WriteDraft.UnknownKey {
    fileprivate func violation(for restrictedGrants: Grants?, suggestsSimilarKeys: Bool) -> Violation {
        Violation(
            suite: suite.name, key: key.text, pointer: pointer, keyword: "additionalProperties",
            detail: suite.unknownKey(key, for: restrictedGrants, suggestsSimilarKeys: suggestsSimilarKeys).detail)
    }
}

extension Violation {
    /// Returns the violation as a caller may see it: without its details if the caller may not read the key that the
    /// violation names, or, for a violation without a key, the whole suite. `restrictedGrants`
    /// is the grants (rights) of a caller that may not read everything; otherwise nil.
    fileprivate func shown(to restrictedGrants: Grants?, of suite: SuiteName) -> Violation {
        guard let restrictedGrants, !isShown(to: restrictedGrants, of: suite) else { return self }
        return Violation(
            suite: suite.text, keyword: keyword,
            detail:
                "a rule depends on keys that this caller may not read; request read access to the whole suite"
        )
    }
}
