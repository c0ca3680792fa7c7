internal import SettingsModel
internal import Synchronization

/// A change in place between its reading and its writing: `+=` and `append` work on ``value``.
struct InPlaceChange<Value: DefaultsSerializable> {
    let slot: Slot<Value>
    var value: Value
    /// The value as it was read, as JSON; nil for nothing. Not known if even that could not be written.
    let before: Result<JSONValue?, DefaultsError>
    let reading: Reading<Value>
    /// How much of the setter's timeout went into the reading.
    let spent: Duration
}

/// Changing in place: a compare-and-set against what the change was computed from.
extension AdapterCore {
    /// Begins a change. Nothing is locked while it is under way.
    func begin<Value>(_ slot: Slot<Value>, default defaultValue: Value? = nil) -> InPlaceChange<Value> {
        var spent = Duration.zero
        var reading: Reading<Value>
        if let cached = slot.cachedReading {
            reading = cached
        } else {
            (reading, spent) = WaitingTime.measuring { look(slot) }
        }
        if reading.isDefault, let defaultValue { reading.value = defaultValue }
        let value = reading.value
        return InPlaceChange(
            slot: slot, value: value, before: Result { () throws(DefaultsError) in try slot.encode(value) },
            reading: reading, spent: spent)
    }

    /// Writes what became of the value, if it became another.
    func finish<Value>(_ change: InPlaceChange<Value>) {
        attempt(change.slot.key.name) { () throws(DefaultsError) in
            let new = try change.slot.encode(change.value)
            if case .success(let before) = change.before, before == new { return }
            try write(new, change)
        }
    }

    private func write<Value>(_ new: JSONValue?, _ change: InPlaceChange<Value>) throws(DefaultsError) {
        guard let cell = change.slot.cell else { return }
        let plan = plan(change, to: new)
        try session.inTurn(of: cell, orThrow: DefaultsError(isReentered(cell.name))) { () throws(DefaultsError) in
            try WaitingTime.sharing(spent: change.spent) { () throws(DefaultsError) in
                try write(plan, change, to: cell.name)
            }
        }
    }

    private func write<Value>(
        _ plan: ChangePlan, _ change: InPlaceChange<Value>, to key: KeyName
    ) throws(DefaultsError) {
        var attempt = try firstAttempt(plan, change, key)
        for _ in 0..<Self.mostAttempts {
            let conditions = attempt.test.map { [Transaction.Condition.setting(suite, key, $0)] } ?? []
            do throws(BackendError) {
                return try session.commit([operation(key, attempt.action)], if: conditions, else: .change(plan))
            } catch {
                attempt = try resolved(error, after: attempt, plan, change.slot)
            }
        }
        throw .refused(Problem(.preconditionFailed, "\(key) of suite \(suite) is changed all the time"))
    }

    private func firstAttempt<Value>(
        _ plan: ChangePlan, _ change: InPlaceChange<Value>, _ key: KeyName
    ) throws(DefaultsError) -> ChangeAttempt {
        guard change.reading.isStoredUnreadable, let problem = change.reading.problem else {
            // Another value by now: what was computed from the old one would be shown, and refused.
            if let value = session.visible(key).value, value != plan.base, let delta = plan.delta,
                let operation = delta.operation, let merged = delta.applied(to: value)
            {
                _ = try change.slot.normalized(merged)
                return ChangeAttempt(operation)
            }
            return ChangeAttempt(plan.new, guardedBy: session.guardTest(for: key, base: plan.base))
        }
        // A stored value that cannot be decoded is not overwritten by one computed from the default.
        guard case .unreachable = problem else { throw problem }
        // The server is away and nothing is cached, so the change was computed from the default. It is made to whatever is
        // stored if the merge rule allows that, else only if nothing is stored.
        if let operation = plan.delta?.operation { return ChangeAttempt(operation) }
        return ChangeAttempt(plan.new, guardedBy: .stored(false))
    }

    /// More than all the threads of two machines that change one key at a time.
    private static let mostAttempts = 1000

    /// What to try next after a refusal; throws if there is nothing.
    private func resolved<Value>(
        _ error: BackendError, after attempt: ChangeAttempt, _ plan: ChangePlan, _ slot: Slot<Value>
    ) throws(DefaultsError) -> ChangeAttempt {
        guard let cell = slot.cell, let current = try current(of: cell.name, after: error, attempt) else {
            throw DefaultsError(error)
        }
        let next = try plan.next(over: current) { json throws(DefaultsError) in try slot.normalized(json) }
        guard let next else { throw DefaultsError(error.explained(by: plan, current)) }
        return next
    }

    /// What the key is by now, if that is what the refusal was about.
    private func current(
        of key: KeyName, after error: BackendError, _ attempt: ChangeAttempt
    ) throws(DefaultsError) -> SettingState? {
        guard case .refused(let problem) = error else { return nil }
        if let current = error.current, !current.isConcealed {
            session.change { $0.learn(current, fromRefusal: true) }
            return current
        }
        // A refusal does not tell the value of a secret.
        if problem.code == .preconditionFailed { return try settingNow(key) }
        // What the server does by itself has no condition; it fails if the value went away or became another kind.
        guard case .change = attempt.action, problem.isAboutValue else { return nil }
        return try settingNow(key)
    }

    /// Asks the server for a setting, and takes in what it says.
    func settingNow(_ key: KeyName) throws(DefaultsError) -> SettingState {
        do {
            return try session.ask(for: key)
        } catch {
            throw DefaultsError(error)
        }
    }

    private func plan<Value>(_ change: InPlaceChange<Value>, to new: JSONValue?) -> ChangePlan {
        var delta: MergeDelta?
        var start: JSONValue?
        if let rule = change.slot.key.traits.merge, case .success(let before) = change.before,
            case .success(let codec) = change.slot.codec
        {
            let isSet = codec.schema.document["uniqueItems"] == true
            delta = MergeDelta(rule, ofSet: isSet, from: before, to: new)
            start = (try? fallback(of: change.slot)) ?? nil
        }
        return ChangePlan(
            base: change.reading.base, new: new, delta: delta, start: start, isSecret: change.slot.key.traits.isSecret)
    }

    /// What the program reads where nothing is stored.
    private func fallback<Value>(of slot: Slot<Value>) throws(DefaultsError) -> JSONValue? {
        if let cell = slot.cell, let value = registered.withLock({ $0[cell.name] }) { return value }
        return try slot.encode(slot.key.defaultValue)
    }
}

extension Problem {
    /// Whether an operation could not be done to what is there, or as nothing is.
    var isAboutValue: Bool {
        code == .notSet || code == .unknownSuite || code == .invalidOperation
    }
}
