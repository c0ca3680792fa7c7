public import Foundation
internal import SettingsAPI
public import SettingsClient
public import SettingsKeys

/// A setting by its name, without a declared type: `Defaults["color"].string`.
///
/// Each property reads the value as one type. A property is nil if there is no value, or if the value cannot be
/// converted. The properties whose names end in `Value` return an empty value instead of nil. The table shows the
/// conversions of numbers, booleans and text. Text is converted to a number only if the whole text is a number.
///
/// | stored | `int` | `double` | `bool` | `string` |
/// |---|---|---|---|---|
/// | integer | the integer | the nearest double | true if it is not 0 | its digits |
/// | double | rounded towards zero, if in range | the double | true if it is not 0 | its shortest digits |
/// | boolean | 1 or 0 | 1.0 or 0.0 | the boolean | `1` or `0` |
/// | text | the number as for a double | the number | true, t, yes, y, 1; false, f, no, n, 0 | the text |
public struct UntypedSetting: Sendable {
    let core: AdapterCore
    let name: String

    /// The value without a conversion. The argument `-key value` on the command line gives text, and the argument
    /// `--set key=JSON` gives JSON.
    public var value: JSONValue? { core.readUntyped(name) { $0 } }

    /// The value as text.
    public var string: String? { core.readUntyped(name, as: UntypedConversion.string) }
    /// The value as an integer.
    public var int: Int? { core.readUntyped(name, as: UntypedConversion.int) }
    /// The value as a number.
    public var double: Double? { core.readUntyped(name, as: UntypedConversion.double) }
    /// The value as a boolean.
    public var bool: Bool? { core.readUntyped(name, as: UntypedConversion.bool) }
    /// The elements of an array.
    public var array: [JSONValue]? { core.readUntyped(name) { $0.array } }
    /// The members of an object.
    public var dictionary: [String: JSONValue]? { decoded() }
    /// The bytes of Base64 text.
    public var data: Data? { decoded() }
    /// The date in RFC 3339 text.
    public var date: Date? { decoded() }
    /// The URL in text.
    public var url: URL? { decoded() }

    /// The value as text, or an empty text.
    public var stringValue: String { string ?? "" }
    /// The value as an integer, or 0.
    public var intValue: Int { int ?? 0 }
    /// The value as a number, or 0.
    public var doubleValue: Double { double ?? 0 }
    /// The value as a boolean, or false.
    public var boolValue: Bool { bool ?? false }
    /// The elements of an array, or an empty array.
    public var arrayValue: [JSONValue] { array ?? [] }
    /// The members of an object, or an empty dictionary.
    public var dictionaryValue: [String: JSONValue] { dictionary ?? [:] }
    /// The bytes of Base64 text, or empty data.
    public var dataValue: Data { data ?? Data() }

    private func decoded<Value: DefaultsSerializable>() -> Value? {
        core.readUntyped(name) { try? Value.defaultsBridge.decode($0) }
    }
}

extension DefaultsAdapter {
    /// A setting by its name.
    public subscript<Name: SettingName>(_ name: Name) -> UntypedSetting {
        UntypedSetting(core: adapterCore, name: String(name))
    }

    /// The value of a name as the type that the expression needs. Nil if there is no value of this type. Assigning nil
    /// removes the stored value.
    @_disfavoredOverload
    public subscript<Value: DefaultsSerializable, Name: SettingName>(_ name: Name) -> Value? {
        get { adapterCore.readUntyped(String(name)) { try? Value.defaultsBridge.decode($0) } }
        set {
            let name = String(name)
            guard let newValue else { return adapterCore.setUntyped(name, nil) }
            adapterCore.setUntyped(name, encoding: newValue)
        }
    }

    // The only purpose of the constraint `Sendable` is that the compiler prefers this subscript to the subscript with a
    // generic value.
    /// The value of a name as JSON. Assigning nil removes the stored value.
    @_disfavoredOverload
    public subscript<Name: SettingName & Sendable>(_ name: Name) -> JSONValue? {
        get { adapterCore.readUntyped(String(name)) { $0 } }
        set { adapterCore.setUntyped(String(name), newValue) }
    }

