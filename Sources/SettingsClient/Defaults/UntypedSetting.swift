public import Foundation
internal import SettingsAPI
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
        UntypedSetting(core: core, name: String(name))
    }

    /// A setting by its name as a value of a type; nil if it is none. Assigning nil removes it.
    @_disfavoredOverload
    public subscript<Value: DefaultsSerializable, Name: SettingName>(_ name: Name) -> Value? {
        get { core.untyped(String(name)) { try? Value.defaultsBridge.decode($0) } }
        set {
            let name = String(name)
            guard let newValue else { return core.setUntyped(name, nil) }
            guard let json = core.untypedJSON(newValue, name) else { return }
            core.setUntyped(name, json)
        }
    }

    // `Sendable`, as all text is: where JSON is given or wanted, that makes this form the more special of the two.
    /// A setting by its name as JSON. Assigning nil removes it.
    @_disfavoredOverload
    public subscript<Name: SettingName & Sendable>(_ name: Name) -> JSONValue? {
        get { core.untyped(String(name)) { $0 } }
        set { core.setUntyped(String(name), newValue) }
    }

    /// True if a name has a value that is not a default.
    public func hasKey<Name: SettingName>(_ name: Name) -> Bool {
        let name = String(name)
        guard let key = core.keyName(name, .read) else { return false }
        return !core.arguments.forms(of: name).isEmpty || core.registered(key) != nil || core.isSet(key)
    }

    /// True if a value is stored under a name.
    public func isSet<Name: SettingName>(_ name: Name) -> Bool {
        core.keyName(String(name), .read).map { core.isSet($0) } ?? false
    }

    /// Removes what is stored under a name.
    public func remove<Name: SettingName>(_ name: Name) {
        core.setUntyped(String(name), nil)
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
    try setting.setIfAbsent { setting.core.untypedJSON(try value(), setting.name) }
}

/// Stores JSON if nothing is stored, which the server decides. The right side is not evaluated if something is.
@_disfavoredOverload
public func ?= (setting: UntypedSetting, value: @autoclosure () throws -> JSONValue) rethrows {
    try setting.setIfAbsent { .some(try value()) }
}

extension UntypedSetting {
    /// - Parameter json: evaluated only if nothing seems to be stored. The outer nil means an error that was reported.
    fileprivate func setIfAbsent(_ json: () throws -> JSONValue??) rethrows {
        let start = ContinuousClock.now
        guard seemsAbsent, let json = try json() else { return }
        core.writeUntyped(name, json) { key throws(DefaultsError) in
            if let json { try core.submit(core.writeIfAbsent(json, to: key), since: start) }
        }
    }

    private var seemsAbsent: Bool {
        guard let key = core.keyName(name, .write) else { return false }
        do {
            return try core.isAbsent(key)
        } catch {
            core.report(error, name, .write)
            return false
        }
    }
}

/// Access by name, without a declared type.
extension AdapterCore {
    /// The value of a name in all layers, read as some type. Text of the command line is tried in each form that it may
    /// have; where all fail, the layers below count.
    func untyped<Value>(_ name: String, as read: (JSONValue) -> Value?) -> Value? {
        for form in arguments.forms(of: name) {
            if let value = read(form) { return value }
        }
        return untypedBelowArguments(name).flatMap(read)
    }

    private func untypedBelowArguments(_ name: String) -> JSONValue? {
        guard let key = keyName(name, .read) else { return nil }
        let deadline = session.deadline
        do {
            try load(for: key, until: deadline)
        } catch {
            reportUnread(error, name)
            return registered(key)
        }
        let visible = session.visible(key)
        guard let registered = registered(key) else { return visible.value }
        return untyped(withSource(visible, key, until: deadline), over: registered)
    }

    /// The layers below the command line: the stored value, the registered one, the schema's default.
    func untyped(_ visible: VisibleSetting, over registered: JSONValue?) -> JSONValue? {
        visible.source == .default ? registered ?? visible.value : visible.value ?? registered
    }

    /// Stores JSON under a name, or removes what is stored.
    func setUntyped(_ name: String, _ json: JSONValue?) {
        writeUntyped(name, json) { key throws(DefaultsError) in try submit(write(json, to: key)) }
    }

    /// Writes under a name as a setter does: what fails is reported.
    fileprivate func writeUntyped(
        _ name: String, _ json: JSONValue?, _ write: (KeyName) throws(DefaultsError) -> Void
    ) {
        guard let key = keyName(name, .write) else { return }
        attempt(name) { () throws(DefaultsError) in
            try refuseNonFinite(json, name)
            try write(key)
        }
    }

    /// The JSON of a value whose type is known here only; the outer nil if it has none, which is reported.
    func untypedJSON<Value: DefaultsSerializable>(_ value: Value, _ name: String) -> JSONValue?? {
        do {
            return .some(try encode(value, under: DefaultsKey<Value?>(name)))
        } catch {
            report(error, name, .write)
            return nil
        }
    }

    private func encode<Value>(_ value: Value, under key: DefaultsKey<Value>) throws(DefaultsError) -> JSONValue? {
        let codec: KeyCodec<Value>
        do {
            codec = try KeyCodec(key)
        } catch {
            throw .unusableKey(key.name, error)
        }
        do {
            return try codec.encode(value)
        } catch {
            throw .invalid(error)
        }
    }

    /// Changes the value of a name in place. The daemon carries out the operation, so concurrent changes are not lost. If nothing
    /// is stored, the operation starts from the registered value, or stores its operand.
    fileprivate func changeUntyped(_ name: String, by operation: InPlaceOperation, orStore first: JSONValue) {
        writeUntyped(name, first) { key throws(DefaultsError) in
            let start = registered(key)
            let visible = session.visible(key)
            let value = start.flatMap { try? operation.applied(to: $0) } ?? first
            let plan = PendingChange.Plan(base: nil, new: value, delta: MergeDelta(operation), start: start)
            // If the suite is not loaded, the daemon is likely to have a value. If it has none, the plan stores one.
            let mayHaveValue =
                visible.source?.isStored ?? (start == nil && (visible.value != nil || !session.isLoaded))
            try submit(
                PendingChange(
                    mayHaveValue ? .change(operation) : .set(value), to: key, in: suite,
                    if: mayHaveValue ? nil : .stored(false), as: .unique(), plan))
        }
    }

    /// Throws if the value has no JSON text. A number that is not finite would be sent as null.
    func refuseNonFinite(_ json: JSONValue?, _ name: String) throws(DefaultsError) {
        guard let json else { return }
        _ = try encode(json, under: DefaultsKey<JSONValue>(name, defaultValue: .null))
    }

    /// The name as a key's; nil if it cannot be one, which is reported.
    func keyName(_ name: String, _ attempt: DefaultsIssue.Attempt) -> KeyName? {
        do {
            return try KeyName(name)
        } catch {
            report(.unusableName(error), name, attempt)
            return nil
        }
    }
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
        case .string(let text): truth(of: text)
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

    /// The words for true and false, in any case.
    static func truth(of text: String) -> Bool? {
        switch text.lowercased() {
        case "true", "t", "yes", "y", "1": true
        case "false", "f", "no", "n", "0": false
        default: nil
        }
    }
}
