import Platform
import SettingsHTTP
import SettingsModel

/// Commands that write settings to files and store the settings of files: `export`, `import`.
enum TransferCommands {
    static let all = [export, importing]

    private static let export = Command(
        name: "export", forms: [[Command.Operand("SUITE", .oneOrMore)], .init([], with: "all")],
        summary: "Print the stored values of suites, or write them to files.",
        details: """
            For one suite, the command prints a file for 'settings import'. For several suites, or with --all, it prints
            one file for 'settings plan' and 'settings apply'; --to writes a directory for these commands, with a file
            SUITE.json for each suite. All files have the values of one revision, ordered by key. The format env has a
            line KEY=value for each setting, quoted for the shell; plist is a property list in XML, and bplist a binary
            property list. If the format cannot represent a value, the command fails.
            """,
        options: [
            Command.Option("all", nil, "all suites"),
            Command.Option("to", "DIRECTORY", "write a file for each suite; create the directory if it does not exist"),
            Command.Option("prune", nil, "with --all and --to, remove the files of suites that do not exist"),
            Command.Option("format", SuiteFileFormat.names, "the format of the file of one suite (default: json)"),
            Command.Option("changed", nil, "only values that differ from the defaults"),
            Command.Option("defaults", nil, "also the defaults of settings without a stored value"),
            Command.Option("without-secrets", nil, "leave out secrets"),
            Command.Option("prefix", "PREFIX", "only keys that begin with PREFIX"),
            Command.at,
        ],
        exclusive: [["changed", "defaults"], ["all", "at"]],
        examples: [
            "settings export app --changed", "settings export app --format env --without-secrets",
            "settings export --all --without-secrets --to settings/",
        ]
    ) { try exportSuites($0) }

    // Not in the closure above, which is asynchronous (see `Command.run`): the optimizer of Swift 6.3.1 has crashed
    // with long asynchronous closures.
    @inline(never)
    private static func exportSuites(_ arguments: Arguments) throws -> ExitCode {
        let (isAll, directory) = (arguments.has("all"), arguments["to"])
        guard !arguments.has("prune") || isAll && directory != nil else {
            throw ToolError.usage("--prune needs --all and --to")
        }
        let format = SuiteFileFormat(arguments["format"])
        let isOneFile = !isAll && directory == nil && arguments.operands.count < 2
        guard isOneFile || format == .json else {
            throw ToolError.usage("--format \(format.rawValue) takes one suite, without --to")
        }
        let client = try arguments.client(timeout: .seconds(60))
        if arguments.has("prune"), try !client.blocking.send(.caller).readablePatterns.contains("*") {
            throw ToolError(
                .unauthorized,
                "--prune needs the right to read every suite, because a suite that this caller may not read looks like "
                    + "a suite that does not exist")
        }
        let (suites, moment) = try exportedSuites(client, arguments)
        let exported = try client.exportedValues(of: suites, at: moment, arguments)
        if let directory {
            let directory = try SuiteDirectory(creating: directory)
            for values in exported {
                try directory.write(SuiteFileFormat.json.bytes(of: values.settings), of: values.suite)
            }
            if isAll { try reportUnknownSuites(try directory.files(except: suites), arguments) }
        } else if isOneFile, let values = exported.first {
            let bytes = try format.bytes(of: values.settings) { try client.schema(of: values.suite, at: moment) }
            try Terminal.write(bytes.span, to: .standardOutput)
        } else {
            print(SuiteValues.document(of: exported).text(style: .pretty))
        }
        return .done
    }

    /// Returns the suites to export, and the moment of the values to export. The moment is nil for the present values.
    private static func exportedSuites(
        _ client: DaemonClient, _ arguments: Arguments
    ) throws -> (suites: [SuiteName], moment: Moment?) {
        var (suites, moment, after) = ([SuiteName](), try arguments.moment("at"), SuiteName?.none)
        if arguments.has("all") {
            repeat {
                let page = try client.blocking.send(.suites(after: after, limit: 100_000))
                suites += page.suites.map(\.suite)
                moment = moment ?? .revision(page.cursor.revision)
                after = page.next
            } while after != nil
            return (suites, moment)
        }
        suites = try SuiteName.named(arguments.operands)
        if suites.count > 1, moment == nil {
            moment = .revision(try client.blocking.send(.suites(limit: 1)).cursor.revision)
        }
        return (suites, moment)
    }

    /// Warns about the files of suites that do not exist. With `--prune`, removes these files.
    private static func reportUnknownSuites(
        _ files: [(suite: SuiteName, path: String)], _ arguments: Arguments
    ) throws(ToolError) {
        for (suite, file) in files {
            if arguments.has("prune") {
                try SuiteDirectory.remove(file)
                Terminal.warn("removed \(file): the suite \(suite) does not exist")
            } else {
                Terminal.warn(
                    "\(file): the suite \(suite) does not exist, or this caller may not read the suite; --prune "
                        + "removes the files of suites that do not exist")
            }
        }
    }

    private static let importing = Command(
        name: "import", forms: [[.suite, .file]], summary: "Store the settings of a file, in one commit if possible.",
        details: """
            FILE has a format that 'settings export' prints; - is standard input. Keys that the file does not name keep
            their values. With --replace, the command removes these values, except secrets that the caller may not read.
            The format env has no types, so the schema decides the type of each value. A property list may be XML or
            binary; its dates and data become texts. If the file has more settings than the daemon takes in one commit,
            the command checks all settings, then makes several commits. If one of these commits fails, the earlier
            commits remain.
            """,
        options: [
            Command.Option(
                "format", SuiteFileFormat.names, "the format of the file (default: the ending of its name, or json)"),
            Command.Option("replace", nil, "remove the values of keys that the file does not name"),
        ] + Command.writing,
        examples: ["settings import app values.json --dry-run", "settings import app app.env --replace"]
    ) { try importFile($0) }

