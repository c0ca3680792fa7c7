internal import SettingsModel

/// Reads the members of one JSON object, so that decoding reads like a table of them.
///
/// The type that a member is read as follows from where it goes. Errors name the member; the pointer is put together
/// only when something is wrong, so reading what is right costs nothing for it.
struct ObjectReader {
    let object: JSONObject

    /// Reads an object whose other members do not matter.
    init(_ json: JSONValue) throws(BodyError) {
        guard case .object(let object) = json else { throw .expected("an object", found: json) }
        self.object = object
    }

    /// Reads an object that may have these members and no other.
    init(_ json: JSONValue, only known: [String]) throws(BodyError) {
        try self.init(json)
        try allow(only: known)
    }

    /// Refuses the first member that is none of these.
    func allow(only known: [String]) throws(BodyError) {
        for name in object.names where !known.contains(where: { $0.hasSameBytes(as: name) }) {
            throw BodyError.unknown("member", name, among: known).under(name)
        }
    }

    func has(_ name: String) -> Bool {
        object[name] != nil
    }

    func required<Value>(
        _ name: String, _ read: (JSONValue) throws(BodyError) -> Value
    ) throws(BodyError) -> Value {
        guard let value = try optional(name, read) else {
            throw BodyError("the member \(BodyError.quoted(name)) is missing")
        }
        return value
    }

    func optional<Value>(
        _ name: String, _ read: (JSONValue) throws(BodyError) -> Value
    ) throws(BodyError) -> Value? {
        guard let json = object[name] else { return nil }
        do {
            return try read(json)
        } catch {
            throw error.under(name)
        }
    }
}

/// Members that have to be there.
extension ObjectReader {
    func required(_ name: String) throws(BodyError) -> JSONValue {
        try required(name) { $0 }
    }

    func required(_ name: String) throws(BodyError) -> String {
        try required(name, BodyValue.string)
    }

    func required(_ name: String) throws(BodyError) -> Int64 {
        try required(name, BodyValue.integer)
    }

    func required(_ name: String) throws(BodyError) -> Bool {
        try required(name, BodyValue.bool)
    }

    func required<Value: JSONReadable>(_ name: String) throws(BodyError) -> Value {
        try required(name, Value.init(json:))
    }

    func required<Element: JSONReadable>(_ name: String) throws(BodyError) -> [Element] {
        try required(name, BodyValue.list)
    }
}

/// Members that may be left out.
extension ObjectReader {
    func optional(_ name: String) throws(BodyError) -> JSONValue? {
        object[name]
    }

    func optional(_ name: String) throws(BodyError) -> String? {
        try optional(name, BodyValue.string)
    }

    func optional(_ name: String) throws(BodyError) -> Int64? {
        try optional(name, BodyValue.integer)
    }

    func optional(_ name: String) throws(BodyError) -> Bool? {
        try optional(name, BodyValue.bool)
    }

    func optional<Value: JSONReadable>(_ name: String) throws(BodyError) -> Value? {
        try optional(name, Value.init(json:))
    }

    /// A list that is empty where it is left out.
    func list<Element: JSONReadable>(_ name: String) throws(BodyError) -> [Element] {
        try optional(name, BodyValue.list) ?? []
    }

    /// A flag that is off where it is left out.
    func flag(_ name: String) throws(BodyError) -> Bool {
        try optional(name) ?? false
    }

    /// The value of a setting whose source is known: null means that there is none, unless there has to be one.
    func effectiveValue(_ name: String, _ source: Source) -> JSONValue? {
        guard let value = object[name], !value.isNull || source.isReadable else { return nil }
        return value
    }
}

/// Values of one kind, or an error that says which kind was expected.
enum BodyValue {
    static func string(_ json: JSONValue) throws(BodyError) -> String {
        guard case .string(let value) = json else { throw .expected("a string", found: json) }
        return value
    }

    static func integer(_ json: JSONValue) throws(BodyError) -> Int64 {
        guard case .integer(let value) = json else { throw .expected("an integer", found: json) }
        return value
    }

    static func bool(_ json: JSONValue) throws(BodyError) -> Bool {
        guard case .bool(let value) = json else { throw .expected("true or false", found: json) }
        return value
    }

    static func array(_ json: JSONValue) throws(BodyError) -> [JSONValue] {
        guard case .array(let value) = json else { throw .expected("an array", found: json) }
        return value
    }

    static func object(_ json: JSONValue) throws(BodyError) -> JSONObject {
        guard case .object(let value) = json else { throw .expected("an object", found: json) }
        return value
    }

    /// A name, or the error that says why a string is none.
    static func name<Name>(
        _ json: JSONValue, _ make: (String) throws(NameError) -> Name
    ) throws(BodyError) -> Name {
        let text = try string(json)
        do {
            return try make(text)
        } catch {
            throw BodyError(error)
        }
    }

    /// The elements of an array, each read by its type.
    static func list<Element: JSONReadable>(_ json: JSONValue) throws(BodyError) -> [Element] {
        try list(json, Element.init(json:))
    }

    static func list<Element>(
        _ json: JSONValue, _ read: (JSONValue) throws(BodyError) -> Element
    ) throws(BodyError) -> [Element] {
        let elements = try array(json)
        var list: [Element] = []
        list.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            do {
                list.append(try read(element))
            } catch {
                throw error.under(index)
            }
        }
        return list
    }

    /// The members of an object, each made into one element.
    static func map<Element>(
        _ json: JSONValue, _ read: (JSONObject.Member) throws(BodyError) -> Element
    ) throws(BodyError) -> [Element] {
        let object = try object(json)
        var list: [Element] = []
        list.reserveCapacity(object.count)
        for member in object {
            do {
                list.append(try read(member))
            } catch {
                throw error.under(member.name)
            }
        }
        return list
    }

    /// One of a closed set of words.
    static func word<Word: RawRepresentable<String> & CaseIterable>(
        _ what: String, _ json: JSONValue
    ) throws(BodyError) -> Word {
        let text = try string(json)
        guard let word = Word(rawValue: text) else {
            throw .unknown(what, text, among: Word.allCases.map(\.rawValue))
        }
        return word
    }
}
