/// What a class names, piece by piece as it is read: `[a-z\d\p{L}]`.
struct ClassContents: Hashable, Sendable {
    /// Whether the class is of all the rest, as `[^a-z]` is.
    var isInverted = false
    var ranges: [ClosedRange<UInt32>] = []
    var categories: GeneralCategories = []
    var properties: Set<PropertyTest> = []

    struct PropertyTest: Hashable, Sendable {
        let property: BinaryProperty
        let isNegated: Bool
    }

    /// Adds what an escape in the class names. Escapes are never inverted: \D comes as the ranges it stands for.
    mutating func formUnion(_ other: ClassContents) {
        ranges += other.ranges
        categories.formUnion(other.categories)
        properties.formUnion(other.properties)
    }
}

/// A class made ready for searching: one bit test for ASCII, a binary search and property look-ups for the rest.
///
/// Properties are asked of each scalar rather than spelled out as ranges; to spell one out would take a look at all
/// of Unicode for every pattern that is compiled.
struct ScalarClass: Sendable {
    private var asciiLow: UInt64 = 0
    private var asciiHigh: UInt64 = 0
    private let set: ScalarSet
    private let categories: GeneralCategories
    private let properties: [ClassContents.PropertyTest]
    private let isInverted: Bool

    init(_ contents: ClassContents) {
        set = ScalarSet(contents.ranges)
        categories = contents.categories
        properties = Array(contents.properties)
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

    /// How many properties `contains` asks for this scalar at most. A class may name dozens; a budget that did not
    /// see them would be cheated.
    func lookups(for scalar: Unicode.Scalar) -> Int {
        scalar.isASCII ? 0 : properties.count
    }

    private func search(_ scalar: Unicode.Scalar) -> Bool {
        let isNamed =
            set.contains(scalar.value)
            || !categories.isEmpty && categories.contains(GeneralCategories(scalar.properties.generalCategory))
            || properties.contains { $0.property.holds(for: scalar) != $0.isNegated }
        return isNamed != isInverted
    }
}
