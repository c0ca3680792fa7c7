package import SettingsAPI
internal import SettingsModel

/// A state (all suites of settings, and the recent commits) to which commits of other daemons were applied, and a list
/// of these commits. A daemon follows other daemons if they add commits to a log that it shares with them.
///
/// ``StagedState/follow(_:)`` takes a followed state. It needs the list of commits to update its table of the request
/// keys (`Idempotency-Key`) by which repeated requests are recognised.
package struct FollowedState: Sendable {
    package private(set) var state: State
    /// The applied commits, oldest first.
    private(set) var commits: [RetainedCommit] = []
    /// The older commits that the history (the recent commits in memory) evicted when it added ``commits``.
    private(set) var evicted: [RetainedCommit] = []
    /// True if ``replace(with:)`` was called. ``commits`` then has only the commits that were applied afterwards.
    private(set) var wasReplaced = false

    package init(_ state: State) {
        self.state = state
    }

    package mutating func apply(_ commit: Commit) throws(CommitMismatch) {
        let retained = RetainedCommit(commit)
        evicted += try state.apply(retained)
        commits.append(retained)
    }

    /// Begins a new epoch (the name of a history). Its revisions cannot be compared with the revisions so far.
    package mutating func beginEpoch(_ epoch: Epoch, at revision: Revision) {
        state.beginEpoch(epoch, at: revision)
    }

    /// Replaces the state, with its history, by a state that was loaded.
    package mutating func replace(with state: State) {
        self = FollowedState(state)
        wasReplaced = true
    }
}
