/// A converter that makes integers of integral doubles where a schema's `type` is integer: `1.0` was meant as `1`.
///
/// Follows `properties`, `items`, `prefixItems`, `additionalProperties`, `$ref` and `allOf`, and no alternatives. Visits
/// each schema once for each part of the value, however the schemas refer to each other.
struct SchemaNormalizer {
    private let nodes: [SchemaNode]
    /// The remaining steps. If no steps remain, the rest of the schema stays unchanged, and is equally valid.
    private var steps: Int

    /// Returns the normalised value. Copies nothing if nothing changes.
    ///
    /// - Parameter steps: the steps of checking that are left, of which this takes some.
    static func normalized(
        _ value: JSONValue, under roots: [SchemaNodeID], in nodes: [SchemaNode], steps: inout Int
    ) -> JSONValue {
        // Most steps are those of patterns, or as cheap.
        let scale = SchemaValidator.patternStepsPerStep
        let budget = scale * max(0, min(steps, SchemaValidator.mostSteps / scale))
        var normalizer = SchemaNormalizer(nodes: nodes, steps: budget)
        let changed = normalizer.normalized(value, under: nodes.conjunction(of: roots), depth: 0)
        steps -= (budget - max(0, normalizer.steps)) / scale
        return changed ?? value
    }

    private init(nodes: [SchemaNode], steps: Int) {
        self.nodes = nodes
        self.steps = steps
    }

    /// True if a value is normalised already; nil if that takes more than some steps to find out.
    static func isNormal(_ value: JSONValue, under roots: [SchemaNodeID], in nodes: [SchemaNode], steps: Int) -> Bool? {
        var normalizer = SchemaNormalizer(nodes: nodes, steps: steps)
        let changed = normalizer.normalized(value, under: nodes.conjunction(of: roots), depth: 0)
        return normalizer.steps > 0 ? changed == nil : nil
    }

    /// Returns nil for a value that stays as it is.
    private mutating func normalized(_ value: JSONValue, under ids: [SchemaNodeID], depth: Int) -> JSONValue? {
        steps -= 1
        guard !ids.isEmpty, depth <= JSONValue.maximumDepth, steps > 0 else { return nil }
        switch value {
        case .double(let double):
            guard ids.contains(where: { nodes[$0].types?.prefersIntegers ?? false }) else { return nil }
            return double.exactInteger.map(JSONValue.integer)
        case .array(let elements):
            let rules = ids.compactMap { nodes[$0].arrays }
            return rules.isEmpty ? nil : normalized(elements, under: rules, depth: depth).map(JSONValue.array)
        case .object(let object):
            let rules = ids.compactMap { nodes[$0].objects }
            return rules.isEmpty ? nil : normalized(object, under: rules, depth: depth).map(JSONValue.object)
        default:
            return nil
        }
    }

    private mutating func normalized(_ elements: [JSONValue], under rules: [ArrayRules], depth: Int) -> [JSONValue]? {
        let longestPrefix = rules.map(\.prefixItems.count).max() ?? 0
        let beyondPrefix = nodes.conjunction(of: rules.compactMap(\.items))
        var changed: [JSONValue]?
        for (index, element) in elements.enumerated() {
            let below =
                index < longestPrefix ? nodes.conjunction(of: rules.compactMap { $0.node(at: index) }) : beyondPrefix
            guard let element = normalized(element, under: below, depth: depth + 1) else { continue }
            changed = changed ?? elements
            changed?[index] = element
        }
        return changed
    }

    private mutating func normalized(_ object: JSONObject, under rules: [ObjectRules], depth: Int) -> JSONObject? {
        var changed: JSONObject?
        for member in object {
            var below: [SchemaNodeID] = []
            for rule in rules { below += nodesBelow(rule, member.name) }
            guard let value = normalized(member.value, under: nodes.conjunction(of: below), depth: depth + 1) else {
                continue
            }
            changed = changed ?? object
            changed?[member.name] = value
        }
        return changed
    }

    /// The schemas that a member is normalised under. A member whose name matches a pattern is not an additional one.
    private mutating func nodesBelow(_ rules: ObjectRules, _ name: String) -> [SchemaNodeID] {
        if let listed = rules.properties[UTF8Text(name)] { return [listed] }
        guard let additional = rules.additionalProperties else { return [] }
        for (pattern, _) in rules.patternProperties {
            steps -= pattern.stateCount / 16
            if steps <= 0 || pattern.matches(name, budget: &steps) ?? true { return [] }
        }
        return [additional]
    }
}
