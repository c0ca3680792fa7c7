/// What values a schema allows, in a form that does not depend on how the schema is written.
///
/// Equal forms allow the same values. Not all schemas that do have one form: rules that combine others in ways that
/// cannot be merged stand as they are.
struct ValueForm: Hashable, Sendable {
    /// The kinds of values; an integer is a number too.
    var types = JSONTypeSet.all
    var numbers = NumberForm()
    var strings = StringForm()
    /// How many elements an array may have.
    var counts = CountForm()
    var isUnique = false
    /// Rules for elements, all of which hold.
    var arrays: Set<ArrayForm> = []
    /// Rules for members, all of which hold.
    var objects: Set<ObjectForm> = []
    /// The only values, if they are listed.
    var listed: Set<MathematicalJSON>?
    /// Alternatives, of each set of which one must fit.
    var choices: Set<Set<ValueForm>> = []
    /// Rules that are compared as they are written.
    var rest: Set<MathematicalJSON> = []
    /// Whether the schema was too large to be read to its end, so that nothing can be said of the rest.
    var isCut = false

    /// Every value.
    static let any = ValueForm()
    /// No value.
    static let none = ValueForm(types: [])

    /// Whether every value is allowed.
    var isAny: Bool {
        self == .any
    }
}

/// What numbers are allowed.
struct NumberForm: Hashable, Sendable {
    /// An end of a range.
    struct Limit: Hashable, Sendable {
        let number: JSONNumber
        let isIncluded: Bool
    }

    var least: Limit?
    var greatest: Limit?
    var steps: Set<JSONNumber> = []
}

/// What texts are allowed.
struct StringForm: Hashable, Sendable {
    var lengths = CountForm()
    var patterns: Set<UTF8Text> = []
    var formats: Set<UTF8Text> = []
    var isBase64 = false
}

/// How many of something there may be.
struct CountForm: Hashable, Sendable {
    var least = 0
    var greatest: Int?
}

/// What elements an array may have: the first ones, each by its place, and the others.
struct ArrayForm: Hashable, Sendable {
    var first: [ValueForm] = []
    var others = ValueForm.any

    /// Whether nothing is demanded.
    var isTrivial: Bool {
        first.isEmpty && others.isAny
    }
}

/// What members an object may have: those that are named, and the others.
struct ObjectForm: Hashable, Sendable {
    var named: [UTF8Text: ValueForm] = [:]
    var required: Set<UTF8Text> = []
    var others = ValueForm.any

    /// Whether nothing is demanded.
    var isTrivial: Bool {
        named.isEmpty && required.isEmpty && others.isAny
    }
}

extension JSONTypeSet {
    /// Every kind.
    static let all = JSONTypeSet(rawValue: 127)

    /// The same with integers wherever there are numbers.
    var withIntegersOfNumbers: JSONTypeSet {
        contains(.number) ? union(.integer) : self
    }

    /// The kind of a value, which for a number without a fraction is an integer.
    init(of value: JSONValue) {
        self =
            switch value {
            case .null: .null
            case .bool: .boolean
            case .integer: .integer
            case .double(let double): double.exactInteger == nil ? [.integer, .number] : .integer
            case .string: .string
            case .array: .array
            case .object: .object
            }
    }
}

/// Both of two forms.
extension ValueForm {
    mutating func formIntersection(_ other: ValueForm) {
        types.formIntersection(other.types)
        numbers.formIntersection(other.numbers)
        strings.lengths.formIntersection(other.strings.lengths)
        strings.patterns.formUnion(other.strings.patterns)
        strings.formats.formUnion(other.strings.formats)
        strings.isBase64 = strings.isBase64 || other.strings.isBase64
        counts.formIntersection(other.counts)
        isUnique = isUnique || other.isUnique
        arrays.formUnion(other.arrays)
        objects.formUnion(other.objects)
        if let theirs = other.listed { listed = listed?.intersection(theirs) ?? theirs }
        choices.formUnion(other.choices)
        rest.formUnion(other.rest)
        isCut = isCut || other.isCut
    }
}

extension NumberForm {
    mutating func formIntersection(_ other: NumberForm) {
        if let limit = other.least { raise(to: limit) }
        if let limit = other.greatest { lower(to: limit) }
        steps.formUnion(other.steps)
    }

    mutating func raise(to limit: Limit) {
        guard let known = least else { return least = limit }
        let isStricter = known.number == limit.number ? known.isIncluded : known.number.isLess(than: limit.number)
        if isStricter { least = limit }
    }

    mutating func lower(to limit: Limit) {
        guard let known = greatest else { return greatest = limit }
        let isStricter = known.number == limit.number ? known.isIncluded : limit.number.isLess(than: known.number)
        if isStricter { greatest = limit }
    }
}

extension CountForm {
    mutating func formIntersection(_ other: CountForm) {
        least = max(least, other.least)
        if let limit = other.greatest { greatest = min(greatest ?? limit, limit) }
    }
}
