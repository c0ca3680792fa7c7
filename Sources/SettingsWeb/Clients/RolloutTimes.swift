internal import SettingsAPI
internal import SettingsStorage

/// Measures how long clients take to apply the last commit of a suite. The measurement begins at the first report after
/// the commit. It counts the clients that are present then, watch the whole suite and have not applied the commit. It
/// does not count clients that watch a part of the suite, because a commit need not concern them. A counted client that
/// disappears still counts, so the clients may never reach a percentage.
struct RolloutProgress: Sendable {
    /// The revision of the measured commit.
    let target: Revision
    /// The time of the commit.
    private let committed: Timestamp
    /// The time at which the measurement began.
    private let start: Timestamp
    /// The numbers of the counted clients that have not applied the commit (see ``SuiteClient/number``).
    private var awaitedClients: Set<UInt32> = []
    private var clientCount = 0
    /// The number of elements of ``RolloutTimes/percentages`` that were reached.
    private var reachedPercentages = 0

    /// If a suite has at most this number of clients, every commit is measured. The start of a measurement visits all
    /// clients, so with more clients, measurements of all commits could take most of the time of an event loop.
    private static let maximumCountForEachCommit = 1000

    init(of target: Revision, committed: Timestamp, start: Timestamp) {
        (self.target, self.committed, self.start) = (target, committed, start)
    }

    /// True if the measurement of a later commit may begin. With many clients, at most one measurement begins in a
    /// second, so some commits are not measured.
    func mayBeReplaced(at now: Timestamp, clientCount: Int) -> Bool {
        clientCount <= Self.maximumCountForEachCommit || now.milliseconds - start.milliseconds >= 1000
    }

    /// Counts a client that is present at the start of the measurement, unless it watches a part of the suite or has
    /// applied the target.
    mutating func addClient(_ client: SuiteClient) {
        guard client.subject == nil, !client.hasApplied(target) else { return }
        awaitedClients.insert(client.number)
        clientCount += 1
    }

    /// Records the first report that a counted client has applied the target. If the clients then reach a percentage,
    /// adds the time since the commit to the histogram of the percentage.
    mutating func recordReport(of client: SuiteClient, at now: Timestamp, in times: inout RolloutTimes) {
        guard client.hasApplied(target), awaitedClients.remove(client.number) != nil else { return }
        let appliedCount = clientCount - awaitedClients.count
        let percentages = RolloutTimes.percentages
        while reachedPercentages < percentages.count,
            appliedCount * 100 >= clientCount * percentages[reachedPercentages]
        {
            // If the clock was set after the commit, the difference may be negative or too large for the histogram.
            // Therefore it is at least 0 and at most about 140 years.
            let milliseconds = min(max(0, now.milliseconds - committed.milliseconds), 1 << 42)
            times.histograms[reachedPercentages].add(UInt64(milliseconds) * 1_000_000)
            reachedPercentages += 1
        }
    }
}

/// The times from commits until 50, 95 and 100 percent of the measured clients have applied them.
struct RolloutTimes: Sendable {
    static let percentages = [50, 95, 100]
    /// One histogram for each of the percentages.
    fileprivate(set) var histograms = percentages.map { _ in Histogram.rolloutTimes }
}
