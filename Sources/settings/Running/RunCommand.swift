import Platform
import SettingsHTTP

/// The command `run`.
enum RunCommand {
    static let run = Command(
        name: "run", forms: [[Command.Operand("SUITE", .oneOrMore)]], takesProgram: true,
        summary: "Run a program with settings in its environment.",
        details: """
            Each setting with a value, also a default, becomes a variable: player.volume becomes PLAYER_VOLUME, and launchCount
            becomes LAUNCH_COUNT. A text has no quotes; an array or an object is JSON. The program inherits all other variables,
            the terminal, and the signals that 'settings' receives. The exit code is that of the program, 128 plus the number of
            the signal that ended it, 127 if the program does not exist, or 126 if it cannot be started.
            A change of settings has an effect only if it changes a variable. With --on-change, ACTION is ignore (the default),
            restart, exit, which ends the program, or signal:NAME with HUP, INT, QUIT, TERM, USR1, USR2 or WINCH. If a program
            fails within 10 seconds after a restart, it is started again after 1 second, then 2 seconds, up to a minute, or after
            the next change.
            With --cache, the command keeps the variables in FILE, and starts the program with them if the daemon does not answer.
            """,
        options: [
            Command.Option("prefix", "PREFIX", "only keys that begin with PREFIX; their variables omit PREFIX"),
            Command.Option("only", "KEY", "only this key, or keys such as 'player.*'", isRepeatable: true),
            Command.Option("env-prefix", "NAME", "begin the names of the variables with NAME"),
            Command.Option("map", "KEY=NAME", "the name of the variable for KEY", isRepeatable: true),
            Command.Option("secrets", nil, "also pass secrets, and keep them in the cache"),
            Command.Option("on-change", "ACTION", "what a change causes: ignore, restart, exit or signal:NAME"),
            Command.Option("settle", "TIME", "collect changes for this time after a change (default: 200ms)"),
            Command.Option("stop-timeout", "TIME", "kill the program this long after SIGTERM (default: 10s)"),
            Command.Option("cache", "FILE", "keep the variables in FILE, for a start without the daemon"),
            Command.Option("timeout", "TIME", "at the start, end if no daemon answers for this time (default: 30s)"),
        ],
        examples: [
            "settings run app -- env", "settings run app --prefix player. -- sh -c 'echo $VOLUME'",
            "settings run app --on-change restart --cache app.cache -- true",
        ]
    ) { arguments in
        let (suites, client) = (try SuiteName.named(arguments.operands), try arguments.client())
        let (mapping, reaction) = (try arguments.variableMapping(), try arguments.reaction())
        let cache = arguments["cache"].map { VariableCache(path: $0, suites: suites, mapping: mapping) }
        let timeout = try arguments.duration("timeout") ?? .seconds(30)
        let settleTime = try arguments.duration("settle") ?? .milliseconds(200)
        let stopTimeout = try arguments.duration("stop-timeout") ?? .seconds(10)
        let cached = cache?.load()
        let events = try FollowerEvents()
        let runner = try ProgramRunner(arguments.program, events: events)
        let follower = VariableFollower(
            client: client, suites: suites, mapping: mapping, cache: cache, events: events,
            stopsAfterFirstState: reaction == .ignore && cache == nil)
        let task = Task { await follower.follow() }
        defer { task.cancel() }
        let code = try await runOnNewThread {
            switch try runner.firstVariables(orCached: cached, timeout: timeout) {
            case .signal(let signal): return signal.exitCode
            case .variables(let variables):
                return runner.run(
                    ProgramSupervision(
                        of: Terminal.escaped(arguments.program[0]), with: variables, reaction: reaction,
                        settleTime: settleTime, stopTimeout: stopTimeout, at: .now))
            }
        }
        // Wait for the task, because it may be writing the cache.
        task.cancel()
        await task.value
        try Terminal.flush()
        CurrentProcess.exit(code: code)
    }

    /// Runs a closure on a new thread. The kernel kills the program when the thread that started the program ends, and
    /// a thread of Swift's pool may end at any time.
    private static func runOnNewThread(_ body: @escaping @Sendable () throws -> Int32) async throws -> Int32 {
        try await withCheckedThrowingContinuation { continuation in
            do throws(SystemError) {
                try DetachedThread.start { continuation.resume(with: Result { try body() }) }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }
}

extension Arguments {
    fileprivate func variableMapping() throws(ToolError) -> VariableMapping {
        var mapping = VariableMapping(
            keyPrefix: self["prefix"] ?? "", namePrefix: self["env-prefix"] ?? "", patterns: all("only"),
            includesSecrets: has("secrets"))
        guard mapping.namePrefix.isEmpty || VariableMapping.isName(mapping.namePrefix) else {
            throw .usage(
                "--env-prefix takes a name of letters, digits and _ that does not begin with a digit, not "
                    + "'\(Terminal.escaped(mapping.namePrefix))'")
        }
        if let pattern = mapping.patterns.first(where: { $0.dropLast().contains("*") }) {
            throw .usage("--only takes a key, or the beginning of keys and a *, not '\(Terminal.escaped(pattern))'")
        }
        for word in all("map") {
            let (path, value) = try SettingPath.split(word)
            guard let name = value, VariableMapping.isName(name) else {
                throw .usage(
                    "--map takes KEY=NAME with a name of letters, digits and _ that does not begin with a digit, not "
                        + "'\(Terminal.escaped(word))'")
            }
            mapping.names[try .whole(path, path.description)] = name
        }
        return mapping
    }

    fileprivate func reaction() throws(ToolError) -> ProgramSupervision.Reaction {
        let signals = ProgramRunner.forwardedSignals
        let word = self["on-change"] ?? "ignore"
        switch word {
        case "ignore": return .ignore
        case "restart": return .restart
        case "exit": return .exit
        default:
            guard let signal = signals.first(where: { word == "signal:\($0.name)" }) else {
                throw .usage(
                    "--on-change takes ignore, restart, exit, or signal:NAME (NAME: "
                        + "\(signals.map(\.name).alternatives)), not '\(Terminal.escaped(word))'")
            }
            return .signal(signal)
        }
    }
}
