import Foundation
import TestSupport
import Testing

/// Tests of `settings export` of several suites, and of `plan` and `apply` of a directory.
/// `Shell` applies the schema in `Shell.swift` to the suite `app`, in commit 1. The schema declares the setting `key` a
/// secret. A `Shell` with `hasSchema: false` or with `tokens` applies no schema.
/// In transcripts, `! ` begins a line of standard error, and `=> ` an exit code that is not 0: see `Shell`.
@Suite(.ownThread)
struct SuiteDirectoryTests {
    private static let stored = [
        "settings set app theme=dark launchCount=5 --quiet", "settings set net port=8080 proxy=none --quiet",
    ]

    @Test("plan and import have nothing to change for files that export has written")
    func roundTrip() throws {
        try Shell(Self.stored).runTranscript(
            #"""
            $ settings export --all --to settings; ls -A settings; cat settings/net.json
            app.json
            net.json
            {
              "port": 8080,
              "proxy": "none"
            }
            $ settings plan settings
            nothing to change
            $ settings plan settings/ --prune
            nothing to change
            $ settings import net settings/net.json
            nothing to change
            $ settings export --all | settings plan - --prune
            nothing to change
            $ settings export net app | jq -c .
            {"suites":{"net":{"port":8080,"proxy":"none"},"app":{"launchCount":5,"theme":"dark"}}}
            """#)
    }

    @Test(
        "apply stores the contents of all files of a directory in one commit; --prune keeps secrets that the files leave out"
    )
    func apply() throws {
        let shell = try Shell(Self.stored + ["settings set app key=hunter2 --quiet", "settings set other a=1 --quiet"])
        try shell.runTranscript(
            #"""
            $ settings export app net --without-secrets --to settings
            $ echo '{"port":9090}' >settings/net.json; echo '{"on":true}' >settings/later.json; echo text >settings/README.md
            $ settings plan settings --prune | tee plan.txt | sed 's/^plan .*/HASH/'
            + later on: true
            ~ net port: 8080 → 9090
            - net proxy: "none"
            HASH
            $ settings apply settings --prune --plan $(sed -n 's/^plan //p' plan.txt) --note reviewed
            later on: (unset) → true
            net port: 8080 → 9090
            net proxy: "none" → (unset)
            $ settings plan settings --prune
            nothing to change
            $ settings list --json | jq -c '[.suite, .revision]'
            ["app",4]
            ["later",6]
            ["net",6]
            ["other",5]
            $ settings get app key
            hunter2
            """#)
    }

    @Test("export replaces only files that change, keeps their mode, and leaves no temporary file")
    func replace() throws {
        // A replaced file has a new inode number, which `stat -c %i` prints.
        try Shell(Self.stored).runTranscript(
            #"""
            $ settings export --all --to settings; chmod 640 settings/*; stat -c '%i' settings/net.json settings/app.json >before
            $ settings set app theme light --quiet; settings export --all --to settings; ls -A settings
            app.json
            net.json
            $ stat -c '%a' settings/app.json; jq .theme settings/app.json
            640
            "light"
            $ stat -c '%i' settings/net.json settings/app.json | diff - before | grep -c '^<'
            1
            """#)
    }

    @Test("export --all reports the files of suites that do not exist, and removes them with --prune")
    func filesOfMissingSuites() throws {
        try Shell(Self.stored).runTranscript(
            #"""
            $ settings export --all --to settings; echo '{}' >settings/.hidden.json; settings unset net --drop --quiet
            $ settings export --all --to settings
            ! settings: settings/net.json: the suite net does not exist, or this caller may not read the suite; --prune removes the files of suites that do not exist
            $ settings export --all --to settings --prune; ls -A settings
            .hidden.json
            app.json
            ! settings: removed settings/net.json: the suite net does not exist
            """#)
    }

    @Test("export --prune is refused for a caller that may not read every suite, and removes no file")
    func pruneWithoutRights() throws {
        let shell = try Shell(tokens: ["owner": "*:read,write", "guest": "app*:read"])
        try shell.runTranscript(
            #"""
            $ for s in app net; do settings set $s a=1 --quiet --token-file owner; done
            $ settings export --all --to settings --prune --token-file owner
            $ settings export --all --to settings --prune --token-file guest
            ! settings: --prune needs the right to read every suite, because a suite that this caller may not read looks like a suite that does not exist
            => 6
            $ ls settings
            app.json
            net.json
            """#)
    }

    @Test("plan, apply and export refuse a directory with wrong files, and wrong operands, and write nothing")
    func refusals() throws {
        try Shell(Self.stored).runTranscript(
            #"""
            $ mkdir empty bad; echo '{}' >'bad/a b.json'; echo '[1]' >wrong.json; settings plan empty
            ! settings: cannot read empty/: it has no file of a suite, such as app.json
            => 1
            $ settings plan bad
            ! settings: cannot read bad/a b.json: the name before .json is not a valid name of a suite
            => 1
            $ mv wrong.json empty/app.json; settings apply empty
            ! settings: cannot read empty/app.json: expected a JSON object of keys, found an array
            => 1
            $ settings export --all --to bad/'a b.json'
            ! settings: cannot write to bad/a b.json: the file is not a directory
            => 1
            $ settings export app none --to bad 2>/dev/null
            => 4
            $ ls -A bad
            a b.json
            $ settings export --all app
            ! settings: 'app' is one argument too many; the usage is 'settings export SUITE…' or 'settings export --all'
            => 64
            $ settings export --all --format env
            ! settings: --format env takes one suite, without --to
            => 64
            $ settings export app --to bad --prune
            ! settings: --prune needs --all and --to
            => 64
            $ settings export
            ! settings: SUITE is missing; the usage is 'settings export SUITE…' or 'settings export --all'
            => 64
            """#)
    }

    @Test("export of secrets that the caller may not read ends with an error that names each suite and key")
    func secrets() throws {
        let shell = try Shell(tokens: ["writer": "*:read,write,schema", "reader": "*:read"])
        _ = try shell.directory.file(
            "schema.json", #"{"type":"object","additionalProperties":{},"properties":{"key":{"writeOnly":true}}}"#)
        try shell.runTranscript(
            #"""
            $ for s in app net; do settings schema apply $s schema.json --token-file writer; settings set $s key=k a=1 --quiet --token-file writer; done
            $ settings export --all --to settings --token-file reader
            ! settings: cannot export the secrets app key, net key: this caller may not read secrets; --without-secrets leaves out secrets
            => 6
            $ settings export --all --to settings --without-secrets --token-file reader; cat settings/*
            {
              "a": 1
            }
            {
              "a": 1
            }
            """#)
    }

    @Test("export --all reads all suites at one revision")
    func oneRevision() throws {
        let suites = (10..<50).map { "s\($0)" }
        let operations = suites.map { #"{"op":"set","suite":"\#($0)","key":"a","value":N}"# }.joined(separator: ",")
        let shell = try Shell(hasSchema: false)
        _ = try shell.directory.file("all.json", #"{"do":[\#(operations)]}"#)
        #expect(try shell.run("sed s/N/0/g all.json | settings transaction - --quiet").code == 0)
        let writer = try shell.start(
            """
            for n in $(seq 10000); do
                [ ! -e stop ] || exit 0
                sed "s/N/$n/g" all.json | curl -s --unix-socket socket http://localhost/v1/transaction -d @- >out
            done
            """)
        try eventually { shell.text("out").contains(#""changed":true"#) }
        for _ in 0..<10 {
            let values = try shell.run("settings export --all | jq -c '[.suites[].a] | [length, (unique | length)]'")
            // 40 suites, all with the same value.
            #expect(values.output == "[40,1]\n")
        }
        #expect(try shell.run("touch stop").code == 0)
        #expect(try writer.end().code == 0)
    }
}
