public import SettingsClient
public import SettingsKeys

// Expressions of SwiftyUserDefaults and of Foundation's UserDefaults that this library does not support. The compiler
// reports an error that says what to write instead. A body with `fatalError` never runs, because the compiler refuses
// every use of an unavailable declaration.

extension DefaultsAdapter {
    /// Not available. Assign to the setting instead.
    @available(
        *, unavailable, message: "assign instead: Defaults[\"name\"] = value, or Defaults.name = value for a key"
    )
    @_disfavoredOverload
    public func set<Value, Name: SettingName>(_ value: Value, forKey name: Name) { fatalError("unavailable") }

    /// Not available. The type of the value must conform to `DefaultsSerializable`.
    @available(*, unavailable, message: "only a value whose type conforms to DefaultsSerializable can be stored")
    @_disfavoredOverload
    public subscript<Name: SettingName>(_ name: Name) -> Any? {
        get { fatalError("unavailable") }
        set { fatalError("unavailable") }
    }
}

extension KeyedAccess {
    /// Not available. A key needs a label.
    @available(*, unavailable, message: "a key needs a label: Defaults[key: key]")
    @_disfavoredOverload
    public subscript<Key: KeyWithoutLabel>(_ key: Key) -> Key.Value {
        get { fatalError("unavailable") }
        nonmutating set { fatalError("unavailable") }
    }

    /// Not available. A key needs a label.
    @available(*, unavailable, message: "a key needs a label: hasKey(key: key)")
    @_disfavoredOverload
    public func hasKey<Key: KeyWithoutLabel>(_ key: Key) -> Bool { fatalError("unavailable") }

    /// Not available. A key needs a label.
    @available(*, unavailable, message: "a key needs a label: remove(key: key)")
    @_disfavoredOverload
    public func remove<Key: KeyWithoutLabel>(_ key: Key) { fatalError("unavailable") }
}

/// The type of a key that the program passes without a label.
///
/// The type is a combination of protocols to which only `DefaultsKey` conforms. With an overload for `DefaultsKey`
/// itself, the compiler would report a misspelt key path as a wrong argument of the overload.
public typealias KeyWithoutLabel = AnyDefaultsKey & CustomReflectable & CustomStringConvertible & TextOutputStreamable

/// A key of any type.
public protocol AnyDefaultsKey {
    /// The type of the values.
    associatedtype Value
}

extension DefaultsKey: AnyDefaultsKey, CustomReflectable, CustomStringConvertible, TextOutputStreamable {
    /// The name of the key.
    public var description: String { name }

    /// A mirror that contains only the name of the key.
    public var customMirror: Mirror { Mirror(self, children: ["name": name]) }

    /// Writes the name of the key.
    public func write(to target: inout some TextOutputStream) { target.write(name) }
}

extension UntypedSetting {
    /// Not available. The method `hasKey(_:)` of the adapter tells whether a name has a value.
    @available(*, unavailable, message: "write Defaults.hasKey(\"name\") instead")
    public var exists: Bool { fatalError("unavailable") }
}

/// Not available. Only numbers can be incremented.
@available(*, unavailable, message: "++ adds 1 to a number; the value of this key is not a number")
@_disfavoredOverload
public postfix func ++ <Value>(setting: SettingOperand<Value>) { fatalError("unavailable") }
