import SettingsHTTP
import SettingsModel

/// The values of the environment variables that `settings run` sets, by the names of the variables.
typealias ProgramVariables = [String: UTF8Text]

/// The rules that make environment variables from settings.
///
/// The name of a variable is the key in capitals. An underscore replaces each ASCII character that is neither a letter
/// nor a digit. An underscore also separates the words of a key such as `launchCount`: `LAUNCH_COUNT`.
struct VariableMapping {
    /// Only keys that begin with this text become variables. The names of the variables do not contain the text.
    var keyPrefix = ""
    /// The beginning of the names of all variables, except the names in ``names``.
    var namePrefix = ""
    /// The names of variables that the user has chosen with `--map`, by key.
    var names: [KeyName: String] = [:]
    /// The keys that become variables: complete keys, and beginnings of keys with a `*` at the end. Empty for all keys.
    var patterns: [String] = []
    /// True if secrets become variables.
    var includesSecrets = false

    /// The maximum number of bytes of a variable: its name, an equals sign and its value. Linux allows 131,072 bytes
    /// with the terminating zero byte.
    private static let maximumSize = 131_071

    /// Returns the variables of settings. Throws an error that names each setting that cannot become a variable.
    func variables(of settings: [EffectiveSetting]) throws(ToolError) -> ProgramVariables {
        var variables: ProgramVariables = [:]
        var owners: [String: EffectiveSetting] = [:]
        var (problems, code) = ([String](), ExitCode.failed)
        for setting in settings where selects(setting) {
            // A secret that the caller may not read has no value.
            guard let value = setting.value else {
                let error = ToolError(concealed: setting.key, in: setting.suite)
                problems.append(error.message)
                code = error.code
                continue
            }
            let (name, text) = (name(of: setting.key), value.unquotedText)
            if let other = owners.updateValue(setting, forKey: name) {
                problems.append("\(other.title) and \(setting.title) both become \(Terminal.escaped(name))")
            } else if !Self.isName(name) {
                problems.append(
                    "\(setting.title) becomes '\(Terminal.escaped(name))', which is not a valid name of a variable")
            } else if text.utf8.contains(0) {
                problems.append("the value of \(setting.title) contains a zero byte")
            } else if name.utf8.count + 1 + text.utf8.count > Self.maximumSize {
                problems.append(
                    "the value of \(setting.title) has \(text.utf8.count) bytes, but the name, '=' and the value "
                        + "together may have at most \(Self.maximumSize) bytes")
            }
            variables[name] = UTF8Text(text)
        }
        guard !problems.isEmpty else { return variables }
        throw ToolError(
            code,
            "cannot make variables of the settings: \(problems.joined(separator: "; ")); choose other names with --map, "
                + "or fewer settings with --only")
    }

    private func selects(_ setting: EffectiveSetting) -> Bool {
        let key = setting.key.text.utf8
        guard includesSecrets || !setting.isSecret, key.starts(with: keyPrefix.utf8) else { return false }
        return patterns.isEmpty
            || patterns.contains { pattern in
                pattern.hasSuffix("*")
                    ? key.starts(with: pattern.utf8.dropLast()) : setting.key.text.hasSameBytes(as: pattern)
            }
    }

    /// Returns the name of the variable for a key. A character that is not ASCII stays in the name, so that
    /// ``variables(of:)`` refuses the name. If an underscore replaced the character, keys that differ only in this
    /// character would get the same name.
    private func name(of key: KeyName) -> String {
        if let name = names[key] { return name }
        var name = Array(namePrefix.utf8)
        var isAfterSmallLetterOrDigit = false
        for byte in key.text.utf8.dropFirst(keyPrefix.utf8.count) {
            let isCapital = Self.capitals.contains(byte)
            if isCapital, isAfterSmallLetterOrDigit { name.append(UInt8(ascii: "_")) }
            isAfterSmallLetterOrDigit = Self.smallLetters.contains(byte) || Self.digits.contains(byte)
            switch byte {
            case Self.smallLetters: name.append(byte - 32)  // The capital letter.
            case Self.capitals, Self.digits, 0x80...: name.append(byte)
            default: name.append(UInt8(ascii: "_"))
            }
        }
        return String(decoding: name, as: UTF8.self)
    }

    /// True if the text is a valid name of a variable in every shell.
    static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, !digits.contains(first) else { return false }
        return text.utf8.allSatisfy { byte in
            smallLetters.contains(byte) || capitals.contains(byte) || digits.contains(byte) || byte == UInt8(ascii: "_")
        }
    }

    private static let smallLetters = UInt8(ascii: "a")...UInt8(ascii: "z")
    private static let capitals = UInt8(ascii: "A")...UInt8(ascii: "Z")
    private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
}
