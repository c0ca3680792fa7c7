internal import SettingsAPI
internal import SettingsModel

/// Writes of a single key: set, delete, or change in place. A draft is a write that is being decided: checked against
/// the staged state (the newest state, with the commits that are not durable yet), to compute its commit or its
/// refusal. A suite is a named set of settings. The schema of a suite can lock keys (declare them read-only) and
/// declare keys secret. `steps` is the number of validation steps that the request may still take. `restrictedGrants`
/// is the grants (rights) of a caller that may not read everything; otherwise nil.
extension WriteDraft {
    mutating func writeSetting(_ operation: Transaction.Operation) throws(Problem) -> WriteDecision {
        let suite = state.suite(operation.suite)
        try checkLock(operation.key, in: suite)
        if case .change = operation.action { try checkSecret(operation.key, in: suite) }
        var isSet = false
        if case .set = operation.action { isSet = true }
        if suite == nil, !isSet { throw state.unknownSuite(operation.suite, for: request.restrictedGrants) }
        let key = try makeKeyDraft(
            suite, operation.suite, operation.key, namedIn: .path, isRemoval: operation.action == .delete)
        // The error of a failed guard (precondition such as `If-Match`) contains the setting with its violations.
        if !request.guards.isEmpty { try subtractStepsForViolations(of: key.before, in: suite) }
        try checkGuards(
            of: "\(key.key) of suite \(operation.suite)", at: key.before.revision, exists: key.before.stored != nil,
            current: state.current(operation.suite, operation.key))
        switch operation.action {
        case .set(let value):
            // True if the value was validated before the write was queued, and the suite still has the same schema.
            let isChecked = request.checkedAgainst != nil && request.checkedAgainst === suite?.schema
            set(key, to: value, isChecked: isChecked)
        case .delete: remove(key)
        case .change(let change):
            try subtractStepsForViolations(of: key.before, in: suite)
            try self.change(key, by: change, in: suite)
        }
        try check(CollectionOfOne(key))
        let created = key.before.stored == nil && key.stored != nil && key.isWritten
        guard key.isDifferent else { return makeEmptyDecision(.setting(unwrittenSetting(key)), created: created) }
        let changes = [key.change(revision: revision, time: time, by: request.origin)]
        let createsNewSuite = key.isInNewSuite && key.stored != nil
        let suites = createsNewSuite ? [SuiteChange(suite: operation.suite, kind: .created)] : []
        try quotas.checkGrowth(suites, changes, by: request.origin, on: state, for: request.restrictedGrants)
        guard !request.isDryRun else { return makeEmptyDecision(.setting(unwrittenSetting(key)), created: created) }
        return makeCommitDecision(.change(changes), created: created, suites: suites, changes: changes)
    }

    /// The setting in the answer to a dry run, or to a write that changes nothing.
    private func unwrittenSetting(_ key: KeyDraft) -> SettingState {
        var setting = key.setting
        setting.isDryRun = request.isDryRun
        return setting
    }
}

/// Transactions. A transaction has operations and conditions. The daemon applies all operations or none, and refuses
/// the transaction if a condition does not hold.
extension WriteDraft {
    mutating func writeTransaction(_ transaction: Transaction) throws(Problem) -> WriteDecision {
        var keys: [KeyDraft] = []
        keys.reserveCapacity(transaction.operations.count)
        for (index, operation) in transaction.operations.enumerated() {
            do throws(Problem) {
                try checkLock(operation.key, in: state.suite(operation.suite))
                if case .change = operation.action { try checkSecret(operation.key, in: state.suite(operation.suite)) }
            } catch {
                throw error.attributed(to: operation, index, member: "key", on: state)
            }
        }
        // The result of a condition on the value of a secret would tell the caller whether a guess is correct.
        for case .setting(let suite, let key, .value) in transaction.conditions {
            try checkSecret(key, in: state.suite(suite))
        }
        // Each condition counts toward the maximum number of keys, because it takes about as long as an operation.
        try checkKeyCount(transaction.operations.count + transaction.conditions.count)
        lazy var suitesWithSets = Self.suitesWithSets(in: transaction)
        for (index, operation) in transaction.operations.enumerated() {
            let suite = state.suite(operation.suite)
            do throws(Problem) {
                if suite == nil, !suitesWithSets.contains(operation.suite) {
                    throw state.unknownSuite(operation.suite, for: request.restrictedGrants)
                }
                keys.append(
                    try findOrAddKey(
                        suite, operation.suite, operation.key, namedIn: .body(["do", String(index), "key"]),
                        isRemoval: operation.action == .delete))
            } catch {
                throw error.attributed(to: operation, index, member: "suite", on: state)
            }
        }
        try check(transaction.conditions)
        for (index, operation) in transaction.operations.enumerated() where !keys[index].isUnknown {
            do {
                try apply(operation.action, index, to: keys[index], in: operation.suite)
            } catch {
                throw error.attributed(to: operation, index, on: state)
            }
        }
        do throws(Problem) {
            return try checkAndDecide(target: nil)
        } catch {
            throw error.listingFailures(of: transaction.operations, on: state)
        }
    }

    /// The suites in which an operation sets a key. Such an operation creates its suite if the suite does not exist.
    private static func suitesWithSets(in transaction: Transaction) -> Set<SuiteName> {
        var suites: Set<SuiteName> = []
        for operation in transaction.operations {
            if case .set = operation.action { suites.insert(operation.suite) }
        }
        return suites
    }

    private mutating func apply(
        _ action: Transaction.Operation.Action, _ index: Int, to key: KeyDraft, in suite: SuiteName
    ) throws(Problem) {
        switch action {
        case .set(let value): set(key, to: value, at: ["do", String(index), "value"])
        case .delete: remove(key)
        case .change(let change):
            try subtractStepsForViolations(of: key.before, in: state.suite(suite))
            try self.change(key, by: change, in: state.suite(suite), at: ["do", String(index)])
        }
    }