    /// Returns true if a name has a value on the command line, a stored value or a registered default.
    public func hasKey<Name: SettingName>(_ name: Name) -> Bool {
        adapterCore.hasKey(named: String(name))
    }

    /// Returns true if a value is stored under a name.
    public func isSet<Name: SettingName>(_ name: Name) -> Bool {
        adapterCore.isSet(named: String(name))
    }

    /// Removes the value that is stored under a name.
    public func remove<Name: SettingName>(_ name: Name) {
        adapterCore.setUntyped(String(name), nil)
    }
}

/// Adds a number to the value. If there is no value, stores the number.
public func += (setting: UntypedSetting, amount: Int) {
    setting.core.changeUntyped(
        setting.name, by: .add(.integer(Int64(amount))), orStore: .integer(Int64(amount)))
}

/// Adds a number to the value. If there is no value, stores the number.
public func += (setting: UntypedSetting, amount: Double) {
    setting.core.changeUntyped(setting.name, by: .add(.double(amount)), orStore: .double(amount))
}

/// Appends text to the value. If there is no value, stores the text.
public func += (setting: UntypedSetting, text: String) {
    setting.core.changeUntyped(setting.name, by: .concat(text), orStore: .string(text))
}

/// Appends elements to an array. If there is no value, stores the elements.
public func += (setting: UntypedSetting, elements: [JSONValue]) {
    setting.core.changeUntyped(setting.name, by: .append(elements), orStore: .array(elements))
}

/// Adds 1 to the value. If there is no value, stores 1.
public postfix func ++ (setting: UntypedSetting) {
    setting += 1
}

/// Stores a value if nothing is stored. The daemon checks this condition when it executes the write. The right side is
/// evaluated only if the client knows of no stored value.
public func ?= <Value: DefaultsSerializable>(
    setting: UntypedSetting, value: @autoclosure () throws -> Value
) rethrows {
    try setting.core.setUntypedIfAbsent(setting.name) { setting.core.untypedJSON(try value(), setting.name) }
}

/// Stores JSON if nothing is stored. The daemon checks this condition when it executes the write. The right side is
/// evaluated only if the client knows of no stored value.
@_disfavoredOverload
public func ?= (setting: UntypedSetting, value: @autoclosure () throws -> JSONValue) rethrows {
    try setting.core.setUntypedIfAbsent(setting.name) { .some(try value()) }
}

/// The conversions of values without a declared type. The documentation of ``UntypedSetting`` has the table.
enum UntypedConversion {
    static func int(_ value: JSONValue) -> Int? {
        switch value {
        case .integer(let integer): Int(exactly: integer)
        case .double(let double): Int(exactly: double.rounded(.towardZero))
        case .bool(let truth): truth ? 1 : 0
        case .string(let text): Int(text) ?? Double(text).flatMap { Int(exactly: $0.rounded(.towardZero)) }
        default: nil
        }
    }

    static func double(_ value: JSONValue) -> Double? {
        switch value {
        case .integer(let integer): Double(integer)
        case .double(let double): double
        case .bool(let truth): truth ? 1 : 0
        case .string(let text): Double(text)
        default: nil
        }
    }

    static func bool(_ value: JSONValue) -> Bool? {
        switch value {
        case .integer(let integer): integer != 0
        case .double(let double): double != 0
        case .bool(let truth): truth
        case .string(let text): LaunchArguments.truth(of: text)
        default: nil
        }
    }

    static func string(_ value: JSONValue) -> String? {
        switch value {
        case .integer(let integer): String(integer)
        case .double(let double):
            // An integer below 2^53 is written without a decimal point.
            double == double.rounded() && abs(double) < 0x1p53 ? String(Int64(double)) : "\(double)"
        case .bool(let truth): truth ? "1" : "0"
        case .string(let text): text
        default: nil
        }
    }
}
