import ClientTestSupport
import Foundation
import TestSupport
import Testing

/// Tests of `settings watch` and `settings wait`. Output is redirected with `>&2` for `ChildProcess.line(containing:)`,
/// which reads standard error.
/// `Shell` applies the schema in `Shell.swift` to the suite `app`, in commit 1. The schema declares the setting `key` a
/// secret. A `Shell` with `hasSchema: false` or with `tokens` applies no schema.
/// In transcripts, `! ` begins a line of standard error, and `=> ` an exit code that is not 0: see `Shell`.
@Suite(.ownThread)
struct WatchingTests {
    @Test("watch prints changes in the order of their commits, also after a restart of the daemon")
    func order() throws {
        let shell = try Shell()
        let watch = try shell.start("exec settings watch app --since \(try shell.cursor()) >&2")
        #expect(try shell.run("settings set app theme=dark launchCount=1").code == 0)
        _ = try watch.line(containing: "launchCount: 0 (default) → 1")
        try shell.restart()
        #expect(try shell.run("settings set app launchCount +1").code == 0)
        #expect(try shell.run("settings set app launchCount +1").code == 0)
        _ = try watch.line(containing: "launchCount: 2 → 3")
        watch.signal(SIGINT)
        let end = try watch.end()
        #expect(end.code == -SIGINT)
        let lines = end.errors.split(separator: "\n")
        let outages = lines.filter { $0.hasPrefix("settings:") }
        #expect(outages.allSatisfy { $0.hasSuffix("; trying until the daemon answers") }, "\(outages)")
        let changes = lines.filter { !outages.contains($0) }.map {
            $0.dropFirst("2026-11-20 10:00:00Z ".count).replacing(#/ \(by user:[a-z0-9_-]+\)$/#, with: "")
        }
        #expect(
            changes == [
                #"theme: "light" (default) → "dark""#, "launchCount: 0 (default) → 1", "launchCount: 1 → 2",
                "launchCount: 2 → 3",
            ])
    }

