package import SettingsAPI
package import SettingsKeys
internal import SettingsModel
internal import Synchronization

/// Access by name, without a declared type. The module SettingsClientCompatibility has the public methods.
extension AdapterCore {
    /// Reads the effective value of a name.
    ///
    /// - Parameter read: converts JSON. Text on the command line may mean several JSON values, such as `"1"` and `1`.
    ///   The method tries these values in order, and ignores the argument if `read` returns nil for each value.
    package func readUntyped<Value>(_ name: String, as read: (JSONValue) -> Value?) -> Value? {
        registerRead(named: name)
        // The call may wait for the daemon. A change during the wait replaces the tracker of the key (`ValueTracker`),
        // so the read is registered again with the new tracker.
        defer { registerRead(named: name) }
        for candidate in arguments.candidates(for: name) {
            if let value = read(candidate) { return value }
        }
        return untypedValueWithoutArguments(name).flatMap(read)
    }

    /// Registers a read for Swift's Observation, in the `KeyCell` that all readers of the key share. The key table
    /// retains the resolved key, which retains the cell.
    private func registerRead(named name: String) {
        if (try? KeyName(name)) != nil { keys.resolve(DefaultsKey<JSONValue?>(name)).registerRead() }
    }

    private func untypedValueWithoutArguments(_ name: String) -> JSONValue? {
        guard let key = keyName(name, .read) else { return nil }
        let deadline = session.deadline
        do {
            try load(for: key, until: deadline)
        } catch {
            reportReadFailure(error, name)
            return registeredDefault(key)
        }
        let visible = session.visibleSetting(key)
        guard let registered = registeredDefault(key) else { return visible.value }
        return untypedValue(of: settingWithSource(visible, key, until: deadline), over: registered)
    }

    /// Returns the effective value without the command line: the stored value, the registered default, or the schema's
    /// default.
    func untypedValue(of visible: ReplicaSetting, over registered: JSONValue?) -> JSONValue? {
        visible.source == .default ? registered ?? visible.value : visible.value ?? registered
    }

    /// Returns true if a name has a value on the command line, a stored value or a registered default.
    package func hasKey(named name: String) -> Bool {
        // As in `readUntyped`, the read is registered again after the wait for the daemon.
        registerRead(named: name)
        defer { registerRead(named: name) }
        guard let key = keyName(name, .read) else { return false }
        return !arguments.candidates(for: name).isEmpty || registeredDefault(key) != nil
            || isSet(key, until: session.deadline)
    }

    package func isSet(named name: String) -> Bool {
        registerRead(named: name)
        defer { registerRead(named: name) }
        return keyName(name, .read).map { isSet($0, until: session.deadline) } ?? false
    }

    /// Stores JSON under a name. If the JSON is nil, removes the stored value.
    package func setUntyped(_ name: String, _ json: JSONValue?) {
        writeUntyped(name, json) { key throws(DefaultsError) in try submit(makeWrite(json, to: key)) }
    }

    /// Stores a value under a name. Reports an error instead of throwing the error.
    package func setUntyped<Value: DefaultsSerializable>(_ name: String, encoding value: Value) {
        if let json = untypedJSON(value, name) { setUntyped(name, json) }
    }

    /// Stores JSON under a name if nothing is stored. The daemon checks the condition.
    ///
    /// - Parameter json: returns the JSON. It is called only if the client knows of no stored value. It returns nil
    ///   after it has reported an error, and `.some(nil)` if there is no value to store.
    package func setUntypedIfAbsent(_ name: String, _ json: () throws -> JSONValue??) rethrows {
        let start = ContinuousClock.now
        guard seemsAbsent(name), let json = try json() else { return }
        writeUntyped(name, json) { key throws(DefaultsError) in
            if let json { try submit(makeWriteIfAbsent(json, to: key), since: start) }
        }
    }

