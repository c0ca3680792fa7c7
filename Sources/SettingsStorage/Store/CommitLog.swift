package import Platform
package import SettingsAPI
package import SettingsEngine

/// The commit log makes commits durable: journals in a data directory, or a log in etcd that several daemons share.
///
/// For each batch (the results of writes that share one flush), the commit thread of ``WritePipeline`` calls
/// ``stage(_:after:)`` for each commit, ``flush(by:)`` once, and, if the flush succeeds and the batch has commits,
/// ``recordPublication(of:)``. It flushes a batch without commits only if ``requiresFlush`` is true and a result of the
/// batch depends on the state. Between batches, it calls ``performMaintenance()`` and ``follow(from:)``. If `follow`
/// returns a state, it calls ``recordPublication(of:)`` with this state.
package protocol CommitLog: AnyObject, Sendable {
    /// Adds a commit to the next flush. `predecessor` is the revision of the previous commit.
    func stage(_ commit: RetainedCommit, after predecessor: Revision)

    /// Makes all staged commits as durable as configured. After a flush, even a failed flush, the log has no staged
    /// commits. An error states in ``CommitLogError/outcome`` whether the commits may be stored. A successful flush,
    /// even without commits, guarantees that no earlier commit with an unknown outcome turns out to be stored later.
    ///
    /// - Parameter deadline: the monotonic time in nanoseconds at which a log in etcd stops waiting for etcd. A local
    ///   log ignores the deadline.
    func flush(by deadline: UInt64) throws(CommitLogError)

    /// True if even a batch without commits needs a flush, because its results could be wrong: a commit with an unknown
    /// outcome may turn out to be stored, or other daemons may have added commits. Runs on the commit thread.
    var requiresFlush: Bool { get }

    /// The maximum number of batches that wait or are being flushed. With 1, the decide stage, which computes the
    /// commits and refusals of queued writes, pauses during a flush.
    var maximumBatchesInFlight: Int { get }

    /// The nanoseconds for which the decide stage waits for further writes after a flush, so that the next flush serves
    /// all of them: clients that get answers together send their next writes together. Runs on the commit thread.
    var gatheringTime: UInt64 { get }

    /// True while it is unknown whether an earlier flush stored its commits. Each flush first tries to find out whether
    /// these commits are stored, and throws if it cannot. Always false for journals: the next flush makes recovery
    /// ignore commits with an unknown outcome. Thread-safe.
    var hasUnresolvedBatch: Bool { get }

    /// Applies new commits of other daemons to the state. Returns the resulting state with a list of the new commits;
    /// nil if there are no new commits. Called while no commit is staged.
    func follow(from state: State) -> FollowedState?

    /// Performs periodic maintenance, such as snapshots, syncs at intervals, or a new attempt after a failed write.
    func performMaintenance()

    /// Records the published state. The log writes snapshots of this state.
    func recordPublication(of state: State)
}

extension CommitLog {
    package var maximumBatchesInFlight: Int { 2 }
    package var gatheringTime: UInt64 { 0 }
    package var hasUnresolvedBatch: Bool { false }

    package func follow(from state: State) -> FollowedState? { nil }
}

/// A commit log with the functions that the daemon uses outside the write path: health, metrics and closing.
package protocol StorageLog: CommitLog {
    /// The reason why the log refuses writes; nil if it accepts writes. Thread-safe.
    var writeFailureReason: String? { get }
    var metrics: StorageMetrics { get }

    /// Makes all commits durable, and releases files, connections and locks. The log refuses writes afterwards. `bound`
    /// is the maximum nanoseconds for optional work, such as a snapshot that speeds up the next start.
    func close(within bound: UInt64) throws(FileError)
}

package struct CommitLogError: Error, Hashable, CustomStringConvertible {
    package enum Outcome: Sendable {
        /// The commits are not stored.
        case notDone
        /// The commits may be stored or not. With journals, the next successful flush makes recovery ignore the
        /// commits. With etcd, ``CommitLog/follow(from:)`` returns the commits if etcd has stored them.
        case unknown
        /// The commits are not stored, because other daemons added commits first. The writes must be decided again.
        case overtaken
    }

    package enum Cause: Sendable {
        /// The disk is full, or etcd has reached its size limit.
        case full
        /// Any other failure, such as an I/O error.
        case failed
        /// At each attempt until the deadline, other daemons added commits first, or another daemon had reserved the
        /// next position in the log.
        case contended
    }

    package let outcome: Outcome
    package let cause: Cause
    /// A message for the operator, which may contain paths of files.
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
