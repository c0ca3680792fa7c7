package import SettingsAPI
package import SettingsModel

/// A filter of keys: those that are named and those that begin with a prefix, together; all keys if neither is given.
package struct KeyFilter: Hashable, Sendable {
    package static let everything = KeyFilter(keys: [], prefixes: [])

    /// Keys by name, in order, each once.
    package let keys: [KeyName]
    /// Prefixes of keys, in order, none of which begins with another.
    package let prefixes: [UTF8Text]
    /// A hash of all names, which are hundreds at times and looked up again and again.
    private let digest: Int

    package init(keys: [KeyName], prefixes: [String]) {
        self.keys = keys.sortedUnique()
        self.prefixes = [UTF8Text](ofPrefixes: prefixes)
        var hasher = Hasher()
        hasher.combine(self.keys)
        hasher.combine(self.prefixes)
        digest = hasher.finalize()
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(digest)
    }

    package var isEverything: Bool { keys.isEmpty && prefixes.isEmpty }

    package func admits(_ key: KeyName) -> Bool {
        isEverything || keys.last(upTo: key) == key || prefixes.hasPrefix(of: key.text)
    }
}

extension [UTF8Text] {
    /// Prefixes in order. One that begins with another says nothing more.
    fileprivate init(ofPrefixes prefixes: [String]) {
        self = []
        for prefix in prefixes.map(UTF8Text.init).sortedUnique() {
            if let last, prefix.string.hasBytePrefix(last.string) { continue }
            append(prefix)
        }
    }

    /// True if a text begins with one of the prefixes, which can only be the last before it.
    fileprivate func hasPrefix(of text: String) -> Bool {
        last(upTo: UTF8Text(text)).map { text.hasBytePrefix($0.string) } ?? false
    }
}

extension Array where Element: Comparable {
    /// Returns the last element in order that does not come after another one.
    fileprivate func last(upTo other: Element) -> Element? {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if other < self[middle] { high = middle } else { low = middle + 1 }
        }
        return low == 0 ? nil : self[low - 1]
    }
}

extension Array where Element: Comparable {
    /// Returns the elements in order, each once. Mostly they are so already.
    fileprivate func sortedUnique() -> [Element] {
        guard !zip(self, dropFirst()).allSatisfy({ $0 < $1 }) else { return self }
        var unique: [Element] = []
        unique.reserveCapacity(count)
        for element in ordered(by: <) where element != unique.last { unique.append(element) }
        return unique
    }
}

/// The suites and keys that a watcher asks for.
package struct WatchSubject: Hashable, Sendable {
    /// The suites that are named, in order, each once.
    package let suites: [SuiteName]
    /// The prefixes of further suites, in order, none of which begins with another. Those suites come and go.
    package let suitePrefixes: [UTF8Text]
    /// True if it was asked for as one suite, which has answers of its own form.
    package let isSingleSuite: Bool
    package let filter: KeyFilter
    /// The grants of a watcher that may not see everything.
    package let reader: Grants?

    /// One suite.
    package init(_ suite: SuiteName, _ filter: KeyFilter = .everything, for reader: Grants? = nil) {
        suites = [suite]
        suitePrefixes = []
        isSingleSuite = true
        self.filter = filter
        self.reader = reader
    }

    /// Several suites.
    package init(
        _ suites: [SuiteName], prefixes: [String] = [], _ filter: KeyFilter = .everything, for reader: Grants? = nil
    ) {
        self.suites = suites.sortedUnique()
        suitePrefixes = [UTF8Text](ofPrefixes: prefixes)
        isSingleSuite = false
        self.filter = filter
        self.reader = reader
    }

    /// The number of names and prefixes.
    package var nameCount: Int {
        suites.count + suitePrefixes.count + filter.keys.count + filter.prefixes.count
    }

    /// True if a commit concerns the watchers of this. What happens to a suite as a whole concerns all of its watchers.
    package func matches(_ commit: borrowing Commit) -> Bool {
        // By places, and borrowed: one answer may look at thousands, and copies would be most of the work.
        for place in commit.suiteChanges.indices where includes(commit.suiteChanges[place].suite) {
            return true
        }
        for place in commit.changes.indices where matches(commit.changes[place].suite, commit.changes[place].key) {
            return true
        }
        return false
    }

    /// True if a change is of a key that is watched.
    package func matches(_ change: Change) -> Bool {
        matches(change.suite, change.key)
    }

    /// True if a suite is watched.
    package func includes(_ suite: SuiteName) -> Bool {
        guard
            suites.count == 1 && suites[0] == suite || suites.last(upTo: suite) == suite
                || suitePrefixes.hasPrefix(of: suite.text)
        else { return false }
        return reader?.canRead(suite) ?? true
    }

    private func matches(_ suite: SuiteName, _ key: KeyName) -> Bool {
        includes(suite) && filter.admits(key) && reader?.canRead(suite, key) ?? true
    }
}
