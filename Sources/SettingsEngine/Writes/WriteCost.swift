internal import SettingsAPI
internal import SettingsModel

/// What deciding a write takes.
package struct WriteCost {
    /// The weight of what is looked at: of the values before, and of suites as a whole.
    package var effort = 0
    /// True if names or values are to be checked that were not checked before, so that it may turn out to be long.
    package var checksValues = false
}

extension State {
    /// Weighs a write before it is decided.
    ///
    /// - Parameter limit: the effort beyond which the rest need not be known.
    package func cost(of request: WriteRequest, upTo limit: Int) -> WriteCost {
        switch request.command {
        case .setting(let operation): cost(of: operation, request.checkedAgainst, upTo: limit)
        case .mergeSuite(let name, let values):
            WriteCost(
                effort: effort(ofTouching: values.lazy.map(\.name), in: name, upTo: limit),
                checksValues: schema(of: name) != nil)
        case .replaceSuite(let name, _), .resetSuite(let name, _), .dropSuite(let name), .removeSchema(let name):
            WriteCost(effort: effort(ofAll: name, upTo: limit), checksValues: schema(of: name) != nil)
        case .setSchema(let name, _, _):
            WriteCost(effort: effort(ofAll: name, upTo: limit), checksValues: hasSuite(name))
        case .refuseSchema: WriteCost()
        case .undo(let undo, let suite, _):
            WriteCost(effort: effort(of: undo, in: suite, upTo: limit), checksValues: true)
        case .restore(let name, let restore, _):
            WriteCost(effort: effort(of: restore, in: name, upTo: limit), checksValues: true)
        case .transaction(let transaction): cost(of: transaction, upTo: limit)
        }
    }

    private func cost(of transaction: Transaction, upTo limit: Int) -> WriteCost {
        var sum = WriteCost()
        for operation in transaction.operations where sum.effort <= limit {
            let cost = cost(of: operation, nil, upTo: limit)
            sum.effort += cost.effort
            sum.checksValues = sum.checksValues || cost.checksValues
        }
        sum.checksValues =
            sum.checksValues
            || transaction.conditions.contains { condition in
                guard case .setting(let name, _, _) = condition else { return false }
                return schema(of: name) != nil
            }
        return sum
    }

    private func cost(
        of operation: Transaction.Operation, _ checked: SchemaVersion?, upTo limit: Int
    ) -> WriteCost {
        let key = operation.key
        let (isChange, isRemoval) =
            switch operation.action {
            case .set: (false, false)
            case .change: (true, false)
            case .delete: (false, true)
            }
        // Nearly every write comes by here, so what it needs is taken out of the suite and its record, which are not copied.
        let found = suites.with(operation.suite.text.utf8Span.span) { ($0.schema, $0.records, $0.ruleEffort) }
        guard let (schema, records, ruleEffort) = found else { return WriteCost() }
        // A tombstone would say as little as no record.
        let (stored, standing) = records.with(key.text.utf8Span.span) { ($0.stored, $0.standing) } ?? (nil, .unset)
        // The value before is compared, and kept in the history.
        let before = isChange ? Suite.effectiveValue(of: key, standing, stored, under: schema) : stored
        var rest = limit - ruleEffort
        _ = before?.isWithin(&rest)
        var cost = WriteCost(effort: limit - rest)
        if let schema {
            let isChecked = isRemoval || checked === schema
            cost.checksValues = schema.schema.hasSuiteRules || standing == .invalid || !isChecked
        }
        return cost
    }

    private func effort(ofAll suite: SuiteName, upTo limit: Int) -> Int {
        self.suite(suite)?.weight(upTo: limit) ?? 0
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
    /// The work of checking the rules about the suite as a whole. Inlined, so that a borrowed suite is not copied.
    @inline(__always)
    fileprivate var ruleEffort: Int {
        guard let schema = schema?.schema, schema.hasSuiteRules else { return 0 }
        return 8 * (schema.suiteRuleKeys?.count ?? (records.count + schema.keys.count))
    }
}
