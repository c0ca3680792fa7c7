extension OrderedTree {
    /// So many names around a place in the order, those next to it first; all of them if there are no more.
    func neighbours(of place: String, _ count: Int) -> [String] {
        var (before, after): ([String], [String]) = ([], [])
        forEach(startingAt: place) { element in
            guard after.count < count else { return false }
            after.append(element.name)
            return true
        }
        forEachReversed(before: place) { element in
            guard before.count < count else { return false }
            before.append(element.name)
            return true
        }
        var names: [String] = []
        names.reserveCapacity(min(count, before.count + after.count))
        for index in 0..<max(before.count, after.count) where names.count < count {
            if index < after.count { names.append(after[index]) }
            if names.count < count, index < before.count { names.append(before[index]) }
        }
        return names
    }
}
