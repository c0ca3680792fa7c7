/// A set of Unicode's general categories with one bit each, so that a class of many categories needs one test.
struct GeneralCategories: OptionSet, Hashable, Sendable {
    let rawValue: UInt32

    init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    init(_ category: Unicode.GeneralCategory) {
        let bit: UInt32 =
            switch category {
            case .uppercaseLetter: 0
            case .lowercaseLetter: 1
            case .titlecaseLetter: 2
            case .modifierLetter: 3
            case .otherLetter: 4
            case .nonspacingMark: 5
            case .spacingMark: 6
            case .enclosingMark: 7
            case .decimalNumber: 8
            case .letterNumber: 9
            case .otherNumber: 10
            case .connectorPunctuation: 11
            case .dashPunctuation: 12
            case .openPunctuation: 13
            case .closePunctuation: 14
            case .initialPunctuation: 15
            case .finalPunctuation: 16
            case .otherPunctuation: 17
            case .mathSymbol: 18
            case .currencySymbol: 19
            case .modifierSymbol: 20
            case .otherSymbol: 21
            case .spaceSeparator: 22
            case .lineSeparator: 23
            case .paragraphSeparator: 24
            case .control: 25
            case .format: 26
            case .surrogate: 27
            case .privateUse: 28
            case .unassigned: 29
            @unknown default: 30
            }
        rawValue = 1 << bit
    }

    private init(_ categories: [Unicode.GeneralCategory]) {
        self = categories.reduce(into: []) { $0.formUnion(GeneralCategories($1)) }
    }

    var complement: GeneralCategories { GeneralCategories(rawValue: ~rawValue) }

    static let assigned = GeneralCategories(.unassigned).complement
}

extension GeneralCategories {
    /// Takes the names that ECMA-262 lists for values of General_Category, in that letter case.
    init?(named name: String) {
        guard let row = Self.names.first(where: { $0.names.contains(name) }) else { return nil }
        self = row.categories
    }

    private static let names: [(names: [String], categories: GeneralCategories)] = [
        (["Assigned"], assigned),
        (["LC", "Cased_Letter"], cased),
        (["L", "Letter"], cased.union(GeneralCategories([.modifierLetter, .otherLetter]))),
        (["Lu", "Uppercase_Letter"], GeneralCategories(.uppercaseLetter)),
        (["Ll", "Lowercase_Letter"], GeneralCategories(.lowercaseLetter)),
        (["Lt", "Titlecase_Letter"], GeneralCategories(.titlecaseLetter)),
        (["Lm", "Modifier_Letter"], GeneralCategories(.modifierLetter)),
        (["Lo", "Other_Letter"], GeneralCategories(.otherLetter)),
        (["M", "Mark", "Combining_Mark"], GeneralCategories([.nonspacingMark, .spacingMark, .enclosingMark])),
        (["Mn", "Nonspacing_Mark"], GeneralCategories(.nonspacingMark)),
        (["Mc", "Spacing_Mark"], GeneralCategories(.spacingMark)),
        (["Me", "Enclosing_Mark"], GeneralCategories(.enclosingMark)),
        (["N", "Number"], GeneralCategories([.decimalNumber, .letterNumber, .otherNumber])),
        (["Nd", "Decimal_Number", "digit"], GeneralCategories(.decimalNumber)),
        (["Nl", "Letter_Number"], GeneralCategories(.letterNumber)),
        (["No", "Other_Number"], GeneralCategories(.otherNumber)),
        (["P", "Punctuation", "punct"], punctuation),
        (["Pc", "Connector_Punctuation"], GeneralCategories(.connectorPunctuation)),
        (["Pd", "Dash_Punctuation"], GeneralCategories(.dashPunctuation)),
        (["Ps", "Open_Punctuation"], GeneralCategories(.openPunctuation)),
        (["Pe", "Close_Punctuation"], GeneralCategories(.closePunctuation)),
        (["Pi", "Initial_Punctuation"], GeneralCategories(.initialPunctuation)),
        (["Pf", "Final_Punctuation"], GeneralCategories(.finalPunctuation)),
        (["Po", "Other_Punctuation"], GeneralCategories(.otherPunctuation)),
        (["S", "Symbol"], GeneralCategories([.mathSymbol, .currencySymbol, .modifierSymbol, .otherSymbol])),
        (["Sm", "Math_Symbol"], GeneralCategories(.mathSymbol)),
        (["Sc", "Currency_Symbol"], GeneralCategories(.currencySymbol)),
        (["Sk", "Modifier_Symbol"], GeneralCategories(.modifierSymbol)),
        (["So", "Other_Symbol"], GeneralCategories(.otherSymbol)),
        (["Z", "Separator"], GeneralCategories([.spaceSeparator, .lineSeparator, .paragraphSeparator])),
        (["Zs", "Space_Separator"], GeneralCategories(.spaceSeparator)),
        (["Zl", "Line_Separator"], GeneralCategories(.lineSeparator)),
        (["Zp", "Paragraph_Separator"], GeneralCategories(.paragraphSeparator)),
        (["C", "Other"], GeneralCategories([.control, .format, .surrogate, .privateUse, .unassigned])),
        (["Cc", "Control", "cntrl"], GeneralCategories(.control)),
        (["Cf", "Format"], GeneralCategories(.format)),
        (["Cs", "Surrogate"], GeneralCategories(.surrogate)),
        (["Co", "Private_Use"], GeneralCategories(.privateUse)),
        (["Cn", "Unassigned"], GeneralCategories(.unassigned)),
    ]

    private static let cased = GeneralCategories([.uppercaseLetter, .lowercaseLetter, .titlecaseLetter])

    private static let punctuation = GeneralCategories([
        .connectorPunctuation, .dashPunctuation, .openPunctuation, .closePunctuation, .initialPunctuation,
        .finalPunctuation, .otherPunctuation,
    ])
}
