import Platform
import SettingsAPI
import SettingsHTTP

// Options of writes: deadlines at which the daemon reverts or makes the write, and the wait for clients of the suite.
extension Command {
    static let deadlines = [
        Option("confirm", "TIME", "revert the change after this time, such as 2m, unless 'settings confirm' keeps it"),
        Option("until", "WHEN", "revert the change after a time such as 2h, or at an instant such as 2026-12-02"),
        Option("effective", "WHEN", "make the change after a time such as 30m, or at an instant"),
        Option(
            "wait-for", "PERCENT",
            "wait until this share of the clients has the change; with --confirm: then keep it, or revert it after a failure"
        ),
        Option("timeout", "TIME", "with --wait-for: end after this time (default: 60s)"),
    ]

    static let interactive = Option("interactive", nil, "with --confirm: wait, and keep the change if Enter is pressed")
    static let check = Option(
        "check", "COMMAND",
        "with --confirm: run this command; keep the change if the command exits with 0, otherwise revert the change")
}

extension Arguments {
    /// Copies the deadlines of the command line to the options of a write request. Throws if the command line combines
    /// options that exclude each other.
    func addDeadlines(to options: inout WriteOptions) throws(ToolError) {
        options.confirm = try confirmTime()
        options.until = try deadline("until")
        options.effective = try deadline("effective")
        guard options.confirm == nil || options.until == nil && options.effective == nil else {
            throw .usage("--confirm excludes --until and --effective")
        }
        guard try awaitedPercentage() != nil else {
            guard !has("timeout") else { throw .usage("--timeout needs --wait-for") }
            return
        }
        // The value is used after the write. Check the value here, because a wrong value must not lead to a write.
        _ = try duration("timeout")
        for name in ["interactive", "check", "dry-run", "effective", "drop"] where has(name) {
            throw .usage("--wait-for and --\(name) exclude each other")
        }
    }

    /// Returns the percentage in the value of `--wait-for`; nil if the command line does not have the option.
    func awaitedPercentage() throws(ToolError) -> Int? {
        guard let text = self["wait-for"] else { return nil }
        guard let percentage = Int(text.hasSuffix("%") ? text.dropLast() : text[...]), (1...100).contains(percentage)
        else {
            throw .usage("--wait-for takes a percentage from 1 to 100 such as 95%, not '\(Terminal.escaped(text))'")
        }
        return percentage
    }

    /// Returns the deadline in the value of an option; nil if the command line does not have the option.
    private func deadline(_ name: String) throws(ToolError) -> PendingTime? {
        guard let text = self[name] else { return nil }
        return try Self.deadline(text, of: "--\(name)")
    }

    /// Parses a time span, an instant or a day.
    ///
    /// - Parameter option: the name of the option or command, for the error message.
    static func deadline(_ text: String, of option: String) throws(ToolError) -> PendingTime {
        if let time = span(text) ?? PendingTime(text) ?? Timestamp(dateTime: "\(text)T00:00:00Z").map({ .at($0) }) {
            return time
        }
        throw .usage(
            "\(option) takes a time span such as 2h, an instant such as 2026-12-02T09:00:00Z, or a day such as 2026-12-02, "
                + "not '\(Terminal.escaped(text))'")
    }

    private func confirmTime() throws(ToolError) -> PendingTime? {
        guard let text = self["confirm"] else { return nil }
        guard let time = Self.span(text) else {
            throw .usage("--confirm takes seconds, or a time span such as 2m, not '\(Terminal.escaped(text))'")
        }
        return time
    }

    /// Parses a time span such as `90`, `90s` or `1h30m`; nil for any other text. Rounds up, because the daemon counts
    /// whole seconds.
    private static func span(_ text: String) -> PendingTime? {
        let seconds = Double(text) ?? milliseconds(of: text).map { $0 / 1000 }
        guard let seconds, (0...1e12).contains(seconds) else { return nil }
        return .after(milliseconds: Int64(seconds.rounded(.up)) * 1000)
    }

    /// Throws if `--interactive` or `--check` is given without `--confirm`, or `--interactive` without a terminal. The
    /// command calls this method before it changes anything.
    func validateInteraction() throws(ToolError) {
        for name in ["interactive", "check"] where has(name) && !has("confirm") {
            throw .usage("--\(name) needs --confirm")
        }
        guard !has("interactive") || Terminal.canAsk else {
            throw .usage(
                "--interactive needs a terminal; without a terminal, omit it and run 'settings confirm ID' later")
        }
    }
}
