internal import Platform
internal import SettingsAPI

extension DataDirectory {
    /// The name of a past file, which says what it has.
    package struct PastName: Hashable, Sendable {
        let name: String
        let from: Revision
        let to: Revision

        init?(_ name: String) {
            guard name.hasPrefix("past-"), name.hasSuffix(".jsonl") else { return nil }
            let ends = name.dropFirst(5).dropLast(6).split(separator: "-", omittingEmptySubsequences: false)
            guard ends.count == 2, let from = Revision(ends[0]), let to = Revision(ends[1]), from < to else {
                return nil
            }
            (self.name, self.from, self.to) = (name, from, to)
        }
    }

    static func pastName(_ from: Revision, _ to: Revision) -> String { "past-\(from)-\(to).jsonl" }

    /// Sets past files aside that have commits behind the last one that was recovered: what they have never was, or is of
    /// another history. Syncs the directory if there were any.
    func setAsidePast(behind last: Revision) throws(FileError) -> [PastName] {
        let listing = try list()
        let stale = listing.past.filter { $0.to > last }
        for file in stale {
            try fileSystem.rename(path(of: file.name), to: path(of: listing.freeAsideName(of: file.name)))
        }
        if !stale.isEmpty { try fileSystem.syncDirectory(path) }
        return stale
    }
}
