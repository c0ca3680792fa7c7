import SettingsHTTP

/// Commands that change settings: `set`, `unset`.
enum WritingCommands {
    static let all = [set, unset]

    private static let guards = [
        Command.Option("if-revision", "N", "only if the setting is still at this revision"),
        Command.Option("if-unset", nil, "only if nothing is stored"),
    ]

    private static let set = Command(
        name: "set",
        forms: [
            [.suite, .key, Command.Operand("VALUE")], [.suite, Command.Operand("KEY=VALUE", .oneOrMore)],
        ],
        summary: "Change settings.",
        details: """
            The type of a value is that of the schema: 5 is a number for one key and a text for another. +5 adds to a number
            and +-5 subtracts from it, if the key takes numbers and no texts. Without a schema, the stored value has to be a
            number. The value - is read from standard input. Several KEY=VALUE are one commit: all of them are done, or none.
            """,
        options: [
            Command.Option("json", nil, "VALUE is JSON"), Command.Option("text", nil, "VALUE is a text"),
            Command.Option("append", nil, "add VALUE to a list or a text"),
            Command.Option("toggle", nil, "turn true to false and back; takes no VALUE"),
        ] + guards + Command.writing,
        examples: [
            "settings set app launchCount +1", "settings set app theme=dark launchCount=5 --note 'as the manual says'",
        ]
    ) { arguments in
        let suite = try arguments.suite()
        let client = try arguments.client()
        var reader = OperationReader(client: client, suite: suite, arguments: arguments)
        let operations = try reader.operations()
        let options = try arguments.writeOptions()
        let summary = try write(operations, in: suite, client, options)
        report(summary, of: operations, arguments)
        return .done
    }

    private static let unset = Command(
        name: "unset", forms: [[.suite, .anyKeys]], summary: "Remove stored values: back to the defaults.",
        options: [
            Command.Option("prefix", "PREFIX", "all keys that begin so"),
            Command.Option("all", nil, "all keys of the suite"),
            Command.Option("drop", nil, "the suite with its schema"),
            Command.Option("if-revision", "N", "only if the setting, or the suite, is still at this revision"),
        ] + Command.writing,
        examples: ["settings unset app theme", "settings unset app --prefix player. --dry-run"]
    ) { arguments in
        let (suite, keys, client) = (try arguments.suite(), try arguments.keys(from: 1), try arguments.client())
        let options = try arguments.writeOptions()
        let ways = ["prefix", "all", "drop"].filter(arguments.has)
        guard ways.count + (keys.isEmpty ? 0 : 1) == 1 else {
            throw ToolError.usage("name keys, or one of --prefix, --all and --drop")
        }
        guard arguments["prefix"] != "" else { throw ToolError.usage("--prefix is empty; --all removes all") }
        var summary: Changes
        do {
            switch ways.first {
            case "drop":
                summary = Changes(try client.blocking.send(.drop(suite, options)).body)
                summary.lines.append(dropLine(options))
            case "prefix", "all":
                summary = Changes(try client.blocking.send(.reset(suite, prefix: arguments["prefix"], options)).body)
            default:
                summary = try write(
                    keys.map { Transaction.Operation(suite: suite, key: $0, .delete) }, in: suite, client, options)
            }
        } catch let error as SettingsError where error.code == .tooLarge && keys.isEmpty {
            return try unsetInParts(suite, client, options, arguments)
        }
        report(summary, of: [], arguments)
        return .done
    }

