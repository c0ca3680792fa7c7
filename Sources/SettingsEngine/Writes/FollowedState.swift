package import SettingsAPI
internal import SettingsModel

/// A state (all suites of settings, and their history) with commits of other daemons, and a list of these commits.
///
/// The owner of a ``StagedState``, the state on which this daemon decides writes, passes the followed state to
/// ``StagedState/follow(_:)``. That method needs the list of commits to update its index of idempotency keys.
package struct FollowedState: Sendable {
    package private(set) var state: State
    /// The applied commits, oldest first.
    private(set) var commits: [RetainedCommit] = []
    /// The older commits that the history, which has a limit, dropped when it added ``commits``.
    private(set) var evicted: [RetainedCommit] = []
    /// True if ``replace(with:)`` was called. ``commits`` then has only the commits that were applied afterwards.
    private(set) var wasReplaced = false

    package init(_ state: State) {
        self.state = state
    }

    package mutating func apply(_ commit: Commit) throws(CommitMismatch) {
        let kept = RetainedCommit(commit)
        evicted += try state.apply(kept)
        commits.append(kept)
    }

    /// Begins a new epoch: another history, whose revisions cannot be compared with the revisions so far.
    package mutating func beginEpoch(_ epoch: Epoch, at revision: Revision) {
        state.beginEpoch(epoch, at: revision)
    }

    /// Replaces the state with a state that was loaded, together with its history.
    package mutating func replace(with state: State) {
        self = FollowedState(state)
        wasReplaced = true
    }
}
