internal import SettingsAPI
internal import SettingsKeys
internal import SettingsModel

extension DefaultsReference {
    /// Stores a value as a setter does: reports an error instead of throwing the error.
    func assign(_ value: Value) {
        core.runSetter(for: name) { () throws(DefaultsError) in
            guard let change = makeWrite(try resolved.encode(value)) else { return }
            try core.submit(change)
        }
    }

    /// Removes the stored value. Like `assign`, reports an error instead of throwing the error. Does nothing if the
    /// name of the key is not a valid key name.
    func remove() {
        core.runSetter(for: name) { () throws(DefaultsError) in
            guard let change = makeWrite(nil) else { return }
            try core.submit(change)
        }
    }

    nonisolated(nonsending) func set(_ value: Value) async throws(DefaultsError) {
        guard let change = makeWrite(try resolved.encode(value)) else { return }
        try await core.commit(change)
    }

    nonisolated(nonsending) func set(
        _ value: Value, _ deadline: DefaultsDeadline
    ) async throws(DefaultsError) -> DefaultsPendingAction? {
        guard let change = makeWrite(try resolved.encode(value)), case .transaction(let transaction) = change.action
        else { return nil }
        let summary = try await throwingDefaultsError { () async throws(BackendError) in
            try await core.session.sendAfterQueue(.commit(transaction, deadline))
        }
        return DefaultsPendingAction(summary.pending, in: core)
    }

    nonisolated(nonsending) func unset() async throws(DefaultsError) {
        _ = try resolved.codec.get()
        guard let change = makeWrite(nil) else { return }
        try await core.commit(change)
    }

    /// Returns the write of a value. If the value is nil, the write removes the stored value.
    ///
    /// A move of a value from a former name must not replace the new value later. If the suite is loaded, the move is
    /// therefore sent before the write. Until the move has ended, the write also removes the values under former names.
    private func makeWrite(_ json: JSONValue?) -> PendingChange? {
        guard let key = resolved.name else { return nil }
        if core.session.isLoaded { startMove() }
        return core.makeWrite(json, to: key, removing: formerNamesToRemove)
    }

    /// Stores a value if nothing is stored. The daemon checks the condition. Reports an error instead of throwing the
    /// error.
    ///
    /// - Parameter start: the time at which the setter began.
    func assignIfAbsent(_ value: Value, since start: ContinuousClock.Instant) {
        core.runSetter(for: name) { () throws(DefaultsError) in
            guard let json = try resolved.encode(value), let key = resolved.name else { return }
            try core.submit(core.makeWriteIfAbsent(json, to: key), since: start)
        }
    }

    /// Stores the value that the body returns if nothing is stored. Returns true if the daemon stored the value. The
    /// body runs only if the client knows of no stored value.
    nonisolated(nonsending) func setIfAbsent(
        _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Bool {
        guard try await !isStored(), let key = resolved.name else { return false }
        guard let json = try resolved.encode(try await body()) else { return false }
        do throws(BackendError) {
            _ = try await core.session.commit(core.makeWriteIfAbsent(json, to: key))
            return true
        } catch {
            guard case .refused(let problem) = error, problem.conflicting != nil else { throw DefaultsError(error) }
            return false
        }
    }

    /// Begins a change in place. The calling code must call ``InPlaceChange/end()``, even if the change throws.
    func beginChange() -> InPlaceChange<Value> {
        let start = ContinuousClock.now
        let holdsLock = core.session.changeLock.acquire()
        let reading = resolved.cachedReading?.reading(as: Value.self) ?? readAndReport()
        let value = reading.value ?? defaultValue
        return InPlaceChange(
            reference: self, value: value, before: resolved.encoded(value), reading: reading, start: start,
            holdsLock: holdsLock)
    }
}

/// A change in place between the read and the write of the value. Operators such as `+=` and methods such as `append`
/// change ``value``.
struct InPlaceChange<Value: DefaultsSerializable> {
    fileprivate let reference: DefaultsReference<Value>
    var value: Value
    /// The JSON of the value that was read. Nil for an optional that is nil. A failure if the value has no JSON form.
    fileprivate let before: Result<JSONValue?, DefaultsError>
    fileprivate let reading: Reading<Value>
    /// The time at which the change began. The timeout of the setter counts from this time.
    fileprivate let start: ContinuousClock.Instant
    /// True if the change holds the lock of changes in place (``ChangeLock``). False if the wait for the lock took too
    /// long.
    fileprivate let holdsLock: Bool

    private var core: AdapterCore { reference.core }
    private var resolved: ResolvedKey<Value> { reference.resolved }

