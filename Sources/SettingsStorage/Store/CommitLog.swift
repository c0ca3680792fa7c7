package import Platform
package import SettingsAPI
package import SettingsEngine
internal import SettingsModel

/// A log that makes commits durable. The writer orders them and applies them.
///
/// Called by one thread at a time, that which uses the flusher, in the order: any number of ``stage(_:after:)``, then
/// one ``flush(by:)``, then, if that succeeded, ``published(_:mayWait:)``.
package protocol CommitLog: AnyObject, Sendable {
    /// Adds a commit to the batch that ``flush(by:)`` makes durable, behind the commit before it, staged or flushed.
    func stage(_ commit: KeptCommit, after predecessor: Revision)

    /// Makes the batch as durable as was promised: all of it or, if it throws, as the error says. Empties the batch in
    /// either case. After a success, also of an empty batch, no commit comes back whose outcome was unknown before.
    ///
    /// - Parameter deadline: the monotonic nanoseconds at which a log that waits for others gives up.
    func flush(by deadline: UInt64) throws(CommitLogError)

    /// True if other daemons add commits to the same log. Then every answer to a write rests on a flush, also one that
    /// nothing was staged for: that finds out if there are such commits.
    var isShared: Bool { get }

    /// True if the log is still finding out the outcome of a batch: until then ``flush(by:)`` makes nothing durable.
    var isUnsettled: Bool { get }

    /// Waits for a short time if others are to flush first. Returns true if they added commits, to be followed first.
    func awaitTurn() -> Bool

    /// Applies the commits that other daemons added behind the last one that was flushed or followed. Returns false if
    /// there are none. Runs while nothing is staged.
    func follow(_ staged: inout StagedState) -> Bool

    /// True if ``flush()`` would only write what is staged to a file, without a sync.
    var flushesAtOnce: Bool { get }

    /// Performs periodic maintenance: interval sync, snapshots, recovery after a failed write.
    func tend()

    /// Takes the state that was published, for snapshots.
    ///
    /// - Parameter mayWait: false on an event loop. A snapshot that is due is begun by ``tend()`` then.
    func published(_ state: State, mayWait: Bool)
}

/// A commit log that the daemon opens, reports on and closes.
package protocol StorageLog: CommitLog {
    /// The reason why writes are refused now; nil if they are taken. May be called from any thread.
    var health: String? { get }
    var figures: StorageFigures { get }

    /// Makes everything durable and releases what the log holds. No write is taken afterwards.
    ///
    /// - Parameter bound: the time for what may also be done at the next start, in nanoseconds.
    func close(within bound: UInt64) throws(FileError)
}

extension CommitLog {
    package var isShared: Bool { false }
    package var isUnsettled: Bool { false }

    package func awaitTurn() -> Bool { false }

    package func follow(_ staged: inout StagedState) -> Bool { false }
}

/// The error of commits that could not be made durable.
package struct CommitLogError: Error, Hashable, CustomStringConvertible {
    package enum Outcome: Sendable {
        /// They are not there and will not come back.
        case notDone
        /// They may be on disk or not. They are never served; after a crash they are ignored.
        case unknown
        /// They are not there, as commits of other daemons came first. To be decided again once those are followed.
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
