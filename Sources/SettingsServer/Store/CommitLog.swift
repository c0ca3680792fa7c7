package import SettingsAPI
package import SettingsEngine
internal import SettingsModel

/// Where commits become durable. The writer orders them and applies them; this makes them last.
///
/// All calls come from the writer's queue, in the order: any number of ``stage(_:after:)``, then one ``flush()``, then, if
/// that went well, ``published(_:)``. A cluster in front of a replicated store would stand behind the same calls.
package protocol CommitLog: AnyObject, Sendable {
    /// Takes a commit into the batch that ``flush()`` makes durable.
    ///
    /// - Parameter predecessor: the commit before it, staged or flushed, whose loss would make this one worthless.
    func stage(_ commit: Commit, after predecessor: Revision)

    /// Forgets what is staged.
    func discard()

    /// Makes the staged commits as durable as was promised: all of them or, if it throws, as the error says. In either
    /// case nothing is staged afterwards. After a success, also one with nothing staged, no commit comes back whose outcome
    /// was unknown before.
    func flush() throws(CommitLogError)

    /// Gives the log a moment to see to itself, though nobody writes: to begin anew after it failed, to sync, to write a
    /// snapshot.
    func tend()

    /// Says what is public now, so that the log may write snapshots of it.
    func published(_ state: State)
}

/// Commits that could not be made durable.
package struct CommitLogError: Error, Hashable, CustomStringConvertible {
    /// What became of the commits.
    package enum Outcome: Sendable {
        /// They are not there and will not come back.
        case notDone
        /// They may be on disk or not. They are never served; after a crash they are ignored.
        case unknown
    }

    /// What kept them from being written.
    package enum Cause: Sendable {
        /// There is no room.
        case full
        /// Anything else.
        case failed
    }

    package let outcome: Outcome
    package let cause: Cause
    /// What failed, and what to do, for the operator: it may name files.
    package let description: String
    /// The same for callers, whom the files of the daemon do not concern.
    package let reason: String

    package init(_ outcome: Outcome, _ cause: Cause, _ description: String, reason: String? = nil) {
        self.outcome = outcome
        self.cause = cause
        self.description = description
        self.reason = reason ?? description
    }
}
