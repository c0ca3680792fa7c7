internal import SettingsModel

/// One write to a suite, with all that is needed to do it later.
struct SuiteWrite: Hashable, Sendable {
    /// What is done.
    enum Action: Hashable, Sendable {
        case transaction(Transaction)
        /// Takes all stored values away.
        case reset
    }

    /// What becomes of it if a condition does not hold.
    enum Conflict: Hashable, Sendable {
        /// It is refused.
        case refusal
        /// What is there stays, and that is as well: a value was to be stored only if there was none.
        case yielding
        /// The change is made to what is there by then, as far as its plan goes.
        case change(ChangePlan)
    }

    var action: Action
    /// What the write is called, so that it is done once however often it is sent.
    var requestKey: RequestKey
    var conflict = Conflict.refusal
}

extension SuiteWrite {
    /// What is done to keys; nothing for a reset, which is about all of them.
    var operations: [Transaction.Operation] {
        if case .transaction(let transaction) = action { transaction.operations } else { [] }
    }

    /// The key, if the write is about one alone.
    var key: KeyName? {
        guard let first = operations.first?.key else { return nil }
        return operations.allSatisfy { $0.key == first } ? first : nil
    }

    /// Whether a refusal says that there is nothing to remove, as the suite does not exist: that is as well.
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

    /// The same in the form for a server that may have another history by then. What the server can do to whatever is
    /// there needs no condition. What is done only to a certain value asks for that: its revision may mean another value.
    var forLater: SuiteWrite {
        guard case .change(let plan) = conflict, case .transaction(var transaction) = action,
            transaction.operations.count == 1
        else { return self }
        // What was computed from a registered default is not what the server would make of what is there.
        if let base = plan.base, plan.delta?.applied(to: base) == plan.new, let change = plan.delta?.operation {
            transaction.operations[0].action = .change(change)
            transaction.conditions = []
        } else {
            transaction.conditions = transaction.conditions.map { condition in
                guard case .setting(let suite, let key, .revision) = condition else { return condition }
                return .setting(suite, key, plan.base.map { .value($0) } ?? .stored(false))
            }
        }
        var write = self
        write.action = .transaction(transaction)
        return write
    }
}

extension SuiteWrite {
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
}

extension Transaction.Condition {
    /// Whether it holds where nothing is stored at all.
    fileprivate var isOfNothing: Bool {
        if case .setting(_, _, .stored(false)) = self { true } else { false }
    }
}
