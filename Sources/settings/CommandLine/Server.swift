import Platform
import SettingsHTTP

extension Arguments {
    /// Makes a client with the address and the token that the options or the environment name.
    func client(timeout: Duration = .seconds(10)) throws(ToolError) -> DaemonClient {
        do {
            return DaemonClient(try serverAddress(), token: try token(by: .now + timeout), timeout: timeout)
        } catch {
            throw ToolError(describing: error)
        }
    }

    /// The address of the daemon that the option or the environment names.
    func serverAddress() throws(ToolError) -> ServerAddress {
        guard let url = self["server"] else {
            do throws(ServerAddressError) {
                return try ServerAddress.fromEnvironment()
            } catch {
                throw .usage(error.description)
            }
        }
        guard !url.isEmpty else { throw .usage("--server is empty; write http://HOST:PORT, https://HOST or unix:PATH") }
        do throws(ServerAddressError) {
            return try ServerAddress(url)
        } catch {
            throw .usage("--server \(error)")
        }
    }

    /// Reads the token from a file or from the environment. There is no option for the token itself, because other
    /// users of the machine can see the arguments of a program.
    private func token(by deadline: ContinuousClock.Instant) throws(ToolError) -> AccessToken? {
        guard let token = givenToken else { return nil }
        do throws(TokenError) {
            // The token is loaded before the first request, so that a wrong path is reported as an error of the command
            // line.
            try token.load(by: deadline)
        } catch {
            let code: ExitCode =
                switch error.kind {
                case .unreadable: .usage
                case .malformed: .unauthorized
                case .timedOut: .failed
                }
            throw ToolError(code, error.message)
        }
        return token
    }

    /// The token that the options or the environment name. `standard` is the token in the variable `SETTINGS_TOKEN`.
    private var givenToken: AccessToken? {
        guard let path = tokenPath else { return .standard }
        return AccessToken(fileOrPipe: path, from: has("token-file") ? nil : AccessToken.fileVariable)
    }

    /// The path of the file that has the token.
    var tokenPath: String? { self["token-file"] ?? EnvironmentVariables.path(in: AccessToken.fileVariable) }

    /// The write options of the command line: dry run, override of locks, note, guards and deadlines. With the request
    /// key that `repeatable()` adds, the client can repeat a request that got no answer.
    func writeOptions() throws(ToolError) -> WriteOptions {
        var options = WriteOptions.plain.repeatable()
        options.isDryRun = has("dry-run")
        options.overridesLocks = has("override")
        if let note = self["note"] {
            guard note.utf8.count <= 256 else { throw .usage("--note takes at most 256 bytes") }
            // The value of an HTTP field cannot have control characters, or blanks at its ends.
            guard note.first != " ", note.last != " ",
                !note.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
            else {
                throw .usage("--note takes one line, without control characters and without blanks at its ends")
            }
            options.note = note
        }
        if let revision = try revision("if-revision") { options.ifMatch = .tag(EntityTag(revision)) }
        if has("if-unset") { options.ifNoneMatch = .any }
        try addDeadlines(to: &options)
        return options
    }

    /// The revision that an option gives.
    func revision(_ name: String) throws(ToolError) -> Revision? {
        guard let text = self[name] else { return nil }
        guard let revision = Revision(text) else { throw .usage("--\(name) takes a revision, not '\(text)'") }
        return revision
    }

    /// Parses a moment: a revision, an instant, a day with or without a time, or a time span before now. `yesterday`
    /// without a time is 24 hours ago.
    static func moment(_ text: String) throws(ToolError) -> Moment {
        if let moment = Moment(text) { return moment }
        let now = WallClock.milliseconds
        let ago = text == "now" ? 0 : text == "yesterday" ? 86_400_000 : milliseconds(of: text)
        if let ago, ago <= Double(now) { return .instant(Timestamp(milliseconds: now - Int64(ago))) }
        let words = text.split(separator: " ")
        if let first = words.first, words.count < 3 {
            let dayOffset: Int64? = first == "today" ? 0 : first == "yesterday" ? 86_400_000 : nil
            let day = dayOffset.map { Timestamp(milliseconds: now - $0).description.prefix(10) } ?? first
            if let moment = Moment("\(day)T\(words.count > 1 ? words[1] : "00:00"):00Z") { return moment }
        }
        throw .usage(
            "'\(text)' is not a time; write a revision, an instant such as 2026-11-20T10:00:00Z, a day such as 2026-11-20 "
                + "or today (its start in UTC), 'yesterday 18:00' (UTC), 2h (two hours ago) or yesterday (24 hours ago)"
        )
    }

    /// The milliseconds of a time span such as `200ms`, `90s` or `1h30m`; nil for any other text.
    static func milliseconds(of text: String) -> Double? {
        let units: [Substring: Double] = [
            "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000,
        ]
        var (rest, total) = (text[...], 0.0)
        repeat {
            let number = rest.prefix { $0.isNumber || $0 == "." }
            rest.removeFirst(number.count)
            let name = rest.prefix(while: \.isLetter)
            rest.removeFirst(name.count)
            guard let count = Double(number), let unit = units[name] else { return nil }
            total += count * unit
        } while !rest.isEmpty
        return total
    }

    /// The duration that an option gives, in seconds or as a time span.
    func duration(_ name: String) throws(ToolError) -> Duration? {
        guard let text = self[name] else { return nil }
        let milliseconds = Double(text).map { $0 * 1000 } ?? Self.milliseconds(of: text)
        // The limit keeps the sum with the present time from overflowing.
        guard let milliseconds, (0...1e14).contains(milliseconds) else {
            throw .usage("--\(name) takes seconds, or a time span such as 2m, not '\(text)'")
        }
        return .milliseconds(Int64(milliseconds))
    }

    /// The moment that an option gives.
    func moment(_ name: String) throws(ToolError) -> Moment? {
        guard let text = self[name] else { return nil }
        return try Self.moment(text)
    }
}
