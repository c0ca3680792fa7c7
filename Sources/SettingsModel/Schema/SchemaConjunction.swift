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
