internal import SettingsAPI
internal import SettingsModel

extension State {
    /// The work of deciding a write beside that for its body, as the weight of what has to be read; if that is more than a
    /// limit, some number above the limit.
    package func effort(of command: WriteRequest.Command, upTo limit: Int) -> Int {
        switch command {
        case .setting(let operation): effort(of: operation, upTo: limit)
        case .mergeSuite(let name, let values):
            effort(ofTouching: values.lazy.map(\.name), in: name, upTo: limit)
        case .replaceSuite(let name, _), .resetSuite(let name, _), .dropSuite(let name), .setSchema(let name, _, _),
            .removeSchema(let name):
            suite(name)?.weight(upTo: limit) ?? 0
        case .refuseSchema: 0
        case .undo(let undo, let suite, _): effort(of: undo, in: suite, upTo: limit)
        case .restore(let name, let restore, _): effort(of: restore, in: name, upTo: limit)
        case .transaction(let transaction):
            transaction.operations.reduce(0) { $0 > limit ? $0 : $0 + effort(of: $1, upTo: limit) }
        }
    }

    /// True if deciding a write takes checks of names or values that were not done before, so that it may turn out to be long.
    package func checksValues(of request: WriteRequest) -> Bool {
        switch request.command {
        case .setting(let operation): checksValues(of: operation, request.checkedAgainst)
        case .mergeSuite(let name, _), .replaceSuite(let name, _), .resetSuite(let name, _), .dropSuite(let name),
            .removeSchema(let name):
            schema(of: name) != nil
        case .setSchema(let name, _, _): hasSuite(name)
        case .undo, .restore: true
        case .refuseSchema: false
        case .transaction(let transaction):
            transaction.operations.contains { checksValues(of: $0, nil) }
                || transaction.conditions.contains { condition in
                    guard case .setting(let name, _, _) = condition else { return false }
                    return schema(of: name) != nil
                }
        }
    }

    private func checksValues(of operation: Transaction.Operation, _ checked: SchemaVersion?) -> Bool {
        // Borrowed, as nearly every write comes by here.
        let checks = suites.with(operation.suite.text.utf8Span.span) { suite in
            guard let version = suite.schema else { return false }
            if version.schema.hasSuiteRules || suite.record(operation.key).standing == .invalid { return true }
            if case .delete = operation.action { return false }
            return checked !== version
        }
        return checks ?? false
    }

    private func effort(of undo: UndoRequest, in name: SuiteName?, upTo limit: Int) -> Int {
        guard let kept = history.commit(undo.revision) else { return 0 }
        // The validator checks all stored values against a schema that comes back.
        let suites = Set(kept.commit.suiteChanges.map(\.suite))
        var later = kept.size / 8
        kept.forEachSuite { suite in
            if later <= limit { later += history.weight(of: suite, after: undo.revision, upTo: limit) }
        }
        return suites.reduce(later) { $0 > limit ? $0 : $0 + (suite($1)?.weight(upTo: limit) ?? 0) }
    }

    private func effort(of restore: RestoreRequest, in name: SuiteName, upTo limit: Int) -> Int {
        // All commits may have to be looked at for the last one before an instant.
        guard case .revision(let revision) = restore.moment else { return limit + 1 }
        return history.weight(of: name, after: revision, upTo: limit) + (suite(name)?.weight(upTo: limit) ?? 0)
    }

    private func effort(of operation: Transaction.Operation, upTo limit: Int) -> Int {
        suites.with(operation.suite.text.utf8Span.span) { suite in
            var rest = limit - suite.ruleEffort
            // The value before stands in the journal, too.
            let record = suite.record(operation.key)
            if case .change = operation.action {
                _ = suite.effectiveValue(of: record)?.isWithin(&rest)
            } else {
                _ = record.stored?.isWithin(&rest)
            }
            return limit - rest
        } ?? 0
    }

    private func effort(ofTouching names: some Sequence<String>, in suite: SuiteName, upTo limit: Int) -> Int {
        guard let suite = self.suite(suite) else { return 0 }
        var rest = limit - suite.ruleEffort
        for name in names where rest >= 0 {
            rest -= 4
            _ = suite.records.find(name)?.stored?.isWithin(&rest)
        }
        return limit - rest
    }
}

extension Suite {
    /// The work of checking the rules about the suite as a whole.
    fileprivate var ruleEffort: Int {
        guard let schema = schema?.schema, schema.hasSuiteRules else { return 0 }
        return 8 * (schema.suiteRuleKeys?.count ?? (records.count + schema.keys.count))
    }
}
