import SettingsAPI
import SettingsEngine
import SettingsModel

extension Commit {
    /// Returns the commit as a replay reads it from a line of a journal. The line omits the values that the commit
    /// replaces, so they come from `state`, the state before the commit.
    func journaled(on state: State) throws -> Commit {
        var line = JSONWriter()
        writeForJournal(to: &line)
        return try state.addingReplacedValues(to: Commit(json: JSONValue(parsing: line.bytes)))
    }
}
