internal import SettingsAPI
internal import SettingsKeys
internal import SettingsModel

/// A write of the program that the daemon has not answered: the action with its conditions, the reaction to a conflict,
/// and the request key. If the daemon gets several requests with the same request key, it carries out only one of these
/// requests.
package struct PendingChange: Equatable, Sendable {
    enum Action: Equatable, Sendable {
        case transaction(Transaction)
        /// Removes all stored values.
        case removeAll
    }

    /// The reaction of the client if a condition of the change does not hold.
    enum ConflictReaction: Equatable, Sendable {
        case fail
        /// The stored value stays, and the change does not fail. Used by set-if-absent.
        case keepStoredValue
        /// The client applies the change to the current value, if the plan allows that.
        case merge(MergePlan)
    }

    /// The data with which the client applies a change in place, such as `+= 1`, to another value than the program has
    /// read.
    struct MergePlan: Equatable, Sendable {
        /// The value in the replica when the program read the key: a stored value or a default of the schema. Nil if
        /// there was no value, or if `changeUntyped` made the plan.
        let base: JSONValue?
        /// The value that the program has computed. Nil if the change removes the value.
        let new: JSONValue?
        /// The difference that the client can apply to another value: the difference between the value that the program
        /// has read and `new`, or the operation of `changeUntyped`. Nil if neither a merge rule nor the operation gives
        /// a difference.
        let delta: MergeDelta?
        /// The value that the program reads while nothing is stored: the registered default or the default of the key.
        let valueIfUnset: JSONValue?
        /// True if the values of the key are secret, so that messages must not contain them.
        var isSecret = false
    }

    var action: Action
    var requestKey: RequestKey
    var onConflict = ConflictReaction.fail
}

extension PendingChange {
    /// Creates a change of one key in place, with an optional condition.
    init(
        _ action: Transaction.Operation.Action, to key: KeyName, in suite: SuiteName,
        if test: Transaction.Condition.Test?, requestKey: RequestKey, _ plan: MergePlan
    ) {
        self.action = .transaction(
            Transaction(
                if: test.map { [.setting(suite, key, $0)] } ?? [],
                do: [Transaction.Operation(suite: suite, key: key, action)]))
        self.requestKey = requestKey
        onConflict = .merge(plan)
    }

    /// The operations on keys. Empty for a change that removes all keys.
    var operations: [Transaction.Operation] {
        if case .transaction(let transaction) = action { transaction.operations } else { [] }
    }

    /// The key, if all operations change the same key. Otherwise nil.
    var key: KeyName? {
        guard let first = operations.first?.key else { return nil }
        return operations.allSatisfy { $0.key == first } ? first : nil
    }

    /// The keys whose values the change removes. Nil for all keys.
    var removedKeys: [KeyName]? {
        action == .removeAll ? nil : operations.filter { $0.action == .delete }.map(\.key)
    }

    /// Returns true if the refusal means that the change has nothing to do: the suite does not exist, the change only
    /// removes values, and the conditions of the change hold if nothing is stored.
    func hasNothingToDo(after problem: Problem) -> Bool {
        guard problem.code == .unknownSuite else { return false }
        switch action {
        case .removeAll: return true
        case .transaction(let transaction):
            // Nothing is stored in a suite that does not exist.
            return transaction.conditions.allSatisfy(\.holdsIfNothingIsStored)
                && transaction.operations.allSatisfy { $0.action == .delete }
        }
    }

    /// The value that the program computed for the key that it changes in place. Nil for other changes, and for a
    /// change that removes the value.
    var expectedValue: JSONValue? { merge?.plan.new }

    /// True if the change is a change in place of a secret.
    var isMergeOfSecret: Bool { merge?.plan.isSecret ?? false }

    /// The plan of a change in place, with its only operation. Nil for other changes.
    private var merge: (plan: MergePlan, operation: Transaction.Operation)? {
        guard case .merge(let plan) = onConflict, case .transaction(let transaction) = action,
            transaction.operations.count == 1
        else { return nil }
        return (plan, transaction.operations[0])
    }
}

extension PendingChange {
    /// Returns true if the daemon refused the change because of the current value, and the change has a plan.
    func isConflict(_ problem: Problem) -> Bool {
        guard let merge else { return false }
        if problem.code == .preconditionFailed { return true }
        // An operation such as `add` has no condition. It fails if there is no value, or if the value has another type.
        guard case .change = merge.operation.action else { return false }
        return problem.code == .notSet || problem.code == .unknownSuite || problem.code == .invalidOperation
    }

