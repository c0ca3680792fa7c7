/// What the braces of \p{…} and \P{…} can name.
enum UnicodeProperty: Sendable {
    case set(ScalarSet)
    case categories(GeneralCategories)
    case binary(BinaryProperty)
    /// ECMA-262 knows it, the standard library does not. The text names it in the words of a pattern.
    case unavailable(String)

    /// Answers nil for a name or a value that ECMA-262 does not know. Whether a script exists is not checked.
    init?(name: String, value: String?) {
        switch (name, value) {
        case ("General_Category", let value?), ("gc", let value?):
            guard let categories = GeneralCategories(named: value) else { return nil }
            self = .categories(categories)
        case ("Script", let value?), ("sc", let value?), ("Script_Extensions", let value?), ("scx", let value?):
            guard !value.isEmpty else { return nil }
            self = .unavailable("\(name)=")
        case (_, .some):
            return nil
        case ("Any", nil):
            self = .set(.all)
        case ("ASCII", nil):
            self = .set(.ascii)
        case ("Assigned", nil):
            self = .categories(.assigned)
        case ("Regional_Indicator", nil), ("RI", nil):
            self = .set(.regionalIndicators)
        case ("Emoji_Component", nil), ("EComp", nil):
            self = .set(.emojiComponents)
        case ("Extended_Pictographic", nil), ("ExtPict", nil):
            self = .unavailable(name)
        default:
            if let categories = GeneralCategories(named: name) {
                self = .categories(categories)
            } else if let property = BinaryProperty(named: name) {
                self = .binary(property)
            } else {
                return nil
            }
        }
    }

    /// Empty for a property that is unavailable: such a pattern is never run.
    func contents(negated: Bool) -> ClassContents {
        switch self {
        case .set(let set):
            ClassContents(ranges: negated ? set.inverted.ranges : set.ranges)
        case .categories(let categories):
            ClassContents(categories: negated ? categories.complement : categories)
        case .binary(let property):
            ClassContents(properties: [ClassContents.PropertyTest(property: property, isNegated: negated)])
        case .unavailable:
            ClassContents()
        }
    }
}
