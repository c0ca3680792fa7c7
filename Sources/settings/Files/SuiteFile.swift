import SettingsHTTP
import SettingsModel

/// A setting as files hold it.
struct StoredSetting {
    let key: KeyName
    let value: JSONValue
}

/// A form of the files that `export` writes and `import` reads.
enum SuiteFile: String, CaseIterable {
    case json
    case env

    /// The form that `--format` names, else the one that the ending of a file says.
    init(_ name: String?, path: String = "") throws(ToolError) {
        guard let name else {
            self = path.hasSuffix(".env") ? .env : .json
            return
        }
        guard let format = SuiteFile(rawValue: name) else {
            throw .usage(
                "--format takes \(Self.allCases.map(\.rawValue).joined(separator: " or ")), not '\(Terminal.plain(name))'"
            )
        }
        self = format
    }

    /// Returns the text of settings that are ordered by key. Throws if the form cannot hold one of them.
    ///
    /// - Parameter schema: reads the schema, for a form without types.
    func text(of settings: [StoredSetting], schema: () throws -> Schema?) throws -> String {
        switch self {
        case .json: JSONValue.object(JSONObject(settings)).text(style: .pretty) + "\n"
        case .env: try EnvironmentFile.text(of: settings, schema: try schema())
        }
    }

    /// Reads the settings of a file. Throws if a key comes twice.
    ///
    /// - Parameter schema: reads the schema, for a form without types.
    func settings(of bytes: [UInt8], from path: String, schema: () throws -> Schema?) throws -> [StoredSetting] {
        do {
            switch self {
            case .json: return try Self.settings(of: try InputFile.json(parsing: bytes))
            case .env:
                let settings = try EnvironmentFile.settings(of: bytes, schema: try schema())
                var keys: Set<KeyName> = []
                for setting in settings where !keys.insert(setting.key).inserted {
                    throw ToolError(.failed, "\(setting.key) comes twice")
                }
                return settings
            }
        } catch let error as ToolError {
            throw ToolError(error.code, "\(InputFile.name(path)): \(error.message)")
        }
    }

    /// Reads the settings of a JSON object of keys.
    static func settings(of document: JSONValue) throws(ToolError) -> [StoredSetting] {
        guard let object = document.object else {
            throw ToolError(.failed, "expected a JSON object of keys, found \(document.kindPhrase)")
        }
        var settings: [StoredSetting] = []
        for member in object { settings.append(StoredSetting(key: try .named(member.name), value: member.value)) }
        return settings
    }
}

extension JSONObject {
    init(_ settings: [StoredSetting]) {
        self.init()
        for setting in settings { append(Member(name: setting.key.text, value: setting.value)) }
    }
}
