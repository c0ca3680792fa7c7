public import SettingsModel

/// What a transaction has read and written so far.
private struct TransactionRecord {
    var read: [KeyName: Transaction.Condition.Test] = [:]
    var written: [KeyName: JSONValue?] = [:]
    var order: [KeyName] = []
    var failure: DefaultsError?
    /// Has the values of renamed keys taken over that were used; nil if there is nothing to take over.
    var takingOver: (@Sendable () -> Void)?
}

/// Reads and writes of several keys that are done together or not at all.
///
/// What is read is as it was when the transaction began to read it, or as the transaction wrote it; if somebody changes
/// one of the keys read before the end, the transaction is run again.
@dynamicMemberLookup
public struct DefaultsTransaction<KeyStore: DefaultsKeyStore>: ~Copyable {
    let core: AdapterCore
    private var record = TransactionRecord()

    init(core: AdapterCore) {
        self.core = core
    }

    private init(core: AdapterCore, record: TransactionRecord) {
        self.core = core
        self.record = record
    }

    /// Has the values of renamed keys taken over that were used; nil if there is nothing to take over.
    var takingOver: (@Sendable () -> Void)? { record.takingOver }

    /// What is to be done; throws the first thing that went wrong.
    borrowing func finished() throws(DefaultsError) -> Transaction {
        if let failure = record.failure { throw failure }
        let suite = core.suite
        let conditions = record.read.sorted { $0.key < $1.key }.map {
            Transaction.Condition.setting(suite, $0.key, $0.value)
        }
        return Transaction(
            if: conditions,
            do: record.order.map { core.operation($0, (record.written[$0] ?? nil).map { .set($0) } ?? .delete) })
    }

    mutating func value<Value>(_ slot: Slot<Value>) -> Value {
        note { () throws(DefaultsError) in _ = try slot.codec.get() }
        guard let cell = slot.cell else { return slot.key.defaultValue }
        noteRename(of: slot)
        note { [core] () throws(DefaultsError) in try core.refuseAnotherType(slot) }
        if let written = record.written[cell.name] {
            let own = VisibleSetting(value: written, source: written == nil ? .unset : .stored, revision: nil)
            return core.resolve(slot, own).value
        }
        let (reading, _) = core.reading(of: slot, cell)
        if reading.isStoredUnreadable, let problem = reading.problem { record.failure = record.failure ?? problem }
        if record.read[cell.name] == nil {
            record.read[cell.name] = core.replica.guardTest(for: cell.name, base: reading.base)
        }
        return reading.value
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
        noteRename(of: slot)
        if record.written.updateValue(json, forKey: cell.name) == nil { record.order.append(cell.name) }
    }

    /// Stores what became of a value, if it became another.
    mutating func set<Value>(_ slot: Slot<Value>, to value: Value, unless before: Result<JSONValue?, DefaultsError>) {
        if case .success(let before) = before, let after = try? slot.encode(value), before == after { return }
        set(slot, to: value)
    }

    private mutating func noteRename<Value>(of slot: Slot<Value>) {
        guard let rename = slot.rename, rename.isOpen else { return }
        record.takingOver = { [core, others = record.takingOver] in
            others?()
            core.takeOver(for: slot)
        }
    }

    private mutating func note(_ body: () throws(DefaultsError) -> Void) {
        do {
            try body()
        } catch {
            record.failure = record.failure ?? error
        }
    }
}

extension DefaultsTransaction {
    /// The value of a key.
    public subscript<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) -> Value {
        mutating get { value(core.slot(path)) }
        set { set(core.slot(path), to: newValue) }
        _modify {
            let slot = core.slot(path)
            var value = value(slot)
            let before = Result { [value] () throws(DefaultsError) in try slot.encode(value) }
            yield &value
            set(slot, to: value, unless: before)
        }
    }

    /// The value of a key, as if it were a property.
    public subscript<Value>(dynamicMember path: KeyPath<KeyStore, DefaultsKey<Value>>) -> Value {
        mutating get { self[path] }
        set { self[path] = newValue }
        _modify { yield &self[path] }
    }

    /// The keys of a store within this one: `t.player.volume`.
    public subscript<Inner: DefaultsKeyStore>(
        dynamicMember path: KeyPath<KeyStore, Inner>
    ) -> DefaultsTransaction<Inner> {
        // Only a part that can be changed can be read, too: what is read is noted.
        _read { yield DefaultsTransaction<Inner>(core: core, record: record) }
        _modify {
            var inner = DefaultsTransaction<Inner>(core: core, record: record)
            record = TransactionRecord()
            defer { record = inner.record }
            yield &inner
        }
    }
}
