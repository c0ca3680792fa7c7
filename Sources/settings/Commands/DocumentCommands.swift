import Platform
import SettingsAPI
import SettingsHTTP

/// Commands that apply a document as one commit: `edit`, `transaction`.
enum DocumentCommands {
    static let all = [edit, transaction]

    private static let edit = Command(
        name: "edit", operands: "SUITE", summary: "Change what is stored in a suite with an editor.",
        details: """
            The editor is $VISUAL, else $EDITOR, else vi; it gets the stored values as JSON. What is saved is one commit, made
            only if nothing else changed the suite meanwhile. When it cannot be made, the edited file stays.
            """,
        options: Command.writing,
        examples: ["settings edit app", "settings edit app --note 'louder at night'"]
    ) { arguments in
        try arguments.expect(1...1, "the suite")
        let (suite, options, client) = (try arguments.suite(), try arguments.writeOptions(), try arguments.client())
        let opened = try StoredSuite(suite, from: client)
        let text = JSONValue.object(JSONObject(opened.settings)).text(style: .pretty) + "\n"
        let file = try EditedFile(text, name: suite.text)
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
            var error = ToolError(describing: refusal)
            if let refusal = refusal as? SettingsError, refusal.code == .preconditionFailed {
                let since = opened.revision
                error = ToolError(
                    .refused,
                    "\(suite) was changed after revision \(since), which was opened; 'settings diff \(suite) \(since)' shows how"
                )
            }
            guard file.isChanged else {
                file.remove()
                throw error
            }
            throw ToolError(
                error.code,
                """
                nothing was stored: \(error.message)
                what you typed is in \(file.path); correct it there, then see what it changes now, and store it:
                  settings import \(suite) \(file.path) --replace --dry-run
                  settings import \(suite) \(file.path) --replace
                """)
        }
    }

    private static let transaction = Command(
        name: "transaction", operands: "FILE", summary: "Do several operations together, or none of them.",
        details: """
            FILE is JSON as the HTTP interface has it; - is standard input: {"if":[conditions],"do":[operations]}.
            """,
        options: Command.writing,
        examples: [
            "settings transaction change.json --dry-run", "settings transaction change.json --note 'both or none'",
        ]
    ) { arguments in
        try arguments.expect(1...1, "the file")
        let (path, options) = (arguments.operands[0], try arguments.writeOptions())
        let document = try InputFile.json(path)
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

/// A temporary file that a person edits. Only its owner can read it.
private struct EditedFile {
    let path: String
    private let text: String

    init(_ text: String, name: String) throws(ToolError) {
        let directory = EnvironmentVariables.nonEmptyValue(of: "TMPDIR") ?? "/tmp"
        let unique = String(UInt64.random(in: 0 ... .max), radix: 36)
        path = "\(directory)/settings-\(name)-\(unique).json"
        self.text = text
        do throws(FileError) {
            let file = try OpenFile(path, .new, in: POSIXFileSystem())
            do throws(FileError) {
                try file.write(text.utf8Span.span, at: 0)
            } catch {
                remove()
                throw error
            }
        } catch {
            throw ToolError(.failed, "\(path) cannot be written: \(error.reason)")
        }
    }

    /// Runs the editor. Returns what was saved.
    func edit() throws(ToolError) -> [UInt8] {
        let editor =
            EnvironmentVariables.nonEmptyValue(of: "VISUAL") ?? EnvironmentVariables.nonEmptyValue(of: "EDITOR") ?? "vi"
        var shell = ShellCommand("\(editor) \"$@\"")
        shell.arguments = [path]
        shell.usesTerminal = true
        let code = try shell.exitCode()
        guard code == 0 else { throw ToolError(.failed, "the editor '\(editor)' ended with \(code)") }
        return try InputFile.bytes(of: path)
    }

    /// True if the file is not as it was opened.
    var isChanged: Bool { (try? InputFile.bytes(of: path)).map { $0 != Array(text.utf8) } ?? true }

    func remove() { try? POSIXFileSystem().remove(path) }
}
