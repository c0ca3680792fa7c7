import Platform
import SettingsAPI
import SettingsHTTP
import SettingsModel

/// Commands about pending actions: changes that the daemon reverts or makes at a deadline.
enum PendingCommands {
    static let all = [pending, confirm, revert, cancel, extend]

    private static let identifier = Command.Operand("ID")
    /// The options of the commands whose commits change no setting. The history omits these commits.
    private static let options = [
        Command.Option("note", "TEXT", "the reason, which the audit file of the daemon shows", short: "m"),
        Command.dryRun, Command.quiet,
    ]

    private static let pending = Command(
        name: "pending", forms: [[.optionalSuite], .init([], with: "id")],
        summary: "List the changes that the daemon will revert or make at a deadline.",
        details: """
            'settings set' and other commands make a pending action with --confirm, --until or --effective. With --id, the
            command shows one action, and its outcome if it has ended.
            """,
        options: [Command.Option("id", "ID", "only this action, also if it has ended")] + ListOutput.options,
        exclusive: ListOutput.exclusive,
        examples: ["settings pending", "settings pending app", "settings pending --id p51"]
    ) { arguments in
        var output = try ListOutput(arguments, columns: PendingRow.columns)
        let client = try arguments.client()
        let now = Timestamp(milliseconds: WallClock.milliseconds)
        if let text = arguments["id"] {
            let id = try PendingID.named(text)
            do throws(SettingsError) {
                output.print([PendingRow(action: try client.blocking.send(.pendingAction(id)), now: now)])
            } catch {
                guard error.code == .pendingEnded, let ended = error.problem?.pending else { throw error }
                if arguments.has("json") {
                    output.print([PendingRow(action: ended, now: now)])
                } else {
                    for line in ended.outcomeLines { print(line) }
                }
            }
            return .done
        }
        let suite = arguments.operands.isEmpty ? nil : try arguments.suite()
        let listing = try client.blocking.send(.pendingActions(of: suite))
        output.print(listing.pending.map { PendingRow(action: $0, now: now) })
        return .done
    }

    private static let confirm = Command(
        name: "confirm", forms: [[identifier]], summary: "Keep a change that the daemon would revert.",
        details: "The exit code is 5 if the action has already ended.", options: options,
        examples: ["settings confirm p51", "settings confirm p51 --note 'works'"]
    ) { try perform(.confirm, $0) }

    private static let revert = Command(
        name: "revert", forms: [[identifier]], summary: "Revert a change now, before its deadline.",
        details: """
            A setting that was changed again later keeps its value, and the command lists it. 'settings undo' reverts a change
            without a deadline.
            """,
        options: [Command.note, Command.dryRun, Command.quiet],
        examples: ["settings revert p51", "settings revert p51 --dry-run"]
    ) { try perform(.revert, $0) }

    private static let cancel = Command(
        name: "cancel", forms: [[identifier]], summary: "Drop a scheduled change.", options: options,
        examples: ["settings cancel p52", "settings cancel p52 --note 'postponed'"]
    ) { try perform(.cancel, $0) }

    private static let extend = Command(
        name: "extend", forms: [[identifier, Command.Operand("WHEN")]],
        summary: "Move the deadline of a pending action.",
        details:
            "WHEN is a time from now such as 10m, an instant such as 2026-12-02T09:00:00Z, or a day such "
            + "as 2026-12-02 (00:00 UTC).",
        options: options, examples: ["settings extend p51 10m", "settings extend p51 1h30m"]
    ) { try perform(.extend(try Arguments.deadline($0.operands[1], of: "settings extend")), $0) }

    private static func perform(_ request: PendingRequest, _ arguments: Arguments) throws -> ExitCode {
        let (id, options) = (try PendingID.named(arguments.operands[0]), try arguments.writeOptions())
        let client = try arguments.client()
        let summary = try client.blocking.send(.perform(request, on: id, options))
        summary.printOutcome(of: id, arguments)
        return .done
    }
}

extension PendingID {
    /// Parses the identifier of a pending action. Any other text is a usage error.
    fileprivate static func named(_ text: String) throws(ToolError) -> PendingID {
        guard let id = PendingID(text) else {
            throw .usage(
                "'\(Terminal.escaped(text))' is not the identifier of a pending action, such as p51; 'settings pending' lists the actions"
            )
        }
        return id
    }
}

extension Answer<WriteSummary> {
    /// Prints the changes of a revert, and the outcome or the new deadline of the action.
    fileprivate func printOutcome(of id: PendingID, _ arguments: Arguments) {
        guard !arguments.has("quiet") || body.isDryRun else { return }
        for line in WriteReport(self).lines { print(line) }
        for line in body.pending?.outcomeLines ?? [] { print(line) }
        if let deadline = body.pending?.deadline { print("\(id): the deadline is \(deadline.short)") }
        if body.isDryRun { print("(a dry run: nothing was changed)") }
    }
}

