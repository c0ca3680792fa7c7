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
