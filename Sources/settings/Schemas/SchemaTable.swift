import SettingsHTTP

/// A Markdown table of the keys of a schema, as documentation of the settings.
enum SchemaTable {
    static func text(of schema: Schema, titled title: String) -> String {
        var text = "# \(title)\n\n"
        if let description = schema.document["description"]?.string { text += "\(description)\n\n" }
        text += "| key | value | default | about |\n|---|---|---|---|\n"
        for key in schema.keys {
            let allowed = (try? KeyName(key.name)).map { ValueReader($0, key.document).description } ?? ""
            let about = [
                key.document["description"]?.string ?? key.document["title"]?.string,
                key.document["readOnly"] == true ? "Locked." : nil, key.document["writeOnly"] == true ? "Secret." : nil,
                key.document["deprecated"] == true ? "Deprecated." : nil,
            ].compactMap(\.self).joined(separator: " ")
            let cells = [
                code(key.name), plain(allowed), key.document["default"].map { code($0.text()) } ?? "", plain(about),
            ]
            text += "| \(cells.joined(separator: " | ")) |\n"
        }
        return text
    }

    /// Returns the text as Markdown code. The delimiters have more backticks than any run of backticks in the text.
    private static func code(_ text: String) -> String {
        let longestRun = text.split { $0 != "`" }.map(\.count).max() ?? 0
        let (ticks, blank) = (String(repeating: "`", count: longestRun + 1), longestRun > 0 ? " " : "")
        return ticks + blank + cell(text) + blank + ticks
    }

    /// Returns the text with escapes before the characters that have a meaning in Markdown.
    private static func plain(_ text: String) -> String {
        cell(String(text.flatMap { "\\`*_<[".contains($0) ? ["\\", $0] : [$0] }))
    }

    private static func cell(_ text: String) -> String {
        Terminal.escaped(text.replacing("\n", with: " ")).replacing("|", with: "\\|")
    }
}
