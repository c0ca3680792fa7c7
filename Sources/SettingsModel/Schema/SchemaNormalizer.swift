/// Replaces integral doubles by integers where the `type` of a schema has `integer` but not `number`, because a client
/// that sends `1.0` means `1`.
///
/// The normalizer follows `properties`, `items`, `prefixItems`, `additionalProperties`, `$ref` and `allOf`, but neither
/// `patternProperties` nor alternatives such as `anyOf`. It visits each schema once for each part of the value, even if
/// several references lead to the schema.
struct SchemaNormalizer {
    private let nodes: [SchemaNode]
    /// The remaining budget of steps. When the budget is exhausted, the remaining parts of the value stay unchanged.
    /// This does not affect validation, because a part is valid if and only if its normalised form is valid.
    private var steps: Int

    /// Returns the normalised value. If nothing changes, copies nothing.
    ///
    /// - Parameter steps: the remaining budget of a validation, from which the method subtracts its steps.
    static func normalized(
        _ value: JSONValue, under roots: [SchemaNodeID], in nodes: [SchemaNode], steps: inout Int
    ) -> JSONValue {
        // A step of the normalizer takes about as long as a step of pattern matching.
        let scale = SchemaValidator.patternStepsPerStep
        let budget = scale * max(0, min(steps, SchemaValidator.maximumSteps / scale))
        var normalizer = SchemaNormalizer(nodes: nodes, steps: budget)
        let changed = normalizer.normalized(value, under: nodes.conjunction(of: roots), depth: 0)
        steps -= (budget - max(0, normalizer.steps)) / scale
        return changed ?? value
    }

    private init(nodes: [SchemaNode], steps: Int) {
        self.nodes = nodes
        self.steps = steps
    }

    /// Returns whether a value is already normalised; nil if the check takes `steps` steps or more.
    static func isNormal(_ value: JSONValue, under roots: [SchemaNodeID], in nodes: [SchemaNode], steps: Int) -> Bool? {
        var normalizer = SchemaNormalizer(nodes: nodes, steps: steps)
        let changed = normalizer.normalized(value, under: nodes.conjunction(of: roots), depth: 0)
        return normalizer.steps > 0 ? changed == nil : nil
    }

    /// Returns the normalised value; nil if no part of the value changes.
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
        let schemasAfterPrefix = nodes.conjunction(of: rules.compactMap(\.items))
        var changed: [JSONValue]?
        for (index, element) in elements.enumerated() {
            let schemas =
                index < longestPrefix
                ? nodes.conjunction(of: rules.compactMap { $0.node(at: index) }) : schemasAfterPrefix
            guard let element = normalized(element, under: schemas, depth: depth + 1) else { continue }
            changed = changed ?? elements
            changed?[index] = element
        }
        return changed
    }

    private mutating func normalized(_ object: JSONObject, under rules: [ObjectRules], depth: Int) -> JSONObject? {
        var changed: JSONObject?
        for member in object {
            var schemas: [SchemaNodeID] = []
            for rule in rules { schemas += schemasOfMember(rule, member.name) }
            guard let value = normalized(member.value, under: nodes.conjunction(of: schemas), depth: depth + 1) else {
                continue
            }
            changed = changed ?? object
            changed?[member.name] = value
        }
        return changed
    }

    /// The schemas by which a member is normalised. If the name of a member matches a pattern, `additionalProperties`
    /// does not apply to it.
    private mutating func schemasOfMember(_ rules: ObjectRules, _ name: String) -> [SchemaNodeID] {
        if let listed = rules.properties[UTF8Text(name)] { return [listed] }
        guard let additional = rules.additionalProperties else { return [] }
        for (pattern, _) in rules.patternProperties {
            // A search begins with an allocation for all states.
            steps -= pattern.stateCount / 16
            if steps <= 0 || pattern.matches(name, budget: &steps) ?? true { return [] }
        }
        return [additional]
    }
}
