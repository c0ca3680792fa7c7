internal import SettingsAPI
internal import SettingsModel

/// The estimated processor time and memory for deciding a write: checking the write, and computing its commit or its
/// refusal. A suite is a named set of settings. The size of a JSON value is measured in units of *extent*: one unit for
/// each JSON value in it, and one unit for each eight bytes of text.
package struct WriteCost {
    /// The cost of reading and replacing stored values, and of checking the schema's rules about a suite as a whole.
    package var cost = Cost.zero
    /// True if names or values must be validated against a schema. ``cost`` does not include this validation, except an
    /// estimate for the values that are invalid before the write.
    package var checksValues = false
}

extension State {
    /// Estimates the cost of deciding a write on this state. The estimate ends early once it exceeds the limit.
    package func cost(of request: WriteRequest, within limit: Cost) -> WriteCost {
        var meter = CostMeter(within: limit)
        let checksValues = addCost(of: request, to: &meter)
        return WriteCost(cost: meter.cost, checksValues: checksValues)
    }

    /// Adds the cost of a write. Returns the value of ``WriteCost/checksValues``.
    private func addCost(of request: WriteRequest, to meter: inout CostMeter) -> Bool {
        switch request.task {
        case .command(let command): return addCost(of: command, checkedAgainst: request.checkedAgainst, to: &meter)
        // The document is not a valid schema. Deciding only checks the preconditions, and throws an error.
        case .refuseSchema: return false
        case .pending(let id, let pendingRequest):
            guard let entry = pending[id] else {
                // The pending action (a revert or a write at a deadline) has ended or never existed. The search for its
                // end may visit all commits of the history in memory.
                meter.add(history.count * .examinedCommit)
                return false
            }
            if pendingRequest == .revert { addCost(ofCarryingOut: entry, to: &meter) }
            return pendingRequest == .revert
        case .carryOut(let id, _):
            if let entry = pending[id] { addCost(ofCarryingOut: entry, to: &meter) }
            return true
        }
    }

    /// Adds the cost of a command. Returns the value of ``WriteCost/checksValues``.
    ///
    /// - Parameter checkedAgainst: the schema against which the value was validated; nil if the value was not
    ///   validated.
    private func addCost(
        of command: WriteCommand, checkedAgainst: SchemaVersion?, to meter: inout CostMeter
    ) -> Bool {
        switch command {
        case .setting(let operation): return addCost(of: operation, checkedAgainst: checkedAgainst, to: &meter)
        case .mergeSuite(let name, let values):
            addCost(ofChanging: values.lazy.map(\.name), in: name, to: &meter)
            return schema(of: name) != nil
        case .replaceSuite(let name, _), .resetSuite(let name, _), .dropSuite(let name), .removeSchema(let name):
            addCost(ofWhole: name, to: &meter)
            return schema(of: name) != nil
        case .setSchema(let name, _, _):
            addCost(ofWhole: name, to: &meter)
            return hasSuite(name)
        case .undo(let undo, _, _):
            addCost(of: undo, to: &meter)
            return true
        case .restore(let name, let restore, _):
            addCost(of: restore, in: name, to: &meter)
            return true
        case .transaction(let transaction): return addCost(of: transaction, to: &meter)
        }
    }

    private func addCost(of transaction: Transaction, to meter: inout CostMeter) -> Bool {
        var checksValues = transaction.conditions.contains { condition in
            guard case .setting(let name, _, _) = condition else { return false }
            return schema(of: name) != nil
        }
        for operation in transaction.operations where !meter.isExceeded {
            let checksOperation = addCost(of: operation, checkedAgainst: nil, to: &meter)
            checksValues = checksValues || checksOperation
        }
        return checksValues
    }

