import SettingsAPI
import SettingsEngine
import SettingsModel

extension Commit {
    /// Writes the commit as a line of a journal, and returns the commit that a replay reads from this line. The line
    /// omits the values that the commit replaces, so the replay takes these values from `state`, the state before the
    /// commit.
    func writtenToJournalAndRead(on state: State) throws -> Commit {
        var line = JSONWriter()
        writeForJournal(to: &line)
        return try state.addingReplacedValues(to: Commit(json: JSONValue(parsing: line.bytes)))
    }
}
