internal import Synchronization

/// The metrics of the commit log in etcd, which several daemons share. Three threads update the metrics: the commit
/// stage, which appends batches of commits, the follower, which reads the batches of other daemons, and the background
/// queue that puts snapshots into etcd. Thread-safe.
package final class LogMetrics: Sendable {
    package struct Contents {
        /// The durations of the attempts to append a batch, or, with an empty batch, to confirm where the log ends.
        package var attemptTimes = Histogram.times
        /// The number of attempts that failed because another daemon had appended a batch first.
        package var lostAttempts = 0
        /// The number of batches that etcd may or may not have stored, because the call failed or timed out.
        package var unknownOutcomes = 0
        /// How often the follower opened a new watch, because the open watch had not delivered batches.
        package var watchRepairs = 0
        /// The number of snapshots that could not be written to etcd.
        package var failedSnapshots = 0
        /// The seconds since the daemon last read the end of the log from etcd.
        package var staleness = 0.0
    }

    private let values = Mutex(Contents())

    package init() {}

    package var contents: Contents { values.withLock { $0 } }

    package func update(_ change: (inout Contents) -> Void) { values.withLock { change(&$0) } }
}
