package import SettingsAPI
package import SettingsModel

/// A filter that admits the keys with given names and the keys with given prefixes. A filter without names and prefixes
/// admits all keys.
package struct KeyFilter: Hashable, Sendable {
    package static let everything = KeyFilter(keys: [], prefixes: [])

    /// The named keys, sorted, without duplicates.
    package let keys: [KeyName]
    /// The prefixes of keys, sorted. No prefix begins with another prefix.
    package let prefixes: [UTF8Text]
    /// A hash of all keys and prefixes. The initializer computes the hash, because a filter may have hundreds of keys
    /// and is often hashed.
    private let digest: Int

    package init(keys: [KeyName], prefixes: [String]) {
        self.keys = keys.sortedUnique()
        self.prefixes = [UTF8Text](ofPrefixes: prefixes)
        var hasher = Hasher()
        hasher.combine(self.keys)
        hasher.combine(self.prefixes)
        digest = hasher.finalize()
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(digest) }

    package var isEverything: Bool { keys.isEmpty && prefixes.isEmpty }

    package func admits(_ key: KeyName) -> Bool {
        isEverything || keys.last(upTo: key) == key || prefixes.hasPrefix(of: key.text)
    }
}

extension [UTF8Text] {
    /// Sorts prefixes. Removes each prefix that begins with another prefix, because each key with the longer prefix
    /// also has the shorter prefix.
    fileprivate init(ofPrefixes prefixes: [String]) {
        self = []
        for prefix in prefixes.map(UTF8Text.init).sortedUnique() {
            if let last, prefix.string.hasBytePrefix(last.string) { continue }
            append(prefix)
        }
    }

    /// True if a text begins with one of these sorted prefixes. Only the last prefix that is not after the text can
    /// match.
    fileprivate func hasPrefix(of text: String) -> Bool {
        last(upTo: UTF8Text(text)).map { text.hasBytePrefix($0.string) } ?? false
    }
}

extension Array where Element: Comparable {
    /// Returns the last element of this sorted array that does not come after another value.
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
    /// Returns the elements sorted and without duplicates.
    fileprivate func sortedUnique() -> [Element] {
        // Most calls pass an array that is already sorted and has no duplicates.
        guard !zip(self, dropFirst()).allSatisfy({ $0 < $1 }) else { return self }
        var unique: [Element] = []
        unique.reserveCapacity(count)
        for element in ordered(by: <) where element != unique.last { unique.append(element) }
        return unique
    }
}

/// The suites (named sets of settings) and keys of a watcher, which is a client that waits for their changes, and the
/// grants (rights) of the watcher.
package struct WatchSubject: Hashable, Sendable {
    /// The suites that the watcher names, sorted, without duplicates.
    package let suites: [SuiteName]
    /// Prefixes of the names of additional suites, sorted. No prefix begins with another prefix. The subject includes
    /// all suites with one of the prefixes, even suites that are created later.
    package let suitePrefixes: [UTF8Text]
    /// True if the request is for a single suite. The responses about a single suite have another form than the
    /// responses about several suites.
    package let isSingleSuite: Bool
    /// The keys to watch in each of the suites.
    package let filter: KeyFilter
    /// The grants of the watcher; nil if the watcher may read everything, including secrets.
    package let restrictedGrants: Grants?

    /// Makes the subject of a request for a single suite.
    package init(_ suite: SuiteName, _ filter: KeyFilter = .everything, for restrictedGrants: Grants? = nil) {
        suites = [suite]
        suitePrefixes = []
        isSingleSuite = true
        self.filter = filter
        self.restrictedGrants = restrictedGrants
    }

    /// Makes the subject of a request for several suites, even if the request names a single suite.
    package init(
        _ suites: [SuiteName], prefixes: [String] = [], _ filter: KeyFilter = .everything,
        for restrictedGrants: Grants? = nil
    ) {
        self.suites = suites.sortedUnique()
        suitePrefixes = [UTF8Text](ofPrefixes: prefixes)
        isSingleSuite = false
        self.filter = filter
        self.restrictedGrants = restrictedGrants
    }

    /// The number of names and prefixes.
    package var nameCount: Int { suites.count + suitePrefixes.count + filter.keys.count + filter.prefixes.count }

    /// True if a commit creates or drops a suite of the subject, changes the schema of the suite, or changes a key of
    /// the subject that the watcher may read.
    package func matches(_ commit: borrowing Commit) -> Bool {
        // Loops over indices avoid copies of thousands of changes, which would take most of the time.
        for index in commit.suiteChanges.indices where includes(commit.suiteChanges[index].suite) {
            return true
        }
        for index in commit.changes.indices where matches(commit.changes[index].suite, commit.changes[index].key) {
            return true
        }
        return false
    }

    /// True if a change concerns a key of the subject that the watcher may read.
    package func matches(_ change: Change) -> Bool { matches(change.suite, change.key) }

    /// True if a suite is part of the subject, and the watcher may read at least one of its keys.
    package func includes(_ suite: SuiteName) -> Bool {
        guard
            suites.count == 1 && suites[0] == suite || suites.last(upTo: suite) == suite
                || suitePrefixes.hasPrefix(of: suite.text)
        else { return false }
        return restrictedGrants?.canRead(suite) ?? true
    }

    private func matches(_ suite: SuiteName, _ key: KeyName) -> Bool {
        includes(suite) && filter.admits(key) && restrictedGrants?.canRead(suite, key) ?? true
    }
}
