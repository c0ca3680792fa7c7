package import Platform
package import SettingsAPI
package import SettingsEngine

/// A log that makes commits durable. The commit stage orders the commits and publishes the state after them.
///
/// The commit thread calls, in this order: any number of ``stage(_:after:)``, then one ``flush(by:)``, then, if that succeeded,
/// ``published(_:)``. It also calls ``tend()`` and ``follow(from:)``. The decide thread reads the properties.
package protocol CommitLog: AnyObject, Sendable {
    /// Adds a commit to the commits that ``flush(by:)`` makes durable. The predecessor is the commit before it, staged or flushed.
    func stage(_ commit: KeptCommit, after predecessor: Revision)

    /// Makes the staged commits as durable as was promised: all of them or, if it throws, as the error says. Afterwards no
    /// commit is staged. After a success, also without commits, no commit comes back whose outcome was unknown before.
    ///
    /// - Parameter deadline: the monotonic nanoseconds at which a log that waits for other machines gives up.
    func flush(by deadline: UInt64) throws(CommitLogError)

    /// True if even answers without a commit are certain only after a flush: a commit with an unknown outcome may come back, or
    /// other daemons may have added commits. Read on the commit thread.
    var requiresFlush: Bool { get }

    /// The most batches that are waiting for a flush or being flushed at a time. Writes are decided ahead of a flush only if this is
    /// greater than 1.
    var maximumBatchesInFlight: Int { get }

    /// The nanoseconds for which the decide stage gathers writes after a flush, because the callers that got their answers
    /// together send their next writes together. Read on the commit thread.
    var gatheringTime: UInt64 { get }

    /// True if the log is still finding out the outcome of a flush: until then ``flush(by:)`` makes nothing durable. Thread-safe.
    var isUnsettled: Bool { get }

    /// Returns the state with the commits that other daemons added behind it; nil if there are none. Runs while no commit is staged.
    func follow(from state: State) -> FollowedState?

    /// Performs periodic maintenance: interval sync, snapshots, recovery after a failed write.
    func tend()

    /// Takes the state that was published, for snapshots.
    func published(_ state: State)
}

extension CommitLog {
    package var maximumBatchesInFlight: Int { 2 }
    package var gatheringTime: UInt64 { 0 }
    package var isUnsettled: Bool { false }

    package func follow(from state: State) -> FollowedState? { nil }
}

/// A commit log that the daemon opens, reports on and closes.
package protocol StorageLog: CommitLog {
    /// The reason why writes are refused now; nil if they are taken. Thread-safe.
    var health: String? { get }
    var figures: StorageFigures { get }

    /// Makes everything durable and releases what the log holds. No write is taken afterwards.
    ///
    /// - Parameter bound: the time for what may also be done at the next start, in nanoseconds.
    func close(within bound: UInt64) throws(FileError)
}

/// The error of commits that could not be made durable.
package struct CommitLogError: Error, Hashable, CustomStringConvertible {
    package enum Outcome: Sendable {
        /// The commits are not stored and will not come back.
        case notDone
        /// The commits may be stored or not. They are never served; after a crash they are ignored.
        case unknown
        /// The commits are not stored, because other daemons added commits first. The writes are decided again on these.
        case overtaken
    }

    package enum Cause: Sendable {
        /// The disk is full, or etcd is.
        case full
        case failed
        /// Other daemons were always first.
        case contended
    }

    package let outcome: Outcome
    package let cause: Cause
    /// What failed, and what to do, for the operator: it may name files.
    package let description: String
    /// The same for callers, without names of files.
    package let reason: String

    package init(_ outcome: Outcome, _ cause: Cause, _ description: String, reason: String? = nil) {
        self.outcome = outcome
        self.cause = cause
        self.description = description
        self.reason = reason ?? description
    }
}
