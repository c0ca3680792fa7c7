import SettingsHTTP
import SettingsModel

/// The format of a file that `export` writes and `import` reads.
enum SuiteFileFormat: String, CaseIterable {
    case json
    case env
    /// A property list in XML.
    case plist
    /// A binary property list.
    case bplist
    /// A keyfile with GVariant text.
    case dconf

    /// The values that `--format` takes.
    static let names = allCases.map(\.rawValue).joined(separator: "|")

    /// Finds the format by its name. If the name is nil, finds the format by the extension of the file. For an unknown
    /// extension, the format is JSON.
    ///
    /// - Parameter name: the value of `--format`, which the parser of the command line has checked.
    init(_ name: String?, path: String = "") {
        self = name.flatMap(Self.init) ?? Self.allCases.first { path.hasSuffix(".\($0.rawValue)") } ?? .json
    }

    /// Returns the bytes of a file with settings, which the calling code has ordered by key. Throws if the format
    /// cannot represent a setting.
    ///
    /// - Parameter schema: reads the schema of the suite, which determines how a value is written. Not called for JSON.
    func bytes(of settings: [StoredSetting], schema: () throws -> Schema? = { nil }) throws -> [UInt8] {
        switch self {
        case .json: Array((JSONValue.object(JSONObject(settings)).text(style: .pretty) + "\n").utf8)
        case .env: Array(try EnvironmentFile.text(of: settings, schema: try schema()).utf8)
        case .plist: try PropertyList.bytes(of: settings, isBinary: false, schema: try schema())
        case .bplist: try PropertyList.bytes(of: settings, isBinary: true, schema: try schema())
        case .dconf: Array(try Keyfile.text(of: settings, schema: try schema()).utf8)
        }
    }

    /// Reads the settings of a file. Throws if a key occurs twice.
    ///
    /// - Parameter schema: reads the schema of the suite, which determines the type of each value. Called only for
    ///   `.env`, because the other formats contain the types.
    func settings(of bytes: [UInt8], from path: String, schema: () throws -> Schema?) throws -> [StoredSetting] {
        do {
            switch self {
            case .json: return try StoredSetting.all(of: try InputFile.json(parsing: bytes))
            case .plist, .bplist: return try PropertyList.settings(of: bytes)
            case .dconf: return try Keyfile.settings(of: bytes)
            case .env: return try EnvironmentFile.settings(of: bytes, schema: try schema())
            }
        } catch let error as ToolError {
            // An invalid name in a file throws `usage`, but the command line is correct.
            throw ToolError(
                error.code == .usage ? .failed : error.code, "cannot read \(InputFile.name(path)): \(error.message)")
        }
    }
}
