import SettingsHTTP

/// The changes that a write made, or that a dry run would make, as lines of text for the user.
struct WriteReport {
    let isDryRun: Bool
    var lines: [String]
    /// The keys that had neither a stored value nor a default before.
    let newKeys: [KeyName]
    /// The action that the daemon will carry out at a deadline; nil for most writes.
    let pending: PendingDescription?
    /// The cursor of the state after the write.
    let cursor: Cursor
    /// The suites with changed settings. After a write of one setting, the suite of the setting, even if nothing
    /// changed.
    let suites: [SuiteName]

    init(_ summary: Answer<WriteSummary>) {
        isDryRun = summary.isDryRun
        let hasOneSuite = summary.changes.allSatisfy { $0.suite == summary.changes.first?.suite }
        lines = summary.changes.map { hasOneSuite ? $0.line : "\($0.suite) \($0.line)" }
        if summary.schemaRevision != nil { lines.append("the schema changes") }
        newKeys = summary.changes.filter { $0.oldSource == .unset }.map(\.key)
        pending = summary.pending
        (cursor, suites) = (summary.cursor, Set(summary.changes.map(\.suite)).sorted())
    }

    init(_ setting: Answer<SettingState>) {
        isDryRun = setting.isDryRun
        lines = []
        pending = setting.changed == true ? setting.pending : nil
        newKeys = setting.previous?.source == .unset ? [setting.key] : []
        (cursor, suites) = (setting.cursor, [setting.suite])
        guard setting.changed == true else { return }
        let before = setting.previous.map { ($0.value, $0.source) } ?? (nil, .unset)
        lines = [
            setting.isSecret
                ? Change.line(of: setting.key)
                : Change.line(of: setting.key, from: before, to: (setting.value, setting.source))
        ]
    }

    /// Prints the lines. With `--quiet`, prints only the identifier of a pending action. A dry run always prints.
    func print(_ arguments: Arguments) {
        guard !arguments.has("quiet") || isDryRun else {
            if let pending { Swift.print(pending.id) }
            return
        }
        for line in lines { Swift.print(line) }
        if let pending {
            for line in pending.announcement(arguments) { Swift.print(line) }
        } else if lines.isEmpty {
            Swift.print("nothing to change")
        }
        if isDryRun { Swift.print("(a dry run: nothing was changed)") }
    }
}

extension Answer<WriteSummary> {
    /// Prints the changes, and the keys that a restore has skipped. With `--wait-for` or `--confirm`, then waits: see
    /// ``WriteReport/awaitClientsOrConfirmation(_:_:of:)``. Returns the exit code of the command.
    ///
    /// - Parameter suites: the suites that the command names. If the write changed nothing, `--wait-for` waits for the
    ///   clients of these suites.
    func printAndAwaitClientsOrConfirmation(_ arguments: Arguments, _ client: DaemonClient, of suites: [SuiteName])
        throws
        -> ExitCode
    {
        let report = WriteReport(self)
        report.print(arguments)
        for conflict in body.skipped {
            print(
                "skipped \(conflict.key?.text ?? ""): \(conflict.errors.map(\.detail).joined(separator: "; "))")
        }
        return try report.awaitClientsOrConfirmation(arguments, client, of: suites)
    }
}
