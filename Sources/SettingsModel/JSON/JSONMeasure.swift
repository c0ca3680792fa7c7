/// How deep and how large a value is, found without going further than has to be known.
extension JSONValue {
    /// Whether the value is nested at most so many levels, a bare value being at level 0.
    package func isNested(atMost levels: Int) -> Bool {
        guard levels >= 0 else { return false }
        switch self {
        case .array(let elements):
            return levels > 0 && elements.allSatisfy { $0.isNested(atMost: levels - 1) }
        case .object(let object):
            return levels > 0 && object.members.allSatisfy { $0.value.isNested(atMost: levels - 1) }
        default:
            return true
        }
    }

    /// What the value weighs, one for each value in it and one for each eight bytes of text, taken out of an allowance;
    /// false if it is heavier than that, which is found without going through all of it.
    package func isWithin(_ allowance: inout Int) -> Bool {
        do throws(Excess) {
            try weigh(levels: .max, allowance: &allowance)
            return true
        } catch {
            return false
        }
    }

    /// What was found to be too much.
    package enum Excess: Error {
        case depth
        case weight
    }

    /// Takes the weight of the value, one for each value in it and one for each eight bytes of text, out of an
    /// allowance, and checks its depth on the way.
    package func weigh(levels: Int, allowance: inout Int) throws(Excess) {
        allowance -= 1
        switch self {
        case .string(let text):
            allowance -= text.utf8.count / 8
        case .array(let elements):
            guard levels > 0 else { throw .depth }
            for element in elements { try element.weigh(levels: levels - 1, allowance: &allowance) }
        case .object(let object):
            guard levels > 0 else { throw .depth }
            for member in object.members {
                allowance -= member.name.utf8.count / 8
                try member.value.weigh(levels: levels - 1, allowance: &allowance)
            }
        case .null, .bool, .integer, .double:
            break
        }
        if allowance < 0 { throw .weight }
    }
}
