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
        case .transaction(let transaction):
            transaction.operations.reduce(0) { $0 > limit ? $0 : $0 + effort(of: $1, upTo: limit) }
        }
    }

    private func effort(of operation: Transaction.Operation, upTo limit: Int) -> Int {
        guard let suite = suite(operation.suite) else { return 0 }
        var rest = limit - suite.ruleEffort
        if case .change = operation.action {
            _ = suite.effectiveValue(of: suite.record(operation.key))?.isWithin(&rest)
        }
        return limit - rest
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
