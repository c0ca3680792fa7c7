extension JSONValue: Hashable {
    /// True if two values are equal: numbers of the same kind with the same bits, strings with the same bytes, arrays
    /// with equal elements, objects with equal members in any order.
    @inline(never)
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

    /// Hashes the value consistently with `==`.
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

    /// True if JSON Schema regards two values as equal. Unlike `==`, it compares numbers by their mathematical value,
    /// without rounding.
    @inline(never)
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
    /// True if both objects have the same names with equal values, in any order.
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        left.matches(right, by: ==)
    }

    /// Hashes the members independently of their order.
    public func hash(into hasher: inout Hasher) {
        hashMembers(into: &hasher) { $0.hash(into: &$1) }
    }

    /// True if both objects have the same names in any order, and `isSame` returns true for the two values of each
    /// name.
    package func matches(_ other: JSONObject, by isSame: (JSONValue, JSONValue) -> Bool) -> Bool {
        guard count == other.count else { return false }
        // Versions of the same object mostly have their members in the same order. Therefore the loop first looks at
        // the position plus `shift`: the difference between the positions of a name in both objects, as the last
        // lookup by name has found it. Most members then need no lookup by name.
        var shift = 0
        for (position, member) in members.enumerated() {
            var index = position + shift
            if !other.members.indices.contains(index) || !other.members[index].name.hasSameBytes(as: member.name) {
                guard let found = other.position(of: member.name) else { return false }
                index = found
                shift = found - position
            }
            if !isSame(member.value, other.members[index].value) { return false }
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

/// A value that is compared and hashed as JSON Schema demands: a set with `1` contains `1.0`.
package struct MathematicalJSON: Hashable, Sendable {
    package let value: JSONValue

    package init(_ value: JSONValue) {
        self.value = value
    }

    package static func == (left: MathematicalJSON, right: MathematicalJSON) -> Bool {
        left.value.isMathematicallyEqual(to: right.value)
    }

    package func hash(into hasher: inout Hasher) {
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

extension [JSONValue] {
    /// Returns the elements in canonical order, so that the same set always gives the same text.
    ///
    /// The order is: first by kind (null, booleans, numbers, strings, arrays, objects); then numbers by their
    /// mathematical value, strings by their bytes, arrays and the sorted members of objects element by element. If two
    /// numbers have the same mathematical value, an integer comes before a double, and a negative zero before a
    /// positive zero. Different values are therefore never at the same position.
    package func canonicallySorted() -> [JSONValue] {
        sorted { $0.precedesCanonically($1) }
    }
}

extension JSONValue {
    func precedesCanonically(_ other: JSONValue) -> Bool {
        canonicalOrder(other) < 0
    }

    /// Returns a negative number if this value comes before the other value, zero if they are at the same position, and
    /// a positive number otherwise.
    private func canonicalOrder(_ other: JSONValue) -> Int {
        switch (self, other) {
        case (.bool(let left), .bool(let right)):
            return left == right ? 0 : left ? 1 : -1
        case (.string(let left), .string(let right)):
            return left.byteOrder(right)
        case (.array(let left), .array(let right)):
            for (left, right) in zip(left, right) {
                let order = left.canonicalOrder(right)
                if order != 0 { return order }
            }
            return left.count - right.count
        case (.object(let left), .object(let right)):
            for (left, right) in zip(left.sortedMembers, right.sortedMembers) {
                let nameOrder = left.name.byteOrder(right.name)
                let order = nameOrder == 0 ? left.value.canonicalOrder(right.value) : nameOrder
                if order != 0 { return order }
            }
            return left.count - right.count
        default:
            if let left = JSONNumber(self), let right = JSONNumber(other) {
                if left.isLess(than: right) { return -1 }
                if right.isLess(than: left) { return 1 }
            }
            if case .double(let left) = self, case .double(let right) = other {
                return (left.sign == .plus ? 1 : 0) - (right.sign == .plus ? 1 : 0)
            }
            return kindRank - other.kindRank
        }
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

extension String {
    fileprivate func byteOrder(_ other: String) -> Int {
        precedesInBytes(other) ? -1 : other.precedesInBytes(self) ? 1 : 0
    }
}

extension JSONObject {
    /// The members, sorted by the bytes of their names.
    package var sortedMembers: [Member] {
        members.sorted { $0.name.precedesInBytes($1.name) }
    }
}
