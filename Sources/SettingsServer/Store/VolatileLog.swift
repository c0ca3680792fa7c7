package import SettingsModel

/// A log that keeps nothing.
package final class VolatileLog: CommitLog {
    package init() {}
    package func stage(_ commit: Commit, after predecessor: Revision) -> Int { 300 }
    package func discard() {}
    package func flush() throws(CommitLogError) {}
    package func published(_ state: State) {}
}
