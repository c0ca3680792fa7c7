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
        // By places: a change is large, and thousands may be looked at for one answer.
        commit.suiteChanges.indices.contains { suites.contains(commit.suiteChanges[$0].suite) }
            || commit.changes.indices.contains { matches(commit.changes[$0].suite, commit.changes[$0].key) }
    }

    /// Whether a change of a key is one of those watched.
    package func matches(_ change: Change) -> Bool {
        matches(change.suite, change.key)
    }

    private func matches(_ suite: SuiteName, _ key: KeyName) -> Bool {
        suites.contains(suite) && filter.admits(key)
    }
}
