import SettingsAPI
import SettingsModel
import TestSupport

/// What an answer says in the terms of the interface.
extension RawResponse {
    /// The body; a value of the greatest depth stands some levels down in it.
    var json: JSONValue? { try? JSONValue(parsing: body, maximumDepth: JSONValue.maximumDepthAroundValues) }
    /// The revision of the cursor that every answer carries.
    var revision: Revision? { field("Settings-Cursor").flatMap { Cursor($0)?.revision } }
    /// The type without its parameters.
    var type: String { String((field("Content-Type") ?? "").prefix { $0 != ";" }) }
    /// Whether it says that a write changed something.
    var tellsOfChange: Bool { json?["changed"] == true && json?["dryRun"] == nil && json?["replayed"] == nil }
}