    /// Writes the value if the change has modified it.
    func write() {
        core.runSetter(for: reference.name) { () throws(DefaultsError) in
            let codec = try resolved.codec.get()
            let after = resolved.encoded(value)
            guard !isSameJSON(before, after), let key = resolved.name else { return }
            // Another program may have stored elements that this program does not know. The write must keep them.
            let new = try after.get().map { codec.keepingUnknownElements(of: reading.replicaJSON, in: $0) ?? $0 }
            try core.submit(
                makePendingChange(to: new, of: key), since: start, holdsLock: holdsLock,
                isAllowed: { merged in (try? codec.decode(merged)) != nil })
        }
    }

    /// Releases the lock of changes in place, and announces the changes that this thread has made with the lock. If the
    /// change does not hold the lock, the write has already announced the changes. Called even if the code of the
    /// program has thrown an error.
    func end() {
        guard holdsLock else { return }
        core.session.changeLock.release()
        core.session.announceLocalChanges()
    }

    private func makePendingChange(to new: JSONValue?, of key: KeyName) throws(DefaultsError) -> PendingChange {
        // `plan.base` is the JSON in the replica. `plan.delta` is the difference between the value that was read, which
        // may be a registered default, and the new value.
        let plan = mergePlan(to: new)
        func pendingChange(
            _ action: Transaction.Operation.Action, if test: Transaction.Condition.Test?
        ) -> PendingChange {
            PendingChange(action, to: key, in: core.suite, if: test, requestKey: .unique(), plan)
        }
        let set = new.map { Transaction.Operation.Action.set($0) } ?? .delete
        if reading.isReplicaValueUnreadable, let problem = reading.problem {
            // A value that was computed from a default must not overwrite a stored value that cannot be decoded.
            guard case .unreachable = problem else { throw problem }
            // The suite is not loaded, so the change was computed from a default. If the merge rule allows an
            // operation, the daemon applies the operation to the stored value. Otherwise the daemon makes the change
            // only if nothing is stored.
            if let operation = plan.delta?.operation { return pendingChange(.change(operation), if: nil) }
            return pendingChange(set, if: .stored(false))
        }
        // If other writes wait, another program may change the value before this write is sent. An operation, such as
        // `add`, avoids a conflict, because the daemon applies the operation to its own value. The client uses the
        // operation only if the operation on the value in the replica results in the computed value. The results differ
        // if the change was computed from a registered default, which the daemon does not know.
        if core.session.hasUnansweredWrites, let base = plan.base, let operation = plan.delta?.operation,
            plan.delta?.applied(to: base) == new
        {
            return pendingChange(.change(operation), if: nil)
        }
        return pendingChange(set, if: plan.base.map { .value($0) } ?? .stored(false))
    }

    /// Returns the data with which the client repeats the change after a conflict, see ``PendingChange/MergePlan``.
    private func mergePlan(to new: JSONValue?) -> PendingChange.MergePlan {
        var delta: MergeDelta?
        var valueIfUnset: JSONValue?
        if let rule = resolved.key.traits.merge, case .success(let before) = before,
            case .success(let codec) = resolved.codec
        {
            let isSetType = codec.schema.document["uniqueItems"] == true
            delta = MergeDelta(rule, ofSet: isSetType, from: before, to: new)
            valueIfUnset =
                resolved.name.flatMap(core.registeredDefault) ?? (try? resolved.encode(reference.defaultValue)) ?? nil
        }
        let newWithUnknownElements =
            (try? resolved.codec.get())?.keepingUnknownElements(of: reading.replicaJSON, in: new) ?? new
        return PendingChange.MergePlan(
            base: reading.replicaJSON, new: newWithUnknownElements, delta: delta, valueIfUnset: valueIfUnset,
            isSecret: resolved.key.traits.isSecret)
    }
}

extension AdapterCore {
    func makeOperation(_ key: KeyName, _ action: Transaction.Operation.Action) -> Transaction.Operation {
        Transaction.Operation(suite: suite, key: key, action)
    }

    /// Returns the write of JSON. If the JSON is nil, the write removes the stored value.
    ///
    /// - Parameter others: the names whose values the same transaction removes.
    func makeWrite(_ json: JSONValue?, to key: KeyName, removing others: [KeyName] = []) -> PendingChange {
        makeTransaction(
            [makeOperation(key, json.map { .set($0) } ?? .delete)] + others.map { makeOperation($0, .delete) })
    }

    /// Returns the write of JSON on the condition that nothing is stored.
    func makeWriteIfAbsent(_ json: JSONValue, to key: KeyName) -> PendingChange {
        makeTransaction(
            [makeOperation(key, .set(json))], if: [.setting(suite, key, .stored(false))], onConflict: .keepStoredValue)
    }

    func makeTransaction(
        _ operations: [Transaction.Operation], if conditions: [Transaction.Condition] = [],
        onConflict reaction: PendingChange.ConflictReaction = .fail
    ) -> PendingChange {
        PendingChange(
            action: .transaction(Transaction(if: conditions, do: operations)), requestKey: .unique(),
            onConflict: reaction)
    }
}
