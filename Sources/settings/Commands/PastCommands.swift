import SettingsHTTP

/// Commands about the past: `history`, `diff`, `undo`, `restore`.
enum PastCommands {
    static let all = [history, diff, undo, restore]

    /// The number of changes that `history` shows of a commit without `--full`.
    private static let maximumShownChanges = 20

    private static let history = Command(
        name: "history",
        forms: [
            [.suite, .anyKeys], .init([.optionalSuite, .anyKeys], with: "suite"), .init([], with: "all"),
            .init([.optionalSuite, .anyKeys], with: "commit"),
        ],
        summary: "Show the commits of suites, the newest first: the changes, the time, the caller and the note.",
        details: """
            With --suite or --all, the command shows the commits of several suites in one list. Without SUITE, --commit shows
            the changes in all suites. All suites include the dropped suites of which the daemon still has commits.
            """,
        options: Command.suiteSelection + [
            Command.Option("commit", "REVISION", "only this commit"),
            Command.Option("prefix", "PREFIX", "only keys that begin with PREFIX"),
            Command.Option("by", "NAME", "only commits of this caller"),
            Command.Option("limit", "N", "the largest number of commits (default: 20; 0 for all)"),
            Command.Option("full", nil, "all changes of a commit, not only \(maximumShownChanges)"), Command.json,
            Command.secrets,
        ],
        exclusive: [["all", "suite"], ["commit", "limit"], ["json", "full"]],
        examples: [
            "settings history app", "settings history app theme --limit 3", "settings history --all",
            "settings history --commit 23 --full",
        ]
    ) { try showHistory($0) }

    // Not in the closure above, which is asynchronous: the optimizer of Swift 6.3.1 has crashed with long asynchronous
    // closures.
    @inline(never)
    private static func showHistory(_ arguments: Arguments) throws -> ExitCode {
        let selectsSuites = !arguments.operands.isEmpty || arguments.has("suite") || arguments.has("all")
        let revision = try arguments.revision("commit")
        let selection =
            selectsSuites || revision == nil ? try arguments.selectedSuites() : SelectedSuites(names: nil, keys: [])
        let (requestedLimit, showsSecrets) = (try arguments.number("limit") ?? 20, try arguments.showsSecrets())
        let client = try arguments.client()
        var suites = selection.names ?? []
        if selection.names == nil {
            try client.eachPageOfSuites(includesDropped: true) { suites += $0.map(\.suite) }
        }
        let limit = revision != nil ? 1 : requestedLimit == 0 ? Int.max : requestedLimit
        // With --commit, the first commit that the daemon returns is this commit, if the suites have it.
        var commits = CommitHistory(
            of: suites, before: revision?.advanced(by: 1),
            .init(
                keys: selection.keys, prefix: arguments["prefix"], caller: arguments["by"], pageSize: min(limit, 1000)),
            from: client)
        var count = 0
        while count < limit, let parts = try commits.next() {
            if let revision, parts[0].commit.revision != revision { break }
            count += 1
            if arguments.has("json") {
                for part in parts { print(part.summary(showsSecrets: showsSecrets).text()) }
            } else {
                show(
                    parts, namesSuites: selection.areSeveral, limit: arguments.has("full") ? .max : maximumShownChanges)
            }
        }
        if let revision, count == 0 {
            let suitesPhrase = selection.areSeveral ? "these suites" : "suite \(suites[0])"
            let isFiltered = !selection.keys.isEmpty || arguments.has("prefix") || arguments.has("by")
            let condition = isFiltered ? " that matches the keys and the options of the command" : ""
            throw ToolError(.unknown, "the history of \(suitesPhrase) has no commit \(revision)\(condition)")
        }
        return .done
    }

    private static func show(_ parts: [CommitHistory.SuiteCommit], namesSuites: Bool, limit: Int) {
        let commit = parts[0].commit
        let note = commit.note.map { ": \(Terminal.escaped($0))" } ?? ""
        let caller = commit.by.map { " by \($0)" } ?? ""
        print(Terminal.styled("revision \(commit.revision), \(commit.time.short)\(caller)\(note)", .strong))
        var remaining = limit
        for part in parts {
            let (suite, prefix) = namesSuites ? ("suite \(part.suite)", "\(part.suite) ") : ("the suite", "")
            if part.commit.isDrop { print("  \(suite) was dropped") }
            if part.commit.hasSchema { print("  the schema\(namesSuites ? " of \(suite)" : "") was changed") }
            for change in part.commit.changes.prefix(remaining) { print("  \(prefix)\(change.line)") }
            remaining -= min(remaining, part.commit.changes.count)
            // `kept`: the settings that a revert left as they are.
            for setting in part.commit.kept { print("  \(setting.line)") }
        }
        // If an action concerns several suites, the parts of all these suites have its event.
        var printedActions: Set<PendingID> = []
        for event in parts.flatMap(\.commit.pending) where printedActions.insert(event.id).inserted {
            print("  \(event.line)")
        }
        let hidden = parts.map(\.commit.changes.count).reduce(0, +) - limit
        if hidden > 0 { print("  … and \(hidden) more \(hidden == 1 ? "change" : "changes"); --full shows all") }
    }

    /// The forms of a point in the history, for the help.
    private static let momentForms =
        "a revision, an instant such as 2026-11-20T10:00:00Z, 2h (two hours ago) or yesterday (24 hours ago)"

