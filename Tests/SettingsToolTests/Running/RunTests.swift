import Foundation
import TestSupport
import Testing

/// Tests of `settings run` with real programs, signals and terminals. In the titles, the command is `settings run`, and
/// the program is the program that `settings run` starts.
/// `Shell` applies the schema in `Shell.swift` to the suite `app`, in commit 1. The schema declares the setting `key` a
/// secret.
/// In transcripts, `! ` begins a line of standard error, and `=> ` an exit code that is not 0: see `Shell`.
@Suite(.ownThread)
struct RunTests {
    @Test("The program has the settings as variables, and the command ends with the exit code of the program")
    func variables() throws {
        let shell = try Shell([
            "settings set app name='a b' key=hunter2 --quiet", #"settings set net 'hosts=["a"]' port=1 --quiet"#,
        ])
        // Prints the variables whose names match the regular expression in the next word. At the end of the transcript,
        // two programs cannot be started: the command then ends with 126 or 127, as a shell does.
        let printVariables = #"-- sh -c 'env | grep -E "^($1)=" | sort' sh"#
        try shell.runTranscript(
            #"""
            $ settings run app net \#(printVariables) 'NAME|THEME|PLAYER_VOLUME|LAUNCH_COUNT|HOSTS|PORT|KEY|TAGS'
            HOSTS=["a"]
            LAUNCH_COUNT=0
            NAME=a b
            PLAYER_VOLUME=0.5
            PORT=1
            THEME=light
            $ settings run app --prefix player. --env-prefix P_ --map player.muted=QUIET \#(printVariables) '.*(VOLUME|MUTED|QUIET)'
            P_VOLUME=0.5
            QUIET=false
            $ settings run app --secrets --only key --only 'player.*' \#(printVariables) 'KEY|THEME|PLAYER.*'
            KEY=hunter2
            PLAYER_MUTED=false
            PLAYER_VOLUME=0.5
            $ THEME=inherited NAME=inherited settings run app --only name \#(printVariables) 'NAME|THEME'
            NAME=a b
            THEME=inherited
            $ echo line | settings run app -- sh -c 'read x; echo "$x $1 $2"; echo error >&2; exit 9' sh 'a  b' -- --help
            line a  b --
            ! error
            => 9
            $ settings run app -- sh -c 'kill -KILL $$'
            => 137
            $ settings run app -- ./nothing
            ! settings: cannot start ./nothing: No such file or directory
            => 127
            $ settings run app -- ./app.json
            ! settings: cannot start ./app.json: Permission denied
            => 126
            """#)
    }

    @Test("After a mistake in the command line or in the settings, the program does not start")
    func mistakes() throws {
        let shell = try Shell([
            "settings set net Theme=1 --quiet", #"settings set zero --json 'text="a\u0000b"' --quiet"#,
        ])
        try shell.runTranscript(
            #"""
            $ settings run app net -- echo started
            ! settings: cannot make variables of the settings: app theme and net Theme both become THEME; choose other names with --map, or fewer settings with --only
            => 1
            $ settings run zero -- echo started
            ! settings: cannot make variables of the settings: the value of zero text contains a zero byte; choose other names with --map, or fewer settings with --only
            => 1
            $ settings run ap -- echo started
            ! settings: there is no suite ap; did you mean app?
            => 4
            $ settings run app echo started
            ! settings: -- and the program are missing; the usage is 'settings run SUITE… -- PROGRAM [ARGUMENT…]'
            => 64
            $ settings run -- echo started
            ! settings: SUITE is missing; the usage is 'settings run SUITE… -- PROGRAM [ARGUMENT…]'
            => 64
            $ settings run app --on-change signal:KILL -- echo started
            ! settings: --on-change takes ignore, restart, exit, or signal:NAME (NAME: HUP, INT, QUIT, TERM, USR1, USR2 or WINCH), not 'signal:KILL'
            => 64
            $ settings run app --map theme=1 -- echo started
            ! settings: --map takes KEY=NAME with a name of letters, digits and _ that does not begin with a digit, not 'theme=1'
            => 64
            $ settings run app --env-prefix a-b -- echo started
            ! settings: --env-prefix takes a name of letters, digits and _ that does not begin with a digit, not 'a-b'
            => 64
            $ settings run app --env-prefix 1X -- echo started
            ! settings: --env-prefix takes a name of letters, digits and _ that does not begin with a digit, not '1X'
            => 64
            $ settings run app --only '*.volume' -- echo started
            ! settings: --only takes a key, or the beginning of keys and a *, not '*.volume'
            => 64
            $ settings run app --settle soon -- echo started
            ! settings: --settle takes seconds, or a time span such as 2m, not 'soon'
            => 64
            """#)
    }

    @Test("The program receives the signals that the command receives; after SIGTERM, the command ends with 143")
    func signals() throws {
        let shell = try Shell()
        _ = try shell.directory.file(
            "program.py",
            """
            import signal, sys
            signals = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH}
            signal.pthread_sigmask(signal.SIG_BLOCK, signals)
            print("ready", file=sys.stderr)
            while True: print("got", signal.Signals(signal.sigwait(signals)).name, file=sys.stderr)
            """)
        let run = try shell.start("exec settings run app -- python3 program.py")
        _ = try run.line(containing: "ready")
        let signals = [
            (SIGHUP, "HUP"), (SIGINT, "INT"), (SIGQUIT, "QUIT"), (SIGUSR1, "USR1"), (SIGUSR2, "USR2"),
            (SIGWINCH, "WINCH"),
        ]
        for (number, name) in signals {
            run.signal(number)
            _ = try run.line(containing: "got SIG\(name)")
        }
        run.signal(SIGTERM)
        #expect(try run.end().code == 128 + SIGTERM)
    }

    @Test("A signal that ends programs also ends the wait for the daemon, but SIGUSR1 does not")
    func signalWhileWaiting() throws {
        let shell = try Shell()
        shell.freeze()
        defer { shell.thaw() }
        for signal in [SIGINT, SIGTERM, SIGQUIT] {
            let run = try shell.start("exec settings run app --timeout 10m -- echo started")
            // The command prints nothing while it waits, so the test reads from /proc that the command handles signals.
            try eventually { try run.has(SIGTERM, in: "SigCgt") }
            run.signal(SIGUSR1)
            run.signal(signal)
            #expect(try run.end() == ChildProcess.End(code: 128 + signal, output: "", errors: ""))
        }
    }

    private static let hasProcessNamespaces =
        (try? ChildProcess(["--pid", "--fork", "true"], of: "/usr/bin/unshare").end().code) == 0

    @Test(
        "As process 1, the command ends after SIGTERM while it waits for the daemon",
        .enabled(if: hasProcessNamespaces))
    func signalToFirstProcess() throws {
        let shell = try Shell()
        try shell.stop()
        // The process with the ID 1 cannot send the signal itself, so a process outside its namespace sends the signal.
        let run = try shell.start(
            "unshare --pid --fork settings run app --timeout 10m -- echo started & echo $! >unshare; wait $!")
        _ = try run.line(containing: "; trying until the daemon answers")
        #expect(try shell.run("kill -TERM $(ps -o pid= --ppid $(cat unshare))").code == 0)
        #expect(try run.end().code == 128 + SIGTERM)
    }

    @Test("The command reaps ended processes that it has adopted, also between two starts of the program")
    func adoptedProcesses() throws {
        let shell = try Shell()
        // A subreaper adopts processes whose parent has ended, as the process with the ID 1 does.
        let subreaper = try shell.directory.file(
            "subreaper.py",
            """
            import ctypes, os, sys
            PR_SET_CHILD_SUBREAPER = 36
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
            os.execvp(sys.argv[1], sys.argv[1:])
            """)
        let program = """
            echo $PPID >command; [ $LAUNCH_COUNT = 1 ] || exec sleep 600
            (sh -c 'until [ -e go ]; do sleep 0.01; done' &); exit 5
            """
        _ = try shell.directory.file("program", program)
        let run = try shell.start(
            "exec python3 '\(subreaper)' settings run app --on-change restart --settle 0 -- sh ./program")
        try eventually { shell.text("command") != "" }
        try shell.runSettings("set", "app", "launchCount=1")
        // During this pause, which follows pauses of 1, 2 and 4 seconds, the command has no program.
        _ = try run.line(containing: "starting it again in 8.0 seconds")
        _ = try shell.run("touch go")
        try eventually { try shell.run("ps -o stat= --ppid $(cat command)").output == "" }
        run.signal(SIGTERM)
        #expect(try run.end().code == 128 + SIGTERM)
    }

    @Test("A program that ignores SIGTERM is killed after the stop timeout")
    func stopTimeout() throws {
        let shell = try Shell()
        let run = try shell.start(
            "exec settings run app --stop-timeout 100ms -- sh -c 'trap \"\" TERM; echo ready >&2; exec sleep 600'")
        _ = try run.line(containing: "ready")
        run.signal(SIGTERM)
        let end = try run.end()
        #expect(end.code == 128 + SIGKILL)
        #expect(end.errors == "ready\nsettings: sh did not end within 0.1 seconds; killing it\n")
    }

    @Test("If the command is killed, the kernel kills the program")
    func killedCommand() throws {
        let shell = try Shell()
        let run = try shell.start("exec settings run app -- sh -c 'trap \"\" TERM HUP; echo ready >&2; exec sleep 600'")
        _ = try run.line(containing: "ready")
        run.signal(SIGKILL)
        // `end()` returns only after the program has ended, because the program has the outputs open until its end.
        #expect(try run.end().code == -SIGKILL)
    }

    @Test("A signal that the command ignores at its start stays ignored by the program")
    func ignoredSignal() throws {
        let shell = try Shell()
        let run = try shell.start(
            "trap '' HUP; exec settings run app -- sh -c 'kill -HUP $$; echo ready >&2; exec sleep 600'")
        _ = try run.line(containing: "ready")
        #expect(try run.has(SIGHUP, in: "SigIgn"))
        run.signal(SIGTERM)
        #expect(try run.end().code == 128 + SIGTERM)
    }

    @Test("At a terminal, the program reads keys, and Ctrl-C reaches the program once")
    func terminal() throws {
        let shell = try Shell()
        let (output, code) = try shell.atTerminal(
            "exec settings run app -- sh -c 'echo which; read x; echo \"got $x\"; exit 3'", [("which", "abc\\n")])
        #expect(code == 3 && output.hasSuffix("got abc\n"), "\(output)")
        // The command forwards signals in the order of their arrival: a second SIGINT would precede SIGUSR1.
        _ = try shell.directory.file(
            "program.py",
            """
            import os, signal
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGUSR1})
            print("ready", flush=True)
            signal.sigwait({signal.SIGINT})
            os.kill(os.getppid(), signal.SIGUSR1)
            signal.sigwait({signal.SIGUSR1})
            print("twice" if signal.SIGINT in signal.sigpending() else "once")
            """)
        // The first command is the leader of its session, and the second is not.
        for line in ["exec settings run app -- python3 program.py", "settings run app -- python3 program.py; exit $?"] {
            let interrupted = try shell.atTerminal(
                "cd '\(shell.directory.path)'; trap : INT; \(line)", [("ready", "\\003")])
            #expect(interrupted.code == 0 && interrupted.output.contains("once\n"), "\(line): \(interrupted)")
        }
        let ended = try shell.atTerminal(
            "exec settings run app -- sh -c 'echo ready; exec sleep 600'", [("ready", "\\003")])
        #expect(ended.code == 128 + Int(SIGINT), "\(ended)")
    }
}