    /// Returns true if the client knows of no stored value. Returns false and reports an error if the suite cannot be
    /// read.
    private func seemsAbsent(_ name: String) -> Bool {
        guard let key = keyName(name, .write) else { return false }
        do {
            return try isAbsent(key, until: session.deadline)
        } catch {
            report(error, name, .write)
            return false
        }
    }

    /// Changes the value of a name in place. The daemon carries out the operation, so concurrent changes are not lost.
    ///
    /// - Parameter initialValue: the value to store if nothing is stored and there is no registered default.
    package func changeUntyped(_ name: String, by operation: InPlaceOperation, orStore initialValue: JSONValue) {
        writeUntyped(name, initialValue) { key throws(DefaultsError) in
            let registered = registeredDefault(key)
            let visible = session.visibleSetting(key)
            let value = registered.flatMap { try? operation.applied(to: $0) } ?? initialValue
            let plan = PendingChange.MergePlan(
                base: nil, new: value, delta: MergeDelta(operation), valueIfUnset: registered)
            // The client sends the operation if a value is stored. Without a registered default, the client also sends
            // the operation if the daemon may have another value, for example a default of the schema. If the daemon
            // then has no value, the daemon refuses the operation, and the client stores `plan.new`. In all other cases,
            // the client stores `plan.new` on the condition that nothing is stored. A registered default replaces the
            // default of the schema.
            let isStored = visible.source?.isStored ?? false
            let mayHaveValue =
                isStored || registered == nil && (visible.value != nil || session.mayHaveUnknownValue(key))
            try submit(
                PendingChange(
                    mayHaveValue ? .change(operation) : .set(value), to: key, in: suite,
                    if: mayHaveValue ? nil : .stored(false), requestKey: .unique(), plan))
        }
    }

    /// Runs a write under a name as a setter does: reports an error instead of throwing the error.
    private func writeUntyped(_ name: String, _ json: JSONValue?, _ write: (KeyName) throws(DefaultsError) -> Void) {
        guard let key = keyName(name, .write) else { return }
        runSetter(for: name) { () throws(DefaultsError) in
            try refuseNonFinite(json, name)
            try write(key)
        }
    }

    /// Returns the JSON of a value, or `.some(nil)` for an optional that is nil. If the value has no JSON form, reports
    /// an error and returns nil.
    package func untypedJSON<Value: DefaultsSerializable>(_ value: Value, _ name: String) -> JSONValue?? {
        do {
            return .some(try encode(value, under: DefaultsKey<Value?>(name)))
        } catch {
            report(error, name, .write)
            return nil
        }
    }

    private func encode<Value>(_ value: Value, under key: DefaultsKey<Value>) throws(DefaultsError) -> JSONValue? {
        let codec: KeyCodec<Value>
        do {
            codec = try KeyCodec(key)
        } catch {
            throw .unusableKey(key.name, error)
        }
        do {
            return try codec.encode(value)
        } catch {
            throw .invalid(error)
        }
    }

    /// Throws if the JSON contains a number that is not finite, because the request would contain null in its place.
    func refuseNonFinite(_ json: JSONValue?, _ name: String) throws(DefaultsError) {
        guard let json else { return }
        _ = try encode(json, under: DefaultsKey<JSONValue>(name, defaultValue: .null))
    }

    /// Returns the name as a key name. If it is not a valid name, reports an error and returns nil.
    func keyName(_ name: String, _ attempt: DefaultsIssue.Attempt) -> KeyName? {
        do {
            return try KeyName(name)
        } catch {
            report(.unusableName(error), name, attempt)
            return nil
        }
    }

    /// Registers the namespace of a type (the prefix of its key names). Throws if another type has registered the same
    /// namespace.
    package func register(_ namespace: String, of type: any Any.Type) throws(NamespaceConflict) {
        try namespaces.withLock { namespaces throws(NamespaceConflict) in
            try namespaces.register(namespace, of: type)
        }
    }
}
