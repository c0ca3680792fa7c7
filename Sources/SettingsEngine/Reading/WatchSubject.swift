package import SettingsAPI
package import SettingsModel

/// What an observer watches: one suite, or several by name and by what their names begin with; and which of their keys.
package struct WatchSubject: Hashable, Sendable {
    /// The suites that are named, in order, each once.
    package let suites: [SuiteName]
    /// What the names of further suites begin with, in order, each once. Those suites come and go.
    package let suitePrefixes: [UTF8Text]
    /// Whether it was asked for as one suite, which has answers of its own form.
    package let isOne: Bool
    /// Which keys.
    package let filter: KeyFilter

    /// One suite.
    package init(_ suite: SuiteName, _ filter: KeyFilter = .everything) {
        suites = [suite]
        suitePrefixes = []
        isOne = true
        self.filter = filter
    }

    /// Several suites.
    package init(_ suites: [SuiteName], prefixes: [String] = [], _ filter: KeyFilter = .everything) {
        self.suites = Set(suites).sorted()
        suitePrefixes = Set(prefixes.map(UTF8Text.init)).sorted()
        isOne = false
        self.filter = filter
    }

    /// Whether a commit concerns whoever watches this. What happens to a suite as a whole concerns all of its watchers.
    package func matches(_ commit: borrowing Commit) -> Bool {
        // By places, and borrowed: thousands may be looked at for one answer, and copies would be most of that.
        for place in commit.suiteChanges.indices where includes(commit.suiteChanges[place].suite) {
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

    /// Whether a suite is one of those watched.
    package func includes(_ suite: SuiteName) -> Bool {
        suites.contains(suite) || suitePrefixes.contains { suite.text.hasBytePrefix($0.string) }
    }

    private func matches(_ suite: SuiteName, _ key: KeyName) -> Bool {
        includes(suite) && filter.admits(key)
    }
}
