extension JSONValue: Hashable {
    /// Whether nothing changed: numbers of one kind with the same bits, strings of the same bytes, arrays element by
    /// element, objects with the same members in whatever order.
    public static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.double(let left), .double(let right)): left.bitPattern == right.bitPattern
        case (.string(let left), .string(let right)): left.hasSameBytes(as: right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0 as UInt8)
        case .bool(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(value)
        case .double(let value): hasher.combine(value.bitPattern)
        case .string(let value): value.hashBytes(into: &hasher)
        case .array(let elements): hasher.combine(elements)
        case .object(let members): hasher.combine(members)
        }
    }

    /// Whether JSON Schema takes both for one value: as `==`, but numbers are equal if they are the same number,
    /// an Int64 and a Double compared without rounding either.
    public func isMathematicallyEqual(to other: JSONValue) -> Bool {
        switch (self, other) {
        case (.integer, .double), (.double, .integer), (.double, .double):
            JSONNumber(self) == JSONNumber(other)
        case (.array(let left), .array(let right)):
            left.count == right.count && zip(left, right).allSatisfy { $0.isMathematicallyEqual(to: $1) }
        case (.object(let left), .object(let right)):
            left.matches(right) { $0.isMathematicallyEqual(to: $1) }
        default:
            self == other
        }
    }
}

extension JSONObject: Hashable {
    /// Whether both have the same names with unchanged values, in whatever order.
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        left.matches(right, by: ==)
    }

    /// Hashes the members without regard to their order.
    public func hash(into hasher: inout Hasher) {
        hashMembers(into: &hasher) { $0.hash(into: &$1) }
    }

    /// Whether each name of one is a name of the other with a value that `isSame` accepts.
    func matches(_ other: JSONObject, by isSame: (JSONValue, JSONValue) -> Bool) -> Bool {
        guard count == other.count else { return false }
        for (position, member) in members.enumerated() {
            // Two objects with one history have their members at the same places: then nothing is looked up.
            let candidate = other.members[position]
            if candidate.name.hasSameBytes(as: member.name) {
                if !isSame(member.value, candidate.value) { return false }
            } else {
                guard let value = other[member.name], isSame(member.value, value) else { return false }
            }
        }
        return true
    }

    func hashMembers(into hasher: inout Hasher, with hashValue: (JSONValue, inout Hasher) -> Void) {
        var sum = 0
        for member in members {
            var memberHasher = Hasher()
            member.name.hashBytes(into: &memberHasher)
            hashValue(member.value, &memberHasher)
            sum &+= memberHasher.finalize()
        }
        hasher.combine(count)
        hasher.combine(sum)
    }
}

/// A value that is equal and hashed mathematically, so that a set of them finds `1` where `1.0` is asked for.
struct MathematicalJSON: Hashable, Sendable {
    let value: JSONValue

    init(_ value: JSONValue) {
        self.value = value
    }

    static func == (left: MathematicalJSON, right: MathematicalJSON) -> Bool {
        left.value.isMathematicallyEqual(to: right.value)
    }

    func hash(into hasher: inout Hasher) {
        Self.hash(value, into: &hasher)
    }

    private static func hash(_ value: JSONValue, into hasher: inout Hasher) {
        switch value {
        case .integer, .double:
            hasher.combine(JSONNumber(value))
        case .array(let elements):
            hasher.combine(elements.count)
            for element in elements { hash(element, into: &hasher) }
        case .object(let object):
            object.hashMembers(into: &hasher, with: hash)
        default:
            value.hash(into: &hasher)
        }
    }
}

/// The canonical order of values: what makes the text of a set, or of anything else without an order, stable.
extension JSONValue {
    /// Whether this value comes before the other: by kind (null, booleans, numbers, strings, arrays, objects), then
    /// numbers by size, strings by bytes, arrays and the sorted members of objects element by element. Of numbers of
    /// one size an integer comes before a double and a negative zero before a positive one, so that no two values that
    /// differ have one place.
    func precedesCanonically(_ other: JSONValue) -> Bool {
        Self.isOrdered(self, other) == .before
    }

    private enum Order {
        case before
        case same
        case after
    }

    private static func isOrdered(_ left: JSONValue, _ right: JSONValue) -> Order {
        switch (left, right) {
        case (.bool(let left), .bool(let right)):
            return left == right ? .same : (right ? .before : .after)
        case (.string(let left), .string(let right)):
            return order(left, right) { $0.precedesInBytes($1) }
        case (.array(let left), .array(let right)):
            return order(of: zip(left, right), lengths: (left.count, right.count)) { isOrdered($0, $1) }
        case (.object(let left), .object(let right)):
            let pairs = zip(left.sortedMembers, right.sortedMembers)
            return order(of: pairs, lengths: (left.count, right.count)) { left, right in
                let names = order(left.name, right.name) { $0.precedesInBytes($1) }
                return names == .same ? isOrdered(left.value, right.value) : names
            }
        default:
            if let left = JSONNumber(left), let right = JSONNumber(right) {
                let sizes = order(left, right) { $0.isLess(than: $1) }
                if sizes != .same { return sizes }
            }
            if case (.double(let left), .double(let right)) = (left, right) {
                return order(left.sign == .plus, right.sign == .plus) { !$0 && $1 }
            }
            return order(left.kindRank, right.kindRank, by: <)
        }
    }

    private static func order<Element>(
        _ left: Element, _ right: Element, by precedes: (Element, Element) -> Bool
    ) -> Order {
        precedes(left, right) ? .before : (precedes(right, left) ? .after : .same)
    }

    private static func order<Element>(
        of pairs: some Sequence<(Element, Element)>, lengths: (Int, Int), by compare: (Element, Element) -> Order
    ) -> Order {
        for (left, right) in pairs {
            let order = compare(left, right)
            if order != .same { return order }
        }
        return order(lengths.0, lengths.1, by: <)
    }

    private var kindRank: Int {
        switch self {
        case .null: 0
        case .bool: 1
        case .integer: 2
        case .double: 3
        case .string: 4
        case .array: 5
        case .object: 6
        }
    }
}

extension JSONObject {
    /// The members ordered by the bytes of their names.
    public var sortedMembers: [Member] {
        members.sorted { $0.name.precedesInBytes($1.name) }
    }
}
