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
    package func matches(_ commit: borrowing Commit) -> Bool {
        // By places, and borrowed: thousands may be looked at for one answer, and copies would be most of that.
        for place in commit.suiteChanges.indices where suites.contains(commit.suiteChanges[place].suite) {
            return true
        }
        for place in commit.changes.indices where matches(commit.changes[place].suite, commit.changes[place].key) {
            return true
        }
        return false
    }

    /// Whether a change of a key is one of those watched.
    package func matches(_ change: Change) -> Bool {
        matches(change.suite, change.key)
    }

    private func matches(_ suite: SuiteName, _ key: KeyName) -> Bool {
        suites.contains(suite) && filter.admits(key)
    }
}
