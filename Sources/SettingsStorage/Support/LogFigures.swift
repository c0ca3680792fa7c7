internal import Synchronization

/// The figures of a log in etcd, which the commit stage and the follower note.
package final class LogFigures: Sendable {
    package struct Contents {
        /// The times of the attempts to write a batch, or to confirm the end.
        package var rounds = Histogram.times
        /// The attempts that batches of other daemons came before.
        package var lostRounds = 0
        /// The batches whose outcome was not known in time.
        package var unknownOutcomes = 0
        /// The batches that a look at the end found, though a watch was open.
        package var watchRepairs = 0
        /// The snapshots that could not be put into etcd.
        package var failedSnapshots = 0
        /// The seconds since the end of the log was last heard of.
        package var silence = 0.0
    }

    private let kept = Mutex(Contents())

    package init() {}

    package var contents: Contents { kept.withLock { $0 } }

    package func update(_ change: (inout Contents) -> Void) { kept.withLock { change(&$0) } }
}
