import SettingsHTTP

/// The commands of the group `schema`.
enum SchemaCommands {
    static let all = [show, check, diff, apply, generate, remove]

    private static let onConflict = Command.Option(
        "on-conflict", "refuse|keep|reset",
        "if the schema does not allow stored values: refuse the schema (default), keep the values, or reset them")
    private static let fileHelp = "FILE is a JSON Schema; - is standard input."

    private static let show = Command(
        name: "schema show", forms: [[.suite]], summary: "Print the schema of a suite.",
        options: [Command.at],
        examples: ["settings schema show app", "settings schema show app --at yesterday"]
    ) { arguments in
        print(try document(of: try arguments.suite(), arguments).text(style: .pretty))
        return .done
    }

    private static let check = Command(
        name: "schema check", forms: [[.file]], summary: "Find the mistakes in a schema, without a daemon.",
        details: "\(fileHelp)\nIf the schema has mistakes, the command lists the mistakes, and the exit code is 5.",
        examples: ["settings schema check app.json", "settings schema check - <app.json"]
    ) { arguments in
        do {
            _ = try Schema(try InputFile.json(arguments.operands[0], arguments))
            print("the schema is valid")
            return .done
        } catch let error as SchemaError {
            print(error)
            return .refused
        }
    }

    private static let diff = Command(
        name: "schema diff", forms: [[.suite, .file]],
        summary: "Show what applying a schema would change in the schema and in the settings.",
        details: """
            \(fileHelp)
            Each change of the schema is a line: + for a new key, - for a removed key, ~ for another change. 'widening' means
            that every allowed value stays allowed, 'narrowing' that no other value becomes allowed, and 'neither' that the
            change may allow some values and forbid others. A change without a word has no effect on the allowed values. The
            settings whose values would change follow. The exit code is 2 if there are changes, and 5 if the daemon would
            refuse the schema.
            """,
        options: [onConflict, Command.json],
        examples: ["settings schema diff app app.json", "settings schema diff app app.json --json"]
    ) { try compare($0) }

    private static let apply = Command(
        name: "schema apply", forms: [[.suite, .file]], summary: "Set or replace the schema of a suite.",
        details: """
            \(fileHelp)
            The exit code is 5 if the daemon refuses the schema. --dry-run does the same as 'settings schema diff'.
            """,
        options: [onConflict, Command.note, Command.dryRun, Command.quiet],
        examples: [
            "settings schema apply app app.json --note 'volume up to 2'",
            "settings schema apply app app.json --dry-run",
        ]
    ) { try $0.has("dry-run") ? compare($0) : applySchema($0) }

    private static let remove = Command(
        name: "schema remove", forms: [[.suite]],
        summary: "Remove the schema of a suite, so that the suite takes any key and any value.",
        options: [Command.note, Command.dryRun],
        examples: ["settings schema remove app --dry-run", "settings schema remove app --note 'no more types'"]
    ) { arguments in
        let options = try arguments.writeOptions()
        try arguments.client().blocking.send(.removeSchema(of: try arguments.suite(), options))
        if options.isDryRun { print("(a dry run: nothing was changed)") }
        return .done
    }

    private static let generate = Command(
        name: "schema generate",
        forms: [
            [Command.Operand("swift|markdown"), .suite], .init([Command.Operand("swift|markdown")], with: "file"),
        ],
        summary: "Print the keys of a schema as Swift code or as a table in Markdown.",
        details: """
            The Swift code is for programs that use the module SettingsClient. The command reads the schema of SUITE, or the
            schema in FILE, which needs no daemon.
            """,
        options: [
            Command.at, Command.Option("file", "FILE", "read the schema from a file; - is standard input", short: "f"),
        ],
        exclusive: [["file", "at"]],
        examples: ["settings schema generate swift app", "settings schema generate markdown --file app.json"]
    ) { arguments in
        print(try generatedText(arguments), terminator: "")
        return .done
    }

    private static func document(of suite: SuiteName, _ arguments: Arguments) throws -> JSONValue {
        try arguments.client().blocking.send(.schema(of: suite, at: try arguments.moment("at"))).document
    }

    private static func generatedText(_ arguments: Arguments) throws -> String {
        let (name, document): (String, JSONValue)
        if let file = arguments["file"] {
            (name, document) = (InputFile.name(file), try InputFile.json(file, arguments))
        } else {
            let suite = try SuiteName.named(arguments.operands[1])
            (name, document) = (suite.text, try self.document(of: suite, arguments))
        }
        let schema: Schema
        do {
            schema = try Schema(document)
        } catch {
            throw ToolError(.failed, "cannot read the schema of \(name): \(error)")
        }
        if arguments.operands[0] == "swift" { return SwiftKeys.text(of: schema, from: name) }
        return SchemaTable.text(of: schema, titled: schema.document["title"]?.string ?? "Settings of \(name)")
    }

    private static func applySchema(_ arguments: Arguments) throws -> ExitCode {
        let document = try InputFile.json(arguments.operands[1], arguments)
        let summary = try arguments.client(timeout: .seconds(60)).blocking.send(
            try setSchemaRequest(document, arguments))
        if !arguments.has("quiet") { for change in summary.changes { print(change.line) } }
        return .done
    }

    private static func setSchemaRequest(
        _ document: JSONValue, _ arguments: Arguments, isDryRun: Bool = false
    ) throws -> Endpoint<Answer<WriteSummary>> {
        var options = try arguments.writeOptions()
        options.isDryRun = isDryRun
        let policy = arguments["on-conflict"].flatMap(ConflictPolicy.init) ?? .refuse
        return .setSchema(document, of: try arguments.suite(), onConflict: policy, options)
    }

    /// Prints the changes that applying a schema would make. If the schema has mistakes, throws the error of the
    /// daemon, which lists the mistakes.
    private static func compare(_ arguments: Arguments) throws -> ExitCode {
        let (suite, document) = (try arguments.suite(), try InputFile.json(arguments.operands[1], arguments))
        let client = try arguments.client(timeout: .seconds(60))
        let difference = try (try? Schema(document)).map {
            SchemaComparison(from: try client.schema(of: suite), to: $0)
        }
        let output = SchemaChanges(difference?.changes ?? [], isJSON: arguments.has("json"))
        let summary: WriteSummary
        do {
            summary = try client.blocking.send(try setSchemaRequest(document, arguments, isDryRun: true)).body
        } catch let error as SettingsError {
            output.print()
            if arguments.has("json") {
                for conflict in error.problem?.conflicts ?? [] { print(conflict.summary.text()) }
            }
            throw error
        }
        guard summary.changed else {
            if !arguments.has("json") { print("the suite has the schema already") }
            return .done
        }
        output.print()
        for change in summary.changes {
            print(arguments.has("json") ? change.summary(showsSecrets: false).text() : change.line)
        }
        if !arguments.has("json") { print("the schema would change") }
        return .differs
    }
}
