/// Makes integers of integral doubles where a schema's `type` is integer: `1.0` was meant as `1`.
///
/// Reaches down through `properties`, `items`, `prefixItems`, `additionalProperties`, `$ref` and `allOf`, and no
/// further: what only one of several alternatives says is no reason to change a value. Each schema is looked at once
/// for each part of the value, however the schemas refer to each other.
struct SchemaNormalizer {
    let nodes: [SchemaNode]

    /// The normalised value; nil if nothing is to be changed, which costs no copy.
    func normalized(_ value: JSONValue, under roots: [SchemaNodeID]) -> JSONValue? {
        normalized(value, under: closure(of: roots), depth: 0)
    }

    private func normalized(_ value: JSONValue, under ids: [SchemaNodeID], depth: Int) -> JSONValue? {
        guard !ids.isEmpty, depth <= JSONValue.maximumDepth else { return nil }
        switch value {
        case .double(let double):
            guard ids.contains(where: { nodes[$0].types?.prefersIntegers ?? false }) else { return nil }
            return double.exactInteger.map(JSONValue.integer)
        case .array(let elements):
            return normalized(elements, under: ids, depth: depth).map(JSONValue.array)
        case .object(let object):
            return normalized(object, under: ids, depth: depth).map(JSONValue.object)
        default:
            return nil
        }
    }

    private func normalized(_ elements: [JSONValue], under ids: [SchemaNodeID], depth: Int) -> [JSONValue]? {
        let rules = ids.compactMap { nodes[$0].arrays }
        guard !rules.isEmpty else { return nil }
        let longestPrefix = rules.map(\.prefixItems.count).max() ?? 0
        let beyondPrefix = closure(of: rules.compactMap(\.items))
        var changed: [JSONValue]?
        for (index, element) in elements.enumerated() {
            let below = index < longestPrefix ? closure(of: rules.compactMap { $0.node(at: index) }) : beyondPrefix
            if let element = normalized(element, under: below, depth: depth + 1) {
                changed = changed ?? elements
                changed?[index] = element
            }
        }
        return changed
    }

    private func normalized(_ object: JSONObject, under ids: [SchemaNodeID], depth: Int) -> JSONObject? {
        let rules = ids.compactMap { nodes[$0].objects }
        guard !rules.isEmpty else { return nil }
        var changed: JSONObject?
        for member in object {
            var below: [SchemaNodeID] = []
            for rule in rules { below += rule.normalizingNodes(for: member.name) }
            if let value = normalized(member.value, under: closure(of: below), depth: depth + 1) {
                changed = changed ?? object
                changed?[member.name] = value
            }
        }
        return changed
    }

    /// The schemas and those that hold with them for the same value, each once.
    private func closure(of ids: [SchemaNodeID]) -> [SchemaNodeID] {
        var closed: [SchemaNodeID] = []
        var seen: Set<SchemaNodeID> = []
        var pending = ids
        while let id = pending.popLast() {
            guard seen.insert(id).inserted else { continue }
            closed.append(id)
            pending += nodes[id].conjunctiveNodes
        }
        return closed
    }
}

extension ObjectRules {
    /// The schemas that a member is normalised under. A member whose name fits a pattern is not an additional one.
    fileprivate func normalizingNodes(for name: String) -> [SchemaNodeID] {
        if let listed = properties[UTF8Text(name)] { return [listed] }
        guard let additionalProperties else { return [] }
        var budget = 100_000
        let isPatterned = patternProperties.contains { $0.pattern.matches(name, budget: &budget) ?? true }
        return isPatterned ? [] : [additionalProperties]
    }
}