    /// Removes more values than the daemon removes in one commit.
    private static func unsetInParts(
        _ suite: SuiteName, _ client: DaemonClient, _ options: WriteOptions, _ arguments: Arguments
    ) throws -> ExitCode {
        let stored = try StoredSuite(suite, from: client)
        if let tag = options.ifMatch, tag != .tag(EntityTag(stored.revision)) {
            throw ToolError(.refused, "the suite \(suite) is at revision \(stored.revision)")
        }
        // The condition on the revision takes the place of the guard.
        var options = options
        options.ifMatch = nil
        let keys = (stored.settings.map(\.key) + stored.secrets).filter { $0.text.hasPrefix(arguments["prefix"] ?? "") }
        let operations = keys.map { Transaction.Operation(suite: suite, key: $0, .delete) }
        let parts = PartedCommit(suite: suite, operations: operations, client: client)
        guard arguments.has("drop") else { return try parts.commit(options, from: stored.revision, arguments) }
        return try parts.commit(options, from: stored.revision, arguments) { revision in
            guard !options.isDryRun else { return dropLine(options) }
            var options = options.repeatable()
            options.ifMatch = .tag(EntityTag(revision))
            do throws(SettingsError) {
                _ = try client.blocking.send(.drop(suite, options))
            } catch {
                let cause = ToolError(describing: error)
                throw ToolError(
                    cause.code, "all values are removed, but the suite was not dropped: \(cause.message)\nrun it again")
            }
            return dropLine(options)
        }
    }

    private static func dropLine(_ options: WriteOptions) -> String {
        "the suite \(options.isDryRun ? "would be" : "was") dropped"
    }

    /// The changes that a write made, or would make.
    struct Changes {
        let isDryRun: Bool
        var lines: [String]

        init(_ summary: WriteSummary) {
            isDryRun = summary.isDryRun
            lines = summary.changes.map(\.line)
        }

        init(_ setting: SettingState) {
            isDryRun = setting.isDryRun
            lines = []
            guard setting.changed == true else { return }
            let before = setting.previous.map { ($0.value, $0.source) } ?? (nil, .unset)
            lines = [
                setting.isSecret
                    ? Change.line(of: setting.key)
                    : Change.line(of: setting.key, from: before, to: (setting.value, setting.source))
            ]
        }
    }

    /// One operation goes as the request that can be guarded by the setting's revision, several as a transaction.
    private static func write(
        _ operations: [Transaction.Operation], in suite: SuiteName, _ client: DaemonClient, _ options: WriteOptions
    ) throws -> Changes {
        guard operations.count == 1, let only = operations.first else {
            guard options.ifMatch == nil, options.ifNoneMatch == nil else {
                throw ToolError.usage("--if-revision and --if-unset guard a single key")
            }
            return Changes(try client.blocking.send(.commit(Transaction(do: operations), options)).body)
        }
        let endpoint: Endpoint<Answer<SettingState>> =
            switch only.action {
            case .set(let value): .set(only.key, to: value, in: suite, options)
            case .delete: .remove(only.key, in: suite, options)
            case .change(let change): .change(only.key, by: change, in: suite, options)
            }
        do throws(SettingsError) {
            return Changes(try client.blocking.send(endpoint).body)
        } catch {
            // What is added to begins with it.
            guard error.code == .notSet, case .change(let change) = only.action, let value = change.beginning else {
                throw error
            }
            var options = options.repeatable()
            options.ifNoneMatch = .any
            return Changes(try client.blocking.send(.set(only.key, to: value, in: suite, options)).body)
        }
    }

    private static func report(_ changes: Changes, of operations: [Transaction.Operation], _ arguments: Arguments) {
        guard !arguments.has("quiet") || changes.isDryRun else { return }
        for line in changes.lines { print(line) }
        if changes.lines.isEmpty { print("nothing to change") }
        if changes.isDryRun { print("(a dry run: nothing was changed)") }
    }
}

extension InPlaceOperation {
    /// The value that comes of adding to nothing; nil if that has no meaning.
    fileprivate var beginning: JSONValue? {
        switch self {
        case .append(let elements): .array(elements)
        case .concat(let text): .string(text)
        case .add, .toggle, .merge, .patch: nil
        }
    }
}

/// A reader of the operations that the words of `settings set` stand for.
private struct OperationReader {
    let client: DaemonClient
    let suite: SuiteName
    let arguments: Arguments

