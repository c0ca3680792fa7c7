/// The limits of a key, on the way to keywords of its schema.
struct KeyLimits: Hashable, Sendable {
    var bounds: NumberBounds?
    var maxLength: Int?
    var pattern: String?

    /// Whether there are none.
    var isEmpty: Bool {
        bounds == nil && maxLength == nil && pattern == nil
    }

    /// Writes the limits into a schema.
    func apply(to document: inout JSONObject) {
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

/// The ends of a range as JSON numbers. An infinite end is none.
struct NumberBounds: Hashable, Sendable {
    let minimum: JSONValue?
    let maximum: JSONValue?
    let includesMaximum: Bool

    init<Bound: NumericSetting>(_ range: some LimitRange<Bound>) {
        minimum = range.leastBound?.limit
        maximum = range.greatestBound?.limit
        includesMaximum = range.includesGreatestBound
    }
}
