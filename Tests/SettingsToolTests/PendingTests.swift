import TestSupport
import Testing

/// Tests of changes with a deadline: the options `--confirm`, `--until` and `--effective`, and the commands for pending
/// actions. The exit code 4 says that the suite or the action does not exist, and 5 that the request is refused.
/// `Shell` applies the schema in `Shell.swift` to the suite `app`, in commit 1. A `Shell` with `hasSchema: false`
/// applies no schema.
/// In transcripts, `! ` begins a line of standard error, and `=> ` an exit code that is not 0: see `Shell`.
@Suite(.ownThread)
struct PendingTests {
    @Test("--confirm makes a pending action, which confirm ends, and a second confirm ends with 5")
    func confirmed() throws {
        try Shell().runTranscript(
            #"""
            $ settings set app theme=dark --confirm 2m --note why
            theme: "light" (default) → "dark"
            pending p2: the daemon reverts the change at TIME unless it is confirmed
              settings confirm p2    keeps the change
              settings revert p2     reverts the change now
            $ settings pending --format tsv --header | cut -f 1,4,5,7
            id	action	subject	note
            p2	revert unless confirmed	app theme	why
            $ settings pending net
            $ settings confirm p2
            p2: the change was confirmed by user:ME at revision 3
            $ settings confirm p2
            ! settings: p2 has ended: confirmed at revision 3
            => 5
            $ settings pending --id p2
            p2: the change was confirmed by user:ME at revision 3
            $ settings get app theme
            dark
            """#)
    }

    @Test("revert restores a setting, and leaves a setting that was changed later as it is")
    func reverted() throws {
        try Shell().runTranscript(
            #"""
            $ settings set app theme=dark launchCount=5 --confirm 1h --quiet
            p2
            $ settings set app launchCount=6 --quiet
            $ settings revert p2
            theme: "dark" → "light" (default)
            p2: the change was reverted by user:ME at revision 4
            left as it is: app launchCount: changed at revision 3
            $ settings get app launchCount
            6
            """#)
    }

    @Test("history shows the pending actions that a commit created or ended, and the settings that a revert left")
    func history() throws {
        try Shell().runTranscript(
            #"""
            $ settings set app theme=dark launchCount=5 --confirm 1h --quiet
            p2
            $ settings set app launchCount=6 --quiet
            $ settings revert p2 --quiet
            $ settings set app name=x --until 2h --quiet
            p5
            $ settings history app --limit 4
            revision 5, TIME by user:ME
              name: (unset) → "x"
              pending p5: revert at TIME
            revision 4, TIME by user:ME: reverted on request (commit 2)
              theme: "dark" → "light" (default)
              left as it is: app launchCount: changed at revision 3
              pending p2 ended: reverted
            revision 3, TIME by user:ME
              launchCount: 5 → 6
            revision 2, TIME by user:ME
              theme: "light" (default) → "dark"
              launchCount: 0 (default) → 5
              pending p2: revert unless confirmed at TIME
            $ settings history app --commit 4 --json | jq -c '[.pending, .kept]'
            [[{"id":"p2","event":"reverted","kind":"confirm"}],[{"suite":"app","key":"launchCount","reason":"changed at revision 3"}]]
            """#)
    }

    @Test("The daemon reverts a change that nobody confirms before the deadline")
    func expired() throws {
        try Shell().runTranscript(
            #"""
            $ settings set app name=x --confirm 1 --quiet
            p2
            $ settings wait app '!name' --timeout 60
            $ settings pending --id p2
            p2: the change was reverted by user:ME at revision 3
            $ settings history app --limit 1
            revision 3, TIME by user:ME: not confirmed within 1s (commit 2)
              name: "x" → (unset)
              pending p2 ended: reverted
            """#)
    }

    @Test("--effective schedules a change, cancel drops a scheduled change, and --until reverts a change at a deadline")
    func scheduled() throws {
        try Shell().runTranscript(
            #"""
            $ settings set app name=sale --effective 2h --until 2126-01-01
            ! settings: --until must be at most 400 days after now, TIME (got TIME)
            => 5
            $ settings set app name=sale --effective 2h --until 1h30m
            pending p2: the daemon makes the change at TIME, and reverts it at TIME
              settings cancel p2     drops the change
            $ settings get app name
            ! settings: name of suite app is not set and has no default
            => 3
            $ settings confirm p2 2>/dev/null
            => 5
            $ settings cancel p2
            p2: the scheduled change was dropped by user:ME at revision 3
            $ settings set app name=sale --effective 1s --quiet
            p4
            $ settings wait app name=sale --timeout 60
            $ settings pending --id p4
            p4: the scheduled change was made at revision 5
            $ settings set app theme=dark --until 1h
            theme: "light" (default) → "dark"
            pending p6: the daemon reverts the change at TIME
              settings confirm p6    keeps the change
            $ settings extend p6 1
            p6: the deadline is TIME
            $ settings wait app theme=light --timeout 60
            """#)
    }

    @Test("A guard of a scheduled change becomes a condition of the pending action")
    func guarded() throws {
        try Shell().runTranscript(
            #"""
            $ settings set app name=x --if-unset --effective 1h --quiet
            p2
            $ settings pending --json | jq -c '[.operations, .if]'
            [[{"op":"set","suite":"app","key":"name","value":"x"}],[{"suite":"app","key":"name","stored":false}]]
            """#)
    }

    @Test("apply --check confirms the change if the check succeeds, and reverts the change otherwise")
    func checked() throws {
        let shell = try Shell()
        _ = try shell.directory.file("plan.json", #"{"suites":{"app":{"launchCount":7}}}"#)
        try shell.runTranscript(
            #"""
            $ settings apply plan.json --confirm 1h --check 'settings get app launchCount; exit 3'
            launchCount: 0 (default) → 7
            pending p2: the daemon reverts the change at TIME unless it is confirmed
              settings confirm p2    keeps the change
              settings revert p2     reverts the change now
            7
            launchCount: 7 → 0 (default)
            p2: the change was reverted by user:ME at revision 3
            ! settings: the check ended with exit code 3, so the change was reverted
            => 1
            $ settings apply plan.json --confirm 1h --check 'test $SETTINGS_PENDING = p4' --quiet
            p4
            $ settings pending --id p4
            p4: the change was confirmed by user:ME at revision 5
            $ settings unset app launchCount --quiet; settings apply plan.json --confirm 1h --check 'settings confirm p7 --quiet; false' --quiet
            p7
            ! settings: the check ended with exit code 1, and the revert failed: p7 has ended: confirmed at revision 8
            => 1
            $ settings apply plan.json --check true
            ! settings: --check needs --confirm
            => 64
            """#)
    }

    @Test(
        "A malformed deadline, a wrong combination of options, and --interactive without a terminal end with 64",
        arguments: [
            ("--confirm soon", "--confirm takes seconds, or a time span such as 2m, not 'soon'"),
            ("--confirm 2m --until 3h", "--confirm excludes --until and --effective"),
            ("--interactive", "--interactive needs --confirm"),
            (
                "--confirm 2m --interactive",
                "--interactive needs a terminal; without a terminal, omit it and run 'settings confirm ID' later"
            ),
            (
                "--until never",
                "--until takes a time span such as 2h, an instant such as 2026-12-02T09:00:00Z, or a day such as 2026-12-02, "
                    + "not 'never'"
            ),
        ])
    func refused(options: String, message: String) throws {
        let shell = try Shell()
        let end = try shell.run("settings set app theme=dark \(options) </dev/null")
        #expect(end == .init(code: 64, output: "", errors: "settings: \(message)\n"))
        #expect(try shell.runSettings("get", "app", "theme") == "light\n")
    }

    @Test("A change with a deadline is refused if the change needs several commits")
    func severalCommits() throws {
        let shell = try Shell(hasSchema: false, configuration: #"{"limits":{"commitKeys":100}}"#)
        let settings = (0...100).map { "\"key\($0)\":1" }.joined(separator: ",")
        _ = try shell.directory.file("many.json", "{\(settings)}")
        let end = try shell.run("settings import app many.json --confirm 2m")
        #expect(
            end.code == 5
                && end.errors.contains(" commits, but --confirm, --until and --effective apply to one commit"), "\(end)"
        )
        #expect(try shell.run("settings list app").code == 4)
    }

    @Test("confirm ends with 4 if the action does not exist, and with 64 if the text is not an identifier of an action")
    func unknown() throws {
        try Shell().runTranscript(
            #"""
            $ settings confirm p99
            ! settings: there is no pending action p99; 'settings pending' lists the actions
            => 4
            $ settings confirm 99
            ! settings: '99' is not the identifier of a pending action, such as p51; 'settings pending' lists the actions
            => 64
            """#)
    }
}