    mutating func operations() throws -> [Transaction.Operation] {
        let words = Array(arguments.operands.dropFirst())
        guard !arguments.has("json") || !arguments.has("text") else {
            throw ToolError.usage("--json and --text exclude each other")
        }
        guard let first = words.first else { throw ToolError.usage("the key is missing") }
        if arguments.has("toggle") {
            guard !arguments.has("append"), !arguments.has("json"), !arguments.has("text") else {
                throw ToolError.usage("--toggle goes with no other way to change a value")
            }
            return try words.map { Transaction.Operation(suite: suite, key: try .named($0), .change(.toggle)) }
        }
        if !first.contains("=") {
            guard words.count == 2 else {
                throw ToolError.usage(
                    words.count < 2 ? "the value of \(first) is missing" : "write several settings as KEY=VALUE")
            }
            return [try operation(first, words[1])]
        }
        return try words.map { word in
            guard let equals = word.firstIndex(of: "=") else { throw ToolError.usage("'\(word)' has no '='") }
            return try operation(String(word[..<equals]), String(word[word.index(after: equals)...]))
        }
    }

    private func operation(_ name: String, _ word: String) throws -> Transaction.Operation {
        let key = try KeyName.named(name)
        let word = word == "-" ? try input() : word
        return Transaction.Operation(suite: suite, key: key, try action(key, word))
    }

    private func action(_ key: KeyName, _ word: String) throws -> Transaction.Operation.Action {
        // The option says the type, so that the suite need not be asked.
        if let value = try typedValue(word), !arguments.has("append") { return .set(value) }
        let entry = try entry(of: key)
        let reader = ValueReader(key, entry?.schema)
        if arguments.has("append") { return .change(try appending(word, to: key, entry, reader)) }
        let text = word.dropFirst()
        let amount: InPlaceOperation.Amount? =
            Int64(text).map { .integer($0) } ?? Double(text).flatMap { $0.isFinite ? .double($0) : nil }
        if word.hasPrefix("+"), !reader.takesText, let amount {
            let isNumber = entry?.setting.value.map { ["integer", "number"].contains($0.typeName) } ?? false
            if !reader.takesAnything || isNumber { return .change(.add(amount)) }
            Terminal.warn("\(key) is stored as the text '\(word)', because its value is not a number to add to")
        }
        return .set(try reader.read(word))
    }

    /// A list gets an element, a text more text. Without a schema, the value that is there says which it is.
    private func appending(
        _ word: String, to key: KeyName, _ entry: KeyListing.Entry?, _ reader: ValueReader
    ) throws -> InPlaceOperation {
        let isText = reader.takesAnything ? entry?.setting.value?.string != nil : reader.takesText
        if isText { return .concat(word) }
        return .append([try typedValue(word) ?? ValueReader(key, entry?.schema?["items"]).read(word)])
    }

    /// The key as the suite lists it; nil where it does not.
    private func entry(of key: KeyName) throws -> KeyListing.Entry? {
        do throws(SettingsError) {
            return try client.entry(of: key, in: suite)
        } catch {
            // A suite begins with its first setting.
            if error.code == .unknownSuite || error.code == .forbidden { return nil }
            throw error
        }
    }

    /// The value of a word if an option says its type.
    private func typedValue(_ word: String) throws(ToolError) -> JSONValue? {
        if arguments.has("text") { return .string(word) }
        return arguments.has("json") ? try Self.json(word) : nil
    }

    private static func json(_ word: String) throws(ToolError) -> JSONValue {
        do {
            return try JSONValue(parsing: word)
        } catch {
            throw .usage("'\(Terminal.plain(String(word.prefix(60))))' is no JSON: \(error)")
        }
    }

    private func input() throws(ToolError) -> String {
        guard var text = String(validating: try InputFile.bytes(of: "-", arguments), as: UTF8.self) else {
            throw ToolError(.failed, "standard input is no text in UTF-8; nothing was changed")
        }
        if text.hasSuffix("\n") { text.removeLast() }
        return text
    }
}
