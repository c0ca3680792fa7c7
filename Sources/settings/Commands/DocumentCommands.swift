import SettingsAPI
import SettingsHTTP

/// Commands that apply a document as one commit: `edit`, `transaction`.
enum DocumentCommands {
    static let all = [EditCommand.edit, transaction]

    private static let transaction = Command(
        name: "transaction", forms: [[.file]], summary: "Apply several operations in one commit.",
        details: """
            FILE is the JSON of a transaction of the HTTP API, {"if":[conditions],"do":[operations]}; - is standard input.
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
            throw ToolError(.failed, "cannot read the transaction in \(InputFile.name(path)): \(error)")
        }
        let client = try arguments.client(timeout: .seconds(60))
        return try client.blocking.send(.commit(transaction, options))
            .printAndAwaitClientsOrConfirmation(
                arguments, client, of: Set(transaction.operations.map(\.suite)).sorted())
    }
}
