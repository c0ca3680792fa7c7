internal import SettingsAPI
internal import SettingsModel
internal import Synchronization

/// A change in place between its reading and its writing: `+=` and `append` work on ``value``.
struct InPlaceChange<Value: DefaultsSerializable> {
    let core: AdapterCore
    let slot: Slot<Value>
    var value: Value
    /// The value as it was read, as JSON; nil for nothing. Not known if even that could not be written.
    let before: Result<JSONValue?, DefaultsError>
    let reading: Reading<Value>
    /// How much of the setter's timeout went into the reading.
    let spent: Duration

    /// Writes the value, if it became another.
    func finish() {
        core.finish(self)
    }
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
            core: self, slot: slot, value: value,
            before: Result { () throws(DefaultsError) in try slot.encode(value) }, reading: reading, spent: spent)
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
                let pending = try pending(change, plan, of: cell.name)
                try session.commit(pending) { json throws(DefaultsError) in try change.slot.normalized(json) }
            }
        }
    }

    /// The change as it is sent first.
    private func pending<Value>(
        _ change: InPlaceChange<Value>, _ plan: PendingChange.Plan, of key: KeyName
    ) throws(DefaultsError) -> PendingChange {
        func pending(
            _ action: Transaction.Operation.Action, if test: Transaction.Condition.Test?
        ) -> PendingChange {
            PendingChange(action, to: key, in: suite, if: test, as: session.requestKeys.next(), plan)
        }
        let set = plan.new.map { Transaction.Operation.Action.set($0) } ?? .delete
        guard change.reading.isStoredUnreadable, let problem = change.reading.problem else {
            // Another value by now: what was computed from the old one would be shown, and refused.
            if let value = session.visible(key).value, value != plan.base, let delta = plan.delta,
                let operation = delta.operation, let merged = delta.applied(to: value)
            {
                _ = try change.slot.normalized(merged)
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

    private func plan<Value>(_ change: InPlaceChange<Value>, to new: JSONValue?) -> PendingChange.Plan {
        var delta: MergeDelta?
        var start: JSONValue?
        if let rule = change.slot.key.traits.merge, case .success(let before) = change.before,
            case .success(let codec) = change.slot.codec
        {
            let isSet = codec.schema.document["uniqueItems"] == true
            delta = MergeDelta(rule, ofSet: isSet, from: before, to: new)
            start = (try? fallback(of: change.slot)) ?? nil
        }
        return PendingChange.Plan(
            base: change.reading.base, new: new, delta: delta, start: start, isSecret: change.slot.key.traits.isSecret)
    }

    /// What the program reads where nothing is stored.
    private func fallback<Value>(of slot: Slot<Value>) throws(DefaultsError) -> JSONValue? {
        if let cell = slot.cell, let value = registered.withLock({ $0[cell.name] }) { return value }
        return try slot.encode(slot.key.defaultValue)
    }
}