    /// Returns the change to send after a conflict, for the current value. Returns nil if the plan does not allow a
    /// change of this value.
    func resolved(over current: SettingState, requestKey: RequestKey) -> PendingChange? {
        guard let (plan, operation) = merge, current.source != .invalid, !current.isConcealed else { return nil }
        // The condition is the current value and not its revision, because the same revision may mean another value
        // after the data of the daemon was replaced.
        func set(_ value: JSONValue?) -> PendingChange {
            PendingChange(
                value.map { .set($0) } ?? .delete, to: operation.key, in: operation.suite,
                if: Self.test(of: current.value), requestKey: requestKey, plan)
        }
        // The current value is the value that the program has read, so the computed value is still correct. A plan of
        // `changeUntyped` has no `base`: if the setting has no value, `new` is the value to store.
        if current.value == plan.base { return set(plan.new) }
        guard let delta = plan.delta else { return nil }
        // If there is neither a current value nor a default, the change stores the computed value.
        let merged = if let value = current.value ?? plan.valueIfUnset { delta.applied(to: value) } else { plan.new }
        guard let merged else { return nil }
        let value = delta.inCanonicalOrder(merged) ?? merged
        guard current.value != nil, let change = delta.operation else { return set(value) }
        let next = PendingChange(
            .change(change), to: operation.key, in: operation.suite, if: nil, requestKey: requestKey, plan)
        // If the operation is the same, the daemon would refuse it again.
        return next.action == action ? nil : next
    }

    /// Returns the value after a change in place of the current setting. Returns nil if the change removes the value or
    /// fails.
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

extension PendingChange {
    /// Returns the refusal of a change in place with a detail that contains the value that the program has read, the
    /// current value and a remedy. Returns other refusals unchanged.
    func explainingConflict(_ problem: Problem, with current: SettingState) -> Problem {
        guard let plan = merge?.plan, problem.code == .preconditionFailed, current.source != .invalid else {
            return problem
        }
        var change = "another program changed the value"
        if !plan.isSecret, !current.isSecret {
            func phrase(_ value: JSONValue?) -> String { value?.briefPhrase ?? "unset" }
            change += " from \(phrase(plan.base)) to \(phrase(current.value))"
        }
        var problem = problem
        problem.detail =
            "\(change); to change the current value, use update { }, or give the key a merge rule (merge:)"
        return problem
    }

    /// Returns the refusal of a transaction with a detail that names the keys that another program has changed. Returns
    /// other refusals unchanged.
    func namingChangedKeys(in problem: Problem) -> Problem {
        guard onConflict == .fail, problem.code == .preconditionFailed else { return problem }
        let keys = problem.failed.compactMap { failed in
            if case .setting(let current) = failed.current { current.key.text } else { nil }
        }
        guard !keys.isEmpty else { return problem }
        var problem = problem
        problem.detail =
            "the transaction was not done, because another program changed \(keys.joined(separator: ", ")) after the "
            + "transaction had read it; run the transaction again"
        return problem
    }
}

extension Transaction.Condition {
    /// True if the condition holds in a suite that does not exist.
    fileprivate var holdsIfNothingIsStored: Bool {
        if case .setting(_, _, .stored(false)) = self { true } else { false }
    }
}

/// The difference that a change in place has made. The client can apply the difference to another value.
enum MergeDelta: Equatable, Sendable {
    case sum(InPlaceOperation.Amount)
    case append([JSONValue])
    case concat(String)
    /// New elements of a set.
    case union([JSONValue])

    /// Returns nil if the merge rule does not allow the change, for example if the rule is `append` and an element was
    /// removed.
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
                let oldElements = Set(old)
                guard oldElements.isSubset(of: new) else { return nil }
                self = .union(new.filter { !oldElements.contains($0) })
            } else {
                guard new.count >= old.count, new.prefix(old.count) == old[...] else { return nil }
                self = .append(Array(new[old.count...]))
            }
        default:
            return nil
        }
    }

    /// Returns nil if the operation is no difference that the client can apply to another value, for example `toggle`.
    init?(_ operation: InPlaceOperation) {
        switch operation {
        case .add(let amount): self = .sum(amount)
        case .append(let elements): self = .append(elements)
        case .concat(let text): self = .concat(text)
        case .toggle, .merge, .patch: return nil
        }
    }

    /// The equivalent operation of the daemon. Nil if the daemon has no such operation.
    var operation: InPlaceOperation? {
        switch self {
        case .sum(let amount): .add(amount)
        case .append(let elements): .append(elements)
        case .concat(let text): .concat(text)
        case .union: nil
        }
    }

    /// Returns the value with the difference. Returns nil if the value has another type.
    func applied(to value: JSONValue) -> JSONValue? {
        guard case .union(let elements) = self else { return try? operation?.applied(to: value) }
        guard case .array(let current) = value else { return nil }
        let currentElements = Set(current)
        return .array(current + elements.filter { !currentElements.contains($0) })
    }

    /// Returns the elements of a set in the order in which the client stores every set. Returns nil if the difference
    /// is not about a set.
    func inCanonicalOrder(_ value: JSONValue) -> JSONValue? {
        guard case .union = self, case .array(let elements) = value else { return nil }
        return try? Set<JSONValue>.defaultsBridge.encode(Set(elements))
    }
}
