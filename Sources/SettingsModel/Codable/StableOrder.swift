/// A collection that has its elements in another order each time it is made.
///
/// Its JSON is put in canonical order, so that a value that did not change is the same text again.
protocol UnorderedCollection {}

extension Set: UnorderedCollection {}
extension Dictionary: UnorderedCollection {}

enum StableOrder {
    /// What a value was encoded as, in canonical order if the value's own order means nothing.
    static func of<Value>(_ json: JSONValue, from type: Value.Type) -> JSONValue {
        guard type is any UnorderedCollection.Type else { return json }
        switch json {
        case .object(let members):
            return JSONObject(members.sortedMembers).map(JSONValue.object) ?? json
        case .array(let elements) where type is any CountedDictionary.Type:
            return .array(sortedPairs(elements))
        case .array(let elements):
            return .array(elements.sorted { $0.precedesCanonically($1) })
        default:
            return json
        }
    }

    /// Keys that are no names stand in an array, each before its value.
    private static func sortedPairs(_ elements: [JSONValue]) -> [JSONValue] {
        let pairs = stride(from: 0, to: elements.count, by: 2).map { elements[$0..<min($0 + 2, elements.count)] }
        return pairs.sorted { JSONValue.array(Array($0)).precedesCanonically(.array(Array($1))) }.flatMap { $0 }
    }
}
