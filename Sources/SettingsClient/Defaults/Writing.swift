internal import SettingsAPI
internal import SettingsKeys

/// Writing by the setters, on the calling thread.
extension DefaultsReference {
    /// Stores a value.
    func set(to value: Value) throws(DefaultsError) {
        try write(slot.encode(value))
    }

    /// Removes what is stored. What fails is reported.
    func remove() {
        core.attempt(name) { () throws(DefaultsError) in try write(nil) }
    }

    private func write(_ json: JSONValue?) throws(DefaultsError) {
        guard let cell = slot.cell else { return }
        try WaitingTime.sharing { () throws(DefaultsError) in
            settleRename()
            // A value under a former name that was not taken over goes with a removal.
            let others = json == nil ? slot.rename?.openNames ?? [] : []
            try core.write(json, to: cell, removing: others)
        }
    }

    /// Stores a value if nothing is stored, which the server decides; true if it did.
    func setIfAbsent(to value: Value) throws(DefaultsError) -> Bool {
        let json = try slot.encode(value)
        guard let cell = slot.cell else { return false }
        return try core.setIfAbsent(json, to: cell)
    }

    /// Begins a change in place. Nothing is locked while it is under way.
    func begin() -> InPlaceChange<Value> {
        let (reading, spent) = slot.cachedReading.map { ($0, .zero) } ?? WaitingTime.measuring { look() }
        let value = reading.value ?? defaultValue
        return InPlaceChange(
            setting: self, value: value, before: slot.encoded(value), reading: reading, spent: spent)
    }
}

/// A change in place between its reading and its writing: `+=` and `append` work on ``value``.
///
/// It is a compare-and-set against what the value was computed from.
struct InPlaceChange<Value: DefaultsSerializable> {
    fileprivate let setting: DefaultsReference<Value>
    var value: Value
    /// The value as it was read, as JSON; nil for nothing. Not known if even that could not be written.
    fileprivate let before: Result<JSONValue?, DefaultsError>
    fileprivate let reading: Reading<Value>
    /// How much of the setter's timeout went into the reading.
    fileprivate let spent: Duration

    private var core: AdapterCore { setting.core }
    private var slot: Slot<Value> { setting.slot }

    /// Writes the value, if it became another.
    func finish() {
        core.attempt(setting.name) { () throws(DefaultsError) in
            let after = slot.encoded(value)
            if !isSameJSON(before, after) { try write(after.get()) }
        }
    }

    private func write(_ new: JSONValue?) throws(DefaultsError) {
        guard let cell = slot.cell else { return }
        let plan = plan(to: new)
        try cell.turn.take(orThrow: DefaultsError(core.isReentered(cell.name))) { () throws(DefaultsError) in
            try WaitingTime.sharing(spent: spent) { () throws(DefaultsError) in
                try session.commit(pending(plan, of: cell.name)) { json throws(DefaultsError) in
                    try slot.normalized(json)
                }
            }
        }
    }

    private var session: SuiteSession { core.session }

    /// The change as it is sent first.
    private func pending(_ plan: PendingChange.Plan, of key: KeyName) throws(DefaultsError) -> PendingChange {
        func pending(
            _ action: Transaction.Operation.Action, if test: Transaction.Condition.Test?
        ) -> PendingChange {
            PendingChange(action, to: key, in: core.suite, if: test, as: .unique(), plan)
        }
        let set = plan.new.map { Transaction.Operation.Action.set($0) } ?? .delete
        guard reading.isStoredUnreadable, let problem = reading.problem else {
            // Another value by now: what was computed from the old one would be shown, and refused.
            if let value = session.visible(key).value, value != plan.base, let delta = plan.delta,
                let operation = delta.operation, let merged = delta.applied(to: value)
            {
                _ = try slot.normalized(merged)
                return pending(.change(operation), if: nil)
            }
            return pending(set, if: session.guardTest(for: key, base: plan.base))
        }
        // A stored value that cannot be decoded is not overwritten by one computed from the default.
        guard case .unreachable = problem else { throw problem }
        // The server is away and nothing is cached, so the change was computed from the default. It is made to whatever is
        // stored if the merge rule allows that, else only if nothing is stored.
        if let operation = plan.delta?.operation { return pending(.change(operation), if: nil) }
        return pending(set, if: .stored(false))
    }

    private func plan(to new: JSONValue?) -> PendingChange.Plan {
        var delta: MergeDelta?
        var start: JSONValue?
        if let rule = slot.key.traits.merge, case .success(let before) = before, case .success(let codec) = slot.codec {
            let isSet = codec.schema.document["uniqueItems"] == true
            delta = MergeDelta(rule, ofSet: isSet, from: before, to: new)
            // What the program reads where nothing is stored.
            start = slot.name.flatMap(core.registered) ?? (try? slot.encode(setting.defaultValue)) ?? nil
        }
        let kept = (try? slot.codec.get())?.keepingUnknownElements(of: reading.base, in: new) ?? new
        return PendingChange.Plan(
            base: reading.base, new: kept, delta: delta, start: start, isSecret: slot.key.traits.isSecret)
    }
}

extension AdapterCore {
    /// What is done to a key.
    func operation(_ key: KeyName, _ action: Transaction.Operation.Action) -> Transaction.Operation {
        Transaction.Operation(suite: suite, key: key, action)
    }

    /// Stores JSON, or removes what is stored.
    ///
    /// - Parameter others: names whose values are removed along with it.
    func write(_ json: JSONValue?, to cell: KeyCell, removing others: [KeyName] = []) throws(DefaultsError) {
        let operations =
            [operation(cell.name, json.map { .set($0) } ?? .delete)] + others.map { operation($0, .delete) }
        try throwingDefaultsError { () throws(BackendError) in
            try cell.turn.take(orThrow: isReentered(cell.name)) { () throws(BackendError) in
                try session.commit(operations)
            }
        }
    }

    /// The error of a write from within another one to the same key.
    func isReentered(_ key: KeyName) -> BackendError {
        .refused(Problem(.invalidOperation, "\(key) of suite \(suite) is written while it is being written"))
    }

    /// Stores a value if nothing is stored, which the server decides; true if it did.
    func setIfAbsent(_ json: JSONValue?, to cell: KeyCell) throws(DefaultsError) -> Bool {
        guard let json else { return false }
        return try throwingDefaultsError { () throws(BackendError) in
            try cell.turn.take(orThrow: isReentered(cell.name)) { () throws(BackendError) in
                do throws(BackendError) {
                    try session.commit(
                        [operation(cell.name, .set(json))], if: [.setting(suite, cell.name, .stored(false))],
                        else: .yielding)
                    return true
                } catch {
                    guard case .refused(let problem) = error, let current = problem.conflicting else { throw error }
                    if !current.isConcealed { session.change { $0.learn(current, fromRefusal: true) } }
                    return false
                }
            }
        }
    }

    /// Runs a setter: what fails is reported, as it cannot be thrown. A write that is kept has not failed.
    func attempt(_ key: String?, _ body: () throws(DefaultsError) -> Void) {
        do {
            try body()
        } catch {
            if case .kept = error { return }
            report(error, key, .write)
        }
    }
}

/// Runs a call of the session, whose errors are thrown as those of programs.
func throwingDefaultsError<Result>(_ body: () throws(BackendError) -> Result) throws(DefaultsError) -> Result {
    do throws(BackendError) {
        return try body()
    } catch {
        throw DefaultsError(error)
    }
}
