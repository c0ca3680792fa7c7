internal import SettingsModel

/// The limits of a key.
struct KeyLimits: Equatable, Sendable {
    var bounds: NumberBounds?
    var maxLength: Int?
    var pattern: String?

    var isEmpty: Bool {
        bounds == nil && maxLength == nil && pattern == nil
    }

    /// Writes the limits into a schema. Of a type with several forms, the first has the limits. The values of the other forms
    /// lie above every limit that can be written, so a maximum leaves the first form alone.
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
}

/// The ends of a range as JSON numbers.
///
/// An end that every number lies within is none. Any other that is not a finite number stays, to be refused when the schema is
/// made.
struct NumberBounds: Equatable, Sendable {
    let minimum: JSONValue?
    let maximum: JSONValue?
    let includesMaximum: Bool

    init<Bound: NumericSetting>(_ range: some LimitRange<Bound>) {
        let ends = range.ends
        let (least, greatest) = (ends.least?.limit, ends.greatest?.limit)
        minimum = least == .double(-.infinity) ? nil : least
        maximum = greatest == .double(.infinity) ? nil : greatest
        includesMaximum = ends.includesGreatest
    }
}

/// A range that can limit a key: any of Swift's five forms.
public protocol LimitRange<Bound> {
    /// The type of the limits.
    associatedtype Bound: Comparable

    /// The limits, and true if the upper one itself is allowed.
    var ends: (least: Bound?, greatest: Bound?, includesGreatest: Bool) { get }
}

extension ClosedRange: LimitRange {
    /// Both ends, which the range includes.
    public var ends: (least: Bound?, greatest: Bound?, includesGreatest: Bool) { (lowerBound, upperBound, true) }
}

extension Range: LimitRange {
    /// Both ends, without the upper one.
    public var ends: (least: Bound?, greatest: Bound?, includesGreatest: Bool) { (lowerBound, upperBound, false) }
}

extension PartialRangeFrom: LimitRange {
    /// The lower end.
    public var ends: (least: Bound?, greatest: Bound?, includesGreatest: Bool) { (lowerBound, nil, false) }
}

extension PartialRangeThrough: LimitRange {
    /// The upper end, which the range includes.
    public var ends: (least: Bound?, greatest: Bound?, includesGreatest: Bool) { (nil, upperBound, true) }
}

extension PartialRangeUpTo: LimitRange {
    /// The upper end, which the range excludes.
    public var ends: (least: Bound?, greatest: Bound?, includesGreatest: Bool) { (nil, upperBound, false) }
}

/// A rule for a change in place (`+= 1`, `append`) of a value that another writer has changed since it was read.
public enum MergeRule: String, Hashable, Sendable {
    /// The same number is added to the other writer's value.
    case sum
    /// The same elements are added to the other writer's value.
    case append
}

/// A rule that fits the type of a key: `merge: .sum` on numbers, `merge: .append` on arrays and sets.
public struct MergePolicy<Value: DefaultsSerializable>: Sendable {
    /// The rule.
    public let rule: MergeRule

    private init(_ rule: MergeRule) {
        self.rule = rule
    }
}

extension MergePolicy where Value: NumericSetting {
    /// Adds the same number, so that of two programs that count none loses anything.
    public static var sum: MergePolicy {
        MergePolicy(.sum)
    }
}

extension MergePolicy where Value: CollectionSetting {
    /// Appends the same elements.
    public static var append: MergePolicy {
        MergePolicy(.append)
    }
}

extension MergePolicy {
    /// Only numbers have a sum.
    @available(*, unavailable, message: "only a number can be merged as a sum")
    @_disfavoredOverload
    public static var sum: MergePolicy {
        // Nothing that compiles can call this.
        fatalError("unavailable")
    }

    /// Only arrays and sets can be appended to.
    @available(*, unavailable, message: "only an array or a set can be appended to")
    @_disfavoredOverload
    public static var append: MergePolicy {
        // Nothing that compiles can call this.
        fatalError("unavailable")
    }
}
