package import SettingsAPI
package import SettingsEngine
package import SettingsModel

/// Reads earlier states and commits of suites (named sets of settings). `RecentPast` reads only the history in memory.
/// `PastView` also reads past files, which have older commits. Reading a file blocks, so event loops must not call
/// `PastView`.
package protocol PastReading: Sendable {
    /// Returns a revision at which the suite was the same as at a moment, which is a revision or an instant. Throws if
    /// the given revision does not exist yet, or if the state of the suite at the moment is no longer kept.
    func revision(at moment: Moment, of suite: SuiteName) throws(Problem) -> Revision
    /// Returns a suite as it was after a commit; nil if the suite did not exist.
    func suite(_ name: SuiteName, at revision: Revision) throws(Problem) -> Suite?
    /// Returns a page of the commits that changed a suite, the newest first. Throws if the suite is unknown.
    func history(_ query: HistoryQuery) throws(Problem) -> SuiteHistory
    /// Returns dropped suites of which commits are kept, each with the revision of its last commit: the first suites of
    /// the query in the order of names, possibly more than fit on the page.
    func droppedSuites(_ query: SuiteListQuery) throws(Problem) -> [SuiteName: Revision]
    /// Returns the net changes of a suite from one moment to another, which may be earlier. `grants` are the grants of
    /// a caller that may not read everything; nil if the caller may read everything.
    func difference(
        of name: SuiteName, from: Moment, to: Moment, for grants: Grants?
    ) throws(Problem) -> SuiteDifference
    /// Reads from past files the commits or the suite that an undo or a restore needs, and adds this data to the
    /// request. Throws if the past files no longer contain the data.
    func readPast(for request: inout WriteRequest) throws(Problem)
}

extension RecentPast: PastReading {
    /// Does nothing: the decide stage finds commits in memory itself.
    package func readPast(for request: inout WriteRequest) {}
}