    private static let diff = Command(
        name: "diff", forms: [[.suite, Command.Operand("FROM"), Command.Operand("TO", .optional)]],
        summary: "Show the changes between two revisions or times, or until now.",
        details:
            """
            FROM and TO are each \(momentForms).
            The exit code is 2 if there are differences.
            """,
        options: [Command.json, Command.secrets],
        examples: ["settings diff app yesterday", "settings diff app 17 23"]
    ) { arguments in
        let showsSecrets = try arguments.showsSecrets()
        let suite = try arguments.suite()
        let start = try Arguments.moment(arguments.operands[1])
        let end = arguments.operands.count > 2 ? try Arguments.moment(arguments.operands[2]) : nil
        let difference = try arguments.client().blocking.send(.difference(of: suite, from: start, to: end))
        if difference.isSchemaChanged {
            print(arguments.has("json") ? JSONValue.members(["schema": .bool(true)]).text() : "the schema differs")
        }
        for change in difference.changes {
            print(arguments.has("json") ? change.summary(showsSecrets: showsSecrets).text() : change.line)
        }
        return difference.changes.isEmpty && !difference.isSchemaChanged ? .done : .differs
    }

    private static let undo = Command(
        name: "undo", forms: [[Command.Operand("REVISION")], [.suite, Command.Operand("REVISION")]],
        summary: "Undo the changes of a commit, in one suite or in all suites that it changed.",
        details:
            "If a later commit changed one of the same keys, the command changes nothing, unless --force is given.",
        options: [Command.Option("force", nil, "undo the commit even if keys were changed later")] + Command.writing,
        examples: ["settings undo app 17", "settings undo 23 --dry-run"]
    ) { arguments in
        let suite = arguments.operands.count > 1 ? try arguments.suite() : nil
        let text = arguments.operands.last ?? ""
        guard let revision = Revision(text) else {
            throw ToolError.usage("'\(text)' is not a revision; 'settings history SUITE' lists the revisions")
        }
        var options = try arguments.writeOptions()
        options.note = options.note ?? "undo revision \(revision)"
        let client = try arguments.client()
        return try client.blocking.send(.undo(revision, in: suite, isForced: arguments.has("force"), options))
            .printAndAwaitClientsOrConfirmation(arguments, client, of: suite.map { [$0] } ?? [])
    }

    private static let restore = Command(
        name: "restore",
        forms: [
            [.suite, Command.Operand("WHEN"), .anyKeys], .init([.suite, Command.Operand("WHEN")], with: "prefix"),
        ],
        summary: "Restore the values that settings had at an earlier time.",
        details:
            """
            WHEN is \(momentForms).
            The present schema must allow the values.
            """,
        options: [
            Command.Option("prefix", "PREFIX", "only keys that begin with PREFIX"),
            Command.Option("skip", nil, "skip values that the schema does not allow, and print these values"),
        ] + Command.writing,
        examples: ["settings restore app yesterday --dry-run", "settings restore app 17 theme"]
    ) { arguments in
        let (suite, keys, client) = (try arguments.suite(), try arguments.keys(from: 2), try arguments.client())
        let moment = try Arguments.moment(arguments.operands[1])
        var options = try arguments.writeOptions()
        options.note = options.note ?? moment.restoreNote
        let summary = try client.blocking.send(
            .restore(
                suite, to: moment, prefix: arguments["prefix"], keys: keys.isEmpty ? nil : keys,
                skipsConflicts: arguments.has("skip"), options))
        return try summary.printAndAwaitClientsOrConfirmation(arguments, client, of: [suite])
    }
}

extension Moment {
    /// The note of a restore to this moment, if the command line has no `--note`.
    fileprivate var restoreNote: String {
        switch self {
        case .revision(let revision): "go back to revision \(revision)"
        case .instant(let instant): "go back to \(instant)"
        }
    }
}

extension Change {
    /// The JSON object of the change that `--json` prints.
    ///
    /// - Parameter cursor: where a watcher continues after the change.
    func summary(showsSecrets: Bool, cursor: Cursor? = nil) -> JSONValue {
        let isMasked = isSecret && !showsSecrets
        return .members([
            "suite": .string(suite.text), "key": .string(key.text), "old": isMasked ? nil : old,
            "value": isMasked ? nil : new, "secret": isSecret ? true : nil,
            "oldSource": .string(oldSource.name), "source": .string(source.name),
            "revision": .integer(revision.number), "time": .string(modified.description),
            "by": by.map { .string($0) }, "note": note.map { .string($0) },
            "cursor": cursor.map { .string($0.description) },
        ])
    }
}

extension CommitHistory.SuiteCommit {
    fileprivate func summary(showsSecrets: Bool) -> JSONValue {
        .members([
            "revision": .integer(commit.revision.number), "suite": .string(suite.text),
            "time": .string(commit.time.description), "by": commit.by.map { .string($0) },
            "note": commit.note.map { .string($0) }, "schema": .bool(commit.hasSchema),
            "dropped": .bool(commit.isDrop),
            "changes": .array(commit.changes.map { $0.summary(showsSecrets: showsSecrets) }),
            "pending": Self.array(commit.pending), "kept": Self.array(commit.kept),
        ])
    }

    /// The bodies as a JSON array; nil if there are none.
    private static func array(_ bodies: [some JSONBody]) -> JSONValue? {
        bodies.isEmpty ? nil : .array(bodies.map(\.jsonValue))
    }
}
