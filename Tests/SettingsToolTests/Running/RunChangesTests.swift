import Foundation
import TestSupport
import Testing

/// Tests of `settings run` while settings change, and while the daemon stops. In the titles, the command is
/// `settings run`, and the program is the program that `settings run` starts.
/// `Shell` applies the schema in `Shell.swift` to the suite `app`, in commit 1. The schema declares the setting `key` a
/// secret. A `Shell` with `hasSchema: false` applies no schema.
@Suite(.ownThread)
struct RunChangesTests {
    /// A program that prints the launch count and the process identifier of `settings run`, and then waits.
    private static let program = "sh -c 'echo \"count $LAUNCH_COUNT. $PPID\" >&2; exec sleep 600'"

    /// Ends `settings run` with SIGTERM. Returns the lines of standard error without the process identifiers.
    private static func end(_ run: ChildProcess) throws -> [String] {
        run.signal(SIGTERM)
        let end = try run.end()
        #expect(end.code == 128 + SIGTERM, "\(end)")
        return end.errors.replacing(#/ \d+\n/#, with: "\n").split(separator: "\n").map(String.init)
    }

    private func setLaunchCount(_ count: Int, _ client: RawClient) throws {
        let body = String(count)
        let answer = try client.exchange(
            "PUT /v1/suites/app/keys/launchCount HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.count)\r\n\r\n\(body)")
        #expect(answer.status == 200 || answer.status == 201)
    }

    @Test("Many changes in a short time cause few restarts, and the last program has the newest value")
    func manyChanges() throws {
        let shell = try Shell()
        let client = try RawClient(.unix("\(shell.directory.path)/socket"))
        let run = try shell.start("exec settings run app --on-change restart -- \(Self.program)")
        _ = try run.line(containing: "count 0.")
        // While the command is stopped, the changes cannot cause restarts.
        run.signal(SIGSTOP)
        for count in 1...50 { try setLaunchCount(count, client) }
        run.signal(SIGCONT)
        _ = try run.line(containing: "count 50.")
        let lines = try Self.end(run)
        let restarts = lines.count { $0 == "settings: LAUNCH_COUNT changed; restarting sh" }
        #expect((1...2).contains(restarts) && lines.last == "count 50.", "\(lines)")
    }

    @Test("1000 restarts leave no zombies")
    func zombies() throws {
        let shell = try Shell()
        let client = try RawClient(.unix("\(shell.directory.path)/socket"))
        let run = try shell.start(
            "exec settings run app --on-change restart --settle 0 -- "
                + "sh -c 'echo $LAUNCH_COUNT >count; echo $PPID >command; exec sleep 600' 2>messages")
        for count in 1...1000 {
            try setLaunchCount(count, client)
            try eventually { shell.text("count") == "\(count)\n" }
        }
        try eventually { try shell.run("ps -o comm= --ppid $(cat command)").output == "sleep\n" }
        run.signal(SIGTERM)
        #expect(try run.end().code == 128 + SIGTERM)
        let messages = shell.text("messages").split(separator: "\n")
        // A change before the first start of the program causes no restart, so the exact number is not known.
        #expect(messages.count > 990 && Set(messages) == ["settings: LAUNCH_COUNT changed; restarting sh"])
    }

    @Test("A change while the program shuts down after SIGINT does not start the program again")
    func changeDuringShutdown() throws {
        let shell = try Shell()
        _ = try shell.directory.file(
            "program",
            """
            trap 'echo ending >&2; until [ -e go ]; do sleep 0.01; done; exit 9' INT
            echo "count $LAUNCH_COUNT" >&2
            while true; do sleep 0.01; done
            """)
        let run = try shell.start(
            "exec settings run app --on-change restart --settle 0 --stop-timeout 10m --cache cache -- sh ./program")
        _ = try run.line(containing: "count 0")
        run.signal(SIGINT)
        _ = try run.line(containing: "ending")
        try shell.runSettings("set", "app", "launchCount=1")
        // The command stores a change in the cache immediately before it reacts to the change.
        try eventually { shell.text("cache").contains("\"LAUNCH_COUNT\": \"1\"") }
        _ = try shell.run("touch go")
        #expect(try run.end() == ChildProcess.End(code: 9, output: "", errors: "count 0\nending\n"))
    }

    @Test("A change of a key that --only does not select has no effect")
    func otherKeys() throws {
        let shell = try Shell()
        let run = try shell.start(
            "exec settings run app --only launchCount --on-change restart --settle 0 -- \(Self.program)")
        _ = try run.line(containing: "count 0.")
        try shell.runSettings("set", "app", "theme=dark")
        try shell.runSettings("set", "app", "launchCount=1")
        _ = try run.line(containing: "count 1.")
        #expect(try Self.end(run) == ["count 0.", "settings: LAUNCH_COUNT changed; restarting sh", "count 1."])
    }

    @Test("After a change, --on-change exit ends the program and the command, and signal:NAME signals the program")
    func otherReactions() throws {
        let shell = try Shell()
        let exit = try shell.start("exec settings run app --on-change exit -- \(Self.program)")
        let signal = try shell.start(
            """
            exec settings run app --on-change signal:USR1 --settle 0 -- python3 -c '
            import signal, sys
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
            print("ready", file=sys.stderr)
            while signal.sigwait({signal.SIGUSR1}): print("got it", file=sys.stderr)'
            """)
        _ = try exit.line(containing: "count 0.")
        _ = try signal.line(containing: "ready")
        try shell.runSettings("set", "app", "launchCount=1")
        let end = try exit.end()
        #expect(
            end.code == 128 + SIGTERM && end.errors.hasSuffix("settings: LAUNCH_COUNT changed; ending sh\n"), "\(end)")
        _ = try signal.line(containing: "got it")
        #expect(try Self.end(signal).contains("settings: LAUNCH_COUNT changed; sending USR1 to python3"))
    }

