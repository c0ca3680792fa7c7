internal import Platform
internal import SettingsAPI

extension DataDirectory {
    /// The name of a past file: `past-3-17.jsonl` has the commits after revision 3 up to revision 17. Past files have
    /// older commits, which the daemon may have evicted from memory.
    package struct PastFileName: Hashable, Sendable {
        let name: String
        /// The revision before the first commit.
        let from: Revision
        /// The revision of the last commit.
        let to: Revision

        init?(_ name: String) {
            let (prefix, suffix) = ("past-", ".jsonl")
            guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return nil }
            let bounds = name.dropFirst(prefix.count).dropLast(suffix.count)
                .split(separator: "-", omittingEmptySubsequences: false)
            guard bounds.count == 2, let from = Revision(bounds[0]), let to = Revision(bounds[1]), from < to else {
                return nil
            }
            (self.name, self.from, self.to) = (name, from, to)
        }
    }

    static func pastFileName(from: Revision, to: Revision) -> String { "past-\(from)-\(to).jsonl" }

    /// Renames the past files that contain commits after the last recovered commit, so that the daemon no longer reads
    /// these files. The journals lost these commits in a crash, or older copies replaced the journals. Returns the
    /// former names of the files.
    func setAsidePastFiles(after last: Revision) throws(FileError) -> [PastFileName] {
        let listing = try list()
        let unrecovered = listing.pastFiles.filter { $0.to > last }
        for file in unrecovered {
            try fileSystem.rename(path(of: file.name), to: path(of: listing.unusedSetAsideName(for: file.name)))
        }
        if !unrecovered.isEmpty { try fileSystem.syncDirectory(path) }
        return unrecovered
    }
}
