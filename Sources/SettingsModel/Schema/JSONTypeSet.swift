/// The kinds of values that `type` may name.
struct JSONTypeSet: OptionSet, Hashable, Sendable {
    let rawValue: UInt8

    static let null = JSONTypeSet(rawValue: 1)
    static let boolean = JSONTypeSet(rawValue: 2)
    static let integer = JSONTypeSet(rawValue: 4)
    static let number = JSONTypeSet(rawValue: 8)
    static let string = JSONTypeSet(rawValue: 16)
    static let array = JSONTypeSet(rawValue: 32)
    static let object = JSONTypeSet(rawValue: 64)

    /// The names in the order in which messages list them.
    static let names: [(name: String, type: JSONTypeSet, phrase: String)] = [
        ("boolean", .boolean, "a boolean"), ("integer", .integer, "an integer"), ("number", .number, "a number"),
        ("string", .string, "a string"), ("array", .array, "an array"), ("object", .object, "an object"),
        ("null", .null, "null"),
    ]

    /// The type of this name.
    init?(name: String) {
        guard let entry = Self.names.first(where: { $0.name == name }) else { return nil }
        self = entry.type
    }

    init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Whether a value is of one of these types. A double is an integer if it is one that ``Double/exactInteger``
    /// finds: beyond 2⁵³ no double stands for one integer alone.
    func admits(_ value: JSONValue) -> Bool {
        switch value {
        case .null: contains(.null)
        case .bool: contains(.boolean)
        case .integer: !isDisjoint(with: [.integer, .number])
        case .double(let double):
            double.isFinite && (contains(.number) || (contains(.integer) && double.exactInteger != nil))
        case .string: contains(.string)
        case .array: contains(.array)
        case .object: contains(.object)
        }
    }

    /// Whether an integral double is to be kept as an integer.
    var prefersIntegers: Bool {
        contains(.integer) && !contains(.number)
    }

    /// The types in a sentence: `an integer or null`.
    var phrase: String {
        Self.names.filter { contains($0.type) }.map(\.phrase).joined(separator: " or ")
    }
}
