/// Makes integers of integral doubles where a schema's `type` is integer: `1.0` was meant as `1`.
///
/// Reaches down through `properties`, `items`, `prefixItems`, `additionalProperties`, `$ref` and `allOf`, and no
/// further: what only one of several alternatives says is no reason to change a value. Each schema is looked at once
/// for each part of the value, however the schemas refer to each other.
struct SchemaNormalizer {
    private let nodes: [SchemaNode]
    /// What may still be spent. When it is used up the rest stays as it is, which is as valid.
    private var steps = SchemaValidator.mostSteps

    /// The normalised value; nothing is copied if nothing is to be changed.
    static func normalized(_ value: JSONValue, under roots: [SchemaNodeID], in nodes: [SchemaNode]) -> JSONValue {
        var normalizer = SchemaNormalizer(nodes)
        return normalizer.normalized(value, under: SchemaConjunction.closure(of: roots, in: nodes), depth: 0) ?? value
    }

    private init(_ nodes: [SchemaNode]) {
        self.nodes = nodes
    }

    private mutating func normalized(_ value: JSONValue, under ids: [SchemaNodeID], depth: Int) -> JSONValue? {
        steps -= 1
        guard !ids.isEmpty, depth <= JSONValue.maximumDepth, steps > 0 else { return nil }
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

    private mutating func normalized(_ elements: [JSONValue], under ids: [SchemaNodeID], depth: Int) -> [JSONValue]? {
        let rules = ids.compactMap { nodes[$0].arrays }
        guard !rules.isEmpty else { return nil }
        let longestPrefix = rules.map(\.prefixItems.count).max() ?? 0
        let beyondPrefix = SchemaConjunction.closure(of: rules.compactMap(\.items), in: nodes)
        var changed: [JSONValue]?
        for (index, element) in elements.enumerated() {
            let below =
                index < longestPrefix
                ? SchemaConjunction.closure(of: rules.compactMap { $0.node(at: index) }, in: nodes) : beyondPrefix
            if let element = normalized(element, under: below, depth: depth + 1) {
                changed = changed ?? elements
                changed?[index] = element
            }
        }
        return changed
    }

    private mutating func normalized(_ object: JSONObject, under ids: [SchemaNodeID], depth: Int) -> JSONObject? {
        let rules = ids.compactMap { nodes[$0].objects }
        guard !rules.isEmpty else { return nil }
        var changed: JSONObject?
        for member in object {
            var below: [SchemaNodeID] = []
            for rule in rules { below += rule.normalizingNodes(for: member.name, &steps) }
            if let value = normalized(
                member.value, under: SchemaConjunction.closure(of: below, in: nodes), depth: depth + 1)
            {
                changed = changed ?? object
                changed?[member.name] = value
            }
        }
        return changed
    }
}

extension ObjectRules {
    /// The schemas that a member is normalised under. A member whose name fits a pattern is not an additional one.
    fileprivate func normalizingNodes(for name: String, _ steps: inout Int) -> [SchemaNodeID] {
        if let listed = properties[UTF8Text(name)] { return [listed] }
        guard let additionalProperties else { return [] }
        let isPatterned = patternProperties.contains { pattern, _ in
            steps -= pattern.stateCount / 16
            return steps <= 0 || pattern.matches(name, budget: &steps) ?? true
        }
        return isPatterned ? [] : [additionalProperties]
    }
}
