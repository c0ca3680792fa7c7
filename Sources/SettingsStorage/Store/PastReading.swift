package import SettingsAPI
package import SettingsEngine
package import SettingsModel

/// Reads the past of suites (named sets of settings): from the history in memory (`RecentPast`), or also from files.
///
/// The methods may read files, so event loops must not call them.
package protocol PastReading: Sendable {
    /// Returns the revision at a moment (a revision or an instant). Throws if the moment is in the future, or if the
    /// state of the suite at the moment is no longer kept.
    func revision(at moment: Moment, of suite: SuiteName) throws(Problem) -> Revision
    /// Returns a suite as it was after a commit; nil if it did not exist.
    func suite(_ name: SuiteName, at revision: Revision) throws(Problem) -> Suite?
    /// Returns a page of the commits that changed a suite, the newest first. Throws if the suite is unknown.
    func history(_ query: HistoryQuery) throws(Problem) -> SuiteHistory
    /// Returns the net changes of a suite between two moments, in any order, that a caller with the grants may see.
    func difference(
        of name: SuiteName, from: Moment, to: Moment, for reader: Grants?
    ) throws(Problem) -> SuiteDifference
    /// Reads the past data that an undo or a restore needs, into the request. Throws if the data are no longer kept.
    func complete(_ request: inout WriteRequest) throws(Problem)
}

extension RecentPast: PastReading {
    package func complete(_ request: inout WriteRequest) {}
}
