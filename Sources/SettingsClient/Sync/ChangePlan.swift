internal import SettingsModel

/// A change in place with what it means for another value than the one that it was computed from.
struct ChangePlan: Hashable, Sendable {
    /// The effective value that it was computed from; nil for none.
    let base: JSONValue?
    /// What became of that; nil to remove.
    let new: JSONValue?
    /// What was done, if that can be done to another value too.
    let delta: MergeDelta?
    /// What the program reads where nothing is stored.
    let start: JSONValue?
    /// True if the key says that its values are secret: no message repeats them.
    var isSecret = false
}

/// One way to write a change.
struct ChangeAttempt: Hashable, Sendable {
    let action: Transaction.Operation.Action
    /// What has to hold; nil for what the server does to whatever is there.
    let test: Transaction.Condition.Test?

    init(_ new: JSONValue?, guardedBy test: Transaction.Condition.Test) {
        action = new.map { .set($0) } ?? .delete
        self.test = test
    }

    init(_ operation: InPlaceOperation) {
        action = .change(operation)
        test = nil
    }
}

extension ChangePlan {
    /// What to try after a conflict with what is there; nil if there is nothing.
    ///
    /// - Parameter normalized: what the type of the key makes of a value that two have had a part in, or why it is none.
    func next<Failure: Error>(
        over current: SettingState, normalized: (JSONValue) throws(Failure) -> JSONValue?
    ) throws(Failure) -> ChangeAttempt? {
        guard current.source != .invalid, !current.isConcealed else { return nil }
        // The value is what it was: only its revision was not known, or it went there and back.
        if current.value == base { return ChangeAttempt(new, guardedBy: .revision(current.revision)) }
        guard let delta else { return nil }
        // Over nothing at all, what was made of nothing is what there is to store.
        let merged = if let value = current.value ?? start { delta.applied(to: value) } else { new }
        guard let merged else { return nil }
        let value = try normalized(merged)
        if current.value != nil, let operation = delta.operation { return ChangeAttempt(operation) }
        return ChangeAttempt(value, guardedBy: .revision(current.revision))
    }

    /// What to try after a conflict, where nobody knows the type of the key.
    func next(over current: SettingState) -> ChangeAttempt? {
        next(over: current) { delta?.inCanonicalOrder($0) ?? $0 }
    }
}

extension ChangePlan {
    /// The refusal of a change whose value changed meanwhile, in words that say how and what to do. Other refusals stay
    /// as they are.
    func explained(_ problem: Problem, _ current: SettingState) -> Problem {
        guard problem.code == .preconditionFailed, current.source != .invalid else { return problem }
        var change = "the value changed meanwhile"
        if !isSecret, !current.isSecret {
            change += " from \(Self.phrase(base)) to \(Self.phrase(current.value))"
        }
        var problem = problem
        problem.detail =
            "\(change); to change what is there by now, use update { }, or give the key a rule for such changes (merge:)"
        return problem
    }

    private static func phrase(_ value: JSONValue?) -> String { value?.briefPhrase ?? "unset" }
}

extension BackendError {
    func explained(by plan: ChangePlan, _ current: SettingState) -> BackendError {
        if case .refused(let problem) = self { .refused(plan.explained(problem, current)) } else { self }
    }
}

extension SuiteWrite {
    func explained(_ problem: Problem, _ current: SettingState) -> Problem {
        if case .change(let plan) = conflict { plan.explained(problem, current) } else { problem }
    }
}
