/// The contents of a character class in a pattern, such as `[a-z\d\p{L}]`.
struct ClassContents: Sendable {
    /// True for a class that contains all other scalars, such as `[^a-z]`.
    var isInverted = false
    var ranges: [ClosedRange<UInt32>] = []
    var categories: GeneralCategories = []

    /// Adds the contents of an escape. The contents of an escape are never inverted: for `\D`, they are the ranges of
    /// all scalars that are not digits.
    mutating func formUnion(_ other: ClassContents) {
        ranges += other.ranges
        categories.formUnion(other.categories)
    }
}

/// A compiled character class. It looks up an ASCII scalar in a bit set, and another scalar by a binary search and by
/// its general category.
struct ScalarClass: Sendable {
    private var asciiLow: UInt64 = 0
    private var asciiHigh: UInt64 = 0
    private let set: ScalarSet
    private let categories: GeneralCategories
    private let isInverted: Bool

    init(_ contents: ClassContents) {
        set = ScalarSet(contents.ranges)
        categories = contents.categories
        isInverted = contents.isInverted
        for value in UInt8(0)..<64 {
            asciiLow |= search(Unicode.Scalar(value)) ? 1 << UInt64(value) : 0
            asciiHigh |= search(Unicode.Scalar(value + 64)) ? 1 << UInt64(value) : 0
        }
    }

    func contains(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<64: asciiLow & (1 << UInt64(scalar.value)) != 0
        case 64..<128: asciiHigh & (1 << UInt64(scalar.value - 64)) != 0
        default: search(scalar)
        }
    }

    /// Looks up a scalar without the bit set.
    private func search(_ scalar: Unicode.Scalar) -> Bool {
        let isListed =
            set.contains(scalar.value)
            || !categories.isEmpty && categories.contains(GeneralCategories(scalar.properties.generalCategory))
        return isListed != isInverted
    }
}

/// A set of code points, stored as sorted ranges that neither touch nor overlap.
///
/// The set contains code points instead of scalars, because [\uD800-\uDFFF] is a valid class.
struct ScalarSet: Sendable {
    static let maximum: UInt32 = 0x10FFFF

    let ranges: [ClosedRange<UInt32>]

    /// Makes a set from ranges in any order, which may overlap.
    init(_ unordered: [ClosedRange<UInt32>]) {
        var merged: [ClosedRange<UInt32>] = []
        for range in unordered.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = merged.last, range.lowerBound <= last.upperBound + 1 {
                merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        ranges = merged
    }

    var inverted: ScalarSet {
        var gaps: [ClosedRange<UInt32>] = []
        var start: UInt32 = 0
        for range in ranges {
            if range.lowerBound > start {
                gaps.append(start...(range.lowerBound - 1))
            }
            start = range.upperBound + 1
        }
        if start <= Self.maximum {
            gaps.append(start...Self.maximum)
        }
        return ScalarSet(gaps)
    }

    func contains(_ value: UInt32) -> Bool {
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if value > ranges[middle].upperBound {
                low = middle + 1
            } else if value < ranges[middle].lowerBound {
                high = middle
            } else {
                return true
            }
        }
        return false
    }
}

extension ScalarSet {
    static let all = ScalarSet([0...maximum])
    static let ascii = ScalarSet([0...0x7F])
    /// \d, which is ASCII only in ECMA-262.
    static let digits = ScalarSet([0x30...0x39])
    /// \w, which is ASCII only, because patterns have no flag `i`.
    static let word = ScalarSet([0x30...0x39, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A])
    static let lineTerminators = ScalarSet([0x0A...0x0A, 0x0D...0x0D, 0x2028...0x2029])
    /// \s, as ECMA-262 defines it: the Unicode property White_Space without U+0085 and with U+FEFF.
    static let space = ScalarSet([
        0x09...0x0D, 0x20...0x20, 0xA0...0xA0, 0x1680...0x1680, 0x2000...0x200A, 0x2028...0x2029, 0x202F...0x202F,
        0x205F...0x205F, 0x3000...0x3000, 0xFEFF...0xFEFF,
    ])
}

/// A set of Unicode general categories. It has one bit for each category, so a test against many categories takes one
/// operation.
struct GeneralCategories: OptionSet, Sendable {
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

    var complement: GeneralCategories { GeneralCategories(rawValue: ~rawValue) }
}

extension GeneralCategories {
    /// Makes the set that a name denotes in ECMA-262. The name is case-sensitive.
    init?(named name: String) {
        guard let row = Self.names.firstIndex(where: { $0.contains(Substring(name)) }) else { return nil }
        switch Self.names[row][0] {
        case "Assigned": self = GeneralCategories(.unassigned).complement
        case "LC": self = [Self(.uppercaseLetter), Self(.lowercaseLetter), Self(.titlecaseLetter)]
        // A name of two letters denotes one category.
        case let short where row < Self.count && short.utf8.count == 2: self.init(rawValue: 1 << UInt32(row))
        case let letter:
            // A name of one letter denotes all categories whose names begin with this letter.
            self = []
            for bit in 0..<Self.count where Self.names[bit][0].hasPrefix(letter) {
                insert(Self(rawValue: 1 << UInt32(bit)))
            }
        }
    }

    /// The number of general categories.
    private static let count = 30

    /// The names of the categories in the order of the bits, followed by the names of the groups of categories.
    private static let names = """
        Lu Uppercase_Letter, Ll Lowercase_Letter, Lt Titlecase_Letter, Lm Modifier_Letter, Lo Other_Letter,
        Mn Nonspacing_Mark, Mc Spacing_Mark, Me Enclosing_Mark,
        Nd Decimal_Number digit, Nl Letter_Number, No Other_Number,
        Pc Connector_Punctuation, Pd Dash_Punctuation, Ps Open_Punctuation, Pe Close_Punctuation,
        Pi Initial_Punctuation, Pf Final_Punctuation, Po Other_Punctuation,
        Sm Math_Symbol, Sc Currency_Symbol, Sk Modifier_Symbol, So Other_Symbol,
        Zs Space_Separator, Zl Line_Separator, Zp Paragraph_Separator,
        Cc Control cntrl, Cf Format, Cs Surrogate, Co Private_Use, Cn Unassigned,
        L Letter, M Mark Combining_Mark, N Number, P Punctuation punct, S Symbol, Z Separator, C Other,
        LC Cased_Letter, Assigned
        """.split(separator: ",").map { $0.split { $0 == " " || $0 == "\n" } }
}
