package import SettingsAPI
internal import SettingsModel

/// A state (all suites of settings, and the history in memory) to which commits of other daemons were applied, and a
/// list of these commits. Several daemons can share a commit log. Each daemon *follows* the others: it applies the
/// commits that the other daemons add to the log.
///
/// ``StagedState/follow(_:)`` has a parameter of this type. The method needs the list of commits to update the table of
/// request keys (`Idempotency-Key`), by which the daemon recognises repeated requests.
package struct FollowedState: Sendable {
    package private(set) var state: State
    /// The applied commits, oldest first.
    private(set) var commits: [RetainedCommit] = []
    /// The older commits that the history in memory evicted when the daemon applied ``commits``.
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

    /// Begins a new epoch: the history gets another name, and `revision` (the number of a commit) becomes the revision
    /// of the state. The revisions of different epochs cannot be compared.
    package mutating func beginEpoch(_ epoch: Epoch, at revision: Revision) {
        state.beginEpoch(epoch, at: revision)
    }

    /// Replaces the state and its history by a state that the daemon has loaded as a whole.
    package mutating func replace(with state: State) {
        self = FollowedState(state)
        wasReplaced = true
    }
}
