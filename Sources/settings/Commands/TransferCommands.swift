import SettingsHTTP
import SettingsModel

/// Commands that take suites out to files and in again: `export`, `import`.
enum TransferCommands {
    static let all = [export, importing]

    private static let export = Command(
        name: "export", operands: "SUITE", summary: "Print what is stored in a suite, as a file that import reads.",
        details: """
            Keys are in the order of their names, so that a text changes no more than the settings do. The form env has a
            KEY=value a line, quoted for the shell; a setting that a form cannot hold is an error.
            """,
        options: [
            Command.Option("format", "json|env", "the form of the text (json)"),
            Command.Option("changed", nil, "only what differs from defaults"),
            Command.Option("defaults", nil, "the defaults of what is not stored, too"),
            Command.Option("without-secrets", nil, "leave out secrets"),
            Command.Option("prefix", "PREFIX", "only keys that begin so"),
            Command.Option("at", "WHEN", "as it was then: a revision, an instant, yesterday, 2h"),
        ],
        examples: ["settings export app --changed", "settings export app --format env --without-secrets"]
    ) { try printFile($0) }

    /// Apart from the declaration: Swift 6.3.1 crashes where it optimises this in an asynchronous closure.
    @inline(never)
    private static func printFile(_ arguments: Arguments) throws -> ExitCode {
        try arguments.expect(1...1, "the suite")
        guard !arguments.has("changed") || !arguments.has("defaults") else {
            throw ToolError.usage("--changed and --defaults exclude each other")
        }
        let (suite, format) = (try arguments.suite(), try SuiteFile(arguments["format"]))
        let (client, moment) = (try arguments.client(timeout: .seconds(60)), try arguments.moment("at"))
        var (settings, concealed) = ([StoredSetting](), [String]())
        try client.eachKey(of: suite, prefix: arguments["prefix"], at: moment) { entry in
            let setting = entry.setting
            guard arguments.has("defaults") || setting.source.isStored else { return }
            guard !arguments.has("changed") || entry.differs else { return }
            guard !setting.isSecret || !arguments.has("without-secrets") else { return }
            if let value = setting.value ?? setting.stored {
                settings.append(StoredSetting(key: setting.key, value: value))
            } else if setting.source.isStored {
                concealed.append(setting.key.text)
            }
        }
        guard concealed.isEmpty else {
            throw ToolError(
                .unauthorized,
                "export failed: this caller may not read secrets (\(concealed.joined(separator: ", "))); "
                    + "--without-secrets leaves them out")
        }
        print(try format.text(of: settings) { try client.schema(of: suite, at: moment) }, terminator: "")
        return .done
    }

    private static let importing = Command(
        name: "import", operands: "SUITE FILE", summary: "Store the settings of a file, all of them or none.",
        details: """
            FILE has the form of 'settings export'; - is standard input. What the file does not name stays. With
            --replace it is removed, save secrets that this caller may not read. A form without types, as env is, gets those of
            the schema.
            """,
        options: [
            Command.Option("format", "json|env", "the form of the file (env if its name ends so, else json)"),
            Command.Option("replace", nil, "remove what the file does not name"),
        ] + Command.writing,
        examples: ["settings import app values.json --dry-run", "settings import app app.env --replace"]
    ) { arguments in
        try arguments.expect(2...2, "the file")
        let (suite, path, options) = (try arguments.suite(), arguments.operands[1], try arguments.writeOptions())
        let format = try SuiteFile(arguments["format"], path: path)
        let client = try arguments.client(timeout: .seconds(60))
        let settings = try format.settings(of: try InputFile.bytes(of: path), from: path) {
            try client.schema(of: suite)
        }
        let stored = arguments.has("replace") ? try StoredSuite(suite, from: client) : nil
        let operations =
            stored?.operations(toStore: settings)
            ?? settings.map { Transaction.Operation(suite: suite, key: $0.key, .set($0.value)) }
        let change = Transaction(if: stored.map { [$0.isUnchanged] } ?? [], do: operations)
        return try client.blocking.send(.commit(change, options)).body.report(arguments)
    }
}

extension SettingsClient {
    /// Reads all keys of a suite page by page, as they are at one moment.
    func eachKey(
        of suite: SuiteName, prefix: String? = nil, at moment: Moment? = nil, _ body: (KeyListing.Entry) -> Void
    ) throws(SettingsError) {
        var (moment, after) = (moment, KeyName?.none)
        repeat {
            let page = try blocking.send(.keys(of: suite, prefix: prefix, after: after, limit: 1000, at: moment))
            page.keys.forEach(body)
            after = page.next
            moment = moment ?? .revision(page.cursor.revision)
        } while after != nil
    }

    /// The schema of a suite; nil if there is none, or no suite yet.
    func schema(of suite: SuiteName, at moment: Moment? = nil) throws -> Schema? {
        do {
            return try Schema(try blocking.send(.schema(of: suite, at: moment)).document)
        } catch let error as SettingsError where error.code == .noSchema || error.code == .unknownSuite {
            return nil
        }
    }
}
