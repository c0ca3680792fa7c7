internal import SettingsAPI
internal import SettingsKeys
internal import SettingsModel

/// The reads and writes of one run of a transaction.
struct TransactionRecord {
    /// A change in place within a transaction, between the read and the write of the value.
    struct Change<Value: DefaultsSerializable> {
        let reference: DefaultsReference<Value>
        var value: Value
        /// The JSON of the value before the change. Nil for an optional that is nil.
        let before: Result<JSONValue?, DefaultsError>
    }

    let core: AdapterCore
    /// The keys about which the client has asked the daemon after an earlier run. The client does not ask again. If the
    /// source of such a key is still unknown, the run continues without the source.
    let askedKeys: Set<KeyName>
    /// For each key with an uncertain value, the function that asks the daemon: it moves the value of a renamed key,
    /// and fetches an unknown source. The body of the transaction cannot suspend, so the functions run after the body,
    /// and then the body runs again.
    private(set) var uncertainKeys: [KeyName: @Sendable () async -> Void] = [:]
    /// The state of each key at its first read. A key that the run wrote before the first read is missing, because the
    /// read returns the written value. The transaction has the condition that these keys are unchanged.
    private(set) var firstReads: [KeyName: KeyState] = [:]
    /// The JSON that was written last under each key. Nil for a removal.
    private var written: [KeyName: JSONValue?] = [:]
    /// The keys in `written`, in the order of their first writes.
    private var writtenKeys: [KeyName] = []
    /// The first error of the run.
    private var failure: DefaultsError?

    init(_ core: AdapterCore, askedKeys: Set<KeyName>) {
        self.core = core
        self.askedKeys = askedKeys
    }

    /// Returns the transaction to send. Throws the first error of the run.
    func makeTransaction() throws(DefaultsError) -> Transaction {
        if let failure { throw failure }
        let conditions = firstReads.sorted { $0.key < $1.key }.flatMap { key, keyState in
            keyState.tests.map { Transaction.Condition.setting(core.suite, key, $0) }
        }
        return Transaction(
            if: conditions,
            do: writtenKeys.map { core.makeOperation($0, (written[$0] ?? nil).map { .set($0) } ?? .delete) })
    }

    mutating func value<Value>(_ reference: DefaultsReference<Value>) -> Value {
        recordError { () throws(DefaultsError) in _ = try reference.resolved.codec.get() }
        guard let key = reference.resolved.name else { return reference.defaultValue }
        recordError { () throws(DefaultsError) in try reference.compareWithSchema().throwIfTypesDiffer() }
        let keyState = firstReads[key] ?? reference.keyState(key)
        if keyState.needsSource || reference.nextReaderMovesValue { recordUncertainKey(reference, key) }
        if let written = written[key] {
            let setting = ReplicaSetting(value: written, source: written == nil ? .unset : .stored, revision: nil)
            return reference.reading(of: setting, over: core.registeredDefault(key)).value ?? reference.defaultValue
        }
        firstReads[key] = keyState
        let reading = reference.reading(of: keyState)
        if reading.isReplicaValueUnreadable, let problem = reading.problem { failure = failure ?? problem }
        return reading.value ?? reference.defaultValue
    }

    mutating func set<Value>(_ reference: DefaultsReference<Value>, to value: Value) {
        var json: JSONValue?
        guard recordError({ () throws(DefaultsError) in json = try reference.resolved.encode(value) }),
            let key = reference.resolved.name
        else { return }
        // As in `DefaultsReference.makeWrite`: the move of a value from a former name must not replace the new value
        // later.
        if reference.nextReaderMovesValue { recordUncertainKey(reference, key) }
        write(key, json)
        for name in reference.formerNamesToRemove { write(name, nil) }
    }

    private mutating func recordUncertainKey<Value>(_ reference: DefaultsReference<Value>, _ key: KeyName) {
        guard !askedKeys.contains(key) else { return }
        uncertainKeys[key] = {
            await reference.moveValueAndWait()
            if reference.keyState(key).needsSource { _ = try? await reference.core.fetchSource(key) }
        }
    }

    mutating func unset<Value>(_ reference: DefaultsReference<Value>) {
        guard recordError({ () throws(DefaultsError) in _ = try reference.resolved.codec.get() }),
            let key = reference.resolved.name
        else { return }
        for name in [key] + reference.formerNamesToRemove { write(name, nil) }
    }

    mutating func value(ofName name: String) -> JSONValue? {
        guard let key = keyName(name) else { return nil }
        if let written = written[key] { return written }
        if let keyState = firstReads[key] { return keyState.visible.value }
        // An access by name ignores former names and registered defaults.
        let visible = core.session.visibleSetting(key)
        firstReads[key] = KeyState(visible: visible, settingToRead: visible, registered: nil)
        return visible.value
    }

    mutating func set(_ name: String, to json: JSONValue?) {
        guard let key = keyName(name) else { return }
        recordError { [core] () throws(DefaultsError) in try core.refuseNonFinite(json, name) }
        write(key, json)
    }

    /// Returns the name as a key name. If it is not a valid name, records the error and returns nil.
    private mutating func keyName(_ name: String) -> KeyName? {
        do {
            return try KeyName(name)
        } catch {
            failure = failure ?? .unusableName(error)
            return nil
        }
    }

    private mutating func write(_ key: KeyName, _ json: JSONValue?) {
        if written.updateValue(json, forKey: key) == nil { writtenKeys.append(key) }
    }

    mutating func beginChange<Value>(_ reference: DefaultsReference<Value>) -> Change<Value> {
        let value = value(reference)
        return Change(reference: reference, value: value, before: reference.resolved.encoded(value))
    }

    /// Stores the value of a change in place, if the change has modified it.
    mutating func endChange<Value>(_ change: Change<Value>) {
        if !isSameJSON(change.before, change.reference.resolved.encoded(change.value)) {
            set(change.reference, to: change.value)
        }
    }

    /// Calls a function, and records the first error of the run. Returns true if the function threw no error.
    @discardableResult
    private mutating func recordError(_ body: () throws(DefaultsError) -> Void) -> Bool {
        do {
            try body()
            return true
        } catch {
            failure = failure ?? error
            return false
        }
    }
}
