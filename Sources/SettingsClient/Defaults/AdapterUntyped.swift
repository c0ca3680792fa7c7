internal import SettingsAPI
internal import SettingsModel
internal import Synchronization

/// Access by name, without a declared type.
extension AdapterCore {
    /// What a name stands for: the command line, what is stored, what is registered, the schema's default.
    func untyped(_ name: String) -> JSONValue? {
        untyped(name) { $0 }
    }

    /// What a name stands for as what is asked for. Text of the command line is tried in each form that it may have;
    /// where it is none of that, it is as if it were not there.
    func untyped<Value>(_ name: String, as read: (JSONValue) -> Value?) -> Value? {
        for form in arguments.forms(of: name) {
            if let value = read(form) { return value }
        }
        return untypedBelowArguments(name).flatMap(read)
    }

    private func untypedBelowArguments(_ name: String) -> JSONValue? {
        guard let key = keyName(name, .read) else { return nil }
        do {
            try load(for: key)
        } catch {
            reportUnread(error, name)
            return registered.withLock { $0[key] }
        }
        guard let registered = registered.withLock({ $0[key] }) else { return session.visible(key).value }
        let visible = withSource(session.visible(key), key)
        return visible.source == .default ? registered : visible.value ?? registered
    }

    /// Stores JSON under a name, or removes what is stored.
    func setUntyped(_ name: String, _ json: JSONValue?) {
        guard let key = keyName(name, .write) else { return }
        attempt(name) { () throws(DefaultsError) in
            try refuseNonsense(json, name)
            try session.withCell(for: key) { cell throws(DefaultsError) in try write(json, to: cell) }
        }
    }

    /// The JSON of a value whose type is known here only; the outer nil if it has none, which is reported.
    func untypedJSON<Value: DefaultsSerializable>(_ value: Value, _ name: String) -> JSONValue?? {
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

    /// Changes what a name stands for in place, on the server: what others do at the same time is not lost. Where
    /// nothing is stored, the start is what is read here, or else what the operation adds.
    func changeUntyped(_ name: String, by operation: InPlaceOperation, orStore first: JSONValue) {
        guard let key = keyName(name, .write) else { return }
        attempt(name) { () throws(DefaultsError) in
            try refuseNonsense(first, name)
            try session.withCell(for: key) { cell throws(DefaultsError) in
                try session.inTurn(of: cell, orThrow: DefaultsError(isReentered(key))) { () throws(DefaultsError) in
                    try WaitingTime.sharing { () throws(DefaultsError) in
                        try change(key, by: operation, orStore: first)
                    }
                }
            }
        }
    }

    private func change(
        _ key: KeyName, by operation: InPlaceOperation, orStore first: JSONValue
    ) throws(DefaultsError) {
        // What a refusal told: that is news though the suite may not be loaded yet.
        var known: SettingState?
        for _ in 0..<1000 {
            let start = registered.withLock { $0[key] }
            let value = start.flatMap { try? operation.applied(to: $0) } ?? first
            let plan = PendingChange.Plan(base: nil, new: value, delta: MergeDelta(operation), start: start)
            let isThere =
                if let known {
                    known.source.isStored || start == nil && known.value != nil
                } else {
                    try isThere(key, orRegistered: start)
                }
            do throws(BackendError) {
                if isThere { return try session.commit([self.operation(key, .change(operation))], else: .merge(plan)) }
                return try session.commit(
                    [self.operation(key, .set(value))], if: [.setting(suite, key, .stored(false))],
                    else: .merge(plan))
            } catch {
                guard let current = try learn(from: error, of: key) else { throw DefaultsError(error) }
                known = current
            }
        }
        throw .refused(Problem(.preconditionFailed, "\(key) of suite \(suite) is changed all the time"))
    }

    /// Whether the server has a value to change. While nobody is there to say so, it is taken to have one.
    private func isThere(_ key: KeyName, orRegistered start: JSONValue?) throws(DefaultsError) -> Bool {
        do {
            // It is not reported: the write itself is kept, or says why not. And this is done while it is being sent.
            return try isStored(key, isReported: false) || start == nil && session.visible(key).value != nil
        } catch {
            guard case .unreachable = error else { throw error }
            return true
        }
    }

    /// Takes in what is there, if a refusal was about that; nil if it was about something else.
    private func learn(from error: BackendError, of key: KeyName) throws(DefaultsError) -> SettingState? {
        if let current = error.current, !current.isConcealed {
            session.change { $0.learn(current, fromRefusal: true) }
            return current
        }
        guard case .refused(let problem) = error else { return nil }
        switch problem.code {
        // A refusal does not tell the value of a secret.
        case .preconditionFailed, .notSet, .unknownSuite: return try settingNow(key)
        default: return nil
        }
    }

    private func settingNow(_ key: KeyName) throws(DefaultsError) -> SettingState {
        do {
            return try session.ask(for: key)
        } catch {
            throw DefaultsError(error)
        }
    }

    /// Throws if no JSON text can say it: a number that is not finite would be sent as null.
    private func refuseNonsense(_ json: JSONValue?, _ name: String) throws(DefaultsError) {
        guard let json else { return }
        _ = try encode(json, under: DefaultsKey<JSONValue>(name, defaultValue: .null))
    }

    /// The name as a key's; nil if it cannot be one, which is reported.
    func keyName(_ name: String, _ attempt: DefaultsIssue.Attempt) -> KeyName? {
        do {
            return try KeyName(name)
        } catch {
            report(.unusableName(error), name, attempt)
            return nil
        }
    }

    /// Stores JSON under a name if nothing is.
    func setUntypedIfAbsent(_ name: String, _ json: JSONValue?) {
        guard let key = keyName(name, .write) else { return }
        attempt(name) { () throws(DefaultsError) in
            try refuseNonsense(json, name)
            _ = try session.withCell(for: key) { cell throws(DefaultsError) in try setIfAbsent(json, to: cell) }
        }
    }
}
