package import SettingsAPI
internal import SettingsModel

/// A state with commits applied to it that were decided elsewhere, and the list of these commits.
///
/// The owner of a ``StagedState`` passes it to ``StagedState/follow(_:)``, which needs the list for its index of request keys.
package struct FollowedState: Sendable {
    package private(set) var state: State
    private(set) var commits: [KeptCommit] = []
    /// The commits that left the history.
    private(set) var evicted: [KeptCommit] = []
    /// True if ``replace(with:)`` was called, so that the list says nothing about the commits before.
    private(set) var isReplaced = false

    package init(_ state: State) {
        self.state = state
    }

    /// Applies a commit.
    package mutating func apply(_ commit: Commit) throws(CommitMismatch) {
        let kept = KeptCommit(commit)
        evicted += try state.apply(kept)
        commits.append(kept)
    }

    /// Begins a new epoch.
    package mutating func beginEpoch(_ epoch: Epoch, at revision: Revision) {
        state.beginEpoch(epoch, at: revision)
    }

    /// Continues from another state, which has its own history.
    package mutating func replace(with state: State) {
        self = FollowedState(state)
        isReplaced = true
    }
}
