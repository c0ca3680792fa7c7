package import SettingsAPI
package import SettingsEngine
package import SettingsModel

/// A reader of the past: of the history in memory (`RecentPast`), or of files that reach further back.
///
/// A reader may read files, so event loops do not call it.
package protocol PastReading: Sendable {
    /// Returns the revision of a place in the past. Throws if it is still to come, or if what a suite was there is not kept.
    func revision(at moment: Moment, of suite: SuiteName) throws(Problem) -> Revision
    /// Returns a suite as it stood after a commit; nil if there was none.
    func suite(_ name: SuiteName, at place: Revision) throws(Problem) -> Suite?
    /// Returns a page of the commits that touched a suite, the newest first. Throws if nothing is known of such a suite.
    func history(_ question: HistoryQuestion) throws(Problem) -> SuiteHistory
    /// Returns the net changes of a suite between two places, of which the first may be the later one.
    func difference(
        of name: SuiteName, from: Moment, to: Moment, for reader: Grants?
    ) throws(Problem) -> SuiteDifference
    /// Adds to a write what it needs of the past that memory does not have. Throws if that is not kept.
    func complete(_ request: inout WriteRequest) throws(Problem)
}

extension RecentPast: PastReading {
    package func complete(_ request: inout WriteRequest) {}
}
