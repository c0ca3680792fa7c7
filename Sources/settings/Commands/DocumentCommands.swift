import Platform
import SettingsAPI
import SettingsHTTP

/// Commands that apply a document as one commit: `edit`, `transaction`.
enum DocumentCommands {
    static let all = [edit, transaction]

    private static let edit = Command(
        name: "edit", forms: [[.suite]], summary: "Change what is stored in a suite with an editor.",
        details: """
            The editor is $VISUAL, else $EDITOR, else vi; it gets the stored values as JSON. What is saved is one commit, made
            only if nothing else changed the suite meanwhile. When it cannot be made, the edited file stays.
            """,
        options: Command.writing,
        examples: ["settings edit app", "settings edit app --note 'louder at night'"]
    ) { arguments in
        let (suite, options, client) = (try arguments.suite(), try arguments.writeOptions(), try arguments.client())
        let opened = try StoredSuite(suite, from: client)
        let text = JSONValue.object(JSONObject(opened.settings)).text(style: .pretty) + "\n"
        let file = try TemporaryFile(text, name: suite.text)
        do {
            let edited = try file.edit()
            let wanted = try StoredSetting.all(of: try InputFile.json(parsing: edited))
            let operations = opened.operations(toStore: wanted)
            guard !operations.isEmpty else {
                file.remove()
                print("nothing changed")
                return .done
            }
            let change = Transaction(if: [opened.isUnchanged], do: operations)
            let summary = try client.blocking.send(.commit(change, options)).body
            _ = summary.report(arguments)
            if summary.isDryRun { print("the edited file is \(file.path)") } else { file.remove() }
            return .done
        } catch let refusal {
            guard file.isChanged else {
                file.remove()
                throw ToolError(describing: refusal)
            }
            let (path, connection) = (EnvironmentFile.quoted(file.path), arguments.quoted(["server", "token-file"]))
            let options = arguments.quoted(["server", "token-file", "note", "override"])
            if let refusal = refusal as? SettingsError, refusal.code == .preconditionFailed {
                throw ToolError(
                    .refused,
                    """
                    nothing was stored: \(suite) was changed after revision \(opened.revision), which was opened
                    what you typed is in \(path); see the other change, then edit the suite again:
                      settings diff \(suite) \(opened.revision)\(connection)
                      settings edit \(suite)\(options)
                    """)
            }
            let error = ToolError(describing: refusal)
            if let refusal = refusal as? SettingsError, refusal.outcome == .unknown, !arguments.has("dry-run") {
                throw ToolError(
                    error.code,
                    """
                    it may have been stored: \(error.message)
                    what you typed is in \(path); see whether it was stored before you store it again:
                      settings diff \(suite) \(opened.revision)\(connection)
                      settings import \(suite) \(path) --replace\(options)
                    """)
            }
            throw ToolError(
                error.code,
                """
                nothing was stored: \(error.message)
                what you typed is in \(path); correct it there, then see what it changes now, and store it:
                  settings import \(suite) \(path) --replace\(options) --dry-run
                  settings import \(suite) \(path) --replace\(options)
                """)
        }
    }

    private static let transaction = Command(
        name: "transaction", forms: [[.file]], summary: "Do several operations together, or none of them.",
        details: """
            FILE is JSON as the HTTP interface has it; - is standard input: {"if":[conditions],"do":[operations]}.
            """,
        options: Command.writing,
        examples: [
            "settings transaction change.json --dry-run", "settings transaction change.json --note 'both or none'",
        ]
    ) { arguments in
        let (path, options) = (arguments.operands[0], try arguments.writeOptions())
        let document = try InputFile.json(path, arguments)
        let transaction: Transaction
        do throws(BodyError) {
            transaction = try Transaction(json: document)
        } catch {
            throw ToolError(.failed, "\(InputFile.name(path)) is no transaction: \(error)")
        }
        return try arguments.client(timeout: .seconds(60)).blocking.send(.commit(transaction, options)).body
            .report(arguments)
    }
}

extension Arguments {
    /// The given options among some, as a command line repeats them. Leaves out a token file that is a pipe, because a
    /// pipe can be read only once.
    fileprivate func quoted(_ names: [String]) -> String {
        names.filter(has).map { name in
            let value = self[name] ?? ""
            if name == "token-file", value == "-" || FileContents.isPipe(value) { return "" }
            if name == Command.override.name { return " --\(name)" }
            return " --\(name) \(value.isEmpty ? "''" : EnvironmentFile.quoted(value))"
        }.joined()
    }
}

extension TemporaryFile {
    /// Runs the editor. Returns what was saved.
    fileprivate func edit() throws(ToolError) -> [UInt8] {
        let editor =
            EnvironmentVariables.nonEmptyValue(of: "VISUAL") ?? EnvironmentVariables.nonEmptyValue(of: "EDITOR") ?? "vi"
        var shell = ShellCommand("\(editor) \"$@\"")
        shell.arguments = [path]
        shell.usesTerminal = true
        let code = try shell.exitCode()
        guard code == 0 else { throw ToolError(.failed, "the editor '\(editor)' ended with \(code)") }
        return try InputFile.bytes(of: path)
    }
}
