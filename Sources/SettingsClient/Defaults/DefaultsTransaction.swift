internal import SettingsAPI
public import SettingsModel
internal import Synchronization

/// Reads and writes of several keys that are done together or not at all.
///
/// What is read is as it was when the transaction began to read it, or as the transaction wrote it; if somebody changes
/// one of the keys read before the end, the transaction is run again. So what it read was so at one time, also if it
/// writes nothing.
@dynamicMemberLookup
public struct DefaultsTransaction<KeyStore: Sendable>: ~Copyable {
    let core: AdapterCore
    private let place: StorePlace<KeyStore>
    private var record: TransactionRecord

    init(core: AdapterCore, place: StorePlace<KeyStore>, told: TransactionRecord.Told = .init()) {
        self.core = core
        self.place = place
        record = TransactionRecord(told: told)
    }

    private init(core: AdapterCore, place: StorePlace<KeyStore>, record: TransactionRecord) {
        self.core = core
        self.place = place
        self.record = record
    }

    /// What has to be done before the transaction can be run; nil if it has.
    var preparation: TransactionRecord.Preparation? { record.preparation }

    /// Whether all that was read is so now.
    borrowing func holds() -> Bool {
        core.holds(record.read)
    }

    /// What is to be done; throws the first thing that went wrong.
    borrowing func finished() throws(DefaultsError) -> Transaction {
        if let failure = record.failure { throw failure }
        let suite = core.suite
        let conditions = record.read.sorted { $0.key < $1.key }.flatMap { key, sight in
            sight.tests.map { Transaction.Condition.setting(suite, key, $0) }
        }
        return Transaction(
            if: conditions,
            do: record.order.map { core.operation($0, (record.written[$0] ?? nil).map { .set($0) } ?? .delete) })
    }

    /// - Parameter defaultValue: of the key, where the slot is shared with keys that have another.
    mutating func value<Value>(_ slot: Slot<Value>, default defaultValue: Value? = nil) -> Value {
        record.note { () throws(DefaultsError) in _ = try slot.codec.get() }
        guard let cell = slot.cell else { return defaultValue ?? slot.key.defaultValue }
        record.noteRename(of: slot, core)
        record.noteAgreement(of: slot, cell, core)
        let reading: Reading<Value>
        if let written = record.written[cell.name] {
            let own = VisibleSetting(value: written, source: written == nil ? .unset : .stored, revision: nil)
            reading = core.resolve(slot, own, over: core.registered.withLock { $0[cell.name] })
        } else {
            reading = core.reading(of: slot, record.sight(of: slot, cell, core))
            if reading.isStoredUnreadable, let problem = reading.problem { record.failure = record.failure ?? problem }
        }
        return reading.isDefault ? defaultValue ?? reading.value : reading.value
    }

    mutating func set<Value>(_ slot: Slot<Value>, to value: Value) {
        let json: JSONValue?
        do {
            json = try slot.encode(value)
        } catch {
            record.failure = record.failure ?? error
            return
        }
        guard let cell = slot.cell else { return }
        record.noteRename(of: slot, core)
        if record.written.updateValue(json, forKey: cell.name) == nil { record.order.append(cell.name) }
    }

    /// Reads what is to be changed in place.
    private mutating func begin<Value>(_ slot: Slot<Value>, default defaultValue: Value? = nil) -> TransactionChange<
        Value
    > {
        TransactionChange(slot: slot, value: value(slot, default: defaultValue))
    }

    /// Stores what became of a value, if it became another.
    private mutating func finish<Value>(_ change: TransactionChange<Value>) {
        if case .success(let before) = change.before, case .success(let after) = change.after, before == after {
            return
        }
        set(change.slot, to: change.value)
    }
}

/// A change in place within a transaction, between its reading and its writing.
private struct TransactionChange<Value: DefaultsSerializable> {
    let slot: Slot<Value>
    var value: Value
    /// The value as it was read, as JSON; nil for nothing.
    let before: Result<JSONValue?, DefaultsError>

    init(slot: Slot<Value>, value: Value) {
        self.slot = slot
        self.value = value
        before = Result { () throws(DefaultsError) in try slot.encode(value) }
    }

    var after: Result<JSONValue?, DefaultsError> {
        Result { () throws(DefaultsError) in try slot.encode(value) }
    }
}

extension DefaultsTransaction {
    private func slot<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) -> Slot<Value> {
        core.slot(path, in: place)
    }

    private func inner<Inner: DefaultsKeyStore>(
        _ path: KeyPath<KeyStore, Inner>, _ record: TransactionRecord
    ) -> DefaultsTransaction<Inner> {
        let inner = core.place(path, in: Unmanaged.passUnretained(place)).takeUnretainedValue()
        return DefaultsTransaction<Inner>(core: core, place: inner, record: record)
    }

    /// The value of a key.
    public subscript<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) -> Value {
        mutating get { value(slot(path)) }
        set { set(slot(path), to: newValue) }
        _modify {
            var change = begin(slot(path))
            yield &change.value
            finish(change)
        }
    }

    /// The value of a key.
    public subscript<Value>(_: Void = (), key key: DefaultsKey<Value>) -> Value {
        mutating get { value(core.slots.slot(for: key), default: key.defaultValue) }
        set { set(core.slots.slot(for: key), to: newValue) }
        _modify {
            var change = begin(core.slots.slot(for: key), default: key.defaultValue)
            yield &change.value
            finish(change)
        }
    }

    /// The value of a key, as if it were a property.
    public subscript<Value>(dynamicMember path: KeyPath<KeyStore, DefaultsKey<Value>>) -> Value {
        mutating get { self[path] }
        set { self[path] = newValue }
        // Not by way of `self[path]`: that would be written after a change that throws, too.
        _modify {
            var change = begin(slot(path))
            yield &change.value
            finish(change)
        }
    }

    /// The keys of a store within this one: `t.player.volume`.
    public subscript<Inner: DefaultsKeyStore>(
        dynamicMember path: KeyPath<KeyStore, Inner>
    ) -> DefaultsTransaction<Inner> {
        // Only a part that can be changed can be read, too: what is read is noted.
        _read { yield inner(path, record) }
        _modify {
            var inner = inner(path, record)
            record = TransactionRecord(told: record.told)
            defer { record = inner.record }
            yield &inner
        }
    }
}
