/// Exact comparison of the two kinds of numbers.
///
/// Turning an Int64 into a Double first would make 9007199254740993 equal to 9007199254740992.0.
enum JSONNumber: Hashable, Sendable {
    case integer(Int64)
    case double(Double)

    /// 2⁶³, the first double beyond every Int64.
    private static let beyondInt64 = 9_223_372_036_854_775_808.0

    /// The number, with a double that is exactly an Int64 taken as that: then equal numbers have one form.
    init(reduced value: Double) {
        if let exact = Int64(exactly: value) { self = .integer(exact) } else { self = .double(value) }
    }

    init?(_ value: JSONValue) {
        switch value {
        case .integer(let integer): self = .integer(integer)
        case .double(let double): self = JSONNumber(reduced: double)
        default: return nil
        }
    }

    /// Whether this number is mathematically less than the other. What is no number is less than nothing.
    func isLess(than other: JSONNumber) -> Bool {
        switch (self, other) {
        case (.integer(let left), .integer(let right)): left < right
        case (.double(let left), .double(let right)): left < right
        case (.integer(let left), .double(let right)): Self.isLess(left, than: right)
        case (.double(let left), .integer(let right)): !left.isNaN && !Self.isEqualOrLess(right, than: left)
        }
    }

    private static func isLess(_ integer: Int64, than double: Double) -> Bool {
        if double.isNaN { return false }
        if double >= beyondInt64 { return true }
        if double <= -beyondInt64 { return false }
        // The double is between two neighbouring integers or on one; the cast is exact for its integral part.
        let floor = double.rounded(.down)
        return integer < Int64(floor) || (integer == Int64(floor) && double > floor)
    }

    private static func isEqualOrLess(_ integer: Int64, than double: Double) -> Bool {
        isLess(integer, than: double) || Double(exactly: integer) == double
    }
}

extension JSONValue {
    /// Whether every number in the value is finite.
    var isFinite: Bool {
        switch self {
        case .double(let double): double.isFinite
        case .array(let elements): elements.allSatisfy(\.isFinite)
        case .object(let object): object.members.allSatisfy(\.value.isFinite)
        default: true
        }
    }
}
