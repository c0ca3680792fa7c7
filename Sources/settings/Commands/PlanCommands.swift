import Platform
import SettingsAPI
import SettingsHTTP
import SettingsModel

/// Commands that bring suites to a state that a file describes: `plan`, `apply`.
enum PlanCommands {
    static let all = [plan, apply]

    private static let form =
        "FILE is JSON, - is standard input: {\"suites\":{\"app\":{\"theme\":\"dark\"}}}. Keys that it does not name stay, without --prune."
    private static let prune = Command.Option("prune", nil, "remove keys that the file does not name")

    private static let plan = Command(
        name: "plan", operands: "FILE", summary: "Show what would make suites what a file describes.",
        details: "\(form)\nIt ends with 2 if there is something to do.",
        options: [prune],
        examples: ["settings plan desired.json", "settings plan desired.json --prune"]
    ) { arguments in
        let plan = try Plan(arguments)
        plan.show()
        return plan.operations.isEmpty ? .done : .differs
    }

    private static let apply = Command(
        name: "apply", operands: "FILE", summary: "Make suites what a file describes, in one commit.",
        details: """
            \(form)
            With --plan it does exactly what 'settings plan' showed, or nothing if that would be something else now.
            """,
        options: [
            prune, Command.Option("plan", "HASH", "only if the plan is still this one"),
        ] + Command.writing,
        examples: [
            "settings apply desired.json --dry-run", "settings apply desired.json --prune --note 'as reviewed'",
        ]
    ) { arguments in
        let (plan, options) = (try Plan(arguments), try arguments.writeOptions())
        if let hash = arguments["plan"], hash != plan.hash {
            plan.show()
            throw ToolError(
                .refused, "apply refused: the plan is not \(hash) any more; review what it is now")
        }
        let change = Transaction(if: plan.suites.map(\.isUnchanged), do: plan.operations)
        guard !plan.operations.isEmpty else {
            print("nothing to change")
            return .done
        }
        return try arguments.client(timeout: .seconds(60)).blocking.send(.commit(change, options)).body
            .report(arguments)
    }
}

/// The operations that bring suites from what they are to what a file describes.
private struct Plan {
    /// The suites that the file names, as they are.
    private(set) var suites: [StoredSuite] = []
    private(set) var operations: [Transaction.Operation] = []
    private var schemas: [SuiteName: Schema] = [:]

    init(_ arguments: Arguments) throws {
        try arguments.expect(1...1, "the file")
        let (path, document) = (arguments.operands[0], try InputFile.json(arguments.operands[0]))
        guard let object = document.object, object.count == 1, let wanted = object["suites"]?.object
        else {
            throw ToolError(
                .failed, "\(InputFile.name(path)): expected {\"suites\":{\"SUITE\":{\"KEY\":value}}}")
        }
        let client = try arguments.client(timeout: .seconds(60))
        for member in wanted.members.sorted(by: { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        ) {
            let stored = try StoredSuite(try .named(member.name), from: client)
            let settings = try StoredSetting.all(of: member.value).sorted { $0.key < $1.key }
            if let key = settings.first(where: { stored.secrets.contains($0.key) })?.key {
                throw ToolError(
                    .unauthorized, "\(stored.suite) \(key) is a secret, which this caller may not read")
            }
            suites.append(stored)
            schemas[stored.suite] = try client.schema(of: stored.suite)
            operations += stored.operations(toStore: settings, keepsOthers: !arguments.has("prune"))
        }
    }

    /// The same for the same operations on the same revisions only.
    var hash: String {
        let places = suites.map { "\($0.suite) \($0.revision)\n" }.joined()
        let lines = operations.map { operation in
            switch operation.action {
            case .set(let value):
                "\(operation.suite) set \(operation.key) \(value.text(style: .canonical))\n"
            case .delete, .change: "\(operation.suite) delete \(operation.key)\n"
            }
        }.joined()
        return SHA256(Array((places + lines).utf8).span).hex
    }

    /// Prints the operations, then the hash.
    func show() {
        var old: [SuiteName: JSONObject] = [:]
        for suite in suites { old[suite.suite] = JSONObject(suite.settings) }
        for operation in operations {
            let (suite, key) = (operation.suite, operation.key)
            let isSecret = schemas[suite]?.isSecret(key.text) ?? false
            let shown = { (value: JSONValue) in isSecret ? "•••" : Terminal.plain(value.text()) }
            let before = old[suite]?[key.text].map(shown)
            switch (operation.action, before) {
            case (.set(let value), let before?): print("~ \(suite) \(key): \(before) → \(shown(value))")
            case (.set(let value), nil): print("+ \(suite) \(key): \(shown(value))")
            case (.delete, _), (.change, _): print("- \(suite) \(key): \(before ?? "")")
            }
        }
        print(operations.isEmpty ? "nothing to change" : "plan \(hash)")
    }
}
