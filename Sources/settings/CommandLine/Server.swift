import Platform
import SettingsHTTP

extension Arguments {
    /// The client of the daemon that the options and the environment name.
    func client(timeout: Duration = .seconds(10)) throws(ToolError) -> DaemonClient {
        do {
            let address =
                if let url = self["server"] { try ServerAddress(url) } else { try ServerAddress.fromEnvironment() }
            return DaemonClient(address, token: try token(by: .now + timeout), timeout: timeout)
        } catch let error as ServerAddressError {
            throw .usage(error.description)
        } catch {
            throw ToolError(describing: error)
        }
    }

    /// A token never comes from an argument, which other users of the machine can see.
    private func token(by deadline: ContinuousClock.Instant) throws(ToolError) -> AccessToken? {
        guard let token = tokenFile else {
            return EnvironmentVariables.nonEmptyValue(of: "SETTINGS_TOKEN").map { AccessToken($0) }
        }
        do throws(TokenError) {
            // Read the file before anything else, because a wrong path is an error of the command line.
            try token.load(by: deadline)
        } catch {
            let code: ExitCode =
                switch error.kind {
                case .unreadable: .usage
                case .malformed: .unauthorized
                case .late: .failed
                }
            throw ToolError(code, error.message)
        }
        return token
    }

    private var tokenFile: AccessToken? {
        if let path = self["token-file"] { return AccessToken(fileOrPipe: path, from: nil) }
        return EnvironmentVariables.nonEmptyValue(of: AccessToken.variable).map {
            AccessToken(fileOrPipe: $0, from: AccessToken.variable)
        }
    }

    /// The conditions of a write that the options give.
    func writeOptions() throws(ToolError) -> WriteOptions {
        var options = WriteOptions.plain.repeatable()
        options.isDryRun = has("dry-run")
        options.overridesLocks = has("override")
        if let note = self["note"] {
            guard note.utf8.count <= 256 else { throw .usage("--note takes at most 256 bytes") }
            options.note = note
        }
        if let text = self["if-revision"] {
            guard let revision = Revision(text) else { throw .usage("--if-revision takes a revision, not '\(text)'") }
            options.ifMatch = .tag(EntityTag(revision))
        }
        if has("if-unset") {
            guard options.ifMatch == nil else { throw .usage("--if-unset and --if-revision exclude each other") }
            options.ifNoneMatch = .any
        }
        return options
    }

    /// The place in the past that a text names: a revision, an instant, `yesterday`, or how long ago.
    static func moment(_ text: String) throws(ToolError) -> Moment {
        if let moment = Moment(text) { return moment }
        let milliseconds = WallClock.milliseconds
        let units: [Character: Int64] = ["s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000]
        if text == "now" { return .instant(Timestamp(milliseconds: milliseconds)) }
        if text == "yesterday" { return .instant(Timestamp(milliseconds: milliseconds - 86_400_000)) }
        if let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()), count >= 0,
            case let (span, isOver) = count.multipliedReportingOverflow(by: unit), !isOver, span <= milliseconds
        {
            return .instant(Timestamp(milliseconds: milliseconds - span))
        }
        throw .usage(
            "'\(text)' is no time: write a revision, an instant such as 2026-11-20T10:00:00Z, yesterday, or 2h for two hours ago"
        )
    }

    /// The place that an option gives.
    func moment(_ name: String) throws(ToolError) -> Moment? {
        guard let text = self[name] else { return nil }
        return try Self.moment(text)
    }
}
