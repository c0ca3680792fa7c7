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
