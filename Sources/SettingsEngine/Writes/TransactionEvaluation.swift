internal import SettingsAPI
internal import SettingsModel

/// A setting that conditions or operations are about.
private struct Tested: Hashable {
    let suite: SuiteName
    let key: KeyName
}

/// Several operations, all or none.
extension Evaluator {
    func transaction(_ transaction: Transaction) throws(Problem) -> Evaluation {
        var draft = Draft(state, opensSuites: opensSuites)
        var positions: [Int] = []
        positions.reserveCapacity(transaction.operations.count)
        for (index, operation) in transaction.operations.enumerated() {
            do throws(Problem) {
                try checkLock(operation.key, in: state.suite(operation.suite))
            } catch {
                throw error.of(operation, index, member: "key", on: state)
            }
        }
        lazy var begun = Self.suitesStoredIn(by: transaction)
        for (index, operation) in transaction.operations.enumerated() {
            let suite = state.suite(operation.suite)
            do throws(Problem) {
                if suite == nil, !begun.contains(operation.suite) { throw state.unknownSuite(operation.suite) }
                positions.append(
                    try draft.touch(
                        suite, operation.suite, operation.key, named: .body(["do", String(index), "key"]),
                        isRemoval: operation.action == .delete))
            } catch {
                throw error.of(operation, index, member: "suite", on: state)
            }
        }
        try check(transaction.conditions, &draft)
        for (index, operation) in transaction.operations.enumerated() where !draft[positions[index]].isUnknown {
            do {
                try apply(operation.action, index, to: positions[index], in: operation.suite, &draft)
            } catch {
                throw error.of(operation, index, on: state)
            }
        }
        do throws(Problem) {
            return try finish(draft, of: nil)
        } catch {
            throw error.naming(transaction.operations, on: state)
        }
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
        case .change(let change):
            try draft.change(position, by: change, in: state.suite(suite), at: ["do", String(index)])
        }
    }

    /// How many failed conditions about one setting are listed: each tells the whole setting, and a request is short that
    /// asks for the same large one a hundred thousand times.
    private static let mostFailedOfOne = 4

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
                failed.append(Problem.FailedCondition(index: Int64(index), current: state.current(name, key)))
            }
        }
        guard let first = failed.first else { return }
        let more = count > 1 ? " (and \(count - 1) more)" : ""
        var problem = Problem(.preconditionFailed, "condition \(first.index) does not hold\(more)")
        problem.pointer = ["if", String(first.index)]
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
    /// The problem as that of one operation of a transaction, which `failed` tells by its index. Pointers begin at the
    /// operation in the body: behind its place stands the one in its result, or its member that is wrong.
    fileprivate func of(
        _ operation: Transaction.Operation, _ index: Int, member: String? = nil, on state: State
    ) -> Problem {
        var problem = self
        let place = ["do", String(index)] + [member].compactMap(\.self)
        problem.detail = "operation \(index): \(detail)"
        problem.pointer = JSONPointer(place + (pointer?.tokens ?? []))
        if code == .invalidOperation {
            for index in problem.errors.indices {
                problem.errors[index].pointer = JSONPointer(place + errors[index].pointer.tokens)
            }
        }
        problem.failed = [
            FailedCondition(
                index: Int64(index), current: current ?? state.current(operation.suite, operation.key))
        ]
        problem.current = nil
        return problem
    }

    /// The problem with `failed` telling of the operations that its errors lead to, of each setting the first.
    fileprivate func naming(_ operations: [Transaction.Operation], on state: State) -> Problem {
        var problem = self
        var named: Set<Tested> = []
        let places = errors.compactMap { error -> Int? in
            error.pointer.tokens.first == "do" ? error.pointer.tokens.dropFirst().first.flatMap { Int($0) } : nil
        }
        for index in places.sorted() where operations.indices.contains(index) {
            let operation = operations[index]
            guard named.insert(Tested(suite: operation.suite, key: operation.key)).inserted else { continue }
            problem.failed.append(
                FailedCondition(index: Int64(index), current: state.current(operation.suite, operation.key)))
        }
        return problem
    }
}
