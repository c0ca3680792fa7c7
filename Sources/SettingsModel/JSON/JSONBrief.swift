extension JSONValue {
    /// The value in a sentence, as its JSON where that is short and as its kind and size where it is not.
    var briefPhrase: String {
        switch self {
        case .string(let text) where text.utf8.count > Self.briefLength:
            "a string of \(Plural.count(text.unicodeScalars.count, "character"))"
        case .array(let elements) where !elements.isEmpty:
            "an array of \(Plural.count(elements.count, "element"))"
        case .object(let object) where !object.isEmpty:
            "an object of \(Plural.count(object.count, "member"))"
        default:
            description
        }
    }

    /// The value if it is a scalar and short enough to be repeated in a message.
    var briefScalar: JSONValue? {
        switch self {
        case .string(let text): text.utf8.count > Self.briefLength ? nil : self
        case .array, .object: nil
        default: self
        }
    }

    private static let briefLength = 80
}
