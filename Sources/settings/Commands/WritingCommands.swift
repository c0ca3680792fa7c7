import SettingsAPI
import SettingsHTTP

/// Commands that change settings: `set`, `unset`.
enum WritingCommands {
    static let all = [set, unset]

    private static let guards = [
        Command.Option("if-revision", "REVISION", "only if the setting is at this revision"),
        Command.Option("if-unset", nil, "only if the setting has no stored value"),
    ]

    private static let set = Command(
        name: "set",
        forms: [
            [.suite, .key, Command.Operand("VALUE")], [.suite, Command.Operand("KEY=VALUE", .oneOrMore)],
            .init([.suite, .someKeys], with: "toggle"),
        ],
        summary: "Change settings, or parts of their values.",
        details: """
            The schema decides the type of a value: 5 is a number for one key and a text for another. +5 adds 5, and +-5
            subtracts 5, if the schema allows numbers and no texts, or without a schema if the stored value is a number. If
            VALUE is -, the command reads the value from standard input. Several KEY=VALUE make one commit.

            KEY[0] is the first element of a list, KEY[name] a member of an object, and KEY[0].name a member of the element.
            The key ends at the first [, because keys may contain dots. Write ["KEY"] for a key, or a member, that contains [
            or =. If another caller changes the value meanwhile, the command reads the value again and repeats a change that
            depends on the value. The command changes an element of a list only if the element is still at its position;
            otherwise it changes nothing, and the exit code is 5.
            """,
        options: [
            Command.Option("json", nil, "VALUE is JSON"), Command.Option("text", nil, "VALUE is a text"),
            Command.Option("append", nil, "add VALUE to a list or a text"),
            Command.Option("remove", nil, "remove the elements that are equal to VALUE from a list"),
            Command.Option("merge", nil, "merge VALUE, a JSON object, into an object; null removes a member"),
            Command.Option("toggle", nil, "change true to false, and false to true"),
        ] + guards + Command.writing + [Command.interactive],
        exclusive: [
            ["json", "text"], ["append", "remove", "merge", "toggle"], ["if-unset", "if-revision"], ["toggle", "json"],
            ["toggle", "text"],
        ],
        examples: [
            "settings set app launchCount +1", "settings set app theme=dark launchCount=5 --note 'as the manual says'",
            "settings set app 'servers[0].port=8080'", "settings set app tags beta --append",
        ]
    ) { try setSettings($0) }

    // Not in the closure above, which is asynchronous: the optimizer of Swift 6.3.1 has crashed with long asynchronous
    // closures.
    @inline(never)
    private static func setSettings(_ arguments: Arguments) throws -> ExitCode {
        let (suite, client) = (try arguments.suite(), try arguments.client())
        let reader = OperationReader(client: client, suite: suite, arguments: arguments)
        let assignments = try reader.assignments()
        let options = try arguments.writeOptions()
        try arguments.validateInteraction()
        let isGuarded = options.ifMatch != nil || options.ifNoneMatch != nil
        var elements: [ArrayElement]?
        for attempt in 0..<Attempts.maximum {
            Attempts.pause(before: attempt)
            let change: OperationReader.PreparedChange
            do {
                change = try reader.change(assignments)
            } catch is OperationReader.StaleRead {
                continue
            }
            try ArrayElement.requireUnchanged(&elements, change.elements)
            // The keys that had no stored value when they were read must still have none. With --if-revision or
            // --if-unset, the guard takes the place of these conditions.
            let conditions: [Transaction.Condition] =
                isGuarded ? [] : change.unsetKeys.map { .setting(suite, $0, .stored(false)) }
            do {
                let changes = try write(change.operations, if: conditions, in: suite, client, options.repeatable())
                return try printAndAwaitClientsOrConfirmation(changes, of: suite, client, arguments)
            } catch let error as SettingsError where error.code == .preconditionFailed {
                guard !isGuarded, change.dependsOnValues || !conditions.isEmpty else { throw error }
            } catch let error as SettingsError where error.code == .invalidOperation {
                // The patches could be applied to the values that were read. The daemon has refused the patches, so
                // another caller has changed the values, and the loop reads the values again.
                guard !isGuarded, change.consistsOfPatches else { throw error }
            } catch let error as SettingsError where error.code == .unknownKey {
                let keys = change.operations.map(\.key)
                guard let advice = advice(for: keys, in: suite, client) else { throw error }
                let cause = ToolError(describing: error)
                throw ToolError(cause.code, "\(cause.message)\n  \(advice)")
            }
        }
        throw Attempts.exhaustedError(changedObject: "the value")
    }

