/// The position of a node in a compiled schema.
typealias SchemaNodeID = Int

/// A compiled schema that has its rules in groups by type of value, so that checking a value touches only those of its type.
///
/// Sub-schemas are named by their position among the nodes, as references may form circles. A class, as checking recurses,
/// and copying a node for each value would retain all its rules.
final class SchemaNode: Sendable {
    /// True for the schema `false`: no value is valid.
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

    /// Returns the rules about a suite as a whole: without its type, and with other rules for its members.
    func ofSuite(_ objects: ObjectRules?) -> SchemaNode {
        SchemaNode(
            refusesAll: refusesAll, values: values, numbers: numbers, strings: strings, arrays: arrays,
            objects: objects, combination: combination)
    }

    /// True if every value is valid.
    var isTrivial: Bool {
        !refusesAll && types == nil && values == nil && numbers == nil && strings == nil && arrays == nil
            && objects == nil && combination == nil
    }

    /// The sub-schemas that judge the same value.
    var inPlaceNodes: [SchemaNodeID] {
        (combination?.nodes ?? []) + (objects?.dependentSchemas.map(\.node) ?? [])
    }

    /// The sub-schemas that the value must always be valid under.
    var conjunctiveNodes: [SchemaNodeID] {
        guard let combination else { return [] }
        return combination.allOf + (combination.reference.map { [$0] } ?? [])
    }

    /// All sub-schemas, for the value and for parts of it, except definitions.
    var children: [SchemaNodeID] {
        (combination?.nodes ?? []) + (arrays?.nodes ?? []) + (objects?.nodes ?? [])
    }

    /// True if a value can be refused because a part of the schema refuses too little.
    var refusesFitting: Bool {
        combination?.refusesFitting ?? false || arrays?.refusesFitting ?? false
    }
}

extension [SchemaNode] {
    /// The nodes that hold together with these by `$ref` and `allOf`, these included, each once.
    func conjunction(of ids: [SchemaNodeID]) -> [SchemaNodeID] {
        reachable(from: ids) { self[$0].conjunctiveNodes }
    }

    /// The nodes that judge the same value as these, these included, each once.
    func conjoined(from ids: [SchemaNodeID]) -> [SchemaNodeID] {
        reachable(from: ids) { self[$0].inPlaceNodes }
    }

    /// All nodes that these and their sub-schemas lead to, each once.
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

    /// True if a value under these nodes is a secret.
    func isSecret(_ ids: [SchemaNodeID]) -> Bool {
        conjunction(of: ids).contains { self[$0].isSecret }
    }

    /// True if a key under these nodes is locked.
    func isLocked(_ ids: [SchemaNodeID]) -> Bool {
        conjunction(of: ids).contains { self[$0].isLocked }
    }
}

/// A search for schemas that judge one value in a circle, or in a chain too long to recurse along.
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
            var stack = [(id: start, rest: nodes[start].inPlaceNodes[...])]
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
                    stack.append((next, nodes[next].inPlaceNodes[...]))
                }
            }
        }
        return .sound
    }
}
