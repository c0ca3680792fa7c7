internal import SettingsAPI
internal import SettingsModel
internal import Synchronization

/// A change that the program wants, from `+= 1` until the server has answered: what is done and on which conditions, what
/// follows a conflict, and the request key under which it is done once, however often it is sent.
struct PendingChange: Hashable, Sendable {
    enum Action: Hashable, Sendable {
        case transaction(Transaction)
        /// Removes all stored values.
        case reset
    }

    /// What follows if a condition does not hold.
    enum Conflict: Hashable, Sendable {
        /// The change is refused.
        case refusal
        /// What is there stays, which is no error: a value was to be stored only if there was none.
        case yielding
        /// The change is made to what is there by then, as far as its plan goes.
        case merge(Plan)
    }

    /// A change of one key in place, with what it means for another value than the one that it was computed from.
    struct Plan: Hashable, Sendable {
        /// The effective value that it was computed from; nil for none.
        let base: JSONValue?
        /// The value that came of it; nil to remove.
        let new: JSONValue?
        /// What was done, if that can be done to another value too.
        let delta: MergeDelta?
        /// What the program reads where nothing is stored.
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

    /// What is done to keys; nothing for a reset, which is about all of them.
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

    /// True if a refusal says that there is nothing to remove, as the suite does not exist: that is as good as done.
    func isVain(after problem: Problem) -> Bool {
        guard problem.code == .unknownSuite else { return false }
        switch action {
        case .reset: return true
        case .transaction(let transaction):
            // In a suite that does not exist nothing is stored, so conditions that ask for no more hold.
            return transaction.conditions.allSatisfy(\.isOfNothing)
                && transaction.operations.allSatisfy { $0.action == .delete }
        }
    }

    /// True if it compares revisions, which mean something in one history only.
    var comparesRevisions: Bool {
        guard case .transaction(let transaction) = action else { return false }
        return transaction.conditions.contains { condition in
            switch condition {
            case .suite, .setting(_, _, .revision): true
            case .setting: false
            }
        }
    }

    /// The plan of a change of one key, with that key and its suite.
    private var merge: (plan: Plan, transaction: Transaction, operation: Transaction.Operation)? {
        guard case .merge(let plan) = conflict, case .transaction(let transaction) = action,
            transaction.operations.count == 1
        else { return nil }
        return (plan, transaction, transaction.operations[0])
    }
}

/// The forms in which it is sent.
extension PendingChange {
    /// The change in the form for a server that may have another history by then. What the server can do to whatever is
    /// there needs no condition. What is done only to a certain value asks for that: its revision may mean another value.
    var forLater: PendingChange {
        guard let merge else { return self }
        let plan = merge.plan
        var transaction = merge.transaction
        // What was computed from a registered default is not what the server would make of what is there.
        if let base = plan.base, plan.delta?.applied(to: base) == plan.new, let change = plan.delta?.operation {
            transaction.operations[0].action = .change(change)
            transaction.conditions = []
        } else {
            transaction.conditions = transaction.conditions.map { condition in
                guard case .setting(let suite, let key, .revision) = condition else { return condition }
                return .setting(suite, key, Self.test(of: plan.base))
            }
        }
        var later = self
        later.action = .transaction(transaction)
        return later
    }

    /// True if a refusal is about what was there, and the change has a plan for that.
    func isConflict(_ problem: Problem) -> Bool {
        guard let merge else { return false }
        if problem.code == .preconditionFailed { return true }
        // What the server does by itself has no condition; it fails if the value went away or became another kind.
        guard case .change = merge.operation.action else { return false }
        return problem.code == .notSet || problem.code == .unknownSuite || problem.code == .invalidOperation
    }

    /// The change in the form that its plan has for what is there after a conflict; nil if there is none.
    ///
    /// - Parameter normalized: what the type of the key makes of a value that two have had a part in, or why it is none.
    func resolved<Failure: Error>(
        over current: SettingState, as requestKey: RequestKey,
        normalized: (JSONValue) throws(Failure) -> JSONValue?
    ) throws(Failure) -> PendingChange? {
        guard let (plan, _, operation) = merge, current.source != .invalid, !current.isConcealed else { return nil }
        // By value, as the answer may be lost, and the server be another one when it is sent again.
        func set(_ value: JSONValue?) -> PendingChange {
            PendingChange(
                value.map { .set($0) } ?? .delete, to: operation.key, in: operation.suite,
                if: Self.test(of: current.value), as: requestKey, plan)
        }
        // The value is what it was: only its revision was not known, or it went there and back.
        if current.value == plan.base { return set(plan.new) }
        guard let delta = plan.delta else { return nil }
        // Over nothing at all, what was made of nothing is what there is to store.
        let merged = if let value = current.value ?? plan.start { delta.applied(to: value) } else { plan.new }
        guard let merged else { return nil }
        let value = try normalized(merged)
        guard current.value != nil, let change = delta.operation else { return set(value) }
        let next = PendingChange(
            .change(change), to: operation.key, in: operation.suite, if: nil, as: requestKey, plan)
        // The same to the same would be refused again.
        return next.action == action ? nil : next
    }

    /// The change after a conflict, where the type of the key is not known.
    func resolved(over current: SettingState, as requestKey: RequestKey) -> PendingChange? {
        resolved(over: current, as: requestKey) { merge?.plan.delta?.inCanonicalOrder($0) ?? $0 }
    }

    private static func test(of value: JSONValue?) -> Transaction.Condition.Test {
        value.map { .value($0) } ?? .stored(false)
    }
}

/// What to say of a refusal.
extension PendingChange {
    /// The refusal of a change whose value changed meanwhile, in words that say how and what to do. Other refusals stay
    /// as they are.
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

    /// The refusal of a transaction in words that say which of the keys that it read changed meanwhile.
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

/// Names for writes: random once, then counted, so that no two are the same in any two programs.
struct RequestKeySource: ~Copyable, Sendable {
    private let prefix: String
    private let count = Atomic<UInt64>(0)

    init() {
        let random = UInt64.random(in: .min ... .max)
        let more = UInt32.random(in: .min ... .max)
        prefix = String(random, radix: 36) + String(more, radix: 36)
    }

    /// The next name.
    func next() -> RequestKey {
        let number = count.wrappingAdd(1, ordering: .relaxed).newValue
        guard let key = RequestKey("\(prefix)-\(String(number, radix: 36))") else {
            preconditionFailure("digits and a hyphen are printable, and at most 35 of them")
        }
        return key
    }
}