    /// Prints the changes. With `--wait-for`, then waits until the clients of the suite have applied the changes; with
    /// `--interactive`, until the person confirms the change.
    private static func printAndAwaitClientsOrConfirmation(
        _ changes: WriteReport, of suite: SuiteName, _ client: DaemonClient, _ arguments: Arguments
    ) throws(ToolError) -> ExitCode {
        changes.print(arguments)
        if !arguments.has("quiet"), let advice = advice(for: changes.newKeys, in: suite, client) {
            Terminal.warn(advice)
        }
        do {
            return try changes.awaitClientsOrConfirmation(arguments, client, of: [suite])
        } catch {
            throw ToolError(describing: error)
        }
    }

    /// The maximum number of keys that `advice` examines, and the maximum number of steps of each key. A step is a part
    /// of a key before a `.` or `/`, and costs a request.
    private static let (maximumAdvisedKeys, maximumSteps) = (3, 5)

    /// Returns a sentence with the right path if one of the keys, such as `servers.0.port`, looks like a part of the
    /// value of another key.
    private static func advice(for keys: [KeyName], in suite: SuiteName, _ client: DaemonClient) -> String? {
        for key in keys.prefix(maximumAdvisedKeys) {
            let steps = key.text.split(omittingEmptySubsequences: false) { "./".contains($0) }
            for step in steps.dropLast().prefix(maximumSteps) {
                let parent = key.text[..<step.endIndex]
                guard let name = try? KeyName(String(parent)),
                    let value = try? client.blocking.send(.setting(name, in: suite)).value,
                    value.object != nil || value.array != nil
                else { continue }
                let path = steps.drop { $0.startIndex <= step.startIndex }.map { "[\($0)]" }.joined()
                return "\(key) names a whole key; write '\(name)\(path)' for a part of the value of \(name)"
            }
        }
        return nil
    }

    private static let unset = Command(
        name: "unset",
        forms: [
            [.suite, .someKeys], .init([.suite], with: "prefix"), .init([.suite], with: "all"),
            .init([.suite], with: "drop"),
        ],
        summary: "Remove stored values, so that settings have their defaults again.",
        details: "KEY[0] removes an element of a list, and KEY[name] a member of an object; see 'settings help set'.",
        options: [
            Command.Option("prefix", "PREFIX", "all keys that begin with PREFIX"),
            Command.Option("all", nil, "all keys of the suite"),
            Command.Option("drop", nil, "all keys, the schema and the suite"),
            Command.Option("if-revision", "REVISION", "only if the setting, or the suite, is at this revision"),
        ] + Command.writing,
        exclusive: [["prefix", "all", "drop"]],
        examples: ["settings unset app theme", "settings unset app --prefix player. --dry-run"]
    ) { arguments in
        let (suite, keys, client) = (try arguments.suite(), try arguments.paths(from: 1), try arguments.client())
        let options = try arguments.writeOptions()
        let selection = ["prefix", "all", "drop"].first(where: arguments.has)
        if let path = keys.first(where: \.isPattern) {
            let prefix = path.description.dropLast()
            let option = prefix.isEmpty ? "--all" : "--prefix \(EnvironmentFile.quoted(String(prefix)))"
            throw path.patternError(
                "'settings unset \(suite) \(option)' removes these keys, and with --dry-run shows them")
        }
        guard arguments["prefix"] != "" else {
            throw ToolError.usage("--prefix is empty; use --all to remove all keys of the suite")
        }
        var summary: WriteReport
        do {
            switch selection {
            case "drop":
                summary = WriteReport(try client.blocking.send(.drop(suite, options)))
                summary.lines.append(dropLine(options))
            case "prefix", "all":
                summary = WriteReport(
                    try client.blocking.send(.reset(suite, prefix: arguments["prefix"], options)))
            default:
                summary = try unset(keys, in: suite, client, options)
            }
        } catch let error as SettingsError where error.code == .tooLarge && keys.isEmpty {
            return try unsetInParts(suite, client, options, arguments)
        }
        summary.print(arguments)
        return try summary.awaitClientsOrConfirmation(arguments, client, of: [suite])
    }

    /// Removes settings and parts of their values. If another caller changes a value between the read and the write,
    /// reads the values again, and continues if the paths still lead to the same elements of arrays.
    private static func unset(
        _ paths: [SettingPath], in suite: SuiteName, _ client: DaemonClient, _ options: WriteOptions
    ) throws -> WriteReport {
        var elements: [ArrayElement]?
        for attempt in 0..<Attempts.maximum {
            Attempts.pause(before: attempt)
            let removal = try RemovalOperations(of: paths, in: suite, client)
            try ArrayElement.requireUnchanged(&elements, removal.elements)
            do {
                return try write(removal.operations, in: suite, client, options.repeatable())
            } catch let error as SettingsError where [.preconditionFailed, .invalidOperation].contains(error.code) {
                guard options.ifMatch == nil, !paths.allSatisfy(\.isWhole) else { throw error }
            }
        }
        throw Attempts.exhaustedError(changedObject: "the value")
    }

