public import SettingsModel

/// A key in its place, for operators that do not go through its value: `?=` and `++`.
public struct DefaultsReference<Value: DefaultsSerializable>: Sendable {
    let core: AdapterCore
    let slot: Slot<Value>
    let defaultValue: Value

    init(core: AdapterCore, slot: Slot<Value>, default defaultValue: Value? = nil) {
        self.core = core
        self.slot = slot
        self.defaultValue = defaultValue ?? slot.key.defaultValue
    }

    /// Whether the right side of `?=` is wanted. What cannot be found out is reported.
    func isWanted() -> Bool {
        do {
            _ = try slot.codec.get()
            guard let cell = slot.cell else { return false }
            core.settleRename(of: slot)
            return try core.isAbsent(cell.name)
        } catch {
            core.report(error, slot.key.name, .write)
            return false
        }
    }
}

infix operator ?= : AssignmentPrecedence
postfix operator ++

/// Stores a value if nothing is stored, which the server decides. The right side is not evaluated if something is.
public func ?= <Value>(reference: DefaultsReference<Value>, value: @autoclosure () throws -> Value) rethrows {
    let (isWanted, spent) = WaitingTime.measuring { reference.isWanted() }
    guard isWanted else { return }
    let value = try value()
    reference.core.attempt(reference.slot.key.name) { () throws(DefaultsError) in
        guard let cell = reference.slot.cell else { return }
        let json = try reference.slot.encode(value)
        _ = try WaitingTime.sharing(spent: spent) { () throws(DefaultsError) in
            try reference.core.setIfAbsent(json, to: cell)
        }
    }
}

/// Adds one.
public postfix func ++ <Value>(reference: DefaultsReference<Value>)
where Value: AdditiveArithmetic & ExpressibleByIntegerLiteral {
    var change = reference.core.begin(reference.slot, default: reference.defaultValue)
    change.value += 1
    reference.core.finish(change)
}
