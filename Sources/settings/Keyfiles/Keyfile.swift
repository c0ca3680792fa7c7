import SettingsHTTP
import SettingsModel

/// The format of `dconf dump` and `dconf load`: groups of lines `key=value`, with values in the text form of GVariant.
///
/// The key `c` in the group `[a/b]` is the setting `a/b/c`. A key in the group `[/]` is a setting without a slash in
/// its name. The schema of a key may have the keyword `x-gvariant` with a type, such as `u` or `(ss)`. A value is
/// written with this type if the value fits the type, otherwise with the GVariant type that is most similar to the JSON
/// value (see ``GVariantWriter/text(of:)``).
enum Keyfile {
    /// Reads the settings of a file. Throws if the file is not valid, for example if a key occurs twice.
    static func settings(of bytes: [UInt8]) throws(ToolError) -> [StoredSetting] {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw ToolError(.failed, "not valid UTF-8") }
        var (settings, keys, group): ([StoredSetting], Set<KeyName>, String?) = ([], [], nil)
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, lineBytes) in lines.enumerated() {
            do throws(ToolError) {
                let line = trimmed(Substring(lineBytes))
                if line.isEmpty || line.hasPrefix("#") { continue }
                if line.hasPrefix("["), line.hasSuffix("]") {
                    group = try prefix(of: line.dropFirst().dropLast())
                    continue
                }
                guard let equals = line.utf8.firstIndex(of: UInt8(ascii: "=")) else {
                    throw ToolError(.failed, "expected [GROUP] or KEY=VALUE")
                }
                guard let group else {
                    throw ToolError(
                        .failed, "the file must begin with a group header such as [/], as 'dconf dump' writes it")
                }
                let key = try KeyName.named(group + trimmed(line[..<equals]))
                guard keys.insert(key).inserted else { throw ToolError(.failed, "\(key) occurs twice") }
                let value = try GVariantReader.read(String(line[line.utf8.index(after: equals)...]))
                settings.append(StoredSetting(key: key, value: value))
            } catch {
                throw ToolError(error.code, "line \(index + 1): \(error.message)")
            }
        }
        return settings
    }

    /// The prefix of the keys of settings in a group.
    private static func prefix(of group: Substring) throws(ToolError) -> String {
        if group == "/" { return "" }
        guard hasNoEmptyPart(group) else {
            throw ToolError(
                .failed, "'\(group)' is not a group; write a path such as a/b without empty parts, or / alone")
        }
        return group + "/"
    }

    private static func hasNoEmptyPart(_ text: Substring) -> Bool {
        text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy { !$0.isEmpty }
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while let first = text.utf8.first, " \t\r".utf8.contains(first) { text = Substring(text.utf8.dropFirst()) }
        while let last = text.utf8.last, " \t\r".utf8.contains(last) { text = Substring(text.utf8.dropLast()) }
        return text
    }

    /// Returns the text of a file with settings. Throws an error that names each key that the file cannot represent,
    /// and each key whose value the file cannot represent.
    static func text(of settings: [StoredSetting], schema: Schema?) throws(ToolError) -> String {
        var (groups, problems): ([UTF8Text: String], [String]) = ([:], [])
        for setting in settings {
            guard let (group, name) = parts(of: setting.key.text) else {
                problems.append(
                    "  \(setting.key): a key of dconf must not have =, [ or ], an empty part between slashes, "
                        + "a blank beside a slash or at an end, or # at the beginning of the last part")
                continue
            }
            guard let text = text(of: setting.value, schema?.key(setting.key.text)?.document) else {
                problems.append("  \(setting.key): GVariant cannot hold this value")
                continue
            }
            groups[UTF8Text(group), default: ""] += "\(name)=\(text)\n"
        }
        try ToolError.requireNoProblems(problems, format: "dconf")
        return groups.sorted { $0.key < $1.key }.map { "[\($0.key.string)]\n\($0.value)" }.joined(separator: "\n")
    }

    /// Returns a text from which the reader reads the same value; nil if there is no such text.
    private static func text(of value: JSONValue, _ schema: JSONValue?) -> String? {
        let type = schema?["x-gvariant"]?.string.flatMap { GVariantType($0) }
        let texts = [type.flatMap { GVariantWriter.text(of: value, as: $0) }, GVariantWriter.text(of: value)]
        return texts.lazy.compactMap(\.self).first { (try? GVariantReader.read($0)) == value }
    }

    /// Splits the key of a setting into its group and its name in the group; nil if the format cannot represent the
    /// key.
    private static func parts(of key: String) -> (group: String, name: String)? {
        guard hasNoEmptyPart(Substring(key)), !key.utf8.contains(where: { "=[]".utf8.contains($0) }) else { return nil }
        var path = key.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
        let name = path.removeLast()
        guard path.allSatisfy({ trimmed(Substring($0)).utf8.count == $0.utf8.count }), !name.hasPrefix("#"),
            trimmed(Substring(name)).utf8.count == name.utf8.count
        else { return nil }
        return (path.isEmpty ? "/" : path.joined(separator: "/"), name)
    }
}
