import SettingsAPI
import SettingsEngine
import SettingsModel

extension Commit {
    /// Returns the commit as it is read from a line of a journal that is replayed on the state before it.
    func journaled(on state: State) throws -> Commit {
        var line = JSONWriter()
        writeForJournal(to: &line)
        return try state.addingReplacedValues(to: Commit(json: JSONValue(parsing: line.bytes)))
    }
}
