public import SettingsModel

/// Reads and writes of several keys that are done together or not at all.
///
/// What is read is as it was when the transaction began to read it, or as the transaction wrote it; if somebody changes
/// one of the keys read before the end, the transaction is run again.
@dynamicMemberLookup
public struct DefaultsTransaction<KeyStore: DefaultsKeyStore>: ~Copyable {
    let core: AdapterCore
    private var read: [KeyName: Transaction.Condition.Test] = [:]
    private var written: [KeyName: JSONValue?] = [:]
    private var order: [KeyName] = []
    private var failure: DefaultsError?
    /// Has the values of renamed keys taken over that were used; nil if there is nothing to take over.
    private(set) var takingOver: (@Sendable () -> Void)?

    init(core: AdapterCore) {
        self.core = core
    }

    /// What is to be done; throws the first thing that went wrong.
    borrowing func finished() throws(DefaultsError) -> Transaction {
        if let failure { throw failure }
        let suite = core.suite
        let conditions = read.sorted { $0.key < $1.key }.map { Transaction.Condition.setting(suite, $0.key, $0.value) }
        return Transaction(
            if: conditions,
            do: order.map { core.operation($0, (written[$0] ?? nil).map { .set($0) } ?? .delete) })
    }

    mutating func value<Value>(_ slot: Slot<Value>) -> Value {
        note { () throws(DefaultsError) in _ = try slot.codec.get() }
        guard let cell = slot.cell else { return slot.key.defaultValue }
        noteRename(of: slot)
        note { [core] () throws(DefaultsError) in try core.refuseAnotherType(slot) }
        if let written = written[cell.name] {
            let own = VisibleSetting(value: written, source: written == nil ? .unset : .stored, revision: nil)
            return core.resolve(slot, own).value
        }
        let (reading, _) = core.reading(of: slot, cell)
        if reading.isStoredUnreadable, let problem = reading.problem { failure = failure ?? problem }
        if read[cell.name] == nil { read[cell.name] = core.replica.guardTest(for: cell.name, base: reading.base) }
        return reading.value
    }

    mutating func set<Value>(_ slot: Slot<Value>, to value: Value) {
        let json: JSONValue?
        do {
            json = try slot.encode(value)
        } catch {
            failure = failure ?? error
            return
        }
        guard let cell = slot.cell else { return }
        noteRename(of: slot)
        if written.updateValue(json, forKey: cell.name) == nil { order.append(cell.name) }
    }

    /// Stores what became of a value, if it became another.
    mutating func set<Value>(_ slot: Slot<Value>, to value: Value, unless before: Result<JSONValue?, DefaultsError>) {
        if case .success(let before) = before, let after = try? slot.encode(value), before == after { return }
        set(slot, to: value)
    }

    private mutating func noteRename<Value>(of slot: Slot<Value>) {
        guard let rename = slot.rename, rename.isOpen else { return }
        takingOver = { [core, others = takingOver] in
            others?()
            core.takeOver(for: slot)
        }
    }

    private mutating func note(_ body: () throws(DefaultsError) -> Void) {
        do {
            try body()
        } catch {
            failure = failure ?? error
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
}
