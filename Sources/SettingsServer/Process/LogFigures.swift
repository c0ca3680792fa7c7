internal import Synchronization

/// The figures of a log in etcd, which the writer and the follower note.
final class LogFigures: Sendable {
    struct Contents {
        /// The times of the attempts to write a batch, or to confirm the end.
        var rounds = Histogram.times
        /// The attempts that batches of other daemons came before.
        var lostRounds = 0
        /// The batches whose outcome was not known in time.
        var unknownOutcomes = 0
        /// The batches that a look at the end found, though a watch was open.
        var watchRepairs = 0
        /// The snapshots that could not be put into etcd.
        var failedSnapshots = 0
        /// The seconds since the end of the log was last heard of.
        var silence = 0.0
    }

    private let kept = Mutex(Contents())

    var contents: Contents { kept.withLock { $0 } }

    func update(_ change: (inout Contents) -> Void) { kept.withLock { change(&$0) } }
}
