package import SettingsAPI
internal import SettingsModel

/// A commit that is kept, with its weight and the suites that it touches.
package final class KeptCommit: Sendable {
    /// The commit.
    package let commit: Commit
    /// About how many bytes of memory it takes.
    package let size: Int
    // Nearly every commit touches one suite, and shall cost no array.
    private let suite: SuiteName?
    private let others: [SuiteName]

    package convenience init(_ commit: Commit) {
        self.init(commit, size: commit.weight)
    }

    init(_ commit: Commit, size: Int) {
        self.commit = commit
        self.size = size
        var touched = TouchedSuites()
        for index in commit.suiteChanges.indices { touched.add(commit.suiteChanges[index].suite) }
        for index in commit.changes.indices { touched.add(commit.changes[index].suite) }
        suite = touched.first
        others = touched.others
    }

    var revision: Revision { commit.revision }

    /// Goes through the suites that it touches, by changes of keys or of the suite as a whole, each once.
    func forEachSuite(_ body: (SuiteName) -> Void) {
        if let suite { body(suite) }
        for suite in others { body(suite) }
    }
}

/// The suites that changes are about, each once.
private struct TouchedSuites {
    private(set) var first: SuiteName?
    private(set) var others: [SuiteName] = []
    private var last: SuiteName?
    private var seen: Set<SuiteName> = []

    mutating func add(_ suite: SuiteName) {
        // Changes of one suite mostly stand together.
        guard suite != last else { return }
        last = suite
        guard first != nil else {
            first = suite
            return
        }
        guard suite != first, seen.insert(suite).inserted else { return }
        others.append(suite)
    }
}
