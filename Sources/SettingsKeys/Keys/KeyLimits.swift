internal import SettingsModel

/// The limits of the values of a key: bounds of numbers, a maximum length and a pattern of text.
struct KeyLimits: Equatable, Sendable {
    var bounds: NumberBounds?
    var maxLength: Int?
    var pattern: String?

    var isEmpty: Bool {
        bounds == nil && maxLength == nil && pattern == nil
    }

    /// Adds the limits to a schema.
    ///
    /// The schema of a type such as UInt64 has two alternatives in `anyOf`: an integer, and a string for the integers
    /// above Int64.max. The limits are added to the first alternative only. If the key has a maximum, the second
    /// alternative is removed, because a maximum is at most Int64.max.
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
                // Removes the maximum of the number type.
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

/// The bounds of a range as JSON numbers.
///
/// A bound that excludes no number, such as a maximum of infinity, is nil. Any other bound that is not a finite number
/// is kept as a string, so that the creation of the schema fails.
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

    /// Returns the bounds of one of Swift's five range types.
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
            preconditionFailure("in: must be a range type of Swift's standard library (got \(type(of: range)))")
        }
    }

    /// Returns the JSON of a bound. Returns nil for the infinity with this name, which excludes no number. NaN, the
    /// other infinity and an integer outside Int64 become strings, which no schema accepts as a limit.
    private static func limit<Bridge: DefaultsBridge>(
        _ end: Bridge.Value, _ bridge: Bridge, unlessNamed infinity: String
    ) -> JSONValue? {
        let json = (try? bridge.encode(end)) ?? .null
        if case .string(let name) = json, name == infinity { return nil }
        return json
    }
}

/// The rule for a change in place (`+= 1`, `append`) if another program has changed the value since the read.
package enum MergeRule: String, Hashable, Sendable {
    /// The daemon adds the difference to the other program's value.
    case sum
    /// The new elements are added to the other program's value: to an array by the daemon, to a set by the client.
    case append
}

/// The rule for a change in place (`+= 1`, `append`) if another program has changed the value since the read:
/// `merge: .sum` for numbers, `merge: .append` for arrays and sets.
public struct MergePolicy<Value: DefaultsSerializable>: Sendable {
    package let rule: MergeRule

    private init(_ rule: MergeRule) {
        self.rule = rule
    }
}

extension MergePolicy where Value: NumericSetting {
    /// Adds the difference to the other program's value, so that no increment is lost.
    public static var sum: MergePolicy {
        MergePolicy(.sum)
    }
}

extension MergePolicy where Value: OptionalSetting, Value.Wrapped: NumericSetting {
    /// Adds the difference to the other program's value, so that no increment is lost.
    public static var sum: MergePolicy {
        MergePolicy(.sum)
    }
}

extension MergePolicy where Value: CollectionSetting {
    /// Adds the new elements to the other program's value.
    public static var append: MergePolicy {
        MergePolicy(.append)
    }
}

extension MergePolicy where Value: OptionalSetting, Value.Wrapped: CollectionSetting {
    /// Adds the new elements to the other program's value.
    public static var append: MergePolicy {
        MergePolicy(.append)
    }
}

extension MergePolicy {
    /// Not available. Only numbers have a sum.
    @available(*, unavailable, message: "only a number can be merged as a sum")
    @_disfavoredOverload
    public static var sum: MergePolicy {
        fatalError("unavailable")
    }

    /// Not available. Elements can be appended only to arrays and sets.
    @available(*, unavailable, message: "only an array or a set can be appended to")
    @_disfavoredOverload
    public static var append: MergePolicy {
        fatalError("unavailable")
    }
}
