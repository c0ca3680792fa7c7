internal import SettingsAPI
internal import SettingsKeys
internal import SettingsModel

/// Writing.
extension DefaultsReference {
    /// Stores a value as a setter does. Reports an error.
    func assign(_ value: Value) {
        core.runSetter(for: name) { () throws(DefaultsError) in
            guard let change = write(try resolved.encode(value)) else { return }
            try core.submit(change)
        }
    }

    /// Removes the stored value as a setter does.
    func remove() {
        core.runSetter(for: name) { () throws(DefaultsError) in
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

    /// Returns the write of a value. Nil removes the stored value.
    ///
    /// A value under a former name of the key must not replace the new value later. If the suite is loaded, the value
    /// is moved before the write. Otherwise the write removes the former names, too.
    private func write(_ json: JSONValue?) -> PendingChange? {
        guard let key = resolved.name else { return nil }
        if core.session.isLoaded { moveValue() }
        return core.write(json, to: key, removing: resolved.valueMove?.openNames ?? [])
    }

    /// Stores a value if nothing is stored, as a setter does. The daemon decides.
    ///
    /// - Parameter start: the time at which the setter began.
    func assignIfAbsent(_ value: Value, since start: ContinuousClock.Instant) {
        core.runSetter(for: name) { () throws(DefaultsError) in
            guard let json = try resolved.encode(value), let key = resolved.name else { return }
            try core.submit(core.writeIfAbsent(json, to: key), since: start)
        }
    }

    /// Returns true if the daemon stored the value. The body runs only if the client knows of no stored value.
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

    /// Begins a change in place. The caller must call ``InPlaceChange/end()``, even if the change throws.
    func beginChange() -> InPlaceChange<Value> {
        let start = ContinuousClock.now
        let holdsLock = core.session.changeLock.acquire()
        let reading = resolved.cached?.reading(as: Value.self) ?? readAndReport()
        let value = reading.value ?? defaultValue
        return InPlaceChange(
            setting: self, value: value, before: resolved.encoded(value), reading: reading, start: start,
            holdsLock: holdsLock)
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
    /// The time at which the change began. The timeout of the setter counts from this time.
    fileprivate let start: ContinuousClock.Instant
    fileprivate let holdsLock: Bool

    private var core: AdapterCore { setting.core }
    private var resolved: ResolvedKey<Value> { setting.resolved }

    /// Writes the value if the change has modified it.
    func write() {
        core.runSetter(for: setting.name) { () throws(DefaultsError) in
            let codec = try resolved.codec.get()
            let after = resolved.encoded(value)
            guard !isSameJSON(before, after), let key = resolved.name else { return }
            // A newer program may have stored elements that this program does not know.
            let new = try after.get().map { codec.keepingUnknownElements(of: reading.base, in: $0) ?? $0 }
            try core.submit(change(to: new, of: key), since: start, holdsLock: holdsLock) { merged in
                (try? codec.decode(merged)) != nil
            }
        }
    }

    /// Ends the change, also if the program's code threw an error.
    func end() {
        guard holdsLock else { return }
        core.session.changeLock.release()
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
            // A stored value that cannot be decoded must not be overwritten by a value that was computed from the
            // default.
            guard case .unreachable = problem else { throw problem }
            // The suite is not loaded, so the change was computed from the default. The daemon applies it to the stored
            // value if the merge rule allows that, and otherwise only if nothing is stored.
            if let operation = plan.delta?.operation { return change(.change(operation), if: nil) }
            return change(set, if: .stored(false))
        }
        // If other writes wait, the value may have changed when this write is sent. An operation of the daemon then
        // avoids a conflict. The operation starts from the daemon's value, so it must give the same result as the
        // change. This is not so if the change started from a registered default, which the daemon does not know.
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
        let complete = (try? resolved.codec.get())?.keepingUnknownElements(of: reading.base, in: new) ?? new
        return PendingChange.Plan(
            base: reading.base, new: complete, delta: delta, start: start, isSecret: resolved.key.traits.isSecret)
    }
}

extension AdapterCore {
    func operation(_ key: KeyName, _ action: Transaction.Operation.Action) -> Transaction.Operation {
        Transaction.Operation(suite: suite, key: key, action)
    }

    /// Returns the write of JSON. Nil removes the stored value.
    ///
    /// - Parameter others: names whose values are removed in the same transaction.
    func write(_ json: JSONValue?, to key: KeyName, removing others: [KeyName] = []) -> PendingChange {
        transaction([operation(key, json.map { .set($0) } ?? .delete)] + others.map { operation($0, .delete) })
    }

    /// Returns the write of JSON on the condition that nothing is stored.
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
