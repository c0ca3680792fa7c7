public import SettingsClient
public import SettingsKeys

infix operator ?= : AssignmentPrecedence
postfix operator ++

/// A key as the operand of `?=` and `++`.
public struct SettingOperand<Value: DefaultsSerializable>: Sendable {
    fileprivate let reference: DefaultsReference<Value>
}

// The parameter of the type `Void` gives a misspelt key path a clear compiler error, see `KeyedAccess`. The subscripts
// are disfavored, so that the compiler uses the subscripts of SettingsClient wherever a value is allowed.
extension KeyedAccess {
    /// A key as the operand of an operator.
    @_disfavoredOverload
    public subscript<Value>(_ path: KeyPath<KeyStore, DefaultsKey<Value>>) -> SettingOperand<Value> {
        SettingOperand(reference: reference(path))
    }

    /// A key as the operand of an operator.
    @_disfavoredOverload
    public subscript<Value>(_: Void = (), key key: DefaultsKey<Value>) -> SettingOperand<Value> {
        SettingOperand(reference: reference(key: key))
    }

    /// A key as the operand of an operator.
    @_disfavoredOverload
    public subscript<Value>(dynamicMember path: KeyPath<KeyStore, DefaultsKey<Value>>) -> SettingOperand<Value> {
        SettingOperand(reference: reference(path))
    }
}

/// Stores a value if nothing is stored. The daemon checks this condition when it executes the write. The right side is
/// evaluated only if the client knows of no stored value.
public func ?= <Value>(setting: SettingOperand<Value>, value: @autoclosure () throws -> Value) rethrows {
    try setting.reference.setIfAbsent(value)
}

/// Adds 1 to a number.
public postfix func ++ <Value>(setting: SettingOperand<Value>)
where Value: AdditiveArithmetic & ExpressibleByIntegerLiteral {
    setting.reference.changeInPlace { $0 += 1 }
}

// Without these overloads, the compiler (Swift 6.3) cannot type-check a sum of five terms such as
// `(Defaults["a"].int ?? 0)` in reasonable time: it tries every overload of `+` before it knows the type of a term.

/// The value of an optional integer, or a default.
@inlinable
public func ?? (value: Int?, defaultValue: @autoclosure () throws -> Int) rethrows -> Int {
    if let value { value } else { try defaultValue() }
}

/// The value of an optional number, or a default.
@inlinable
public func ?? (value: Double?, defaultValue: @autoclosure () throws -> Double) rethrows -> Double {
    if let value { value } else { try defaultValue() }
}

/// The value of an optional text, or a default.
@inlinable
public func ?? (value: String?, defaultValue: @autoclosure () throws -> String) rethrows -> String {
    if let value { value } else { try defaultValue() }
}
