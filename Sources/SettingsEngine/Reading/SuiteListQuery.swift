package import SettingsAPI
package import SettingsModel

/// A request for a page of a list of suites (named sets of settings), in ascending order of their names.
package struct SuiteListQuery: Sendable {
    package let prefix: String
    /// The last name of the previous page; nil for the first page.
    package let after: String?
    /// The maximum number of suites on the page.
    package let limit: Int
    /// The grants (rights) of a caller that may not read everything; otherwise nil.
    package let restrictedGrants: Grants?

    package init(prefix: String, after: String?, limit: Int, restrictedGrants: Grants?) {
        (self.prefix, self.after, self.limit, self.restrictedGrants) = (prefix, after, limit, restrictedGrants)
    }

    /// The name at which a search in the order of names begins.
    package var start: String { after.map { prefix.precedesInBytes($0) ? $0 : prefix } ?? prefix }

    /// True if the page may list the suite.
    package func admits(_ suite: SuiteName) -> Bool {
        suite.text.hasBytePrefix(prefix) && after?.precedesInBytes(suite.text) ?? true
            && restrictedGrants?.canRead(suite) ?? true
    }
}

extension RecentPast {
    /// The dropped suites that the query admits, each with the revision (the number) of its last commit. A suite is
    /// dropped if it does not exist and the history in memory has commits of it. Returns at most one suite more than
    /// fits on the page, so that the calling code knows whether there is another page.
    package func droppedSuites(_ query: SuiteListQuery) -> [SuiteName: Revision] {
        var dropped: [SuiteName: Revision] = [:]
        history.forEachLog(startingAt: query.start) { log in
            guard log.suite.text.hasBytePrefix(query.prefix), dropped.count <= query.limit else { return false }
            if query.admits(log.suite), !state.hasSuite(log.suite) { dropped[log.suite] = log.lastRevision }
            return true
        }
        return dropped
    }
}
