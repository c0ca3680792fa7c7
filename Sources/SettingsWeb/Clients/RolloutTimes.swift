internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// How long clients take to apply the last commit of a suite. Measures only clients that watch the whole suite, because
/// a commit may not concern the other clients. Each report takes constant time.
struct RolloutProgress: Sendable {
    /// The last commit of the suite.
    let target: Revision
    private let committed: Timestamp
    /// The number of the newest client before the first report after the commit. Later clients are not measured.
    let begun: UInt32
    /// The number of measured clients, without clients that are gone.
    private var clientCount: Int
    private var appliedCount = 0
    /// The number of shares that were reached.
    private var reachedShares = 0

    init(of target: Revision, committed: Timestamp, begun: UInt32, clientCount: Int) {
        (self.target, self.committed, self.begun, self.clientCount) = (target, committed, begun, clientCount)
    }

    mutating func addApplied(at now: Timestamp, to times: inout RolloutTimes) {
        appliedCount += 1
        recordShares(at: now, in: &times)
    }

    /// Removes a client that is gone and has not applied the target.
    mutating func removeMissing(at now: Timestamp, to times: inout RolloutTimes) {
        clientCount -= 1
        recordShares(at: now, in: &times)
    }

    private mutating func recordShares(at now: Timestamp, in times: inout RolloutTimes) {
        guard appliedCount > 0 else { return }
        let shares = RolloutTimes.percentages
        while reachedShares < shares.count, appliedCount * 100 >= clientCount * shares[reachedShares] {
            // The limits, 0 and about 140 years, are for a clock that was set.
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

/// The measurement of the time that clients take to apply a commit.
extension ClientTable {
    /// Begins to measure the last commit of a suite with the first report after the commit.
    mutating func beginProgress(of name: SuiteName, on state: State, at now: Time) {
        guard let index = suiteIndexes[name].map(Int.init), let suite = suites[index],
            let target = state.suite(name)?.revision, suite.progress?.target != target
        else { return }
        let committed = state.history.commit(target)?.commit.time
        suites[index]?.progress = committed.map { committed in
            RolloutProgress(
                of: target, committed: committed, begun: lastNumber, clientCount: suite.wholeSuiteCount)
        }
    }

    func isMeasured(_ index: Int32, in suite: Int) -> Bool {
        let slot = slots[Int(index)]
        return slot.client?.subject == nil && suites[suite]?.progress.map { slot.number <= $0.begun } ?? false
    }

    /// Ends the measurement of a client that is gone before it has applied the last commit.
    mutating func removeFromProgress(_ index: Int32, at now: Time) {
        let suite = Int(slots[Int(index)].suite)
        guard slots[Int(index)].presence != .gone, isMeasured(index, in: suite), let client = slots[Int(index)].client,
            let target = suites[suite]?.progress?.target, !client.hasApplied(target)
        else { return }
        suites[suite]?.progress?.removeMissing(at: now.wall, to: &rolloutTimes)
    }
}
