internal import SettingsAPI
internal import SettingsKeys
internal import SettingsModel

/// A change that the program wants, from `+= 1` until the server has answered: the action with its conditions, the plan for
/// a conflict, and the request key under which it is done once, however often it is sent.
package struct PendingChange: Equatable, Sendable {
    enum Action: Equatable, Sendable {
        case transaction(Transaction)
        /// Removes all stored values.
        case reset
    }

    /// What happens if a condition does not hold.
    enum Conflict: Equatable, Sendable {
        /// The change is refused.
        case refusal
        /// The value that is there stays: for set-if-absent that is no error.
        case yielding
        /// The change is made to the value that is there, as far as its plan goes.
        case merge(Plan)
    }

    /// A plan for making a change of one key to another value than the one that it was computed from.
    struct Plan: Equatable, Sendable {
        /// The effective value that it was computed from; nil for none.
        let base: JSONValue?
        /// The result; nil to remove.
        let new: JSONValue?
        /// The difference, if it can be applied to another value.
        let delta: MergeDelta?
        /// The value that the program reads if nothing is stored.
        let start: JSONValue?
        /// True if the key says that its values are secret: no message repeats them.
        var isSecret = false
    }

    var action: Action
    var requestKey: RequestKey
    var conflict = Conflict.refusal
}

extension PendingChange {
    /// A change of one key in place, if a test holds, or without one.
    init(
        _ action: Transaction.Operation.Action, to key: KeyName, in suite: SuiteName,
        if test: Transaction.Condition.Test?, as requestKey: RequestKey, _ plan: Plan
    ) {
        self.action = .transaction(
            Transaction(
                if: test.map { [.setting(suite, key, $0)] } ?? [],
                do: [Transaction.Operation(suite: suite, key: key, action)]))
        self.requestKey = requestKey
        conflict = .merge(plan)
    }

    /// The operations on keys; none for a reset, which is about all of them.
    var operations: [Transaction.Operation] {
        if case .transaction(let transaction) = action { transaction.operations } else { [] }
    }

    /// The key, if the change is about one alone.
    var key: KeyName? {
        guard let first = operations.first?.key else { return nil }
        return operations.allSatisfy { $0.key == first } ? first : nil
    }

    /// The keys that it removes; nil for all.
    var removedKeys: [KeyName]? {
        action == .reset ? nil : operations.filter { $0.action == .delete }.map(\.key)
    }

    /// True if a refusal means that there is nothing to remove, because the suite does not exist.
    func isFulfilled(despite problem: Problem) -> Bool {
        guard problem.code == .unknownSuite else { return false }
        switch action {
        case .reset: return true
        case .transaction(let transaction):
            // Nothing is stored in a suite that does not exist.
            return transaction.conditions.allSatisfy(\.isOfNothing)
                && transaction.operations.allSatisfy { $0.action == .delete }
        }
    }

    /// The value that the program computed for the key that it changes in place.
    var expectedValue: JSONValue? { merge?.plan.new }

    /// True if the change merges values of a secret key.
    var isMergeOfSecret: Bool { merge?.plan.isSecret ?? false }

    /// The plan of a change of one key, with that key and its suite.
    private var merge: (plan: Plan, transaction: Transaction, operation: Transaction.Operation)? {
        guard case .merge(let plan) = conflict, case .transaction(let transaction) = action,
            transaction.operations.count == 1
        else { return nil }
        return (plan, transaction, transaction.operations[0])
    }
}

/// Conflicts with writes of other programs.
extension PendingChange {
    /// True if a refusal is about the value that was there, and the change has a plan for that.
    func isConflict(_ problem: Problem) -> Bool {
        guard let merge else { return false }
        if problem.code == .preconditionFailed { return true }
        // An operation of the server has no condition. It fails if the value was removed or is of another kind.
        guard case .change = merge.operation.action else { return false }
        return problem.code == .notSet || problem.code == .unknownSuite || problem.code == .invalidOperation
    }

    /// Returns the change for the current value after a conflict. Returns nil if the plan has none.
    func resolved(over current: SettingState, as requestKey: RequestKey) -> PendingChange? {
        guard let (plan, _, operation) = merge, current.source != .invalid, !current.isConcealed else { return nil }
        // Compares the value, because a revision may mean another value if the daemon is replaced before a retry.
        func set(_ value: JSONValue?) -> PendingChange {
            PendingChange(
                value.map { .set($0) } ?? .delete, to: operation.key, in: operation.suite,
                if: Self.test(of: current.value), as: requestKey, plan)
        }
        // The value is what it was: only its revision was not known, or it went there and back.
        if current.value == plan.base { return set(plan.new) }
        guard let delta = plan.delta else { return nil }
        // If there is no value at all, the result is stored.
        let merged = if let value = current.value ?? plan.start { delta.applied(to: value) } else { plan.new }
        guard let merged else { return nil }
        let value = delta.inCanonicalOrder(merged) ?? merged
        guard current.value != nil, let change = delta.operation else { return set(value) }
        let next = PendingChange(
            .change(change), to: operation.key, in: operation.suite, if: nil, as: requestKey, plan)
        // The same action would be refused again.
        return next.action == action ? nil : next
    }

