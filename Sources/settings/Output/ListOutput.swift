import SettingsHTTP

/// A row of a list, which can be printed in a table, as tab-separated fields or as JSON.
protocol ListRow {
    /// The cells of a table for a person.
    var cells: [Table.Cell] { get }
    /// The fields of tab-separated output. Scripts rely on their positions, so new fields go to the end.
    var fields: [String] { get }

    func json(showsSecrets: Bool) -> JSONValue
}

/// The output of a command that lists: a table, tab-separated lines or JSON.
struct ListOutput {
    private enum Format {
        case table
        case tabSeparated
        case json
    }

    static let options = [
        Command.Option("format", "table|tsv", "print a table (the default), or tab-separated fields for scripts"),
        Command.Option("header", nil, "print the names of the columns first"), Command.json, Command.secrets,
    ]

    static let exclusive = [["json", "format"], ["json", "header"]]

    private let format: Format
    private let showsSecrets: Bool
    private let columns: [String]
    private let tableColumns: [String]
    private var mustPrintHeader: Bool
    private var table: Table

    /// - Parameters:
    ///   - columns: the names of the fields of tab-separated output.
    ///   - tableColumns: the names of the columns of a table; nil if they are the same.
    init(_ arguments: Arguments, columns: [String], tableColumns: [String]? = nil) throws(ToolError) {
        format = arguments.has("json") ? .json : arguments["format"] == "tsv" ? .tabSeparated : .table
        showsSecrets = try arguments.showsSecrets()
        mustPrintHeader = arguments.has("header")
        self.columns = columns
        self.tableColumns = tableColumns ?? columns
        table = Table(columns: self.tableColumns.count)
    }

    /// Prints rows. With `--header`, the first call prints the names of the columns before its rows.
    mutating func print(_ rows: [some ListRow]) {
        defer { mustPrintHeader = false }
        switch format {
        case .json:
            for row in rows { Swift.print(row.json(showsSecrets: showsSecrets).text()) }
        case .tabSeparated:
            if mustPrintHeader { Swift.print(columns.joined(separator: "\t")) }
            for row in rows { Swift.print(Self.line(of: row.fields)) }
        case .table:
            let header = tableColumns.map { Table.Cell($0.uppercased(), .faint) }
            table.print((mustPrintHeader ? [header] : []) + rows.map(\.cells))
        }
    }

    /// Returns a line of tab-separated output with these fields.
    static func line(of fields: [String]) -> String { fields.map(escaped).joined(separator: "\t") }

    private static func escaped(_ field: String) -> String {
        Terminal.escaped(field.replacing("\\", with: "\\\\"))
    }
}
