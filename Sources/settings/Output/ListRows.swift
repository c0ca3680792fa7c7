import SettingsHTTP

extension SuiteListing.Entry: ListRow {
    var cells: [Table.Cell] {
        [
            Table.Cell(suite.text, .strong), Table.Cell("\(keyCount) \(keyCount == 1 ? "key" : "keys")"),
            Table.Cell("revision \(revision)"), Table.Cell(hasSchema ? "" : "no schema", .faint),
        ]
    }

    var fields: [String] { [suite.text, "\(keyCount)", "\(revision)", "\(hasSchema)"] }

    func json(showsSecrets: Bool) -> JSONValue {
        .members([
            "suite": .string(suite.text), "keys": .integer(keyCount), "revision": .integer(revision.number),
            "schema": .bool(hasSchema),
        ])
    }
}

/// A setting in the list of a suite.
struct ListedSetting: ListRow {
    let entry: KeyListing.Entry

    static let tableColumns = ["key", "type", "source", "value"]
    static let columns = tableColumns + ["revision", "secret"]

    var cells: [Table.Cell] {
        let setting = entry.setting
        let source = setting.source == .stored ? "" : setting.source.name
        let style: Terminal.Style? = setting.source == .invalid ? .bad : setting.source == .stored ? nil : .faint
        return [
            Table.Cell(setting.key.text), Table.Cell(entry.type, .faint), Table.Cell(source, style),
            Table.Cell(setting.shown, style),
        ]
    }

    var fields: [String] {
        let setting = entry.setting
        let value = setting.isSecret ? nil : setting.value ?? setting.stored
        return [
            setting.key.text, entry.type, setting.source.name, value?.unquotedText ?? "", "\(setting.revision)",
            "\(setting.isSecret)",
        ]
    }

    func json(showsSecrets: Bool) -> JSONValue { entry.setting.summary(showsSecrets: showsSecrets) }
}

/// A setting that the command `find` found.
struct FoundSetting: ListRow {
    let setting: ListedSetting
    let suite: SuiteName
    /// The description in the schema; nil if the description does not contain the text that `find` searches for.
    let description: String?

    static let tableColumns = ["suite"] + ListedSetting.tableColumns + ["description"]
    static let columns = ["suite"] + ListedSetting.columns + ["description"]

    var cells: [Table.Cell] {
        [Table.Cell(suite.text, .faint)] + setting.cells + [Table.Cell(description ?? "", .faint)]
    }

    var fields: [String] { [suite.text] + setting.fields + [description ?? ""] }

    func json(showsSecrets: Bool) -> JSONValue {
        setting.entry.setting.summary(showsSecrets: showsSecrets, description: description)
    }
}

extension KeyListing.Entry {
    /// The type that the schema names. Without a type: `enum` if the schema has this keyword, otherwise empty.
    fileprivate var type: String {
        let types = schema?["type"]
        return types?.string ?? types?.array?.compactMap(\.string).joined(separator: "|")
            ?? (schema?["enum"] == nil ? "" : "enum")
    }
}
