internal import SettingsModel

/// Several operations, all or none.
extension Evaluator {
    func transaction(_ transaction: Transaction) throws(Problem) -> Evaluation {
        var draft = Draft(state, opensSuites: opensSuites)
        var positions: [Int] = []
        positions.reserveCapacity(transaction.operations.count)
        for operation in transaction.operations {
            try checkLock(operation.key, in: state.suite(operation.suite))
        }
        lazy var begun = Self.suitesStoredIn(by: transaction)
        for (index, operation) in transaction.operations.enumerated() {
            let suite = state.suite(operation.suite)
            if suite == nil, !begun.contains(operation.suite) { throw state.unknownSuite(operation.suite) }
            positions.append(
                try draft.touch(
                    suite, operation.suite, operation.key, named: .body(["do", String(index), "key"]),
                    isRemoval: operation.action == .delete))
        }
        try check(transaction.conditions, &draft)
        for (index, operation) in transaction.operations.enumerated() where !draft[positions[index]].isUnknown {
            do {
                try apply(operation.action, index, to: positions[index], in: operation.suite, &draft)
            } catch {
                throw error.inOperation(index)
            }
        }
        return try finish(draft, of: nil)
    }

    /// The suites that an operation stores something in, so that others may speak of them.
    private static func suitesStoredIn(by transaction: Transaction) -> Set<SuiteName> {
        var suites: Set<SuiteName> = []
        for operation in transaction.operations {
            if case .set = operation.action { suites.insert(operation.suite) }
        }
        return suites
    }

    private func apply(
        _ action: Transaction.Operation.Action, _ index: Int, to position: Int, in suite: SuiteName,
        _ draft: inout Draft
    ) throws(Problem) {
        switch action {
        case .set(let value): draft.set(position, to: value, at: ["do", String(index), "value"])
        case .delete: draft.remove(position)
        case .change(let change): try draft.change(position, by: change, in: state.suite(suite))
        }
    }

    /// How many failed conditions about one setting are listed: each tells the whole setting, and a request is short that
    /// asks for the same large one a hundred thousand times.
    private static let mostFailedOfOne = 4

    /// A setting that conditions are about.
    private struct Tested: Hashable {
        let suite: SuiteName
        let key: KeyName
    }

    /// Refuses the transaction if a condition does not hold, and tells of those that do not.
    private func check(_ conditions: [Transaction.Condition], _ draft: inout Draft) throws(Problem) {
        var failed: [Problem.FailedCondition] = []
        var count = 0
        var listed: [Tested: Int] = [:]
        for (index, condition) in conditions.enumerated() {
            switch condition {
            case .suite(let name, let revision):
                let current = state.suite(name)?.revision ?? .zero
                guard current != revision else { continue }
                count += 1
                failed.append(
                    Problem.FailedCondition(
                        index: Int64(index), current: .suite(SuiteRevision(suite: name, revision: current))))
            case .setting(let name, let key, let test):
                if let suite = state.suite(name), !suite.admits(key), suite.record(key).stored == nil {
                    draft.refuse(key, in: suite, at: ["if", String(index), "key"])
                }
                let setting = state.setting(name, key)
                guard !holds(test, of: setting) else { continue }
                count += 1
                listed[Tested(suite: name, key: key), default: 0] += 1
                guard listed[Tested(suite: name, key: key), default: 0] <= Self.mostFailedOfOne else { continue }
                failed.append(Problem.FailedCondition(index: Int64(index), current: .setting(setting)))
            }
        }
        guard let first = failed.first else { return }
        let more = count > 1 ? " (and \(count - 1) more)" : ""
        var problem = Problem(.preconditionFailed, "condition \(first.index) does not hold\(more)")
        problem.failed = failed
        throw problem
    }

    private func holds(_ test: Transaction.Condition.Test, of setting: SettingState) -> Bool {
        switch test {
        case .revision(let revision): setting.revision == revision
        case .stored(let isStored): setting.source.isStored == isStored
        case .value(let value): setting.value.map { value.isMathematicallyEqual(to: $0) } ?? false
        }
    }
}

extension Problem {
    /// The problem of one operation of a transaction, which its detail names. Its pointer leads into the operation's
    /// result and stays.
    fileprivate func inOperation(_ index: Int) -> Problem {
        var problem = self
        problem.detail = "operation \(index): \(detail)"
        return problem
    }
}