extension WriteReport {
    /// Waits for the clients (`--wait-for`), for the user (`--interactive`) or for the command of `--check`. With
    /// `--confirm`, then confirms the change; reverts the change if a client or the check has failed, or if the clients
    /// take too long. Returns the exit code of the command.
    ///
    /// - Parameter suites: the suites that the command names. If the write changed nothing, `--wait-for` waits for the
    ///   clients of these suites.
    func awaitClientsOrConfirmation(
        _ arguments: Arguments, _ client: DaemonClient, of suites: [SuiteName]
    ) throws -> ExitCode {
        if arguments.has("wait-for") {
            return try ConvergenceWait(
                for: cursor, of: self.suites.isEmpty ? suites : self.suites, arguments, client
            ).run(confirmingOrReverting: pending?.kind == .confirm ? pending : nil)
        }
        guard let pending, let deadline = pending.deadline, pending.kind == .confirm else { return .done }
        if arguments.has("interactive") { return try askUser(pending, until: deadline, arguments, client) }
        if let command = arguments["check"] { return try run(check: command, pending, arguments, client) }
        return .done
    }

    /// Shows the remaining time until the deadline. Confirms the change if the user presses Enter. Throws at the
    /// deadline, or if the input ends.
    private func askUser(
        _ pending: PendingDescription, until deadline: Timestamp, _ arguments: Arguments, _ client: DaemonClient
    ) throws -> ExitCode {
        let remaining = max(0, deadline.milliseconds - WallClock.milliseconds)
        let end = ContinuousClock.now + .milliseconds(remaining)
        while ContinuousClock.now < end {
            let seconds = Int((end - .now).components.seconds) + 1
            let time = "\(seconds / 60):\(seconds % 60 < 10 ? "0" : "")\(seconds % 60)"
            try Terminal.replaceLastLine(
                by: "the daemon reverts the change in \(time); press Enter to keep the change, or Ctrl-C to leave")
            guard Terminal.awaitInput(until: min(end, .now + .seconds(1))) else { continue }
            guard readLine() != nil else { break }
            try Terminal.replaceLastLine(by: "")
            try client.blocking.send(.perform(.confirm, on: pending.id, WriteOptions.plain.repeatable()))
                .printOutcome(of: pending.id, arguments)
            return .done
        }
        try Terminal.replaceLastLine(by: "")
        throw ToolError(
            .timedOut, "\(pending.id) was not confirmed; the daemon reverts the change at \(deadline.short)")
    }

    /// Runs the command of `--check`. Confirms the change if the command succeeds, and otherwise reverts the change.
    private func run(
        check command: String, _ pending: PendingDescription, _ arguments: Arguments, _ client: DaemonClient
    ) throws -> ExitCode {
        var shell = ShellCommand(command)
        // If the command runs `settings`, that program must use the same daemon.
        if let server = arguments["server"] { shell.variables[ServerAddress.variable] = server }
        shell.variables["SETTINGS_PENDING"] = pending.id.description
        try Terminal.flush()
        var failure = ""
        do {
            let code = try shell.exitCode()
            if code != 0 { failure = "the check ended with exit code \(code)" }
        } catch {
            failure = "the check could not run: \(error.message)"
        }
        let error = failure.isEmpty ? nil : ToolError(.failed, failure)
        try pending.confirmOrRevert(after: error, success: "the check succeeded", arguments, client)
        return .done
    }
}

extension PendingDescription {
    /// The time for which the request to confirm or revert is repeated while the daemon does not answer.
    private static let repetitionTimeout = Duration.seconds(30)

    /// Confirms the change if there is no failure. Otherwise reverts the change, and throws the failure.
    ///
    /// - Parameters:
    ///   - failure: the reason to revert. The first line of its message must be a clause without a period, because the
    ///     error message continues the clause.
    ///   - success: the reason to confirm. The clause with which the error message begins if the confirmation fails.
    func confirmOrRevert(
        after failure: ToolError?, success: String, _ arguments: Arguments, _ client: DaemonClient
    ) throws(ToolError) {
        let lines = failure?.message.split(separator: "\n", maxSplits: 1) ?? []
        let (clause, details) = (lines.first ?? "", lines.dropFirst().map { "\n\($0)" }.joined())
        let request: PendingRequest = failure == nil ? .confirm : .revert
        let endpoint = Endpoint.perform(request, on: id, WriteOptions.plain.repeatable())
        let end = ContinuousClock.now + Self.repetitionTimeout
        var (backOff, generator) = (BackOff(), SystemRandomNumberGenerator())
        while true {
            do throws(SettingsError) {
                try client.blocking.send(endpoint).printOutcome(of: id, arguments)
                break
            } catch {
                guard !error.isTransient || ContinuousClock.now >= end else {
                    CurrentThread.sleep(for: backOff.next(using: &generator))
                    continue
                }
                // The pending action may have ended before this request: the daemon has reverted the change at the
                // deadline, or another caller has ended the action. An end with the outcome of this request is no
                // error.
                let outcome = error.problem?.pending?.end?.outcome
                guard error.code == .pendingEnded, outcome == (failure == nil ? .confirmed : .reverted) else {
                    let cause = ToolError(describing: error)
                    var result =
                        failure == nil
                        ? "\(success), but the confirmation failed: \(cause.message)"
                        : "\(clause), and the revert failed: \(cause.message)"
                    if failure != nil, error.code != .pendingEnded {
                        result += "\nunless somebody confirms the change, the daemon reverts the change at the deadline"
                    }
                    throw ToolError(failure?.code ?? cause.code, "\(result)\(details)")
                }
                break
            }
        }
        if let failure { throw ToolError(failure.code, "\(clause), so the change was reverted\(details)") }
    }
}
