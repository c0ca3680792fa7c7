internal import SettingsAPI
internal import SettingsStorage

/// How long clients take to apply the last commit of a suite. Measures the clients that are present at the first report
/// after the commit and watch the whole suite, because a commit may not concern the other clients.
struct RolloutProgress: Sendable {
    /// The last commit of the suite.
    let target: Revision
    private let committed: Timestamp
    /// The time of the first report after the commit.
    private let start: Timestamp
    /// The number of the newest client at that time.
    private let lastClient: UInt32
    private var clientCount = 0
    private var appliedCount = 0
    /// The number of shares that were reached.
    private var reachedShares = 0

    /// Counting more clients than this for every commit could take most of the time of an event loop.
    private static let maximumCountForEachCommit = 1000

    init(of target: Revision, committed: Timestamp, start: Timestamp, lastClient: UInt32) {
        (self.target, self.committed, self.start, self.lastClient) = (target, committed, start, lastClient)
    }

    /// True if the measurement of a later commit may begin. With many clients, at most one begins in a second.
    func mayBeReplaced(at now: Timestamp, clientCount: Int) -> Bool {
        clientCount <= Self.maximumCountForEachCommit || now.milliseconds - start.milliseconds >= 1000
    }

    /// True for a client that is measured and has not applied the target.
    func isMissing(_ client: SuiteClient) -> Bool {
        client.number <= lastClient && client.subject == nil && !client.hasApplied(target)
    }

    mutating func addClient() { clientCount += 1 }

    /// Counts a client that was missing, if it has applied the target.
    mutating func add(_ client: SuiteClient, at now: Timestamp, to times: inout RolloutTimes) {
        guard client.hasApplied(target) else { return }
        appliedCount += 1
        let shares = RolloutTimes.percentages
        while reachedShares < shares.count, appliedCount * 100 >= clientCount * shares[reachedShares] {
            // If the clock was set, the difference may be negative or too large, so it is limited to 0 and 140 years.
            let milliseconds = min(max(0, now.milliseconds - committed.milliseconds), 1 << 42)
            times.histograms[reachedShares].add(UInt64(milliseconds) * 1_000_000)
            reachedShares += 1
        }
    }
}

/// The times from a commit until a share of the clients of its suite had it.
struct RolloutTimes: Sendable {
    static let percentages = [50, 95, 100]
    fileprivate(set) var histograms = percentages.map { _ in Histogram.rolloutTimes }
}
