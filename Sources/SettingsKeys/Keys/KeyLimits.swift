internal import SettingsModel

/// The limits of a key.
struct KeyLimits: Equatable, Sendable {
    var bounds: NumberBounds?
    var maxLength: Int?
    var pattern: String?

    var isEmpty: Bool {
        bounds == nil && maxLength == nil && pattern == nil
    }

    /// Writes the limits into a schema. Of a type with several forms, the first has the limits. The values of the other
    /// forms lie above every limit that can be written, so a maximum leaves the first form alone.
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
/// An end that every number lies within is none. Any other end that is not a finite number stays, so that making the
/// schema refuses it.
struct NumberBounds: Equatable, Sendable {
    let minimum: JSONValue?
    let maximum: JSONValue?
    let includesMaximum: Bool

    init<Number: NumericSetting>(_ range: some RangeExpression<Number>) {
        let (least, greatest, includesGreatest) = Self.ends(of: range)
        let bridge = Number.defaultsBridge.allowingNonFinite()
        minimum = least.flatMap { Self.limit($0, bridge, unlessNamed: "-Infinity") }
        maximum = greatest.flatMap { Self.limit($0, bridge, unlessNamed: "Infinity") }
        includesMaximum = includesGreatest
    }

    /// Returns the ends of any of Swift's five forms of ranges.
    private static func ends<Number: NumericSetting>(
        of range: some RangeExpression<Number>
    ) -> (least: Number?, greatest: Number?, includesGreatest: Bool) {
        switch range {
        case let range as ClosedRange<Number>: (range.lowerBound, range.upperBound, true)
        case let range as Range<Number>: (range.lowerBound, range.upperBound, false)
        case let range as PartialRangeFrom<Number>: (range.lowerBound, nil, false)
        case let range as PartialRangeThrough<Number>: (nil, range.upperBound, true)
        case let range as PartialRangeUpTo<Number>: (nil, range.upperBound, false)
        default:
            preconditionFailure("in: takes a range of Swift's standard library, not \(type(of: range))")
        }
    }

    /// Returns the JSON of an end; nil for infinity where every number lies within it. NaN, the other infinity and an
    /// integer beyond Int64 are strings, which no schema accepts as a limit.
    private static func limit<Bridge: DefaultsBridge>(
        _ end: Bridge.Value, _ bridge: Bridge, unlessNamed infinity: String
    ) -> JSONValue? {
        let json = (try? bridge.encode(end)) ?? .null
        if case .string(let name) = json, name == infinity { return nil }
        return json
    }
}

/// A rule for a change in place (`+= 1`, `append`) of a value that another writer has changed since it was read.
package enum MergeRule: String, Hashable, Sendable {
    /// The same number is added to the other writer's value.
    case sum
    /// The same elements are added to the other writer's value.
    case append
}

/// A rule that fits the type of a key: `merge: .sum` on numbers, `merge: .append` on arrays and sets.
public struct MergePolicy<Value: DefaultsSerializable>: Sendable {
    /// The rule.
    package let rule: MergeRule

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

extension MergePolicy where Value: OptionalSetting, Value.Wrapped: NumericSetting {
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

extension MergePolicy where Value: OptionalSetting, Value.Wrapped: CollectionSetting {
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
