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
