/// Tries every order of a few calls: what the search must agree with.
struct BruteForce {
    let calls: [Call]
    /// What was seen of commits that nobody was told of.
    let orphans: [Int64: [Int: Int64?]]

    /// Whether some order explains the answers.
    func explains(from model: Model, done: Set<Int> = []) -> Bool {
        let left = calls.indices.filter { !done.contains($0) }
        if left.allSatisfy({ calls[$0].isUnknown }) { return true }
        return left.contains { next in
            guard left.allSatisfy({ calls[$0].answered >= calls[next].invoked }) else { return false }
            let models =
                calls[next].isUnknown
                ? model.possibilities(after: calls[next], orphans: orphans)
                : [model.after(calls[next])].compactMap(\.self)
            return models.contains { explains(from: $0, done: done.union([next])) }
        }
    }
}