    /// The value that the change of one key leads to, over the current setting. Nil if it removes the value.
    func mergedValue(over current: SettingState) -> JSONValue? {
        switch merge?.operation.action {
        case .set(let value): value
        case .change(let operation): current.value.flatMap { try? operation.applied(to: $0) }
        case .delete, nil: nil
        }
    }

    private static func test(of value: JSONValue?) -> Transaction.Condition.Test {
        value.map { .value($0) } ?? .stored(false)
    }
}

/// Messages for refusals.
extension PendingChange {
    /// Returns the refusal of a change whose value changed meanwhile, with a detail that says how and what to do. Other
    /// refusals stay as they are.
    func explained(_ problem: Problem, _ current: SettingState) -> Problem {
        guard let plan = merge?.plan, problem.code == .preconditionFailed, current.source != .invalid else {
            return problem
        }
        var change = "the value changed meanwhile"
        if !plan.isSecret, !current.isSecret {
            func phrase(_ value: JSONValue?) -> String { value?.briefPhrase ?? "unset" }
            change += " from \(phrase(plan.base)) to \(phrase(current.value))"
        }
        var problem = problem
        problem.detail =
            "\(change); to change what is there by now, use update { }, or give the key a rule for such changes (merge:)"
        return problem
    }

    /// Returns the refusal of a transaction with a detail that names the keys that changed meanwhile.
    func explained(_ problem: Problem) -> Problem {
        guard conflict == .refusal, problem.code == .preconditionFailed else { return problem }
        let keys = problem.failed.compactMap { failed in
            if case .setting(let current) = failed.current { current.key.text } else { nil }
        }
        guard !keys.isEmpty else { return problem }
        var problem = problem
        problem.detail =
            "what the transaction read of \(keys.joined(separator: ", ")) changed meanwhile, so nothing of it was done; "
            + "run it again"
        return problem
    }
}

extension Transaction.Condition {
    /// True if it holds where nothing is stored at all.
    fileprivate var isOfNothing: Bool {
        if case .setting(_, _, .stored(false)) = self { true } else { false }
    }
}

/// The difference that a change in place made, which can be applied to another value.
enum MergeDelta: Equatable, Sendable {
    case sum(InPlaceOperation.Amount)
    case append([JSONValue])
    case concat(String)
    /// New elements of a set.
    case union([JSONValue])

    /// Returns nil if the change is not of the kind of the rule.
    init?(_ rule: MergeRule?, ofSet isSet: Bool, from before: JSONValue?, to new: JSONValue?) {
        switch (rule, before, new) {
        case (.sum, .integer(let old)?, .integer(let new)?):
            let (difference, overflow) = new.subtractingReportingOverflow(old)
            guard !overflow else { return nil }
            self = .sum(.integer(difference))
        case (.sum, let old?, let new?):
            guard let old = old.number, let new = new.number, (new - old).isFinite else { return nil }
            self = .sum(.double(new - old))
        case (.append, nil, .array(let new)?):
            self = isSet ? .union(new) : .append(new)
        case (.append, .array(let old)?, .array(let new)?):
            if isSet {
                let known = Set(old)
                guard known.isSubset(of: new) else { return nil }
                self = .union(new.filter { !known.contains($0) })
            } else {
                guard new.count >= old.count, new.prefix(old.count) == old[...] else { return nil }
                self = .append(Array(new[old.count...]))
            }
        default:
            return nil
        }
    }

    /// Returns nil if the effect of an operation depends on the value.
    init?(_ operation: InPlaceOperation) {
        switch operation {
        case .add(let amount): self = .sum(amount)
        case .append(let elements): self = .append(elements)
        case .concat(let text): self = .concat(text)
        case .toggle, .merge, .patch: return nil
        }
    }

    /// The same as an operation of the server; nil if it has none.
    var operation: InPlaceOperation? {
        switch self {
        case .sum(let amount): .add(amount)
        case .append(let elements): .append(elements)
        case .concat(let text): .concat(text)
        case .union: nil
        }
    }

    /// Returns a value with the difference; nil if it is of another kind.
    func applied(to value: JSONValue) -> JSONValue? {
        guard case .union(let elements) = self else { return try? operation?.applied(to: value) }
        guard case .array(let there) = value else { return nil }
        let known = Set(there)
        return .array(there + elements.filter { !known.contains($0) })
    }

    /// Returns a set in the order in which sets are written; nil for anything else.
    func inCanonicalOrder(_ value: JSONValue) -> JSONValue? {
        guard case .union = self, case .array(let elements) = value else { return nil }
        return try? Set<JSONValue>.defaultsBridge.encode(Set(elements))
    }
}