    // Not in the closure above, which is asynchronous (see `Command.run`): the optimizer of Swift 6.3.1 has crashed
    // with long asynchronous closures.
    @inline(never)
    private static func importFile(_ arguments: Arguments) throws -> ExitCode {
        let (suite, path, options) = (try arguments.suite(), arguments.operands[1], try arguments.writeOptions())
        let format = SuiteFileFormat(arguments["format"], path: path)
        let client = try arguments.client(timeout: .seconds(60))
        let settings = try format.settings(of: try InputFile.bytes(of: path, arguments), from: path) {
            try client.schema(of: suite)
        }
        let stored = arguments.has("replace") ? try StoredSuite(suite, from: client) : nil
        let operations =
            stored?.operations(toStore: settings)
            ?? settings.map { Transaction.Operation(suite: suite, key: $0.key, .set($0.value)) }
        do {
            return try SplitCommit(suite: suite, operations: operations, client: client)
                .commitAndPrint(options, from: stored?.revision, arguments)
        } catch let error as SettingsError where [.locked, .invalidValue, .unknownKey].contains(error.code) {
            // The daemon refuses every write of a locked key, and every value that the schema does not allow, even if
            // the key already has this value. An export can contain locked keys and invalid values, so the command
            // tries again without the operations that change nothing.
            for attempt in 0..<Attempts.maximum {
                Attempts.pause(before: attempt)
                let present = try stored ?? StoredSuite(suite, from: client)
                let changes = present.changingOperations(of: operations, under: try client.schema(of: suite))
                guard changes.count < operations.count else { throw error }
                do {
                    return try SplitCommit(suite: suite, operations: changes, client: client)
                        .commitAndPrint(options, from: present.revision, arguments)
                } catch let conflict as SuiteConflict {
                    // With --replace, `operations` depends on the state `stored`, which the suite no longer has.
                    guard stored == nil else { throw conflict }
                }
            }
            throw Attempts.exhaustedError(changedObject: "the suite \(suite)")
        }
    }
}

extension SplitCommit {
    /// Makes one commit, or several commits if the daemon does not accept all operations in one commit, and prints the
    /// changes.
    ///
    /// - Parameters:
    ///   - start: the revision that the suite must have before the first commit; nil for any revision.
    ///   - finalStep: a step after the commits. The step gets the revision of the suite, and returns a line to print.
    ///     With this step, the method does not first try to make one commit.
    func commitAndPrint(
        _ options: WriteOptions, from start: Revision?, _ arguments: Arguments,
        finalStep: ((Revision) throws -> String)? = nil
    ) throws -> ExitCode {
        if finalStep == nil, let summary = try commitAtOnce(options, from: start) {
            return try summary.printAndAwaitClientsOrConfirmation(arguments, client, of: [suite])
        }
        let isShown = !arguments.has("quiet") || options.isDryRun
        var (isChanged, lastSummary) = (false, Answer<WriteSummary>?.none)
        let revision = try commit(options, from: start) { summary in
            isChanged = isChanged || summary.changed
            lastSummary = summary
            guard isShown else { return }
            Progress.clear()
            for change in summary.changes { print(change.line) }
        }
        if let line = try finalStep?(revision) {
            isChanged = true
            if isShown { print(line) }
        }
        if isShown, !isChanged { print("nothing to change") }
        if options.isDryRun { print("(a dry run: nothing was changed)") }
        return try lastSummary.map { try WriteReport($0).awaitClientsOrConfirmation(arguments, client, of: [suite]) }
            ?? .done
    }
}

extension DaemonClient {
    /// Reads the values of suites that the options of `export` select: the stored values, and with `--defaults` also
    /// the defaults.
    fileprivate func exportedValues(
        of suites: [SuiteName], at moment: Moment?, _ arguments: Arguments
    ) throws -> [SuiteValues] {
        var (all, concealed) = ([SuiteValues](), [String]())
        for suite in suites {
            var settings: [StoredSetting] = []
            try eachPage(of: suite, prefix: arguments["prefix"], at: moment, atOneRevision: true) { page in
                for entry in page {
                    let setting = entry.setting
                    guard arguments.has("defaults") || setting.source.isStored else { continue }
                    guard !arguments.has("changed") || entry.differsFromDefault else { continue }
                    guard !setting.isSecret || !arguments.has("without-secrets") else { continue }
                    if let value = setting.value ?? setting.stored {
                        settings.append(StoredSetting(key: setting.key, value: value))
                    } else if setting.source.isStored {
                        concealed.append(suites.count > 1 ? "\(suite) \(setting.key)" : setting.key.text)
                    }
                }
            }
            all.append(SuiteValues(suite: suite, settings: settings))
        }
        guard concealed.isEmpty else {
            throw ToolError(
                .unauthorized,
                "cannot export the secrets \(concealed.joined(separator: ", ")): this caller may not read secrets; "
                    + "--without-secrets leaves out secrets")
        }
        return all
    }

    /// Reads the schema of a suite; nil if the suite has no schema or does not exist.
    func schema(of suite: SuiteName, at moment: Moment? = nil) throws -> Schema? {
        do {
            return try Schema(stored: try blocking.send(.schema(of: suite, at: moment)).document)
        } catch let error as SettingsError where error.code == .noSchema || error.code == .unknownSuite {
            return nil
        }
    }
}