    /// The maximum number of failed conditions about the same setting that an error lists. Each listed condition
    /// contains the whole setting, and a request may have 100,000 conditions (the default of `limits.commitKeys`) about
    /// the same large setting.
    private static let maximumFailuresPerSetting = 4

    /// Throws if a condition does not hold. The error lists the failed conditions with the present settings and suites.
    private mutating func check(_ conditions: [Transaction.Condition]) throws(Problem) {
        var failed: [Problem.FailedCondition] = []
        var failedCount = 0
        var failureCounts: [KeyAddress: Int] = [:]
        for (index, condition) in conditions.enumerated() {
            switch condition {
            case .suite(let name, let revision):
                let current = state.suite(name)?.revision ?? .zero
                guard current != revision else { continue }
                failedCount += 1
                failed.append(
                    Problem.FailedCondition(
                        index: Int64(index), current: .suite(SuiteRevision(suite: name, revision: current))))
            case .setting(let name, let key, let test):
                let suite = state.suite(name)
                // The keys of a missing suite have the revision (commit number) of the last commit that dropped a
                // suite.
                let record = suite?.record(key) ?? KeyRecord(unset: key, revision: state.lastDropRevision)
                if let suite, let schema = suite.schema?.schema, record.stored == nil {
                    if schema.key(key.text, steps: &steps) == nil {
                        reportUnknownKey(key, in: suite, at: ["if", String(index), "key"])
                    }
                    try checkValidationSteps()
                }
                guard !holds(test, of: record, suite?.effectiveValue(of: record)) else { continue }
                try subtractStepsForViolations(of: record, in: suite)
                failedCount += 1
                let address = KeyAddress(suite: name, key: key)
                failureCounts[address, default: 0] += 1
                guard failureCounts[address, default: 0] <= Self.maximumFailuresPerSetting else { continue }
                failed.append(Problem.FailedCondition(index: Int64(index), current: state.current(name, key)))
            }
        }
        guard let first = failed.first else { return }
        let more = failedCount > 1 ? "; \(Plural.count(failedCount - 1, "more condition")) failed" : ""
        let cause = conditions[Int(first.index)].failure(at: first.current)
        var problem = Problem(.preconditionFailed, "cannot apply the transaction: \(cause)\(more)")
        problem.pointer = ["if", String(first.index)]
        problem.failed = failed
        throw problem
    }

    private func holds(_ test: Transaction.Condition.Test, of record: KeyRecord, _ value: JSONValue?) -> Bool {
        switch test {
        case .revision(let revision): record.revision == revision
        case .stored(let isStored): record.valueSource.source.isStored == isStored
        case .value(let expected): value.map { expected.isMathematicallyEqual(to: $0) } ?? false
        }
    }
}

extension Transaction.Condition {
    /// Returns the reason for which the condition does not hold, without the current value, which may be a secret.
    fileprivate func failure(at current: Problem.Current) -> String {
        let revision =
            switch current {
            case .suite(let suite): suite.revision
            case .setting(let setting): setting.revision
            }
        switch self {
        case .suite(let suite, let required):
            return "suite \(suite) is at revision \(revision), but the condition requires revision \(required)"
        case .setting(let suite, let key, .revision(let required)):
            return
                "\(key) of suite \(suite) is at revision \(revision), but the condition requires revision \(required)"
        case .setting(let suite, let key, .stored(let required)):
            return required
                ? "\(key) of suite \(suite) has no stored value, but the condition requires a stored value"
                : "\(key) of suite \(suite) has a stored value, but the condition requires that no value is stored"
        case .setting(let suite, let key, .value(let required)):
            return
                "\(key) of suite \(suite) does not have the value that the condition requires, \(required.briefPhrase)"
        }
    }
}

extension Problem {
    /// Makes the error of a transaction from the error of one operation: lists the operation in `failed`, and makes the
    /// JSON Pointers relative to the request body. `member` is the name of the member of the operation that caused the
    /// error; nil if no single member did.
    fileprivate func attributed(
        to operation: Transaction.Operation, _ index: Int, member: String? = nil, on state: State
    ) -> Problem {
        var problem = self
        let path = ["do", String(index)] + [member].compactMap(\.self)
        problem.pointer = JSONPointer(path + (self.pointer?.tokens ?? []))
        // The pointers of these errors begin at the operation. In other errors (`invalidStored`), the pointers begin at
        // the stored value, so they stay.
        if code == .invalidOperation {
            for index in problem.errors.indices {
                problem.errors[index].pointer = JSONPointer(path + self.errors[index].pointer.tokens)
            }
        }
        problem.failed = [
            FailedCondition(index: Int64(index), current: self.current ?? state.current(operation.suite, operation.key))
        ]
        problem.current = nil
        return problem
    }

    /// Lists in `failed`, for each setting, the first operation to which a JSON Pointer of an error points.
    fileprivate func listingFailures(of operations: [Transaction.Operation], on state: State) -> Problem {
        var problem = self
        var listed: Set<KeyAddress> = []
        let indices = self.errors.compactMap { error -> Int? in
            error.pointer.tokens.first == "do" ? error.pointer.tokens.dropFirst().first.flatMap { Int($0) } : nil
        }
        for index in indices.sorted() where operations.indices.contains(index) {
            let operation = operations[index]
            guard listed.insert(KeyAddress(suite: operation.suite, key: operation.key)).inserted else { continue }
            problem.failed.append(
                FailedCondition(index: Int64(index), current: state.current(operation.suite, operation.key)))
        }
        return problem
    }
}
