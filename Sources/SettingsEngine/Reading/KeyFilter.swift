package import SettingsModel

/// Which keys of a suite somebody watches: those that are named and those that begin with a text, together; all of them
/// if neither is given.
package struct KeyFilter: Hashable, Sendable {
    /// All keys.
    package static let everything = KeyFilter(keys: [], prefixes: [])

    /// Keys by name, in order, each once.
    package let keys: [KeyName]
    /// What keys begin with, in order, each once.
    package let prefixes: [UTF8Text]

    package init(keys: [KeyName], prefixes: [String]) {
        // Mostly there is one, which is in order as it is.
        self.keys = keys.count < 2 ? keys : Set(keys).sorted()
        self.prefixes = prefixes.count < 2 ? prefixes.map(UTF8Text.init) : Set(prefixes.map(UTF8Text.init)).sorted()
    }

    /// Whether it lets any key pass.
    package var isEverything: Bool { keys.isEmpty && prefixes.isEmpty }

    /// Whether it lets a key pass.
    package func admits(_ key: KeyName) -> Bool {
        isEverything || names(key) || prefixes.contains { key.text.hasBytePrefix($0.string) }
    }

    /// Whether it names the key.
    private func names(_ key: KeyName) -> Bool {
        if keys.count == 1 { return keys[0] == key }
        var (low, high) = (0, keys.count)
        while low < high {
            let middle = (low + high) / 2
            if keys[middle] < key { low = middle + 1 } else { high = middle }
        }
        return low < keys.count && keys[low] == key
    }
}
