internal import Platform
internal import SettingsAPI
internal import SettingsEngine

/// A search for the topics that commits match. It takes several loop iterations if the commits have many changes.
struct TopicSearch {
    /// The maximum duration of the search in one loop iteration, in nanoseconds.
    private static let maximumDuration: UInt64 = 2_000_000
    /// The search reads the clock after this many changes.
    private static let changesPerStep = 64

    private let commits: [KeptCommit]
    /// The last revision that the search covers.
    let end: Revision
    private(set) var topics: [ObjectIdentifier: Topic] = [:]
    private var commit = 0
    private var change = 0

    init(_ commits: some Sequence<KeptCommit>, upTo end: Revision) {
        self.commits = Array(commits)
        self.end = end
    }

    var isDone: Bool { commit == commits.count }

    /// Searches until all changes are compared or the maximum duration has passed.
    mutating func run(in index: borrowing TopicIndex) {
        let end = MonotonicClock.system.now() + Self.maximumDuration
        while !isDone, MonotonicClock.system.now() < end {
            let found = commits[commit].commit
            let changes = change..<min(change + Self.changesPerStep, found.changes.count)
            index.collect(found, changes, into: &topics)
            change = changes.upperBound
            if change == found.changes.count { (commit, change) = (commit + 1, 0) }
        }
    }
}
