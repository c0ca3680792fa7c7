package import Platform
package import SettingsAPI
package import SettingsEngine

/// A log that makes commits durable: journals in a data directory, or a log in etcd that several daemons share.
///
/// The commit thread calls ``stage(_:after:)`` for each commit of a batch, ``flush(by:)`` once, and, if the flush
/// succeeds, ``published(_:)``. Between batches, it calls ``performMaintenance()`` and ``follow(from:)``.
package protocol CommitLog: AnyObject, Sendable {
    /// Adds a commit to the next flush. The predecessor is the revision of the previous commit, staged or flushed.
    func stage(_ commit: RetainedCommit, after predecessor: Revision)

    /// Makes all staged commits as durable as configured. If it throws, ``CommitLogError/outcome`` states whether they
    /// may be stored. Afterwards, no commit is staged. A successful flush, even without commits, also guarantees that
    /// no earlier commit with an unknown outcome will turn out to be stored.
    ///
    /// - Parameter deadline: the monotonic time, in nanoseconds, at which a log on other machines stops waiting.
    func flush(by deadline: UInt64) throws(CommitLogError)

    /// True if even a batch without commits needs a flush, because its answers could be wrong: a commit with an unknown
    /// outcome may turn out to be stored, or other daemons may have added commits. Read on the commit thread.
    var requiresFlush: Bool { get }

    /// The maximum number of batches that wait or are being flushed. With 1, no writes are decided during a flush.
    var maximumBatchesInFlight: Int { get }

    /// The nanoseconds for which the decide stage waits for further writes after a flush, so that one flush serves them
    /// all: callers that get their answers together send their next writes together. Read on the commit thread.
    var gatheringTime: UInt64 { get }

    /// True while the log does not know the outcome of an earlier flush, and makes nothing durable. Thread-safe.
    var isUnsettled: Bool { get }

    /// Returns the state after commits of other daemons; nil if there are none. Called while no commit is staged.
    func follow(from state: State) -> FollowedState?

    /// Performs periodic maintenance: interval sync, snapshots, recovery after a failed write.
    func performMaintenance()

    /// Tells the log which state was published, so that the log can write snapshots of the state.
    func published(_ state: State)
}

extension CommitLog {
    package var maximumBatchesInFlight: Int { 2 }
    package var gatheringTime: UInt64 { 0 }
    package var isUnsettled: Bool { false }

    package func follow(from state: State) -> FollowedState? { nil }
}

/// The parts of a commit log that the daemon uses: health, metrics and closing.
package protocol StorageLog: CommitLog {
    /// The reason why the log refuses writes; nil if it accepts writes. Thread-safe.
    var health: String? { get }
    /// The values for metrics.
    var metrics: StorageMetrics { get }

    /// Makes all commits durable, and releases files, connections and locks. The log refuses writes afterwards.
    ///
    /// - Parameter bound: the maximum nanoseconds for optional work, such as a snapshot that speeds up the next start.
    func close(within bound: UInt64) throws(FileError)
}

/// The failure of a flush.
package struct CommitLogError: Error, Hashable, CustomStringConvertible {
    package enum Outcome: Sendable {
        /// The commits are not stored and will not come back.
        case notDone
        /// The commits may be stored or not. This daemon never publishes them, and ignores them after a crash.
        case unknown
        /// The commits are not stored, because other daemons added commits first. The writes must be decided again.
        case overtaken
    }

    package enum Cause: Sendable {
        /// The disk is full, or etcd has reached its size limit.
        case full
        /// Any other failure, such as an I/O error.
        case failed
        /// Until the deadline, other daemons always added commits first.
        case contended
    }

    package let outcome: Outcome
    package let cause: Cause
    /// A message for the operator: the failure and the remedy. It may contain paths of files.
    package let description: String
    /// A message for callers, without paths of files.
    package let reason: String

    package init(_ outcome: Outcome, _ cause: Cause, _ description: String, reason: String? = nil) {
        self.outcome = outcome
        self.cause = cause
        self.description = description
        self.reason = reason ?? description
    }
}
