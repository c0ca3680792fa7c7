extension JSONValue {
    /// The kind of this value in a sentence: `an integer`, `a string`.
    var kindPhrase: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .integer: "an integer"
        case .double: "a floating-point number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