    @Test("watch prints only the changes of the given keys and prefixes, with --json as JSON")
    func keys() throws {
        let shell = try Shell()
        let watch = try shell.start(
            "exec settings watch app theme --prefix player. --json --since \(try shell.cursor()) >&2")
        #expect(try shell.run("settings set app launchCount=1 player.muted=true").code == 0)
        #expect(try shell.run("settings set app theme dark --note why").code == 0)
        let theme = try watch.line(containing: #""key":"theme""#)
        #expect(theme.contains(#""old":"light","value":"dark","oldSource":"default","source":"stored""#))
        #expect(theme.contains(#""note":"why""#))
        watch.signal(SIGTERM)
        let lines = try watch.end().errors.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines[0].contains(#""key":"player.muted""#))
    }

    @Test("--since with a cursor that watch --json has printed repeats only commits that were not printed completely")
    func cursors() throws {
        let shell = try Shell()
        /// The JSON objects that `watch --json` prints after a cursor, up to a line that contains the text.
        func lines(since cursor: String, until text: String) throws -> [[String: Any]] {
            let watch = try shell.start("exec settings watch app --json --since \(cursor) >&2")
            _ = try watch.line(containing: text)
            watch.signal(SIGTERM)
            return try watch.end().errors.split(separator: "\n").map { line in
                try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            }
        }
        let start = try shell.cursor()
        try shell.runSettings("set", "app", "launchCount=1", "name=ann", "theme=dark")
        let between = try shell.cursor()
        try shell.runSettings("set", "app", "launchCount=2", "name=joe")
        let end = try shell.cursor()
        let seen = try lines(since: start, until: end)
        #expect(seen.map { $0["key"] as? String } == ["launchCount", "name", "theme", "launchCount", "name"])
        // Only the last line of a commit has the cursor after the commit.
        let cursors = seen.map { $0["cursor"] as? String }
        #expect(cursors == [start, start, between, between, end])
        #expect(try lines(since: between, until: end).map { $0["key"] as? String } == ["launchCount", "name"])
    }

    @Test(
        "watch --json with an unknown cursor prints a reset with the current values, and with secrets only if --secrets is given"
    )
    func unknownCursor() throws {
        let shell = try Shell(["settings set app theme=dark name=ann key=hunter2 --quiet"])
        let cursor = try shell.cursor()
        // No history has the epoch `5pqfzv56`, and the suite `later` does not exist.
        for (option, values) in [
            ("", #""values":{"app":{"theme":"dark"}},"secrets":{"app":["key"]},"missing":["later"]}"#),
            ("--secrets", #""values":{"app":{"key":"hunter2","theme":"dark"}},"missing":["later"]}"#),
        ] {
            let watch = try shell.start(
                "exec settings watch app theme key --suite later --json --since 5pqfzv56.1 \(option) >&2")
            let line = try watch.line(containing: "reset")
            #expect(line == #"{"reset":true,"cursor":"\#(cursor)",\#(values)"#)
            watch.signal(SIGTERM)
            _ = try watch.end()
        }
    }

    @Test(
        "watch --exec passes the old and the new value, runs one command at a time, and always runs for the newest value"
    )
    func exec() throws {
        let shell = try Shell()
        _ = try shell.directory.file(
            "record",
            """
            mkdir busy || echo overlap >>out
            echo "$SETTINGS_SUITE $SETTINGS_KEY ${SETTINGS_OLD-none} ${SETTINGS_NEW-none}" >>out
            until [ -e go ]; do sleep 0.01; done
            rmdir busy
            [ "$SETTINGS_NEW" != 4 ]
            """)
        let watch = try shell.start("exec settings watch app --since \(try shell.cursor()) --exec 'sh ./record'")
        #expect(try shell.run("settings set app launchCount 1").code == 0)
        try eventually { shell.text("out") == "app launchCount 0 1\n" }
        for value in 2...4 { #expect(try shell.run("settings set app launchCount \(value)").code == 0) }
        #expect(try shell.run("settings set app name joe; touch go").code == 0)
        try eventually { shell.text("out").contains("app name none \"joe\"\n") }
        // The program reports the run that failed, and still runs the command for the next change.
        #expect(try shell.run("settings unset app name").code == 0)
        try eventually { shell.text("out").contains("app name \"joe\" none\n") }
        _ = try watch.line(containing: "settings: 'sh ./record' ended with exit code 1 for app launchCount")
        #expect(
            shell.text("out") == """
                app launchCount 0 1
                app launchCount 1 4
                app name none "joe"
                app name "joe" none

                """)
        watch.signal(SIGTERM)
        #expect(try watch.end().code == -SIGTERM)
    }

    @Test("watch reports the first change of a suite that did not exist when watch started")
    func newSuite() throws {
        let shell = try Shell()
        // The option --server reaches the command as SETTINGS_URL.
        let watch = try shell.start(
            "exec env SETTINGS_URL=unix:/nothing settings watch later --server $SETTINGS_URL "
                + "--exec 'echo $SETTINGS_KEY $(settings get later first) >>out'")
        try shell.awaitWatcher()
        #expect(try shell.run("settings set later first 1").code == 0)
        try eventually { shell.text("out") == "first 1\n" }
        watch.signal(SIGTERM)
        #expect(try watch.end().code == -SIGTERM)
    }

    // The schema limits the length of `name`, but not of `longText`.
    @Test("watch --exec passes a large value in a file, removes the file, and runs for the next change")
    func largeValue() throws {
        let shell = try Shell()
        let command = "cat \"$SETTINGS_NEW_FILE\" >large; echo ${SETTINGS_NEW-none} \"$SETTINGS_NEW_FILE\" >>out"
        let watch = try shell.start(
            "export TMPDIR=$PWD; exec settings watch app longText --since \(try shell.cursor()) --exec '\(command)'")
        #expect(try shell.run("head -c 300000 /dev/zero | tr '\\0' x | settings set app longText - --quiet").code == 0)
        try eventually { shell.text("out").hasPrefix("none /") }
        #expect(shell.text("large") == "\"" + String(repeating: "x", count: 300_000) + "\"")
        #expect(try shell.run("settings set app longText small").code == 0)
        try eventually { shell.text("out").hasSuffix("\n\"small\" \n") }
        #expect(try shell.run("test -e \"$(sed -n 's/^none //p' out)\"").code == 1)
        #expect(try shell.run("ls settings-*").code != 0)
        watch.signal(SIGTERM)
        #expect(try watch.end().code == -SIGTERM)
    }

    @Test("watch --exec leaves no file of a large value if a signal ends watch while the command runs")
    func largeValueAfterSignal() throws {
        let shell = try Shell()
        let command = """
            exec >run 2>&1; wc -c <"$SETTINGS_NEW_FILE" >out
            for n in $(seq 6000); do [ ! -e go ] || break; sleep 0.01; done; echo over >>out
            """
        let watch = try shell.start(
            "export TMPDIR=$PWD; exec settings watch app longText --since \(try shell.cursor()) --exec '\(command)'")
        #expect(try shell.run("head -c 300000 /dev/zero | tr '\\0' x | settings set app longText - --quiet").code == 0)
        // The value as JSON has two quotation marks.
        try eventually { shell.text("out") == "300002\n" }
        watch.signal(SIGTERM)
        #expect(try watch.end().code == -SIGTERM)
        #expect(try shell.run("touch go; ls settings-*").code != 0)
        try eventually { shell.text("out").hasSuffix("over\n") }
    }

    @Test("watch prints the changes of several suites, who made each change, and why")
    func severalSuites() throws {
        let shell = try Shell(["settings set net port=1 --quiet"])
        let twoSuites = try shell.start(
            "exec settings watch app --suite net --prefix port --since \(try shell.cursor()) >&2")
        let all = try shell.start("exec settings watch --all --since \(try shell.cursor()) >&2")
        #expect(try shell.run("settings set net port=2 host=a --quiet; settings set later a=1 --quiet").code == 0)
        #expect(try shell.run("settings set app port 3 --note 'a reason' --quiet").code == 0)
        _ = try twoSuites.line(containing: "app port: ")
        _ = try all.line(containing: "app port: ")
        let lines = try [twoSuites, all].map { watch in
            watch.signal(SIGTERM)
            return try watch.end().errors.split(separator: "\n").map {
                $0.dropFirst("2026-11-20 10:00:00Z ".count).replacing(/by user:[a-z0-9_-]+/, with: "by ME")
            }
        }
        let (net, app) = ("net port: 1 → 2 (by ME)", "app port: (unset) → 3 (by ME: a reason)")
        #expect(lines[0].map(String.init) == [net, app])
        #expect(
            lines[1].map(String.init) == [
                net, "net host: (unset) → \"a\" (by ME)", "later a: (unset) → 1 (by ME)", app,
            ])
        #expect(try shell.settings("watch").errors.hasPrefix("settings: SUITE is missing; "))
        #expect(try shell.settings("watch", "app", "--all").code == 64)
    }

    @Test(
        "watch ends with 6 if the caller may not read a key, a prefix or any suite; otherwise it follows readable keys")
    func watchForbidden() throws {
        let shell = try Shell(tokens: [
            "writer": "app:read,write", "reader": "app/name:read", "metrics": "*:metrics",
        ])
        #expect(try shell.run("settings set app theme=dark name=joe --quiet --token-file writer").code == 0)
        try shell.runTranscript(
            """
            $ settings watch app name theme --token-file reader
            ! settings: this request requires a grant such as app/theme:read
            => 6
            $ settings watch other --token-file reader
            ! settings: this request requires a grant such as other:read
            => 6
            $ settings watch --all --token-file metrics
            ! settings: cannot watch the suites: this caller may not read any suite
            => 6
            $ settings watch app --prefix the --token-file reader
            ! settings: this caller may not read keys of app that begin with 'the'; this requires a grant such as app/the*:read
            => 6
            $ settings watch app name --prefix names --token-file reader
            ! settings: this caller may not read keys of app that begin with 'names'; this requires a grant such as app/names*:read
            => 6
            $ settings watch --suite app --suite other --prefix n --token-file reader
            ! settings: this caller may not read keys of other that begin with 'n'; this requires a grant such as other/n*:read
            => 6
            $ settings watch --all --prefix the --token-file reader
            ! settings: this caller may not read keys of any suite that begin with 'the'; this requires a grant such as */the*:read
            => 6
            """)
        let cursor = try shell.run("settings status --json --token-file reader | jq -r .cursor").output.dropLast()
        let watches = try ["--all", "--all --prefix na", "app --suite app --prefix name", "app --suite app"].map {
            try shell.start("exec settings watch \($0) --since \(cursor) --token-file reader >&2")
        }
        #expect(try shell.run("settings set app theme=light name=ann --quiet --token-file writer").code == 0)
        for watch in watches {
            #expect(try watch.line(containing: "name: ").contains("name: \"joe\" → \"ann\" (by token:writer)"))
            watch.signal(SIGTERM)
            #expect(try watch.end().code == -SIGTERM)
        }
    }

    @Test("wait for !KEY ends when the setting loses its value")
    func waitForNoValue() throws {
        let shell = try Shell(["settings set app name joe --quiet"])
        let wait = try shell.start("exec settings wait app '!name'")
        try shell.awaitWatcher()
        #expect(try shell.run("settings unset app name").code == 0)
        #expect(try wait.end().code == 0)
    }

    @Test("wait takes a key that contains = or [ in brackets and quotation marks")
    func waitForQuotedKey() throws {
        try Shell([#"settings set app '["a=b"]=1' '["c[d"]=x' 'e!=y' --quiet"#], hasSchema: false).runTranscript(
            #"""
            $ settings wait app '["a=b"]=1' '["a=b"]!=2' '["c[d"]' '!["no=thing"]' --timeout 0
            $ settings wait app '["a=b"]=2' --timeout 0
            ! settings: timed out after 0.0 seconds waiting for app ["a=b"]=2
            => 8
            $ settings wait app '["a=b"]!=1' --timeout 0
            ! settings: timed out after 0.0 seconds waiting for app ["a=b"]!=1
            => 8
            $ settings wait app '["e!"]=y' --timeout 0
            $ settings wait app '!e=y'
            ! settings: '!e=y' has two conditions; write KEY!=VALUE, or !KEY for no value
            => 64
            $ settings wait app '["a=b"]x=1'
            ! settings: cannot read the path '["a=b"]x=1': expected [, ., != or = after ]; write KEY[0].name for a part of a value, or ["[\"a"] for a key with this name
            => 64
            """#)
    }

    @Test("wait without the right to read a setting ends with 6")
    func waitForbidden() throws {
        let shell = try Shell(tokens: ["writer": "app:read,write", "reader": "app/name:read"])
        #expect(try shell.run("settings set app theme=dark name=joe --quiet --token-file writer").code == 0)
        #expect(try shell.run("settings wait app name=joe --token-file reader").code == 0)
        #expect(try shell.run("settings wait app theme=dark --timeout 1 --token-file reader").code == 6)
    }

    @Test("wait compares all conditions with one state of the suite, not with values from several reads")
    func waitForOneState() throws {
        // Between the reads of a and b the suite changes from a=1, b=0 to a=0, b=1.
        let server = try ScriptedServer { _, peer, log in
            while let request = peer.readRequest() {
                // A program that read each key by itself would get these answers, and end too early.
                if request.hasPrefix("GET /v1/suites/app/keys/") {
                    peer.send(
                        ScriptedServer.answer(#"{"suite":"app","key":"a","value":1,"source":"stored","revision":1}"#))
                } else if request.contains("since=") {
                    log.add("change")
                    let change =
                        #"{"key":"a","old":0,"new":1,"oldSource":"stored","source":"stored","revision":2,"#
                        + #""modified":"2026-11-20T10:00:00.000Z"}"#
                    peer.send(
                        ScriptedServer.answer(
                            #"{"suite":"app","revision":2,"cursor":"e.2","schemaRevision":0,"changes":[\#(change)]}"#))
                } else {
                    log.add("state")
                    peer.send(
                        ScriptedServer.answer(
                            #"{"suite":"app","revision":1,"cursor":"e.1","schemaRevision":0,"values":{"a":0,"b":1},"changes":[]}"#
                        ))
                }
            }
        }
        let end = try Shell(hasSchema: false).run("settings wait app a=1 b=1 --timeout 60 --server \(server.address)")
        #expect(end == ChildProcess.End(code: 0, output: "", errors: ""))
        // The server itself adds `connection` to the log for each connection.
        #expect(server.log.all.filter { $0 != "connection" } == ["state", "change"])
    }

    @Test("watch ends with 1 when its output cannot be written")
    func fullOutput() throws {
        let shell = try Shell(["settings set app name ann --quiet"])
        let watch = try shell.start("exec settings watch app --since \(try shell.cursor()) >/dev/full")
        #expect(try shell.run("settings set app name joe").code == 0)
        let end = try watch.end()
        #expect(end.code == 1)
        #expect(end.errors == "settings: cannot write the output: No space left on device\n")
    }

    @Test("watch reports that the daemon cannot return the changes after the cursor, and continues with new changes")
    func reset() throws {
        let shell = try Shell()
        // No history has the epoch `aaaaaaaa`.
        let watch = try shell.start("exec settings watch app --since aaaaaaaa.1 >&2")
        _ = try watch.line(containing: "settings: the daemon cannot return the changes after the cursor")
        #expect(try shell.run("settings set app theme dark").code == 0)
        _ = try watch.line(containing: #"theme: "light" (default) → "dark""#)
        #expect(try shell.run("settings watch app --since soon").code == 64)
    }

    @Test(
        "wait ends when all conditions hold, also for a suite that does not exist yet, and ends with 8 at the timeout")
    func wait() throws {
        let shell = try Shell()
        let wait = try shell.start("exec settings wait app theme=dark launchCount=2 name --timeout 100")
        let waitForNewSuite = try shell.start("exec settings wait later ready=true")
        #expect(try shell.run("settings set app theme=dark name=joe launchCount=1").code == 0)
        try shell.restart()
        #expect(try shell.run("settings set app launchCount +1; settings set later ready true").code == 0)
        let end = try wait.end()
        #expect(end.code == 0 && end.output.isEmpty)
        #expect(try waitForNewSuite.end().code == 0)
        try shell.runTranscript(
            #"""
            $ settings wait app theme=dark --timeout 100
            $ settings wait app theme=dark --timeout 0
            $ settings wait app theme=light --timeout 0
            ! settings: timed out after 0.0 seconds waiting for app theme=light
            => 8
            $ settings wait app theme!=light '!nickname' --timeout 2m
            $ settings wait nowhere '!nickname' --timeout 0.5
            $ settings wait nowhere '!nickname' '!name' --timeout 0
            $ settings wait app theme=dark '!nickname' --timeout 0
            $ settings wait app theme=dark nickname --timeout 0
            ! settings: timed out after 0.0 seconds waiting for app theme=dark nickname
            => 8
            $ settings wait app theme!=dark --timeout 0.1
            ! settings: timed out after 0.1 seconds waiting for app theme!=dark
            => 8
            $ settings wait app '!theme' --timeout 0s
            ! settings: timed out after 0.0 seconds waiting for app !theme
            => 8
            $ settings wait app
            ! settings: KEY=VALUE is missing; the usage is 'settings wait SUITE KEY=VALUE…'
            => 64
            $ settings wait app theme=dark --timeout long
            ! settings: --timeout takes seconds, or a time span such as 2m, not 'long'
            => 64
            """#)
    }
}
