package import SettingsModel

/// A reader of the members of one JSON object. The type that a member is read as follows from where it goes.
///
/// Errors name the member. Their pointer is put together only when something is wrong.
package struct ObjectReader {
    package let object: JSONObject

    package init(_ json: JSONValue) throws(BodyError) {
        object = try json.members
    }

    /// Reads an object that may have these members and no other.
    package init(_ json: JSONValue, only known: [String]) throws(BodyError) {
        try self.init(json)
        try allow(only: known)
    }

    /// Refuses the first member that is none of these.
    package func allow(only known: [String]) throws(BodyError) {
        for name in object.names where !known.contains(where: { $0.hasSameBytes(as: name) }) {
            throw BodyError.unknown(member: name, among: known)
        }
    }

    package func has(_ name: String) -> Bool {
        object[name] != nil
    }

    package func required<Value>(
        _ name: String, _ read: (JSONValue) throws(BodyError) -> Value
    ) throws(BodyError) -> Value {
        guard let value = try optional(name, read) else {
            throw BodyError("the member \(BodyError.quoted(name)) is missing")
        }
        return value
    }

    package func optional<Value>(
        _ name: String, _ read: (JSONValue) throws(BodyError) -> Value
    ) throws(BodyError) -> Value? {
        guard let json = object[name] else { return nil }
        do { return try read(json) } catch { throw error.inMember(name) }
    }

    package func required<Value: JSONReadable>(_ name: String) throws(BodyError) -> Value {
        try required(name, Value.init(json:))
    }

    package func optional<Value: JSONReadable>(_ name: String) throws(BodyError) -> Value? {
        try optional(name, Value.init(json:))
    }

    /// Reads a list that is empty where it is left out.
    package func list<Element: JSONReadable>(_ name: String) throws(BodyError) -> [Element] {
        try optional(name) ?? []
    }

    /// Reads a flag that is off where it is left out.
    package func flag(_ name: String) throws(BodyError) -> Bool {
        try optional(name) ?? false
    }
}

extension JSONValue {
    /// The members. Throws if this is no object.
    var members: JSONObject {
        get throws(BodyError) {
            guard case .object(let object) = self else { throw .expected("an object", found: self) }
            return object
        }
    }

    /// Reads the elements of an array.
    package func list<Element>(of read: (JSONValue) throws(BodyError) -> Element) throws(BodyError) -> [Element] {
        guard case .array(let elements) = self else { throw .expected("an array", found: self) }
        var list: [Element] = []
        list.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            do { list.append(try read(element)) } catch { throw error.inElement(index) }
        }
        return list
    }

    /// Reads the members of an object, each as one element.
    func map<Element>(of read: (JSONObject.Member) throws(BodyError) -> Element) throws(BodyError) -> [Element] {
        var list: [Element] = []
        for member in try members {
            do { list.append(try read(member)) } catch { throw error.inMember(member.name) }
        }
        return list
    }
}

/// A closed set of words that name operations.
protocol OperationWord: JSONReadable, RawRepresentable<String>, CaseIterable {}

extension OperationWord {
    init(json: JSONValue) throws(BodyError) {
        let text = try String(json: json)
        guard let word = Self(rawValue: text) else {
            throw .unknown(word: text, among: Self.allCases.map(\.rawValue))
        }
        self = word
    }
}
