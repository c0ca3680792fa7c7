public import Foundation
internal import SettingsAPI
public import SettingsClient
public import SettingsKeys

/// A setting by its name, read as what is asked for: `Defaults["color"].string`.
///
/// Each is nil if there is nothing or a value of another kind; the forms with `Value` at the end give an empty value
/// then. Numbers, booleans and text stand for each other as follows; an empty field is nil.
///
/// | stored | `int` | `double` | `bool` | `string` |
/// |---|---|---|---|---|
/// | integer | itself | the nearest | whether it is not 0 | its digits |
/// | double | towards zero, if in range | itself | whether it is not 0 | its shortest digits |
/// | boolean | 1 or 0 | 1.0 or 0.0 | itself | `1` or `0` |
/// | text | if all of it is a number | if all of it is a number | true, t, yes, y, 1; false, f, no, n, 0 | itself |
public struct UntypedSetting: Sendable {
    let core: AdapterCore
    let name: String

    /// The value as it is. A value of the command line is text, whatever it may be read as.
    public var value: JSONValue? { core.untyped(name) { $0 } }

    /// The value as text.
    public var string: String? { core.untyped(name, as: UntypedConversion.string) }
    /// The value as an integer.
    public var int: Int? { core.untyped(name, as: UntypedConversion.int) }
    /// The value as a number.
    public var double: Double? { core.untyped(name, as: UntypedConversion.double) }
    /// The value as a truth value.
    public var bool: Bool? { core.untyped(name, as: UntypedConversion.bool) }
    /// The elements of an array.
    public var array: [JSONValue]? { core.untyped(name) { $0.array } }
    /// The members of an object.
    public var dictionary: [String: JSONValue]? { decoded() }
    /// The bytes that Base64 text stands for.
    public var data: Data? { decoded() }
    /// The date that text stands for.
    public var date: Date? { decoded() }
    /// The URL that text stands for.
    public var url: URL? { decoded() }

    /// The value as text; empty if it is none.
    public var stringValue: String { string ?? "" }
    /// The value as an integer; 0 if it is none.
    public var intValue: Int { int ?? 0 }
    /// The value as a number; 0 if it is none.
    public var doubleValue: Double { double ?? 0 }
    /// The value as a truth value; false if it is none.
    public var boolValue: Bool { bool ?? false }
    /// The elements of an array; none if it is none.
    public var arrayValue: [JSONValue] { array ?? [] }
    /// The members of an object; none if it is none.
    public var dictionaryValue: [String: JSONValue] { dictionary ?? [:] }
    /// The bytes that Base64 text stands for; none if it is none.
    public var dataValue: Data { data ?? Data() }

    private func decoded<Value: DefaultsSerializable>() -> Value? {
        core.untyped(name) { try? Value.defaultsBridge.decode($0) }
    }
}

extension DefaultsAdapter {
    /// A setting by its name, read as what is asked for.
    public subscript<Name: SettingName>(_ name: Name) -> UntypedSetting {
        UntypedSetting(core: adapterCore, name: String(name))
    }

    /// A setting by its name as a value of a type; nil if it is none. Assigning nil removes it.
    @_disfavoredOverload
    public subscript<Value: DefaultsSerializable, Name: SettingName>(_ name: Name) -> Value? {
        get { adapterCore.untyped(String(name)) { try? Value.defaultsBridge.decode($0) } }
        set {
            let name = String(name)
            guard let newValue else { return adapterCore.setUntyped(name, nil) }
            adapterCore.setUntyped(name, encoding: newValue)
        }
    }

    // `Sendable`, as all text is: where JSON is given or wanted, that makes this form the more special of the two.
    /// A setting by its name as JSON. Assigning nil removes it.
    @_disfavoredOverload
    public subscript<Name: SettingName & Sendable>(_ name: Name) -> JSONValue? {
        get { adapterCore.untyped(String(name)) { $0 } }
        set { adapterCore.setUntyped(String(name), newValue) }
    }

    /// True if a name has a value that is not a default.
    public func hasKey<Name: SettingName>(_ name: Name) -> Bool {
        adapterCore.hasKey(named: String(name))
    }

    /// True if a value is stored under a name.
    public func isSet<Name: SettingName>(_ name: Name) -> Bool {
        adapterCore.isSet(named: String(name))
    }

    /// Removes what is stored under a name.
    public func remove<Name: SettingName>(_ name: Name) {
        adapterCore.setUntyped(String(name), nil)
    }
}

/// Adds to a number; where there is nothing, stores what is added.
public func += (setting: UntypedSetting, amount: Int) {
    setting.core.changeUntyped(
        setting.name, by: .add(.integer(Int64(amount))), orStore: .integer(Int64(amount)))
}

/// Adds to a number; where there is nothing, stores what is added.
public func += (setting: UntypedSetting, amount: Double) {
    setting.core.changeUntyped(setting.name, by: .add(.double(amount)), orStore: .double(amount))
}

/// Appends to text; where there is nothing, stores what is appended.
public func += (setting: UntypedSetting, text: String) {
    setting.core.changeUntyped(setting.name, by: .concat(text), orStore: .string(text))
}

/// Appends to an array; where there is nothing, stores what is appended.
public func += (setting: UntypedSetting, elements: [JSONValue]) {
    setting.core.changeUntyped(setting.name, by: .append(elements), orStore: .array(elements))
}

/// Adds one to a number; where there is nothing, stores 1.
public postfix func ++ (setting: UntypedSetting) {
    setting += 1
}

/// Stores a value if nothing is stored, which the server decides. The right side is not evaluated if something is.
public func ?= <Value: DefaultsSerializable>(
    setting: UntypedSetting, value: @autoclosure () throws -> Value
) rethrows {
    try setting.core.setUntypedIfAbsent(setting.name) { setting.core.untypedJSON(try value(), setting.name) }
}

/// Stores JSON if nothing is stored, which the server decides. The right side is not evaluated if something is.
@_disfavoredOverload
public func ?= (setting: UntypedSetting, value: @autoclosure () throws -> JSONValue) rethrows {
    try setting.core.setUntypedIfAbsent(setting.name) { .some(try value()) }
}

/// The conversions of values without a declared type. The table stands at ``UntypedSetting``.
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
            double == double.rounded() && abs(double) < 0x1p53 ? String(Int64(double)) : "\(double)"
        case .bool(let truth): truth ? "1" : "0"
        case .string(let text): text
        default: nil
        }
    }
}
