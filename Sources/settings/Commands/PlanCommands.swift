import Platform
import SettingsAPI
import SettingsHTTP
import SettingsModel

/// Commands that change suites so that they match files: `plan`, `apply`.
enum PlanCommands {
    static let all = [plan, apply]

    private static let operandHelp = """
        FILE is JSON such as {"suites":{"app":{"theme":"dark"}}}; - is standard input. DIRECTORY has a file SUITE.json for
        each suite, as 'settings export --to' writes it. Other suites keep their values. Without --prune, other keys of the
        suites also keep their values.
        """
    private static let prune = Command.Option(
        "prune", nil, "remove the keys that the file of their suite does not name, except secrets")

    private static let plan = Command(
        name: "plan", forms: [[.fileOrDirectory]],
        summary: "Show the changes that would give suites the values in files.",
        details: """
            \(operandHelp)
            The exit code is 2 if the plan has changes. The hash identifies the operations, the revisions of the suites,
            and --override; 'settings apply --plan HASH' applies exactly this plan. If the daemon would refuse the plan, the
            command prints every refusal, and no hash.
            """,
        options: [prune, Command.override, Command.json, Command.Option("hash", nil, "print only the hash")],
        exclusive: [["json", "hash"]],
        examples: ["settings plan desired.json", "settings plan settings/ --prune"]
    ) { arguments in
        let plan = try Plan(arguments)
        let refusal = plan.refusal()
        if arguments.has("hash") {
            if refusal == nil { print(plan.hash) }
        } else if arguments.has("json") {
            print(plan.summary(hasHash: refusal == nil).text())
        } else {
            plan.show(hasHash: refusal == nil)
        }
        if let refusal { throw refusal }
        return plan.operations.isEmpty ? .done : .differs
    }

    private static let apply = Command(
        name: "apply", forms: [[.fileOrDirectory]], summary: "Give suites the values in files, in one commit.",
        details: """
            \(operandHelp)
            With --plan, the command applies exactly the plan with this hash; --prune and --override need not be repeated. If the
            plan has changed, the command changes nothing.
            """,
        options: [
            prune, Command.Option("plan", "HASH", "only if 'settings plan' still prints this hash"),
        ] + Command.writing + [Command.interactive, Command.check],
        exclusive: [["interactive", "check"]],
        examples: [
            "settings apply desired.json --dry-run", "settings apply settings/ --prune --note 'as reviewed'",
        ]
    ) { arguments in
        try arguments.validateInteraction()
        var (plan, options) = (try Plan(arguments), try arguments.writeOptions())
        if let hash = arguments["plan"] {
            guard let reviewed = plan.variants.first(where: { $0.hash == hash }) else {
                plan.show()
                throw ToolError(
                    .refused,
                    "cannot apply the plan \(hash): the plan has changed; review the present plan, then run the command "
                        + "again with its hash")
            }
            plan = reviewed
            options.overridesLocks = plan.overridesLocks
        }
        let change = Transaction(if: plan.suites.map(\.unchangedCondition), do: plan.operations)
        guard !change.operations.isEmpty else {
            print("nothing to change")
            guard arguments.has("wait-for") else { return .done }
            return try ConvergenceWait(
                for: try plan.client.blocking.send(.suites(limit: 1)).cursor, of: plan.suites.map(\.suite),
                arguments, plan.client
            ).run()
        }
        let report: WriteReport
        do throws(SettingsError) {
            report = WriteReport(try plan.client.blocking.send(.commit(change, options)))
        } catch {
            throw error.tooManyOperations(plan.operations.count, plan.suites.count) ?? ToolError(describing: error)
        }
        report.print(arguments)
        return try report.awaitClientsOrConfirmation(arguments, plan.client, of: plan.suites.map(\.suite))
    }
}

/// The operations that give suites the values in files.
private struct Plan {
    /// The suites that the files describe, with their present values.
    private(set) var suites: [StoredSuite] = []
    /// The settings in the files, in the order of `suites`.
    private var desired: [[StoredSetting]] = []
    private var prunes: Bool
    private(set) var overridesLocks: Bool
    private var schemas: [SuiteName: Schema] = [:]
    /// All requests use one client, because a token from a pipe can be read only once.
    let client: DaemonClient

    init(_ arguments: Arguments) throws {
        let fileContents = try SuiteValues.all(at: arguments.operands[0], arguments)
        client = try arguments.client(timeout: .seconds(60))
        (prunes, overridesLocks) = (arguments.has("prune"), arguments.has("override"))
        for values in fileContents.sorted(by: { $0.suite < $1.suite }) {
            let stored = try StoredSuite(values.suite, from: client)
            let schema = try client.schema(of: stored.suite)
            let settings = values.settings.sorted { $0.key < $1.key }
            if let key = settings.first(where: { stored.secrets.contains($0.key) })?.key {
                throw ToolError(concealed: key, in: stored.suite)
            }
            suites.append(stored)
            desired.append(settings)
            schemas[stored.suite] = schema
        }
    }

