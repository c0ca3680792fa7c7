internal import Platform
internal import SettingsAPI
internal import SettingsEngine

/// A search for the topics that new commits match. A topic is all watchers of a loop with the same subject: the suites,
/// keys and prefixes that they watch. If the commits have many changes, the search runs in several iterations of the
/// event loop, so that it does not delay other requests. Owned by the event loop.
struct TopicSearch {
    /// The maximum duration of the search in one loop iteration, in nanoseconds.
    private static let maximumDuration: UInt64 = 2_000_000
    /// The number of changes after which the search reads the clock.
    private static let changesPerStep = 64

    private let commits: [RetainedCommit]
    /// The last revision that the search covers.
    let lastRevision: Revision
    private(set) var topics: [ObjectIdentifier: Topic] = [:]
    // The position of the search: an index in `commits`, and an index in the changes of that commit.
    private var commitIndex = 0
    private var changeIndex = 0

    init(_ commits: some Sequence<RetainedCommit>, upTo lastRevision: Revision) {
        self.commits = Array(commits)
        self.lastRevision = lastRevision
    }

    var isDone: Bool { commitIndex == commits.count }

    /// Continues the search until all changes are compared with the topics, or the maximum duration has passed.
    mutating func run(in index: borrowing TopicIndex) {
        let deadline = MonotonicClock.system.now() + Self.maximumDuration
        while !isDone, MonotonicClock.system.now() < deadline {
            let commit = commits[commitIndex].commit
            let changes = changeIndex..<min(changeIndex + Self.changesPerStep, commit.changes.count)
            index.collectTopics(matching: changes, of: commit, into: &topics)
            changeIndex = changes.upperBound
            if changeIndex == commit.changes.count { (commitIndex, changeIndex) = (commitIndex + 1, 0) }
        }
    }
}
