internal import SettingsAPI
internal import SettingsModel

/// What a commit did to one suite.
struct CommitPart {
    let suite: SuiteName
    var suiteChanges: [SuiteChange] = []
    var changes: [Change] = []
}

extension Commit {
    /// What it did, suite by suite.
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

    /// The suites that it touches, each once.
    var suites: [SuiteName] {
        var seen: Set<SuiteName> = []
        return (suiteChanges.map(\.suite) + changes.map(\.suite)).filter { seen.insert($0).inserted }
    }
}
