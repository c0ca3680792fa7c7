import SettingsHTTP

/// Commands about the past: `history`, `diff`, `undo`, `restore`.
enum PastCommands {
    static let all = [history, diff, undo, restore]

    private static let history = Command(
        name: "history", forms: [[.suite, .anyKeys]], summary: "Show who changed what, when and why, the newest first.",
        options: [
            Command.Option("prefix", "PREFIX", "only keys that begin so"),
            Command.Option("by", "NAME", "only this caller"),
            Command.Option("limit", "N", "so many commits (20; 0 for all that are kept)"), Command.json,
            Command.secrets,
        ],
        examples: ["settings history app", "settings history app theme --limit 3"]
    ) { arguments in
        let (suite, keys) = (try arguments.suite(), try arguments.keys(from: 1))
        let (client, wanted) = (try arguments.client(), try arguments.number("limit") ?? 20)
        let showsSecrets = try arguments.showsSecrets()
        var (left, before) = (wanted == 0 ? Int.max : wanted, Revision?.none)
        repeat {
            let page = try client.blocking.send(
                .history(
                    of: suite, keys: keys, prefix: arguments["prefix"], by: arguments["by"], before: before,
                    limit: min(left, 1000)))
            for commit in page.commits {
                if arguments.has("json") {
                    print(commit.summary(showsSecrets: showsSecrets).text())
                } else {
                    show(commit)
                }
            }
            left -= page.commits.count
            before = page.next
        } while before != nil && left > 0
        return .done
    }

    private static func show(_ commit: HistoryCommit) {
        let caller = commit.by.map { " by \($0)" } ?? ""
        let note = commit.note.map { ": \(Terminal.plain($0))" } ?? ""
        print(Terminal.styled("revision \(commit.revision), \(commit.time.short)\(caller)\(note)", .strong))
        if commit.isDrop { print("  the suite was dropped") }
        if commit.hasSchema { print("  the schema was changed") }
        for change in commit.changes { print("  \(change.line)") }
    }

    private static let diff = Command(
        name: "diff", forms: [[.suite, Command.Operand("FROM"), Command.Operand("TO", .optional)]],
        summary: "Show what differs between two places in the past, or until now.",
        details:
            "It ends with 2 if something differs. A place is a revision, an instant, yesterday, or 2h for two hours ago.",
        options: [Command.json, Command.secrets],
        examples: ["settings diff app yesterday", "settings diff app 17 23"]
    ) { arguments in
        let showsSecrets = try arguments.showsSecrets()
        let suite = try arguments.suite()
        let start = try Arguments.moment(arguments.operands[1])
        let end = arguments.operands.count > 2 ? try Arguments.moment(arguments.operands[2]) : nil
        let found = try arguments.client().blocking.send(.difference(of: suite, from: start, to: end))
        if found.isSchemaChanged {
            print(arguments.has("json") ? JSONValue.members(["schema": .bool(true)]).text() : "the schema differs")
        }
        for change in found.changes {
            print(arguments.has("json") ? change.summary(showsSecrets: showsSecrets).text() : change.line)
        }
        return found.changes.isEmpty && !found.isSchemaChanged ? .done : .differs
    }

    private static let undo = Command(
        name: "undo", forms: [[Command.Operand("REVISION")], [.suite, Command.Operand("REVISION")]],
        summary: "Undo what a commit did, in one suite or in all that it touched.",
        details:
            "To undo an undo is to do it again. What was changed since is left alone, and refused, without --force.",
        options: [Command.Option("force", nil, "undo it though keys were changed since")] + Command.writing,
        examples: ["settings undo app 17", "settings undo 23 --dry-run"]
    ) { arguments in
        let suite = arguments.operands.count > 1 ? try arguments.suite() : nil
        let text = arguments.operands.last ?? ""
        guard let revision = Revision(text) else {
            throw ToolError.usage("'\(text)' is no revision; 'settings history SUITE' shows them")
        }
        let options = try arguments.writeOptions()
        let summary = try arguments.client().blocking.send(
            .undo(revision, in: suite, isForced: arguments.has("force"), options))
        return summary.body.report(arguments)
    }

    private static let restore = Command(
        name: "restore", forms: [[.suite, Command.Operand("WHEN"), .anyKeys]], summary: "Make settings what they were.",
        details:
            "WHEN is a revision, an instant, yesterday, or 2h for two hours ago. The schema stays, and must allow it.",
        options: [
            Command.Option("prefix", "PREFIX", "only keys that begin so"),
            Command.Option("skip", nil, "leave out what the schema does not allow, and list it"),
        ] + Command.writing,
        examples: ["settings restore app yesterday --dry-run", "settings restore app 17 theme"]
    ) { arguments in
        let (suite, keys) = (try arguments.suite(), try arguments.keys(from: 2))
        guard keys.isEmpty || !arguments.has("prefix") else { throw ToolError.usage("name keys, or a --prefix") }
        let summary = try arguments.client().blocking.send(
            .restore(
                suite, to: try Arguments.moment(arguments.operands[1]), prefix: arguments["prefix"],
                keys: keys.isEmpty ? nil : keys, skipsConflicts: arguments.has("skip"), try arguments.writeOptions()))
        return summary.body.report(arguments)
    }
}

extension WriteSummary {
    /// Prints the changes that the write made, or would make, and ends the command.
    func report(_ arguments: Arguments) -> ExitCode {
        if !arguments.has("quiet") || isDryRun {
            let isOfOne = changes.allSatisfy { $0.suite == changes.first?.suite }
            for change in changes { print(isOfOne ? change.line : "\(change.suite) \(change.line)") }
            if schemaRevision != nil { print("the schema changes") }
            if !changed { print("nothing to change") }
            if isDryRun { print("(a dry run: nothing was changed)") }
        }
        for conflict in skipped {
            print(
                "left as it is: \(conflict.key?.text ?? ""): \(conflict.errors.map(\.detail).joined(separator: "; "))")
        }
        return .done
    }
}

extension Change {
    /// The change for machines.
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

extension HistoryCommit {
    fileprivate func summary(showsSecrets: Bool) -> JSONValue {
        .members([
            "revision": .integer(revision.number), "time": .string(time.description),
            "by": by.map { .string($0) }, "note": note.map { .string($0) }, "schema": .bool(hasSchema),
            "dropped": .bool(isDrop), "changes": .array(changes.map { $0.summary(showsSecrets: showsSecrets) }),
        ])
    }
}