    /// Removes values in several commits, if the daemon refused to remove all of them in one commit.
    private static func unsetInParts(
        _ suite: SuiteName, _ client: DaemonClient, _ options: WriteOptions, _ arguments: Arguments
    ) throws -> ExitCode {
        let stored = try StoredSuite(suite, from: client)
        if let tag = options.ifMatch, tag != .tag(EntityTag(stored.revision)) {
            throw ToolError(
                .refused,
                "cannot change the suite \(suite): it is at revision \(stored.revision), not at the revision of --if-revision"
            )
        }
        // The commits have a condition on the revision of the suite instead of the guard.
        var options = options
        options.ifMatch = nil
        let prefix = arguments["prefix"] ?? ""
        let keys = (stored.settings.map(\.key) + stored.secrets).filter { $0.text.hasBytePrefix(prefix) }
        let operations = keys.map { Transaction.Operation(suite: suite, key: $0, .delete) }
        let parts = SplitCommit(suite: suite, operations: operations, client: client)
        guard arguments.has("drop") else { return try parts.commitAndPrint(options, from: stored.revision, arguments) }
        return try parts.commitAndPrint(options, from: stored.revision, arguments) { revision in
            guard !options.isDryRun else { return dropLine(options) }
            var options = options.repeatable()
            options.ifMatch = .tag(EntityTag(revision))
            do throws(SettingsError) {
                _ = try client.blocking.send(.drop(suite, options))
            } catch {
                let cause = ToolError(describing: error)
                throw ToolError(
                    cause.code,
                    "cannot drop the suite: \(cause.message)\nall values are removed; run the command again to drop the suite"
                )
            }
            return dropLine(options)
        }
    }

    private static func dropLine(_ options: WriteOptions) -> String {
        "the suite \(options.isDryRun ? "would be" : "was") dropped"
    }

    /// Sends operations. One operation, or several patches of one value, become a request for the setting, whose guards
    /// concern the setting. Several operations become a transaction. A write with conditions becomes a transaction,
    /// too, because only a transaction has conditions. A write with `--effective` also becomes a transaction, because
    /// the daemon answers this write with a `WriteSummary`, as it answers a transaction, and not with the state of the
    /// setting.
    static func write(
        _ operations: [Transaction.Operation], if conditions: [Transaction.Condition] = [], in suite: SuiteName,
        _ client: DaemonClient, _ options: WriteOptions
    ) throws -> WriteReport {
        let joinedOperation = joined(operations)
        guard conditions.isEmpty, options.effective == nil, let joinedOperation else {
            var (options, conditions) = (options, conditions)
            if let joinedOperation {
                conditions += options.conditions(on: joinedOperation)
            } else if options.ifMatch != nil || options.ifNoneMatch != nil {
                throw ToolError.usage(
                    "--if-revision and --if-unset need exactly one key; this command changes several keys")
            }
            (options.ifMatch, options.ifNoneMatch) = (nil, nil)
            return WriteReport(
                try client.blocking.send(.commit(Transaction(if: conditions, do: operations), options)))
        }
        let endpoint: Endpoint<Answer<SettingState>> =
            switch joinedOperation.action {
            case .set(let value): .set(joinedOperation.key, to: value, in: suite, options)
            case .delete: .remove(joinedOperation.key, in: suite, options)
            case .change(let change): .change(joinedOperation.key, by: change, in: suite, options)
            }
        return WriteReport(try client.blocking.send(endpoint))
    }

    /// Returns one operation with the effect of all operations; nil if there is no such operation, so that a
    /// transaction is needed.
    private static func joined(_ operations: [Transaction.Operation]) -> Transaction.Operation? {
        guard operations.count > 1, let first = operations.first else { return operations.first }
        var steps: [JSONPatch.Step] = []
        for operation in operations {
            guard operation.key == first.key, case .change(.patch(let patch)) = operation.action else { return nil }
            steps += patch.steps
        }
        return Transaction.Operation(suite: first.suite, key: first.key, .change(.patch(JSONPatch(steps))))
    }
}

extension WriteOptions {
    /// The guards `ifMatch` and `ifNoneMatch` as conditions of a transaction.
    fileprivate func conditions(on operation: Transaction.Operation) -> [Transaction.Condition] {
        var conditions: [Transaction.Condition] = []
        if case .tag(let tag) = ifMatch {
            conditions.append(.setting(operation.suite, operation.key, .revision(tag.revision)))
        }
        if ifNoneMatch == .any { conditions.append(.setting(operation.suite, operation.key, .stored(false))) }
        return conditions
    }
}
