internal import Platform
internal import SettingsAPI
internal import SettingsEngine

/// A search for the topics that commits match, in turns.
struct TopicSearch {
    /// The nanoseconds after which a turn ends.
    private static let turn: UInt64 = 2_000_000
    /// The changes between looks at the clock.
    private static let changesAtOnce = 64

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

    mutating func look(in index: borrowing SubscriptionIndex) {
        let end = MonotonicClock.system.now() + Self.turn
        while !isDone, MonotonicClock.system.now() < end {
            let found = commits[commit].commit
            let changes = change..<min(change + Self.changesAtOnce, found.changes.count)
            index.collect(found, changes, into: &topics)
            change = changes.upperBound
            if change == found.changes.count { (commit, change) = (commit + 1, 0) }
        }
    }
}
