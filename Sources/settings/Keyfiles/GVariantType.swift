import SettingsHTTP

/// A type of GVariant, such as `u`, `as` or `a{sv}`.
indirect enum GVariantType: Equatable, Sendable {
    /// A type of one letter: `b y n q i u x t h d s o g v`.
    case basic(Character)
    case array(GVariantType)
    case maybe(GVariantType)
    case tuple([GVariantType])
    /// A key with its value: the element type of a dictionary.
    case entry(GVariantType, GVariantType)

    static let variant = GVariantType.basic("v")
    /// The type of a JSON object: a dictionary of variants with text keys.
    static let dictionary = GVariantType.array(.entry(.basic("s"), variant))

    /// Parses a type; nil if the text is not exactly one type.
    init?(_ text: String) {
        var rest = Substring(text)
        guard let type = GVariantType(taking: &rest), rest.isEmpty else { return nil }
        self = type
    }

    /// Removes a type from the beginning of the text, and parses it; nil if the text does not begin with a type.
    init?(taking text: inout Substring, depth: Int = 0) {
        // The limit bounds the recursion.
        guard depth < 64, let letter = text.popFirst() else { return nil }
        switch letter {
        case "a", "m":
            guard let element = GVariantType(taking: &text, depth: depth + 1) else { return nil }
            self = letter == "a" ? .array(element) : .maybe(element)
        case "(":
            var elements: [GVariantType] = []
            while text.first != ")" {
                guard let element = GVariantType(taking: &text, depth: depth + 1) else { return nil }
                elements.append(element)
            }
            text.removeFirst()
            self = .tuple(elements)
        case "{":
            guard let key = GVariantType(taking: &text, depth: depth + 1),
                let value = GVariantType(taking: &text, depth: depth + 1), text.popFirst() == "}"
            else { return nil }
            self = .entry(key, value)
        default:
            guard "bynqiuxthdsogv".contains(letter) else { return nil }
            self = .basic(letter)
        }
    }

    var text: String {
        switch self {
        case .basic(let letter): String(letter)
        case .array(let element): "a\(element.text)"
        case .maybe(let element): "m\(element.text)"
        case .tuple(let elements): "(\(elements.map(\.text).joined()))"
        case .entry(let key, let value): "{\(key.text)\(value.text)}"
        }
    }

    /// The integers that the type with this letter can represent, limited to 64 bits with a sign; nil if the type is
    /// not an integer type.
    static func range(of letter: Character) -> ClosedRange<Int64>? {
        switch letter {
        case "y": 0...255
        case "n": Int64(Int16.min)...Int64(Int16.max)
        case "q": 0...Int64(UInt16.max)
        case "i", "h": Int64(Int32.min)...Int64(Int32.max)
        case "u": 0...Int64(UInt32.max)
        case "x": Int64.min...Int64.max
        case "t": 0...Int64.max
        default: nil
        }
    }

    /// Converts a value that was read without a type to this type, for example an integer to a double; nil if the value
    /// does not fit the type.
    func typed(_ value: JSONValue) -> JSONValue? {
        switch (self, value) {
        case (.basic("v"), _): value
        case (.basic("b"), .bool), (.basic("s"), .string), (.basic("o"), .string), (.basic("g"), .string): value
        case (.basic("d"), .double): value
        case (.basic("d"), .integer(let number)): .double(Double(number))
        case (.basic(let letter), .integer(let number)):
            Self.range(of: letter)?.contains(number) ?? false ? value : nil
        case (.maybe, .null): value
        case (.maybe(let element), _): element.typed(value)
        case (.array(.entry(_, let type)), .object(let object)): Self.typed(object) { type.typed($0) }
        case (.array(let element), .array(let elements)): Self.typed(elements) { element.typed($0) }
        case (.tuple(let types), .array(let elements)) where types.count == elements.count:
            Self.typed(Array(zip(types, elements))) { $0.typed($1) }
        case (.entry(let key, let type), .array(let parts)) where parts.count == 2:
            Self.typed([(key, parts[0]), (type, parts[1])]) { $0.typed($1) }
        default: nil
        }
    }

    private static func typed<Element>(_ elements: [Element], _ convert: (Element) -> JSONValue?) -> JSONValue? {
        let values = elements.compactMap(convert)
        return values.count == elements.count ? .array(values) : nil
    }

    private static func typed(_ object: JSONObject, _ convert: (JSONValue) -> JSONValue?) -> JSONValue? {
        var result = object
        for member in object {
            guard let value = convert(member.value) else { return nil }
            result[member.name] = value
        }
        return .object(result)
    }
}
