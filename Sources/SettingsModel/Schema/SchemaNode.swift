/// Which node of a compiled schema.
typealias SchemaNodeID = Int

/// One schema or sub-schema, compiled: its rules in groups by the kind of value that they are about, so that checking
/// a value touches those of its kind only.
///
/// Sub-schemas are named by their position among the nodes, as references may make circles. The groups of rules are
/// objects rather than values, so that a node is small: checking recurses, and each level has a node on its stack.
struct SchemaNode: Sendable {
    /// `false`: no value is valid.
    var refusesAll = false
    var types: JSONTypeSet?
    var values: ValueRules?
    var numbers: NumberRules?
    var strings: StringRules?
    var arrays: ArrayRules?
    var objects: ObjectRules?
    var combination: CombinationRules?

    var defaultValue: JSONValue?
    var isLocked = false
    var isSecret = false

    /// Whether nothing is demanded.
    var isTrivial: Bool {
        !refusesAll && types == nil && values == nil && numbers == nil && strings == nil && arrays == nil
            && objects == nil && combination == nil
    }

    /// The sub-schemas that judge the very same value.
    var inPlaceNodes: [SchemaNodeID] {
        (combination?.nodes ?? []) + (objects?.dependentSchemas.map(\.node) ?? [])
    }

    /// The sub-schemas that the value must be valid under, come what may.
    var conjunctiveNodes: [SchemaNodeID] {
        guard let combination else { return [] }
        return combination.allOf + (combination.reference.map { [$0] } ?? [])
    }

    /// All sub-schemas, for the value and for parts of it, save definitions.
    var children: [SchemaNodeID] {
        (combination?.nodes ?? []) + (arrays?.nodes ?? []) + (objects?.nodes ?? [])
    }

    /// Whether a value can be refused because a part of the schema refuses too little.
    var deniesOrCounts: Bool {
        combination?.denies ?? false || arrays?.counts ?? false
    }
}

/// Looks for circles among the schemas that judge one and the same value.
enum SchemaChains {
    enum Finding {
        case sound
        case circle(SchemaNodeID)
        case tooLong(SchemaNodeID)
    }

    /// Walks from each node along its in-place sub-schemas, depth first with a stack of its own.
    static func examine(_ nodes: [SchemaNode], longest: Int) -> Finding {
        /// For each node: nil before it was reached, 0 while it is on the way, then the length of its longest chain.
        var lengths = [Int?](repeating: nil, count: nodes.count)
        for start in nodes.indices where lengths[start] == nil {
            lengths[start] = 0
            var stack = [Visit(id: start, rest: nodes[start].inPlaceNodes[...])]
            while var visit = stack.popLast() {
                guard let next = visit.rest.popFirst() else {
                    let length = 1 + (nodes[visit.id].inPlaceNodes.compactMap { lengths[$0] }.max() ?? 0)
                    if length > longest { return .tooLong(visit.id) }
                    lengths[visit.id] = length
                    continue
                }
                stack.append(visit)
                if lengths[next] == 0 { return .circle(next) }
                if lengths[next] == nil {
                    lengths[next] = 0
                    stack.append(Visit(id: next, rest: nodes[next].inPlaceNodes[...]))
                }
            }
        }
        return .sound
    }

    private struct Visit {
        let id: SchemaNodeID
        var rest: ArraySlice<SchemaNodeID>
    }
}

/// Schemas that hold together for one value: some, and all that they refer to or take in by `allOf`.
enum SchemaConjunction {
    /// The schemas and those that hold with them, each once, however they refer to each other.
    static func closure(of ids: [SchemaNodeID], in nodes: [SchemaNode]) -> [SchemaNodeID] {
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

    /// Whether a value under these schemas is a secret.
    static func isSecret(_ ids: [SchemaNodeID], in nodes: [SchemaNode]) -> Bool {
        closure(of: ids, in: nodes).contains { nodes[$0].isSecret }
    }

    /// Whether a key under these schemas is locked.
    static func isLocked(_ ids: [SchemaNodeID], in nodes: [SchemaNode]) -> Bool {
        closure(of: ids, in: nodes).contains { nodes[$0].isLocked }
    }
}
