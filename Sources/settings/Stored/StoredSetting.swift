import SettingsHTTP
import SettingsModel

/// A key and its stored value, in a suite or in a file of `import` and `export`.
struct StoredSetting {
    let key: KeyName
    let value: JSONValue

    /// Reads the settings from a JSON object whose members are keys with their values.
    static func all(of document: JSONValue) throws(ToolError) -> [StoredSetting] {
        guard let object = document.object else {
            throw ToolError(.failed, "expected a JSON object of keys, found \(document.kindPhrase)")
        }
        var settings: [StoredSetting] = []
        for member in object {
            do throws(ToolError) {
                settings.append(StoredSetting(key: try .named(member.name), value: member.value))
            } catch {
                // The error about a key has the code `usage`, but the key is in a file, not in the command line.
                throw ToolError(.failed, error.message)
            }
        }
        return settings
    }
}

extension JSONObject {
    init(_ settings: [StoredSetting]) {
        self.init()
        for setting in settings { append(Member(name: setting.key.text, value: setting.value)) }
    }
}

extension ToolError {
    /// Throws an error that lists the problems, if there are problems. Each problem is a line about a setting that a
    /// file format cannot represent.
    ///
    /// - Parameter format: the name of the file format.
    static func requireNoProblems(_ problems: [String], format: String) throws(ToolError) {
        guard !problems.isEmpty else { return }
        let first = "cannot export to \(format): the format cannot represent these values; use --format json"
        throw ToolError(.failed, ([first] + problems).joined(separator: "\n"))
    }
}
