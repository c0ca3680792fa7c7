internal import SettingsModel

/// What a transaction has read and written so far.
struct TransactionRecord {
    /// Does what blocks, and notes what was told.
    typealias Preparation = @Sendable (inout Told) -> Void

    /// What was told when earlier runs of the transaction could not go on without: asking blocks, and the body of a
    /// transaction runs on the thread of whoever called.
    struct Told: Sendable {
        fileprivate var settings: [KeyName: VisibleSetting] = [:]
        fileprivate var differences: [TypedKey: [SchemaDifference]] = [:]
    }

    fileprivate struct TypedKey: Hashable, Sendable {
        let name: KeyName
        let type: ObjectIdentifier
    }

    let told: Told
    /// What each key was when it was read first.
    private(set) var read: [KeyName: KeySight] = [:]
    var written: [KeyName: JSONValue?] = [:]
    var order: [KeyName] = []
    var failure: DefaultsError?
    /// What has to be done before the transaction can be run; nil for nothing.
    private(set) var preparation: Preparation?

    init(told: Told) {
        self.told = told
    }

    mutating func note(_ body: () throws(DefaultsError) -> Void) {
        do {
            try body()
        } catch {
            failure = failure ?? error
        }
    }

    private mutating func prepare(_ body: @escaping Preparation) {
        preparation = { [others = preparation] told in
            others?(&told)
            body(&told)
        }
    }

    /// What a key is read from: the same at each read.
    mutating func sight<Value>(of slot: Slot<Value>, _ cell: KeyCell, _ core: AdapterCore) -> KeySight {
        if let sight = read[cell.name] { return sight }
        var sight = core.sight(of: slot, cell, asks: .never)
        if sight.isUnsure {
            if let told = told.settings[cell.name], told.value == sight.visible.value {
                sight.take(told)
            } else {
                prepare { told in
                    let seen = core.session.visible(cell.name)
                    told.settings[cell.name] = core.withSource(seen, cell.name)
                }
            }
        }
        read[cell.name] = sight
        return sight
    }

    /// Has the value of a renamed key taken over first.
    mutating func noteRename<Value>(of slot: Slot<Value>, _ core: AdapterCore) {
        guard let rename = slot.rename, rename.isOpen else { return }
        prepare { _ in core.takeOver(for: slot) }
    }

    /// Fails if no value that the server may hold is one of the key's type.
    mutating func noteAgreement<Value>(of slot: Slot<Value>, _ cell: KeyCell, _ core: AdapterCore) {
        let key = TypedKey(name: cell.name, type: ObjectIdentifier(Value.self))
        if let differences = core.knownDifferences(of: slot) ?? told.differences[key] {
            note { () throws(DefaultsError) in try core.refuseAnotherType(differences) }
        } else {
            prepare { $0.differences[key] = core.differences(of: slot) }
        }
    }
}
