package import SettingsModel

/// What somebody watches: one suite or several, and which of their keys.
package struct WatchSubject: Hashable, Sendable {
    /// The suites, in order, each once.
    package let suites: [SuiteName]
    /// Whether it was asked for as one suite, which has answers of its own form.
    package let isOne: Bool
    /// Which keys.
    package let filter: KeyFilter

    /// One suite.
    package init(_ suite: SuiteName, _ filter: KeyFilter = .everything) {
        suites = [suite]
        isOne = true
        self.filter = filter
    }

    /// Several suites.
    package init(_ suites: [SuiteName], _ filter: KeyFilter = .everything) {
        self.suites = Set(suites).sorted()
        isOne = false
        self.filter = filter
    }

    /// Whether a commit concerns whoever watches this. What happens to a suite as a whole concerns all of its watchers.
    package func matches(_ commit: Commit) -> Bool {
        commit.suiteChanges.contains { suites.contains($0.suite) } || commit.changes.contains(where: matches)
    }

    /// Whether a change of a key is one of those watched.
    package func matches(_ change: Change) -> Bool {
        suites.contains(change.suite) && filter.admits(change.key)
    }
}
