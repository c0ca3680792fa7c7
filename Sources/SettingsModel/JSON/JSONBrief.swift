extension JSONValue {
    /// The value in a sentence, as its JSON where that is short and as its kind and size where it is not.
    package var briefPhrase: String {
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
        case .string(let text) where text.utf8.count > Self.briefLength: nil
        case .array, .object: nil
        default: self
        }
    }

    /// Whether the value is short enough to be repeated whole, containers included. Looks at no more than it takes.
    package var isShort: Bool {
        var budget = Self.shortSize
        return takes(from: &budget)
    }

    /// What it costs to look at all of the value: one for each value in it, and more for long texts.
    var extent: Int {
        switch self {
        case .string(let text): 1 + text.utf8.count / 64
        case .array(let elements): elements.reduce(1) { $0 + $1.extent }
        case .object(let object): object.members.reduce(1) { $0 + $1.name.utf8.count / 64 + $1.value.extent }
        default: 1
        }
    }

    private static let briefLength = 80
    private static let shortSize = 1_000

    /// Takes about the length of the value's text from a budget; false when that does not suffice.
    private func takes(from budget: inout Int) -> Bool {
        budget -= 4
        switch self {
        case .string(let text):
            budget -= text.utf8.count
        case .array(let elements):
            for element in elements where !element.takes(from: &budget) { return false }
        case .object(let object):
            for member in object {
                budget -= member.name.utf8.count
                if !member.value.takes(from: &budget) { return false }
            }
        default:
            break
        }
        return budget >= 0
    }
}
