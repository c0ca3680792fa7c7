internal import SettingsAPI
internal import SettingsKeys
internal import SettingsModel

/// Writing.
extension DefaultsReference {
    /// Stores a value as a setter does: errors are reported.
    func assign(_ value: Value) {
        core.attempt(name) { () throws(DefaultsError) in
            guard let change = write(try resolved.encode(value)) else { return }
            try core.submit(change)
        }
    }

    /// Removes the stored value as a setter does.
    func remove() {
        core.attempt(name) { () throws(DefaultsError) in
            guard let change = write(nil) else { return }
            try core.submit(change)
        }
    }

    nonisolated(nonsending) func set(_ value: Value) async throws(DefaultsError) {
        guard let change = write(try resolved.encode(value)) else { return }
        try await core.commit(change)
    }

    nonisolated(nonsending) func unset() async throws(DefaultsError) {
        _ = try resolved.codec.get()
        guard let change = write(nil) else { return }
        try await core.commit(change)
    }

    /// The write of a value, or with nil the removal. The value under a former name must not come back later. If the suite is
    /// loaded, it is moved first; otherwise it is removed in the same transaction.
    private func write(_ json: JSONValue?) -> PendingChange? {
        guard let key = resolved.name else { return nil }
        if core.session.isLoaded { takeOver() }
        return core.write(json, to: key, removing: resolved.rename?.openNames ?? [])
    }

    /// Stores a value if nothing is stored, as a setter does. The daemon decides.
    ///
    /// - Parameter start: when the setter began.
    func assignIfAbsent(_ value: Value, since start: ContinuousClock.Instant) {
        core.attempt(name) { () throws(DefaultsError) in
            guard let json = try resolved.encode(value), let key = resolved.name else { return }
            try core.submit(core.writeIfAbsent(json, to: key), since: start)
        }
    }

    /// Returns true if the daemon stored the value. The body runs only if nothing seems to be stored.
    nonisolated(nonsending) func setIfAbsent(
        _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Bool {
        guard try await !isStored(), let key = resolved.name else { return false }
        guard let json = try resolved.encode(try await body()) else { return false }
        do throws(BackendError) {
            _ = try await core.session.commit(core.writeIfAbsent(json, to: key))
            return true
        } catch {
            guard case .refused(let problem) = error, problem.conflicting != nil else { throw DefaultsError(error) }
            return false
        }
    }

    /// Begins a change in place. The caller calls ``InPlaceChange/end()`` in any case.
    func begin() -> InPlaceChange<Value> {
        let start = ContinuousClock.now
        let hasTurn = core.session.changeTurn.begin()
        let reading = resolved.cached?.reading(as: Value.self) ?? readAndReport()
        let value = reading.value ?? defaultValue
        return InPlaceChange(
            setting: self, value: value, before: resolved.encoded(value), reading: reading, start: start,
            hasTurn: hasTurn)
    }
}

/// A change in place between its reading and its writing. Operators such as `+=` and methods such as `append` work on
/// ``value``.
struct InPlaceChange<Value: DefaultsSerializable> {
    fileprivate let setting: DefaultsReference<Value>
    var value: Value
    /// The JSON of the value that was read. Nil for no value. A failure if the value has no JSON.
    fileprivate let before: Result<JSONValue?, DefaultsError>
    fileprivate let reading: Reading<Value>
    /// When the change began. The timeout of the setter counts from there.
    fileprivate let start: ContinuousClock.Instant
    fileprivate let hasTurn: Bool

    private var core: AdapterCore { setting.core }
    private var resolved: ResolvedKey<Value> { setting.resolved }

