import SettingsHTTP

/// The commits of suites, the newest first. Reads the history of each suite page by page.
struct CommitHistory {
    /// A commit, as far as it touched one suite.
    struct SuiteCommit {
        let suite: SuiteName
        let commit: HistoryCommit
    }

    /// The commits to read.
    struct Filter {
        let keys: [KeyName]
        let prefix: String?
        let caller: String?
        /// The number of commits in a request, up to 1000.
        let pageSize: Int
    }

    /// The commits of one suite that were read and not returned yet.
    private struct SuiteReader {
        let suite: SuiteName
        var commits: ArraySlice<HistoryCommit> = []
        /// The place before which to read the next page; nil for the newest commits.
        var before: Revision?
        var isAtEnd = false

        /// Reads the next page if no commit is left.
        mutating func fill(from client: DaemonClient, _ filter: Filter) throws(SettingsError) {
            while commits.isEmpty, !isAtEnd {
                let page = try client.blocking.send(
                    .history(
                        of: suite, keys: filter.keys, prefix: filter.prefix, by: filter.caller, before: before,
                        limit: filter.pageSize))
                (commits, before, isAtEnd) = (page.commits[...], page.next, page.next == nil)
            }
        }
    }

    private let client: DaemonClient
    private let filter: Filter
    private var readers: [SuiteReader]

    /// - Parameter before: only commits before this revision; nil for all.
    init(of suites: [SuiteName], before: Revision?, _ filter: Filter, from client: DaemonClient) {
        (self.client, self.filter) = (client, filter)
        readers = suites.map { SuiteReader(suite: $0, before: before) }
    }

    /// Returns the next commit, with a part for each suite that it touched. Nil at the end.
    mutating func next() throws(SettingsError) -> [SuiteCommit]? {
        for position in readers.indices { try readers[position].fill(from: client, filter) }
        guard let newest = readers.compactMap({ $0.commits.first?.revision }).max() else { return nil }
        var parts: [SuiteCommit] = []
        for position in readers.indices where readers[position].commits.first?.revision == newest {
            let commit = readers[position].commits.removeFirst()
            parts.append(SuiteCommit(suite: readers[position].suite, commit: commit))
        }
        return parts
    }
}
