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