    /// Writes the value if it is another value now.
    func write() {
        core.attempt(setting.name) { () throws(DefaultsError) in
            let codec = try resolved.codec.get()
            let after = resolved.encoded(value)
            guard !isSameJSON(before, after), let key = resolved.name else { return }
            // A newer program may have stored elements that this program does not know.
            let new = try after.get().map { codec.keepingUnknownElements(of: reading.base, in: $0) ?? $0 }
            try core.submit(change(to: new, of: key), since: start, isInTurn: hasTurn) { merged in
                (try? codec.decode(merged)) != nil
            }
        }
    }

    /// Ends the change, also if the program's code threw an error.
    func end() {
        guard hasTurn else { return }
        core.session.changeTurn.end()
        core.session.announceOwnChanges()
    }

    private func change(to new: JSONValue?, of key: KeyName) throws(DefaultsError) -> PendingChange {
        let plan = plan(to: new)
        func change(
            _ action: Transaction.Operation.Action, if test: Transaction.Condition.Test?
        ) -> PendingChange {
            PendingChange(action, to: key, in: core.suite, if: test, as: .unique(), plan)
        }
        let set = new.map { Transaction.Operation.Action.set($0) } ?? .delete
        if reading.isStoredUnreadable, let problem = reading.problem {
            // A stored value that cannot be decoded must not be overwritten by a value that was computed from the default.
            guard case .unreachable = problem else { throw problem }
            // The suite is not loaded, so the change was computed from the default. The daemon applies it to the stored value
            // if the merge rule allows that, and otherwise only if nothing is stored.
            if let operation = plan.delta?.operation { return change(.change(operation), if: nil) }
            return change(set, if: .stored(false))
        }
        // If other writes wait, the value may be another value when this write is sent. An operation of the daemon then avoids a
        // conflict. The daemon does not know a registered default, so the change must have been computed from its value.
        if core.session.hasUnsentWrites, let base = plan.base, let operation = plan.delta?.operation,
            plan.delta?.applied(to: base) == new
        {
            return change(.change(operation), if: nil)
        }
        return change(set, if: plan.base.map { .value($0) } ?? .stored(false))
    }

    private func plan(to new: JSONValue?) -> PendingChange.Plan {
        var delta: MergeDelta?
        var start: JSONValue?
        if let rule = resolved.key.traits.merge, case .success(let before) = before,
            case .success(let codec) = resolved.codec
        {
            let isSet = codec.schema.document["uniqueItems"] == true
            delta = MergeDelta(rule, ofSet: isSet, from: before, to: new)
            // The value that the program reads if nothing is stored.
            start = resolved.name.flatMap(core.registered) ?? (try? resolved.encode(setting.defaultValue)) ?? nil
        }
        let kept = (try? resolved.codec.get())?.keepingUnknownElements(of: reading.base, in: new) ?? new
        return PendingChange.Plan(
            base: reading.base, new: kept, delta: delta, start: start, isSecret: resolved.key.traits.isSecret)
    }
}

extension AdapterCore {
    func operation(_ key: KeyName, _ action: Transaction.Operation.Action) -> Transaction.Operation {
        Transaction.Operation(suite: suite, key: key, action)
    }

    /// The write of JSON, or with nil the removal of the stored value.
    ///
    /// - Parameter others: names whose values are removed in the same transaction.
    func write(_ json: JSONValue?, to key: KeyName, removing others: [KeyName] = []) -> PendingChange {
        transaction([operation(key, json.map { .set($0) } ?? .delete)] + others.map { operation($0, .delete) })
    }

    /// The write of JSON on the condition that nothing is stored.
    func writeIfAbsent(_ json: JSONValue, to key: KeyName) -> PendingChange {
        transaction([operation(key, .set(json))], if: [.setting(suite, key, .stored(false))], conflict: .yielding)
    }

    func transaction(
        _ operations: [Transaction.Operation], if conditions: [Transaction.Condition] = [],
        conflict: PendingChange.Conflict = .refusal
    ) -> PendingChange {
        PendingChange(
            action: .transaction(Transaction(if: conditions, do: operations)), requestKey: .unique(),
            conflict: conflict)
    }
}
