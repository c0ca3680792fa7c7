/// The limits of a key, on the way to keywords of its schema.
struct KeyLimits: Hashable, Sendable {
    var bounds: NumberBounds?
    var maxLength: Int?
    var pattern: String?

    /// Whether there are none.
    var isEmpty: Bool {
        bounds == nil && maxLength == nil && pattern == nil
    }

    /// Writes the limits into a schema. Of a type that has several forms, the first is the one with limits; what the
    /// others stand for lies above every limit that can be written, so a maximum leaves the first alone.
    func apply(to document: inout JSONObject) {
        guard case .array(var forms)? = document["anyOf"], case .object(var first)? = forms.first, !isEmpty else {
            write(to: &document)
            return
        }
        write(to: &first)
        forms[0] = .object(first)
        document = bounds?.maximum == nil ? ["anyOf": .array(forms)] : first
    }

    private func write(to document: inout JSONObject) {
        if let minimum = bounds?.minimum { document["minimum"] = minimum }
        if let maximum = bounds?.maximum {
            if bounds?.includesMaximum ?? true {
                document["maximum"] = maximum
            } else {
                document["maximum"] = nil
                document["exclusiveMaximum"] = maximum
            }
        }
        if let maxLength { document["maxLength"] = .integer(Int64(maxLength)) }
        if let pattern { document["pattern"] = .string(pattern) }
    }
}

extension KeyLimits {
    static func == (one: KeyLimits, other: KeyLimits) -> Bool {
        one.bounds == other.bounds && one.maxLength == other.maxLength
            && one.pattern.map { UTF8Text($0) } == other.pattern.map { UTF8Text($0) }
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(bounds)
        hasher.combine(maxLength)
        hasher.combine(pattern.map { UTF8Text($0) })
    }
}

/// The ends of a range as JSON numbers. An end that every number lies within is none; any other that is no finite number
/// stays, to be refused when the schema is made.
struct NumberBounds: Hashable, Sendable {
    let minimum: JSONValue?
    let maximum: JSONValue?
    let includesMaximum: Bool

    init<Bound: NumericSetting>(_ range: some LimitRange<Bound>) {
        let (least, greatest) = (range.leastBound?.limit, range.greatestBound?.limit)
        minimum = least == .double(-.infinity) ? nil : least
        maximum = greatest == .double(.infinity) ? nil : greatest
        includesMaximum = range.includesGreatestBound
    }
}

/// A range that can limit a key: any of Swift's five forms.
public protocol LimitRange<Bound> {
    /// The type of the limits.
    associatedtype Bound: Comparable

    /// The least value, if there is one.
    var leastBound: Bound? { get }
    /// The upper limit, if there is one.
    var greatestBound: Bound? { get }
    /// Whether the upper limit itself is allowed.
    var includesGreatestBound: Bool { get }
}

extension ClosedRange: LimitRange {
    /// Where the range begins.
    public var leastBound: Bound? {
        lowerBound
    }

    /// Where the range ends.
    public var greatestBound: Bound? {
        upperBound
    }

    /// A closed range includes its end.
    public var includesGreatestBound: Bool {
        true
    }
}

extension Range: LimitRange {
    /// Where the range begins.
    public var leastBound: Bound? {
        lowerBound
    }

    /// Where the range ends.
    public var greatestBound: Bound? {
        upperBound
    }

    /// A half-open range excludes its end.
    public var includesGreatestBound: Bool {
        false
    }
}

extension PartialRangeFrom: LimitRange {
    /// Where the range begins.
    public var leastBound: Bound? {
        lowerBound
    }

    /// There is no end.
    public var greatestBound: Bound? {
        nil
    }

    /// There is no end.
    public var includesGreatestBound: Bool {
        false
    }
}

extension PartialRangeThrough: LimitRange {
    /// There is no beginning.
    public var leastBound: Bound? {
        nil
    }

    /// Where the range ends.
    public var greatestBound: Bound? {
        upperBound
    }

    /// The range goes through its end.
    public var includesGreatestBound: Bool {
        true
    }
}

extension PartialRangeUpTo: LimitRange {
    /// There is no beginning.
    public var leastBound: Bound? {
        nil
    }

    /// Where the range ends.
    public var greatestBound: Bound? {
        upperBound
    }

    /// The range stops before its end.
    public var includesGreatestBound: Bool {
        false
    }
}
