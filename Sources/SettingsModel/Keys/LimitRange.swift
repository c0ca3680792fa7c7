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
