import Platform
import SettingsAPI
import SettingsHTTP

/// The command `edit`.
enum EditCommand {
    static let edit = Command(
        name: "edit", forms: [[.suite, Command.Operand("KEY", .optional)]],
        summary: "Change the stored values of a suite, or one value, with an editor.",
        details: """
            The editor is $VISUAL, $EDITOR or vi. It opens the stored values as JSON; with KEY, it opens one value: a
            text without quotes, any other value as JSON. The command makes one commit of the changes, but only if no
            other caller changed the suite, or the setting, meanwhile. If the text is not valid or the daemon refuses
            it, the command asks at a terminal whether to edit it again. The command keeps the edited file if the text
            was changed but not stored.
            """,
        options: Command.writing,
        examples: ["settings edit app --note 'louder at night'", "settings edit app theme"]
    ) { try edit($0) }

    // Not in the closure above, because the optimizer of Swift 6.3.1 has crashed with long asynchronous closures.
    @inline(never)
    private static func edit(_ arguments: Arguments) throws -> ExitCode {
        let (suite, options, client) = (try arguments.suite(), try arguments.writeOptions(), try arguments.client())
        let key = try arguments.keys(from: 1).first
        let document: any EditedDocument =
            if let key {
                try EditedSetting(key, in: suite, client)
            } else {
                EditedSuite(stored: try StoredSuite(suite, from: client), client: client)
            }
        let file = try TemporaryFile(document.text, name: suite.text, suffix: document.fileSuffix)
        while true {
            var isEdited = false
            let changes: WriteReport
            do {
                let edited = try file.edit()
                isEdited = true
                // With a request key, the client can repeat the request without storing the text twice.
                guard file.isChanged, let stored = try document.store(edited, options.repeatable()) else {
                    file.remove()
                    print("nothing changed")
                    return .done
                }
                changes = stored
            } catch let refusal {
                guard file.isChanged else {
                    file.remove()
                    throw ToolError(describing: refusal)
                }
                guard isEdited, isCorrectable(refusal), asksToEditAgain(after: refusal) else {
                    throw errorWithAdvice(refusal, of: document, in: file, arguments)
                }
                continue
            }
            changes.print(arguments)
            if changes.isDryRun { print("the edited text is in \(file.path)") } else { file.remove() }
            // With --wait-for, waits for the clients. With --confirm, then confirms or reverts the change.
            return try changes.awaitClientsOrConfirmation(arguments, client, of: [suite])
        }
    }

    /// True if the daemon may accept the text after the user has corrected it. The exit code `unknown` means that the
    /// schema does not have a key of the text.
    private static func isCorrectable(_ refusal: any Error) -> Bool {
        (refusal as? SettingsError)?.code != .preconditionFailed
            && [.failed, .refused, .unknown].contains(ToolError(describing: refusal).code)
    }

    /// Asks the user whether to edit the text again. Returns false if there is no terminal.
    private static func asksToEditAgain(after refusal: any Error) -> Bool {
        let question =
            "settings: cannot store the edited text: \(ToolError(describing: refusal).message)\nedit again? [Y/n]"
        guard let answer = Terminal.answer(to: question) else { return false }
        return answer.isEmpty || answer.lowercased().hasPrefix("y")
    }

    /// Makes the error for a refused text. The message names the file with the text, and the commands that show changes
    /// of other callers and store the text.
    private static func errorWithAdvice(
        _ refusal: any Error, of document: any EditedDocument, in file: TemporaryFile, _ arguments: Arguments
    ) -> ToolError {
        // The words are quoted for a shell, so that the user can copy the commands.
        let (path, connectionOptions) = (
            EnvironmentFile.quoted(file.path), arguments.quotedOptions(["server", "token-file"])
        )
        let options = arguments.quotedOptions(["server", "token-file", "note", "override"])
        let edit = "settings edit \(arguments.operands.map(EnvironmentFile.quoted).joined(separator: " "))"
        if let refusal = refusal as? SettingsError, refusal.code == .preconditionFailed {
            return ToolError(
                .refused,
                """
                cannot store \(document.name): another caller changed the \(document.kind) meanwhile
                the edited text is in \(path); see the other change, then edit the \(document.kind) again:
                  \(document.commandShowingChanges)\(connectionOptions)
                  \(edit)\(options)
                """)
        }
        let error = ToolError(describing: refusal)
        let store = document.command(storing: path, options)
        if let refusal = refusal as? SettingsError, refusal.outcome == .unknown, !arguments.has("dry-run") {
            return ToolError(
                error.code,
                """
                the daemon may have stored the edited text: \(error.message)
                the edited text is in \(path); see if the daemon stored it before you store it again:
                  \(document.commandShowingChanges)\(connectionOptions)
                  \(store)
                """)
        }
        return ToolError(
            error.code,
            """
            cannot store \(document.name): \(error.message)
            the edited text is in \(path); correct the text, see its changes, and store it:
              \(document.command(storing: path, options + " --dry-run"))
              \(store)
            """)
    }
}

/// The document that the user edits: the values of a suite, or one value, at a revision.
private protocol EditedDocument {
    var suite: SuiteName { get }
    /// The name of the suite or of the setting, for messages.
    var name: String { get }
    /// `suite` or `setting`, for messages.
    var kind: String { get }
    /// The command whose output contains the changes by other callers since the document was read. `settings history`
    /// also shows earlier changes.
    var commandShowingChanges: String { get }
    /// The text that the editor opens.
    var text: String { get }
    /// The extension of the name of the edited file.
    var fileSuffix: String { get }

    /// Stores the edited text, which differs from ``text``. Returns nil, and sends nothing, if the values are the same.
    func store(_ edited: [UInt8], _ options: WriteOptions) throws -> WriteReport?

