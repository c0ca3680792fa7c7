internal import SettingsModel

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