    /// Adds the cost of an operation on one key. Returns the value of ``WriteCost/checksValues``.
    ///
    /// - Parameter checkedAgainst: the schema against which the value was validated; nil if the value was not
    ///   validated.
    private func addCost(
        of operation: Transaction.Operation, checkedAgainst: SchemaVersion?, to meter: inout CostMeter
    ) -> Bool {
        let key = operation.key
        let (isChange, isRemoval) =
            switch operation.action {
            case .set: (false, false)
            case .change: (true, false)
            case .delete: (false, true)
            }
        // Nearly every write calls this method, so it reads only the needed properties of the suite and the record. A
        // copy of the suite or the record would cost more.
        let found = suites.with(operation.suite.text.utf8Span.span) { ($0.schema, $0.records, $0.suiteRuleCost) }
        guard let (schema, records, ruleCost) = found else { return false }
        meter.add(ruleCost)
        // A removed key that the schema does not list is not in `records`, so it costs the same as a key that never
        // existed.
        let (stored, valueSource) =
            records.with(key.text.utf8Span.span) { ($0.stored, $0.valueSource) } ?? (nil, .unset)
        // Deciding compares the previous value with the new value, and the history keeps the previous value.
        let before = isChange ? Suite.effectiveValue(of: key, valueSource, stored, under: schema) : stored
        meter.add(before, each: .decidedUnit)
        guard let schema else { return false }
        let isChecked = isRemoval || checkedAgainst === schema
        return schema.schema.hasSuiteRules || valueSource == .invalid || !isChecked
    }

    /// Adds the cost of a write that reads and replaces all values of a suite.
    private func addCost(ofWhole suite: SuiteName, to meter: inout CostMeter) {
        guard !meter.isExceeded else { return }
        self.suite(suite)?.addDecisionCost(to: &meter)
    }

    private func addCost(of undo: UndoRequest, to meter: inout CostMeter) {
        guard let retained = history.commit(undo.revision) else { return }
        meter.add(.undoing(commitBytes: retained.size))
        retained.forEachSuite { history.addCost(ofCommitsOf: $0, after: undo.revision, to: &meter, Cost.undoing) }
        // If the undo restores a schema, the validator checks all stored values against the schema.
        for suite in Set(retained.commit.suiteChanges.map(\.suite)) { addCost(ofWhole: suite, to: &meter) }
    }

    private func addCost(ofCarryingOut entry: PendingEntry, to meter: inout CostMeter) {
        meter.add(.undoing(commitBytes: entry.size))
        for scope in entry.action.scopes where scope.keys == nil { addCost(ofWhole: scope.suite, to: &meter) }
    }

    private func addCost(of restore: RestoreRequest, in name: SuiteName, to meter: inout CostMeter) {
        addCost(ofWhole: name, to: &meter)
        // The search for the last commit before an instant may compare all commits. The estimate includes twice the
        // maximum cost of a request that an event loop (a thread that serves many connections) handles itself, so that
        // the event loop passes the write to the background, where memory is reserved before the write is queued.
        let start: Revision = if case .revision(let revision) = restore.moment { revision } else { .zero }
        if start == .zero { meter.add(Cost(microseconds: 2 * Cost.loopLimit.microseconds)) }
        history.addCost(ofCommitsOf: name, after: start, to: &meter, Cost.undoing)
    }

    /// Adds the cost of a write that changes some keys of a suite.
    private func addCost(ofChanging names: some Sequence<String>, in suite: SuiteName, to meter: inout CostMeter) {
        guard let suite = self.suite(suite) else { return }
        meter.add(suite.suiteRuleCost)
        // The record of a written key counts as four units of extent, plus the extent of the stored value.
        for name in names where !meter.isExceeded {
            meter.add(4 * .decidedUnit)
            meter.add(suite.records.find(name)?.stored, each: .decidedUnit)
        }
    }
}

extension Suite {
    /// Adds the cost of reading and replacing all values of the suite. The fields of a record count as four units of
    /// extent, plus one unit for each eight bytes of the name, plus the extent of the stored value.
    fileprivate func addDecisionCost(to meter: inout CostMeter) {
        // The estimate for a check of expensive rules about the suite as a whole is the cost of validating one value.
        if schema?.schema.hasExpensiveSuiteRules ?? false { meter.add(.schemaRevalidation) }
        records.forEach { record in
            meter.add((4 + record.name.utf8.count / 8) * .decidedUnit)
            // A write that sets a schema validates all stored values, and its error lists the violations. The other
            // writes of a whole suite have the same estimate.
            if record.valueSource == .invalid { meter.add(.schemaRevalidation) }
            meter.add(record.stored, each: .decidedUnit)
            return !meter.isExceeded
        }
    }

    /// The cost of checking the rules about the suite as a whole. Inlined so that the calling code does not copy the
    /// suite.
    @inline(__always)
    fileprivate var suiteRuleCost: Cost {
        guard let schema = schema?.schema, schema.hasSuiteRules else { return .zero }
        return (schema.suiteRuleKeys?.count ?? (records.count + schema.keys.count)) * .suiteRuleKey
    }
}