    /// The command that stores a file with the edited text.
    ///
    /// - Parameter options: the options of the command as text, each with a leading space.
    func command(storing path: String, _ options: String) -> String
}

/// The stored values of a suite, as a JSON object.
private struct EditedSuite: EditedDocument {
    let stored: StoredSuite
    let client: DaemonClient

    var suite: SuiteName { stored.suite }
    var name: String { suite.text }
    var kind: String { "suite" }
    var commandShowingChanges: String {
        // A suite that did not exist when it was read has no revision for a comparison.
        stored.revision == .zero ? "settings history \(suite)" : "settings diff \(suite) \(stored.revision)"
    }
    var text: String { JSONValue.object(JSONObject(stored.settings)).text(style: .pretty) + "\n" }
    var fileSuffix: String { "json" }

    func store(_ edited: [UInt8], _ options: WriteOptions) throws -> WriteReport? {
        let wanted = try StoredSetting.all(of: try InputFile.json(parsing: edited))
        let operations = stored.operations(toStore: wanted)
        guard !operations.isEmpty else { return nil }
        let change = Transaction(if: [stored.unchangedCondition], do: operations)
        return WriteReport(try client.blocking.send(.commit(change, options)))
    }

    func command(storing path: String, _ options: String) -> String {
        "settings import \(suite) \(path) --replace\(options)"
    }
}

/// The value of a setting in the editor: a text without JSON quotes, any other value as JSON.
private struct EditedSetting: EditedDocument {
    let suite: SuiteName
    private let key: KeyName
    private let client: DaemonClient
    private let value: JSONValue?
    private let isStored: Bool
    private let schema: JSONValue?
    private let revision: Revision

    init(_ key: KeyName, in suite: SuiteName, _ client: DaemonClient) throws {
        (self.suite, self.key, self.client) = (suite, key, client)
        var entry: KeyListing.Entry?
        do throws(SettingsError) {
            entry = try client.entry(of: key, in: suite)
            // The error of this request says whether the key is unknown, and suggests similar keys.
            if entry == nil { _ = try client.blocking.send(.setting(key, in: suite)) }
        } catch {
            guard error.code == .notSet || error.code == .unknownSuite else { throw error }
        }
        guard entry?.setting.isConcealed != true else {
            throw ToolError(concealed: key, in: suite)
        }
        // A stored value that the schema does not allow is only in `stored`.
        value = entry?.setting.value ?? entry?.setting.stored
        isStored = entry?.setting.source.isStored ?? false
        schema = entry?.schema
        revision = entry?.setting.revision ?? .zero
    }

    var name: String { "\(suite) \(key)" }
    var kind: String { "setting" }
    // `SettingPath.word(for:)` writes a key with `[` or `=` in brackets, because these characters are syntax of paths.
    var commandShowingChanges: String {
        "settings history \(suite) \(EnvironmentFile.quoted(SettingPath.word(for: key)))"
    }
    var text: String { value.map { ($0.string ?? $0.text(style: .pretty)) + "\n" } ?? "" }
    var fileSuffix: String { value?.string != nil ? "txt" : "json" }

    func store(_ edited: [UInt8], _ options: WriteOptions) throws -> WriteReport? {
        let new = try read(edited)
        guard new != value else { return nil }
        var options = options
        if isStored { options.ifMatch = .tag(EntityTag(revision)) } else { options.ifNoneMatch = .any }
        let operation = Transaction.Operation(suite: suite, key: key, .set(new))
        return try WritingCommands.write([operation], in: suite, client, options)
    }

    /// Returns the value in the edited text.
    private func read(_ edited: [UInt8]) throws(ToolError) -> JSONValue {
        if value != nil, value?.string == nil { return try InputFile.json(parsing: edited) }
        guard var text = String(validating: edited, as: UTF8.self) else { throw ToolError(.failed, "not valid UTF-8") }
        if text.utf8.last == UInt8(ascii: "\n") { text.removeLast() }
        return value == nil ? try ValueReader(key, schema).read(text) : .string(text)
    }

    func command(storing path: String, _ options: String) -> String {
        let typeOption = value == nil ? "" : value?.string != nil ? " --text" : " --json"
        let keyAndInput = "\(EnvironmentFile.quoted(SettingPath.word(for: key))) - <\(path)"
        return "settings set \(suite)\(typeOption)\(options) \(keyAndInput)"
    }
}

extension Arguments {
    /// Returns the options with these names that the command line has, in the syntax of the shell, each with a leading
    /// space. Omits a token file that is a pipe, because a pipe can be read only once.
    func quotedOptions(_ names: [String]) -> String {
        names.filter(has).map { name in
            let value = self[name] ?? ""
            if name == "token-file", value == "-" || FileContents.isPipe(value) { return "" }
            if name == Command.override.name { return " --\(name)" }
            // A message shows a byte that is not UTF-8 as `\xff`. Shells read this escape only in the form `$'\xff'`.
            let dollar = value.hasEscapedBytes ? "$" : ""
            return " --\(name) \(value.isEmpty ? "''" : dollar + EnvironmentFile.quoted(value))"
        }.joined()
    }
}

extension TemporaryFile {
    /// Runs the editor. Returns the edited text.
    fileprivate func edit() throws(ToolError) -> [UInt8] {
        let editor =
            EnvironmentVariables.nonEmptyValue(of: "VISUAL") ?? EnvironmentVariables.nonEmptyValue(of: "EDITOR") ?? "vi"
        var shell = ShellCommand("\(editor) \"$@\"")
        shell.arguments = [path]
        shell.usesTerminal = true
        let code = try shell.exitCode()
        guard code == 0 else {
            throw ToolError(.failed, "the editor '\(editor)' ended with exit code \(code)")
        }
        return try InputFile.bytes(of: path)
    }
}
