import SettingsHTTP
import SettingsModel

/// A setting as suites store it and files hold it.
struct StoredSetting {
    let key: KeyName
    let value: JSONValue

    /// Reads the settings of a JSON object of keys.
    static func all(of document: JSONValue) throws(ToolError) -> [StoredSetting] {
        guard let object = document.object else {
            throw ToolError(.failed, "expected a JSON object of keys, found \(document.kindPhrase)")
        }
        var settings: [StoredSetting] = []
        for member in object {
            do throws(ToolError) {
                settings.append(StoredSetting(key: try .named(member.name), value: member.value))
            } catch {
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
    /// Throws if there are problems, which each name a key that a form of files cannot hold.
    static func check(_ problems: [String], form: String) throws(ToolError) {
        guard !problems.isEmpty else { return }
        let first = "cannot export to \(form): the form cannot represent these values; use --format json"
        throw ToolError(.failed, ([first] + problems).joined(separator: "\n"))
    }
}
