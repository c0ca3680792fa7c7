import SettingsHTTP

/// Reads the commits of one or more suites, the newest first. Requests the history of each suite page by page.
struct CommitHistory {
    /// The part of a commit that changed one suite.
    struct SuiteCommit {
        let suite: SuiteName
        let commit: HistoryCommit
    }

    /// The criteria that the daemon applies to the commits, and the size of a page.
    struct Filter {
        let keys: [KeyName]
        let prefix: String?
        let caller: String?
        /// The maximum number of commits on a page. The daemon accepts 1 to 1000.
        let pageSize: Int
    }

    /// The commits of one suite that were read and not returned yet.
    private struct SuiteReader {
        let suite: SuiteName
        var commits: ArraySlice<HistoryCommit> = []
        /// The next page has the commits before this revision. Nil to begin with the newest commit.
        var before: Revision?
        var isAtEnd = false

        /// Reads the next page if all commits were returned.
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

    /// Returns the parts of the next commit: a part for each of the suites that the commit changed. Returns nil at the
    /// end.
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