    @Test("A program that fails after a restart is started again after a pause, and with the new value after a change")
    func failure() throws {
        let shell = try Shell()
        let run = try shell.start(
            "exec settings run app --on-change restart --settle 0 -- sh -c 'echo count $LAUNCH_COUNT. $PPID >&2; "
                + "[ $LAUNCH_COUNT != 1 ] || exit 5; exec sleep 600'")
        _ = try run.line(containing: "count 0.")
        try shell.runSettings("set", "app", "launchCount=1")
        // The program fails after the restart, and again after a pause of 1 second. The second pause is twice as long.
        _ = try run.line(
            containing: "settings: sh ended with exit code 5 after a restart; starting it again in 2.0 seconds")
        try shell.runSettings("set", "app", "launchCount=2")
        _ = try run.line(containing: "count 2.")
        let lines = try Self.end(run)
        #expect(lines.filter { $0 == "count 1." }.count >= 2)
        #expect(lines.last == "count 2.", "\(lines)")
    }

    @Test("After a change that gives two keys the same variable, the program continues, and one message is printed")
    func ambiguousVariable() throws {
        let shell = try Shell()
        let run = try shell.start("exec settings run app --on-change restart --settle 0 -- \(Self.program)")
        _ = try run.line(containing: "count 0.")
        try shell.runSettings("set", "app", "LAUNCH_COUNT=1")
        let message = try run.line(containing: "both become")
        #expect(
            message.hasPrefix(
                "settings: sh keeps its environment: cannot make variables of the settings: app LAUNCH_COUNT and app "
                    + "launchCount both become LAUNCH_COUNT; "))
        try shell.runSettings("set", "app", "launchCount=2")
        try shell.runSettings("unset", "app", "LAUNCH_COUNT")
        _ = try run.line(containing: "count 2.")
        let lines = try Self.end(run)
        // The lines of the two programs, the message, and the message about the restart.
        #expect(lines.count == 4, "\(lines)")
    }

    @Test("The program gets the newest values after a restart, a kill and a loss of the data of the daemon")
    func daemonRestarts() throws {
        let shell = try Shell(hasSchema: false)
        try shell.runSettings("set", "app", "launchCount=1")
        let run = try shell.start("exec settings run app --on-change restart --settle 0 -- \(Self.program)")
        _ = try run.line(containing: "count 1.")
        try shell.restart()
        try shell.runSettings("set", "app", "launchCount=2")
        _ = try run.line(containing: "count 2.")
        try shell.restartAfterKill()
        try shell.runSettings("set", "app", "launchCount=3")
        _ = try run.line(containing: "count 3.")
        try shell.stop()
        #expect(try shell.run("rm -r data").code == 0)
        try shell.startAgain()
        // Without the data, the variable is not set.
        _ = try run.line(containing: "count .")
        try shell.runSettings("set", "app", "launchCount=4")
        _ = try run.line(containing: "count 4.")
        let lines = try Self.end(run).filter { !$0.hasSuffix("; trying until the daemon answers") }
        #expect(lines.filter { $0.hasPrefix("count") } == ["count 1.", "count 2.", "count 3.", "count .", "count 4."])
        // Between the five lines of the programs are four messages about restarts.
        #expect(lines.count == 9, "\(lines)")
    }

    @Test("Without the daemon, the program starts with the values of the cache, and later follows the daemon")
    func cache() throws {
        let shell = try Shell(["settings set app key=hunter2 launchCount=1 --quiet"])
        let command = "settings run app --cache cache --on-change restart --settle 0"
        #expect(try shell.run("\(command) -- true").code == 0)
        #expect(try shell.run("stat -c %a cache").output == "600\n")
        #expect(shell.text("cache").contains("\"LAUNCH_COUNT\": \"1\"") && !shell.text("cache").contains("hunter2"))
        try shell.stop()
        let run = try shell.start("exec \(command) -- \(Self.program)")
        _ = try run.line(containing: "count 1.")
        let start = try run.line(containing: "settings: ")
        #expect(start.hasPrefix("settings: no answer from the daemon: "))
        #expect(start.hasSuffix("; starting sh with the values of the cache"))
        try shell.startAgain()
        try shell.runSettings("set", "app", "launchCount=2")
        _ = try run.line(containing: "count 2.")
        try eventually { shell.text("cache").contains("\"LAUNCH_COUNT\": \"2\"") }
        _ = try Self.end(run)
        #expect(try shell.run("ls -A | grep settings-").output == "")
        // A program that does not get secrets does not use a cache with secrets.
        #expect(try shell.run("\(command) --secrets -- true").code == 0)
        #expect(shell.text("cache").contains("hunter2"))
        try shell.stop()
        #expect(try shell.run("\(command) --timeout 100ms -- echo started").code == 8)
        #expect(try shell.run("\(command) --secrets -- sh -c 'echo ${KEY-none}'").output == "hunter2\n")
    }

    @Test("The cache has only selected settings and the mode 0600, and the files of killed commands are removed")
    func cacheContents() throws {
        let shell = try Shell(["settings set app key=hunter2 name=joe --quiet"])
        let command = "settings run app --cache cache --secrets --only launchCount --only 'player.*'"
        #expect(try shell.run("\(command) -- true").code == 0)
        let cache = shell.text("cache")
        #expect(cache.contains("LAUNCH_COUNT") && cache.contains("PLAYER_VOLUME"))
        #expect(!cache.contains("hunter2") && !cache.contains("joe"))
        // The files of a command that was killed before it renamed its new file.
        _ = try shell.run("echo secret >.cache.settings-new-a; touch .cache.settings-lock; chmod 644 cache")
        #expect(try shell.run("\(command) -- true").code == 0)
        #expect(shell.text("cache") == cache)
        #expect(try shell.run("stat -c %a cache; ls -A | grep settings-").output == "600\n")
    }

    @Test("A command does not use a cache that a command with other options has written")
    func sharedCache() throws {
        let shell = try Shell()
        let commands = ["", "--only theme", "--map theme=COLOUR", "--env-prefix A_", "--prefix player."].map {
            "settings run app --cache cache \($0)"
        }
        for command in commands { #expect(try shell.run("\(command) -- true").code == 0) }
        // Each command has replaced the cache of the command before it, so only the last command can use the cache.
        try shell.stop()
        for command in commands.dropLast() {
            let end = try shell.run("\(command) --timeout 100ms -- echo started")
            #expect(end.code == 8 && end.output.isEmpty, "\(end)")
            #expect(end.errors.hasPrefix("settings: cannot use the cache cache: the file is "), "\(end)")
        }
        #expect(try shell.run("\(commands[4]) -- sh -c 'echo $VOLUME'").output == "0.5\n")
    }

    @Test("Without the daemon and without a usable cache, the command ends with 8 after the timeout")
    func noDaemon() throws {
        let shell = try Shell()
        #expect(try shell.run("settings run app --cache cache -- true; echo '{' >damaged").code == 0)
        try shell.stop()
        // Each message is the warning about the cache. The file `none` does not exist, which is no reason for a
        // warning.
        for (options, message) in [
            ("", nil), ("--cache none", nil), ("--cache damaged", "cannot use the cache damaged: not valid JSON"),
            ("--cache cache --prefix a", "cannot use the cache cache: the file is for other suites or options"),
            ("--cache cache --secrets", "cannot use the cache cache: the file is for other suites or options"),
            ("net --cache cache", "cannot use the cache cache: the file is for other suites or options"),
        ] as [(String, String?)] {
            let end = try shell.run("settings run app \(options) --timeout 100ms -- echo started")
            #expect(end.code == 8 && end.output.isEmpty, "\(options): \(end)")
            let timeoutMessage = "settings: timed out after 0.1 seconds waiting for the daemon\n"
            #expect(end.errors.hasSuffix(timeoutMessage), "\(options): \(end)")
            let hasWarning = end.errors.contains("cannot use the cache")
            #expect(hasWarning == (message != nil) && message.map(end.errors.contains) ?? true, "\(options): \(end)")
        }
        let waiting = try shell.start("exec settings run app -- echo started")
        _ = try waiting.line(containing: "; trying until the daemon answers")
        try shell.startAgain()
        #expect(try waiting.end().output == "started\n")
    }
}