    var operations: [Transaction.Operation] {
        zip(suites, desired).flatMap { stored, settings in
            let schema = schemas[stored.suite]
            let changes = stored.operations(toStore: settings, keepsOthers: !prunes)
            return stored.changingOperations(of: changes, under: schema).filter { operation in
                // No plan deletes a secret. Otherwise, callers with and without the right to read secrets could get
                // different plans and hashes.
                operation.action != .delete || !(schema?.isSecret(operation.key.text) ?? false)
            }
        }
    }

    /// This plan with each combination of `--prune` and `--override` that includes the options of the command line.
    /// With `--plan`, the command searches the variants for the reviewed plan, so that the user need not repeat the
    /// options.
    var variants: [Plan] {
        [(false, false), (false, true), (true, false), (true, true)].map { addsPrune, addsOverride in
            var plan = self
            plan.prunes = prunes || addsPrune
            plan.overridesLocks = overridesLocks || addsOverride
            return plan
        }
    }

    /// Identifies the operations, the revisions of the suites, and whether the plan has the option `--override`.
    var hash: String {
        let override = overridesLocks ? "override\n" : ""
        let revisions = suites.map { "\($0.suite) \($0.revision)\n" }.joined()
        let lines = operations.map { operation in
            switch operation.action {
            case .set(let value):
                "\(operation.suite) set \(operation.key) \(value.text(style: .canonical))\n"
            // A plan has no operation with the action `change`.
            case .delete, .change: "\(operation.suite) delete \(operation.key)\n"
            }
        }.joined()
        return SHA256(Array((override + revisions + lines).utf8).span).hex
    }

    /// Returns an error with all reasons why the daemon would refuse the operations. Returns nil if the daemon would
    /// accept the operations, or if it does not check them because the caller lacks a right that the write needs.
    func refusal() -> ToolError? {
        let isLocked = { (operation: Transaction.Operation) in
            !overridesLocks && schemas[operation.suite]?.key(operation.key.text)?.isLocked ?? false
        }
        var code = ExitCode.refused
        var lines = operations.filter(isLocked).map {
            "cannot write \($0.suite) \($0.key): the schema locks the key; --override writes locked keys"
        }
        // The dry run contains no locked key. Otherwise, the daemon would name only the first locked key.
        let unlocked = operations.filter { !isLocked($0) }
        if !unlocked.isEmpty {
            do throws(SettingsError) {
                let options = WriteOptions(isDryRun: true, overridesLocks: overridesLocks)
                let transaction = Transaction(if: suites.map(\.unchangedCondition), do: unlocked)
                try client.blocking.send(.commit(transaction, options))
            } catch {
                let cause = error.tooManyOperations(unlocked.count, suites.count) ?? ToolError(describing: error)
                if error.code == .forbidden {
                    // A caller without the necessary rights can make a plan that another caller applies.
                    Terminal.warn("the daemon did not check the planned changes: \(cause.message)")
                } else {
                    if lines.isEmpty { code = cause.code }
                    lines.append(cause.message)
                }
            }
        }
        return lines.isEmpty ? nil : ToolError(code, lines.joined(separator: "\n"))
    }

    /// The plan as a JSON object, for `--json`.
    func summary(hasHash: Bool) -> JSONValue {
        let operations = operations.map { operation -> JSONValue in
            let isSecret = schemas[operation.suite]?.isSecret(operation.key.text) ?? false
            let value: JSONValue? = if case .set(let value) = operation.action { value } else { nil }
            return .members([
                "op": .string(value == nil ? "delete" : "set"), "suite": .string(operation.suite.text),
                "key": .string(operation.key.text), "value": isSecret ? nil : value, "secret": isSecret ? true : nil,
            ])
        }
        return .members(["operations": .array(operations), "hash": hasHash ? .string(hash) : nil])
    }

    /// Prints the operations, then the hash.
    func show(hasHash: Bool = true) {
        var old: [SuiteName: JSONObject] = [:]
        for suite in suites { old[suite.suite] = JSONObject(suite.settings) }
        for operation in operations {
            let (suite, key) = (operation.suite, operation.key)
            let isSecret = schemas[suite]?.isSecret(key.text) ?? false
            let shown = { (value: JSONValue) in isSecret ? "•••" : Terminal.escaped(value.text()) }
            let before = old[suite]?[key.text].map(shown)
            switch (operation.action, before) {
            case (.set(let value), let before?): print("~ \(suite) \(key): \(before) → \(shown(value))")
            case (.set(let value), nil): print("+ \(suite) \(key): \(shown(value))")
            case (.delete, _), (.change, _): print("- \(suite) \(key): \(before ?? "")")
            }
        }
        if operations.isEmpty { print("nothing to change") } else if hasHash { print("plan \(hash)") }
    }
}

extension SettingsError {
    /// Returns the error for a plan that is too large for one commit; nil if the daemon refused the plan for another
    /// reason.
    ///
    /// The command does not split a plan, because other callers could see a part of the plan.
    fileprivate func tooManyOperations(_ count: Int, _ conditionCount: Int) -> ToolError? {
        guard code == .tooLarge, let problem else { return nil }
        return ToolError(
            .refused,
            "cannot apply the plan in one commit, with \(count) operations and \(conditionCount) \(conditionCount == 1 ? "condition" : "conditions"): \(problem.detail)\n"
                + "  split the settings into several files, and run 'settings apply' for each file; other callers can then "
                + "see the state between the commits")
    }
}
