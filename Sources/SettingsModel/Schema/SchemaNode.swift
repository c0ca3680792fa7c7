/// The index of a node among the nodes of a compiled document.
typealias SchemaNodeID = Int

/// A compiled schema. Its rules are grouped by the type of the value, so that a validation reads only the rules for
/// that type.
///
/// A node refers to sub-schemas by their index among the nodes, because references can be circular. The node is a
/// class, because a recursive validation passes nodes as arguments, and a copy of a structure would retain all its
/// rules.
final class SchemaNode: Sendable {
    /// True for the schema `false`, which allows no value.
    let refusesAll: Bool
    let types: JSONTypeSet?
    let values: ValueRules?
    let numbers: NumberRules?
    let strings: StringRules?
    let arrays: ArrayRules?
    let objects: ObjectRules?
    let combination: CombinationRules?

    let defaultValue: JSONValue?
    let isLocked: Bool
    let isSecret: Bool

    init(
        refusesAll: Bool = false, types: JSONTypeSet? = nil, values: ValueRules? = nil, numbers: NumberRules? = nil,
        strings: StringRules? = nil, arrays: ArrayRules? = nil, objects: ObjectRules? = nil,
        combination: CombinationRules? = nil, defaultValue: JSONValue? = nil, isLocked: Bool = false,
        isSecret: Bool = false
    ) {
        self.refusesAll = refusesAll
        self.types = types
        self.values = values
        self.numbers = numbers
        self.strings = strings
        self.arrays = arrays
        self.objects = objects
        self.combination = combination
        self.defaultValue = defaultValue
        self.isLocked = isLocked
        self.isSecret = isSecret
    }

    /// Returns a node with the rules about a suite as a whole: this node without the rule about the type, and with the
    /// given rules for its members.
    func suiteNode(with objects: ObjectRules?) -> SchemaNode {
        SchemaNode(
            refusesAll: refusesAll, values: values, numbers: numbers, strings: strings, arrays: arrays,
            objects: objects, combination: combination)
    }

    /// True if the schema allows every value.
    var allowsEveryValue: Bool {
        !refusesAll && types == nil && values == nil && numbers == nil && strings == nil && arrays == nil
            && objects == nil && combination == nil
    }

    /// The sub-schemas that validate the same value as this node, and not a part of the value.
    var inPlaceNodes: [SchemaNodeID] {
        (combination?.nodes ?? []) + (objects?.dependentSchemas.map(\.node) ?? [])
    }

    /// The sub-schemas under which every valid value is also valid (`$ref`, `allOf`).
    var conjunctiveNodes: [SchemaNodeID] {
        guard let combination else { return [] }
        return combination.allOf + (combination.reference.map { [$0] } ?? [])
    }

    /// All sub-schemas for the value and for its parts, without definitions.
    var children: [SchemaNodeID] {
        (combination?.nodes ?? []) + (arrays?.nodes ?? []) + (objects?.nodes ?? [])
    }

    /// True if the schema can refuse a value because the value, or a part of it, is valid under a sub-schema, as with
    /// `not`.
    var hasNegativeRule: Bool {
        combination?.hasNegativeRule ?? false || arrays?.hasNegativeRule ?? false
    }
}

extension [SchemaNode] {
    /// The given nodes, and all nodes that they include directly or indirectly by `$ref` and `allOf`. A value that is
    /// valid under the given nodes is valid under all these nodes. Each node occurs once.
    func conjunction(of ids: [SchemaNodeID]) -> [SchemaNodeID] {
        reachable(from: ids) { self[$0].conjunctiveNodes }
    }

    /// The given nodes, and all their direct and indirect sub-schemas that validate the same value. Each node occurs
    /// once.
    func inPlaceDescendants(of ids: [SchemaNodeID]) -> [SchemaNodeID] {
        reachable(from: ids) { self[$0].inPlaceNodes }
    }

    /// The given nodes, and all their direct and indirect sub-schemas. Each node occurs once.
    func descendants(of ids: [SchemaNodeID]) -> [SchemaNodeID] {
        reachable(from: ids) { self[$0].children }
    }

    private func reachable(
        from ids: [SchemaNodeID], along next: (SchemaNodeID) -> [SchemaNodeID]
    ) -> [SchemaNodeID] {
        var reached: [SchemaNodeID] = []
        var seen: Set<SchemaNodeID> = []
        var pending = ids
        while let id = pending.popLast() {
            guard seen.insert(id).inserted else { continue }
            reached.append(id)
            pending += next(id)
        }
        return reached
    }

    /// True if a value is a secret under these nodes.
    func isSecret(_ ids: [SchemaNodeID]) -> Bool {
        conjunction(of: ids).contains { self[$0].isSecret }
    }

    /// True if a key is locked under these nodes.
    func isLocked(_ ids: [SchemaNodeID]) -> Bool {
        conjunction(of: ids).contains { self[$0].isLocked }
    }
}

/// Finds cycles of schemas that validate the same value, and chains of these schemas that are so long that a
/// validation would overflow the stack.
enum SchemaChains {
    enum Finding {
        /// The schemas have no cycle and no chain that is too long.
        case sound
        case cycle(SchemaNodeID)
        case tooLong(SchemaNodeID)
    }

    /// Visits the sub-schemas that validate the same value, depth first, with an explicit stack.
    static func examine(_ nodes: [SchemaNode], longest: Int) -> Finding {
        /// The state of each node: nil if it was not visited, 0 while it is on the stack, and afterwards the length of
        /// its longest chain.
        var lengths = [Int?](repeating: nil, count: nodes.count)
        for start in nodes.indices where lengths[start] == nil {
            lengths[start] = 0
            var stack = [(id: start, rest: nodes[start].inPlaceNodes[...])]
            while var visit = stack.popLast() {
                guard let next = visit.rest.popFirst() else {
                    let length = 1 + (nodes[visit.id].inPlaceNodes.compactMap { lengths[$0] }.max() ?? 0)
                    if length > longest { return .tooLong(visit.id) }
                    lengths[visit.id] = length
                    continue
                }
                stack.append(visit)
                if lengths[next] == 0 { return .cycle(next) }
                if lengths[next] == nil {
                    lengths[next] = 0
                    stack.append((next, nodes[next].inPlaceNodes[...]))
                }
            }
        }
        return .sound
    }
}
