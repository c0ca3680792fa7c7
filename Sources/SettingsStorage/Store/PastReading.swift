package import SettingsAPI
package import SettingsEngine
package import SettingsModel

/// A reader of the past: a state, of what it has in memory, or a view that reaches further back.
///
/// What is not in memory is read from elsewhere, so not on a loop.
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

extension State: PastReading {
    package func complete(_ request: inout WriteRequest) {}

    /// True if a write may need what memory does not have.
    package func lacksPast(for command: WriteRequest.Command) -> Bool {
        switch command {
        case .undo(let undo, of: let name, onConflict: _):
            history.commit(undo.revision) == nil || name.map { undo.revision <= oldestAvailable(of: $0) } ?? false
        case .restore(let name, let restore, skipsConflicts: _):
            switch restore.moment {
            case .revision(let revision): revision < oldestAvailable(of: name)
            case .instant: true
            }
        default: false
        }
    }
}
