internal import SettingsModel
internal import Synchronization

/// A change in place between its reading and its writing: `+=` and `append` work on ``value``.
struct InPlaceChange<Value: DefaultsSerializable> {
    let slot: Slot<Value>
    var value: Value
    /// The value as it was read, as JSON; nil for nothing. Not known if even that could not be written.
    let before: Result<JSONValue?, DefaultsError>
    let reading: Reading<Value>
}

/// Changing in place: a compare-and-set against what the change was computed from.
extension AdapterCore {
    /// Begins a change. Nothing is locked while it is under way.
    func begin<Value>(_ slot: Slot<Value>, default defaultValue: Value? = nil) -> InPlaceChange<Value> {
        var reading = slot.cachedReading ?? look(slot)
        if reading.isDefault, let defaultValue { reading.value = defaultValue }
        let value = reading.value
        return InPlaceChange(
            slot: slot, value: value, before: Result { () throws(DefaultsError) in try slot.encode(value) },
            reading: reading)
    }

    /// Writes what became of the value, if it became another.
    func finish<Value>(_ change: InPlaceChange<Value>) {
        attempt(change.slot.key.name) { () throws(DefaultsError) in
            let new = try change.slot.encode(change.value)
            if case .success(let before) = change.before, before == new { return }
            // What nobody could read is not overwritten by what was computed from something else.
            if change.reading.isStoredUnreadable, let problem = change.reading.problem { throw problem }
            try write(new, change)
        }
    }

    private func write<Value>(_ new: JSONValue?, _ change: InPlaceChange<Value>) throws(DefaultsError) {
        guard let cell = change.slot.cell else { return }
        try cell.gate.withLock { _ throws(DefaultsError) in
            var attempt = ChangeAttempt(new, guardedBy: replica.guardTest(for: cell.name, base: change.reading.base))
            for _ in 0..<Self.mostAttempts {
                let conditions = attempt.test.map { [Transaction.Condition.setting(suite, cell.name, $0)] } ?? []
                do throws(BackendError) {
                    return try commit([operation(cell.name, attempt.action)], if: conditions)
                } catch {
                    attempt = try resolved(error, after: attempt, new, change)
                }
            }
            throw .refused(Problem(.preconditionFailed, "\(cell.name) of suite \(suite) is changed all the time"))
        }
    }

    /// More than all the threads of two machines that change one key at a time.
    private static let mostAttempts = 1000

    /// What to try next after a refusal; throws if there is nothing.
    private func resolved<Value>(
        _ error: BackendError, after attempt: ChangeAttempt, _ new: JSONValue?, _ change: InPlaceChange<Value>
    ) throws(DefaultsError) -> ChangeAttempt {
        guard let cell = change.slot.cell, let current = try current(of: cell.name, after: error, attempt),
            current.source != .invalid
        else {
            throw DefaultsError(error)
        }
        // The value is what it was: only its revision was not known, or it went there and back.
        if current.value == change.reading.base { return ChangeAttempt(new, guardedBy: .revision(current.revision)) }
        guard let delta = try delta(change, to: new) else { throw DefaultsError(error) }
        let base = if let value = current.value { value } else { try fallback(of: change.slot) }
        // Over nothing at all, what was made of nothing is what there is to store.
        let merged = if let base { delta.applied(to: base) } else { new }
        guard let merged else { throw DefaultsError(error) }
        let value = try change.slot.normalized(merged)
        if current.value != nil, let operation = delta.operation { return ChangeAttempt(.change(operation)) }
        return ChangeAttempt(value, guardedBy: .revision(current.revision))
    }

    /// What the key is by now, if that is what the refusal was about.
    private func current(
        of key: KeyName, after error: BackendError, _ attempt: ChangeAttempt
    ) throws(DefaultsError) -> Setting? {
        guard case .refused(let problem) = error else { return nil }
        if let current = error.current {
            replica.change { $0.learn(current, fromRefusal: true) }
            return current
        }
        // What the server does by itself has no condition; it fails if the value went away or became another kind.
        guard case .change = attempt.action, problem.code == .notSet || problem.code == .invalidOperation else {
            return nil
        }
        do {
            return try backend.setting(key)
        } catch {
            throw DefaultsError(error)
        }
    }

    private func delta<Value>(
        _ change: InPlaceChange<Value>, to new: JSONValue?
    ) throws(DefaultsError) -> MergeDelta? {
        let codec = try change.slot.codec.get()
        let isSet = codec.schema.document["uniqueItems"] == true
        return MergeDelta(change.slot.key.traits.merge, ofSet: isSet, from: try change.before.get(), to: new)
    }

    /// What the program reads where nothing is stored.
    private func fallback<Value>(of slot: Slot<Value>) throws(DefaultsError) -> JSONValue? {
        if let cell = slot.cell, let value = registered.withLock({ $0[cell.name] }) { return value }
        return try slot.encode(slot.key.defaultValue)
    }
}

/// One way to write a change.
private struct ChangeAttempt {
    let action: Transaction.Operation.Action
    /// What has to hold; nil for what the server does to whatever is there.
    let test: Transaction.Condition.Test?

    init(_ new: JSONValue?, guardedBy test: Transaction.Condition.Test) {
        action = new.map { .set($0) } ?? .delete
        self.test = test
    }

    init(_ action: Transaction.Operation.Action) {
        self.action = action
        test = nil
    }
}
