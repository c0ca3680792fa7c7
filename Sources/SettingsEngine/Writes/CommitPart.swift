internal import SettingsAPI
internal import SettingsModel

/// The part of a commit (an atomic change of settings) that concerns one suite (a named set of settings).
struct CommitPart {
    let suite: SuiteName
    /// The changes of the suite as a whole: its creation or removal, or a change of its schema.
    var suiteChanges: [SuiteChange] = []
    var changes: [Change] = []
}

extension Commit {
    /// The parts of the commit, one for each suite: first the suites in ``suiteChanges``, then the other suites in
    /// ``changes``, each in the order in which the commit first names them.
    var parts: [CommitPart] {
        var parts: [CommitPart] = []
        var positions: [SuiteName: Int] = [:]
        func position(_ suite: SuiteName) -> Int {
            if let position = positions[suite] { return position }
            positions[suite] = parts.count
            parts.append(CommitPart(suite: suite))
            return parts.count - 1
        }
        for change in suiteChanges { parts[position(change.suite)].suiteChanges.append(change) }
        for change in changes { parts[position(change.suite)].changes.append(change) }
        return parts
    }

    /// The suites that the commit changes, without duplicates.
    var suites: [SuiteName] {
        var seen: Set<SuiteName> = []
        return (suiteChanges.map(\.suite) + changes.map(\.suite)).filter { seen.insert($0).inserted }
    }
}
