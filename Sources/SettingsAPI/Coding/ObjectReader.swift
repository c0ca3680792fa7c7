package import SettingsModel

/// Reads the members of a JSON object. The type of the result determines which type of value a member must have.
///
/// An error has the location of the member as a JSON Pointer. The reader computes the pointer only for an error.
package struct ObjectReader {
    package let object: JSONObject

    package init(_ json: JSONValue) throws(BodyError) {
        object = try json.members
    }

    /// Makes a reader of an object that may have only the members `known`.
    package init(_ json: JSONValue, only known: [String]) throws(BodyError) {
        try self.init(json)
        try allow(only: known)
    }

    /// Throws if the object has a member that is not in the list.
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

    /// Reads a list. A missing member means an empty list.
    package func list<Element: JSONReadable>(_ name: String) throws(BodyError) -> [Element] {
        try optional(name) ?? []
    }

    /// Reads a flag. A missing member means false.
    package func flag(_ name: String) throws(BodyError) -> Bool {
        try optional(name) ?? false
    }
}

extension JSONValue {
    /// The members. Throws if the value is not an object.
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

    /// Reads the members of an object. Each member becomes one element.
    func map<Element>(of read: (JSONObject.Member) throws(BodyError) -> Element) throws(BodyError) -> [Element] {
        var list: [Element] = []
        for member in try members {
            do { list.append(try read(member)) } catch { throw error.inMember(member.name) }
        }
        return list
    }
}

/// A member of a body whose value is one word of a fixed set.
protocol BodyWord: JSONReadable, RawRepresentable<String>, CaseIterable {}

extension BodyWord {
    package init(json: JSONValue) throws(BodyError) {
        let text = try String(json: json)
        guard let word = Self(rawValue: text) else {
            throw .unknown(word: text, among: Self.allCases.map(\.rawValue))
        }
        self = word
    }
}
