package import SettingsModel
extension History {
    package func reaches(after revision: Revision) -> Bool { floor <= revision }
    package func floor(of suite: SuiteName) -> Revision { floor }
    package func commits(of suite: SuiteName, after revision: Revision) -> [KeptCommit] {
        commits(after: revision).filter { kept in kept.commit.changes.contains { $0.suite == suite } || kept.commit.suiteChanges.contains { $0.suite == suite } }
    }
}
