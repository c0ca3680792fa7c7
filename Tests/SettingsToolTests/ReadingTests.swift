import Foundation
import TestSupport
import Testing

/// Tests of `settings get`, `list`, `describe`, `find` and `status`.
/// `Shell` applies the schema in `Shell.swift` to the suite `app`, in commit 1. The schema declares the setting `key` a
/// secret. A `Shell` with `hasSchema: false` or with `tokens` applies no schema.
/// In transcripts, `! ` begins a line of standard error, and `=> ` an exit code that is not 0: see `Shell`.
@Suite(.ownThread)
struct ReadingTests {
    @Test("get prints strings without quotation marks; its exit code distinguishes an unset key from an unknown suite")
    func get() throws {
        try Shell(["settings set app theme dark --quiet", "settings set app tags --append 'a b' --quiet"])
            .runTranscript(
                #"""
                $ settings get app theme
                dark
                $ settings get app theme --json
                "dark"
                $ settings get app tags launchCount
                ["a b"]
                0
                $ settings get app name
                ! settings: name of suite app is not set and has no default
                => 3
                $ settings get app name --default joe
                joe
                $ settings get other name --default -5
                -5
                $ settings get other name
                ! settings: there is no suite other
                => 4
                $ settings get app theme name launchCount --source
                stored
                unset
                default
                $ settings get app name --source --default joe
                ! settings: --default and --source exclude each other
                => 64
                $ settings describe app name --secrets --server unix:/nothing
                ! settings: --secrets needs --json
                => 64
                $ settings get app theme --at 1
                light
                $ settings get app theme --at 99
                ! settings: revision 99 does not exist yet; the newest revision is 3
                => 4
                $ settings get app theme --at soon
                ! settings: 'soon' is not a time; write a revision, an instant such as TIME, a day such as 2026-11-20 or today (its start in UTC), 'yesterday 18:00' (UTC), 2h (two hours ago) or yesterday (24 hours ago)
                => 64
                $ settings get app theme > /dev/full
                ! settings: cannot write the output: No space left on device
                => 1
                """#)
    }

    @Test("get --prefix prints the settings of a prefix that have a value, as lines of tab-separated fields or as JSON")
    func getPrefix() throws {
        let shell = try Shell(["settings set app player.note 'a b' --quiet", "settings set other k 1 --quiet"])
        try shell.runSettings("set", "app", "--text", "player.path", "c:\\\ta\nb")
        try shell.runTranscript(
            #"""
            $ settings get app --prefix player. | tr '\t' ,
            player.muted,false
            player.note,a b
            player.path,c:\\\ta\nb
            player.volume,0.5
            $ settings get app --prefix player. --json
            {"player.muted":false,"player.note":"a b","player.path":"c:\\\ta\nb","player.volume":0.5}
            $ settings get app --prefix player. --source | tr '\t' ,
            player.muted,default
            player.note,stored
            player.path,stored
            player.volume,default
            $ settings get app --prefix player. --at 1 | tr '\t' ,
            player.muted,false
            player.volume,0.5
            $ settings get other --prefix '' | tr '\t' ,
            k,1
            $ settings get app --prefix name
            ! settings: no setting of the suite app with a key that begins with 'name' has a value
            => 3
            $ settings get nowhere --prefix name
            ! settings: there is no suite nowhere
            => 4
            $ settings get app theme --prefix player.
            ! settings: 'theme' is one argument too many; the usage is 'settings get SUITE KEY…' or 'settings get SUITE --prefix PREFIX'
            => 64
            $ settings get app '*'
            ! settings: '*' is a pattern, not a key; 'settings get app --prefix ''' prints the values of these keys; write '["*"]' for a key with this name
            => 64
            """#)
        // The suite has more keys than one page of the daemon's answer.
        try shell.runSettings("import", "big", try shell.directory.file("big.json", Self.documentOfManyKeys), "--quiet")
        #expect(try shell.run("settings get big --prefix k | wc -l").output == "2500\n")
    }

    private static let documentOfManyKeys = "{\((0..<2500).map { "\"k\($0)\":\($0)" }.joined(separator: ","))}"

    @Test("get --prefix prints nothing if one of the values is invalid, or is a secret that the caller may not read")
    func getPrefixWithUnreadableValue() throws {
        let shell = try Shell(tokens: ["owner": "*:read,write,schema,secrets", "reader": "*:read"])
        _ = try shell.directory.file(
            "app.json",
            #"{"type":"object","additionalProperties":{},"properties":{"a.key":{"writeOnly":true},"b.n":{"maximum":1}}}"#
        )
        try shell.runTranscript(
            """
            $ settings set app a.name=joe a.key=hunter2 b.n=5 --quiet --token-file owner
            $ settings schema apply app app.json --on-conflict keep --token-file owner >/dev/null
            $ settings get app --prefix a. --token-file reader
            ! settings: app a.key is a secret, which this caller may not read
            => 6
            $ settings get app --prefix a.k --json --token-file owner
            {"a.key":"hunter2"}
            $ settings get app --prefix b --token-file reader
            ! settings: the stored value of b.n in suite app does not match the schema: b.n: must be at most 1 (got 5)
            => 5
            """)
    }

    @Test("list and find print tab-separated fields with escapes, and the names of the columns")
    func tabSeparated() throws {
        let shell = try Shell(["settings set app theme=dark key=k launchCount=2 --quiet", "settings set b c=1 --quiet"])
        try shell.runSettings("set", "b", "--text", "t", "a\tb\nc\\d\u{1B}")
        try shell.runTranscript(
            #"""
            $ settings list --format tsv --header | tr '\t' ,
            suite,keys,revision,schema
            app,9,2,true
            b,2,4,false
            $ settings list app --format tsv | tr '\t' ,
            build,string,unset,,0,false
            key,string,stored,,2,true
            launchCount,integer,stored,2,2,false
            limit,integer|null,unset,,0,false
            name,string,unset,,0,false
            player.muted,boolean,default,false,1,false
            player.volume,number,default,0.5,1,false
            tags,array,unset,,0,false
            theme,enum,stored,dark,2,false
            $ settings list b --format tsv --header | tr '\t' ,
            key,type,source,value,revision,secret
            c,,stored,1,3,false
            t,,stored,a\tb\nc\\d\u{1b},4,false
            $ settings find dark --format tsv --header | tr '\t' ,
            suite,key,type,source,value,revision,secret,description
            app,theme,enum,stored,dark,2,false,
            $ settings list --header
            SUITE  KEYS    REVISION    SCHEMA
            app    9 keys  revision 2
            b      2 keys  revision 4  no schema
            $ settings list app the --header
            KEY    TYPE  SOURCE  VALUE
            theme  enum          "dark"
            $ settings list app nothing --header --format tsv | tr '\t' ,
            key,type,source,value,revision,secret
            $ settings list app --json --header
            ! settings: --json and --header exclude each other
            => 64
            $ settings list app --format csv
            ! settings: --format takes table or tsv, not 'csv'
            => 64
            """#)
    }

    @Test("list aligns keys, types, sources and values; the command 'settings SUITE' lists the suite, too")
    func list() throws {
        let shell = try Shell(["settings set app theme=dark launchCount=0 key=k --quiet", "settings set b c=1 --quiet"])
        try shell.runTranscript(
            #"""
            $ settings list
            app  9 keys  revision 2
            b    1 key   revision 3  no schema
            $ settings list app
            build          string        unset
            key            string                 •••
            launchCount    integer                0
            limit          integer|null  unset
            name           string        unset
            player.muted   boolean       default  false
            player.volume  number        default  0.5
            tags           array         unset
            theme          enum                   "dark"
            $ settings app --changed
            key    string    •••
            theme  enum      "dark"
            $ settings list app player.
            player.muted   boolean  default  false
            player.volume  number   default  0.5
            $ settings list app 'player.*' --changed; settings list app 'player.m*'
            player.muted  boolean  default  false
            $ settings list b '*'
            c      1
            $ settings list 'a*'
            app  9 keys  revision 2
            $ settings get app 'player.*'
            ! settings: 'player.*' is a pattern, not a key; 'settings get app --prefix player.' prints the values of these keys; write '["player.*"]' for a key with this name
            => 64
            $ settings list b --json
            {"suite":"b","key":"c","value":1,"source":"stored","revision":3}
            $ settings list --json
            {"suite":"app","keys":9,"revision":2,"schema":true}
            {"suite":"b","keys":1,"revision":3,"schema":false}
            $ settings list app theme --at 1
            theme  enum  default  "light"
            $ settings nope
            ! settings: there is no command and no suite 'nope'
            => 4
            $ settings lst app
            ! settings: there is no command 'lst'; did you mean list?; 'settings help' lists the commands
            => 64
            $ settings list --changed
            ! settings: --changed, --at and --secrets need a suite
            => 64
            """#)
    }

    @Test(
        "list aligns wide characters, and shows characters that change the direction of text as escapes"
    )
    func unusualCharacters() throws {
        try Shell(hasSchema: false).runTranscript(
            """
            $ settings set b 日本=1 e\u{301}=2 '👍🏽=3' 'x\u{202E}y=4' abcdefghijkl=5 --quiet
            $ settings list b
            abcdefghijkl      5
            e\u{301}                 2
            x\\u{202e}y        4
            日本              1
            👍🏽                3
            """)
    }

    @Test("list prints the first of 20,000 keys before it requests the last page of keys")
    func manyKeys() throws {
        let shell = try Shell()
        let fill = "seq -f 'key%06.0f=1' 20000 | xargs -n 5000 settings set big --quiet --json"
        #expect(try shell.run(fill) == ChildProcess.End(code: 0, output: "", errors: ""))
        #expect(try shell.run("settings list big | wc -l").output == "20000\n")
        // The pipe has room for only a part of the list, so the program has not read the whole list when the daemon
        // ends.
        let listing = try shell.start(
            "mkfifo go; settings list big | { read -r line; echo \"$line\" >&2; read -r go <go; cat; }")
        #expect(try listing.line(containing: "key").hasPrefix("key000001"))
        try shell.stop()
        _ = try shell.run("echo >go")
        let end = try listing.end()
        #expect(end.errors.contains("settings: no answer from the daemon"))
        #expect(end.output.hasPrefix("key000002"))
        #expect(!end.output.contains("key020000"))
    }

    @Test("On a terminal, list prints colours and cuts long values", .enabled(if: access("/usr/bin/script", X_OK) == 0))
    func terminal() throws {
        let shell = try Shell(["settings set b text 'a text of more than thirty columns' --quiet"])
        func shown(_ environment: String) throws -> String {
            let lines = "stty cols 30; settings list b; settings list app theme"
            return try shell.run("TERM=xterm \(environment) script -qec '\(lines)' /dev/null </dev/null").output
        }
        #expect(
            try shown("") == """
                text      "a text of more tha…\r
                theme  \u{1B}[2menum\u{1B}[0m  \u{1B}[2mdefault\u{1B}[0m  \u{1B}[2m"light"\u{1B}[0m\r

                """)
        #expect(try shown("NO_COLOR=1").split(separator: "\r\n").last == "theme  enum  default  \"light\"")
        #expect(try !shown("TERM=dumb").contains("\u{1B}"))
    }

    @Test("describe prints the allowed values, who changed a setting, and why")
    func describe() throws {
        try Shell(["settings set app launchCount 7 --note 'a test' --quiet"]).runTranscript(
            #"""
            $ settings describe app launchCount
            app launchCount
              value    7
              from     stored
              allowed  an integer from 0
              default  0
              about    Times the app was started
              changed  TIME by user:ME, revision 2
              because  a test
            $ settings describe app theme
            app theme
              value    "light"
              from     default
              allowed  one of "light", "dark"
              default  "light"
            $ settings describe app build | tail -2
              allowed  a text
              locked   yes; --override writes locked keys
            $ settings describe app nope
            ! settings: nope of suite app is not set and has no default
            => 3
            $ settings describe app
            ! settings: KEY is missing; the usage is 'settings describe SUITE KEY'
            => 64
            """#)
    }

    @Test("describe distinguishes a locked key from a key that the caller may not write")
    func describeWritable() throws {
        let shell = try Shell(tokens: ["owner": "*:read,write,schema,override", "reader": "*:read"])
        let schema = #"{"type":"object","additionalProperties":{},"properties":{"build":{"readOnly":true}}}"#
        _ = try shell.directory.file("app.json", schema)
        try shell.runTranscript(
            """
            $ settings schema apply app app.json --token-file owner
            $ settings set app build=1 name=joe --override --quiet --token-file owner
            $ settings describe app build --token-file reader | grep -E 'locked|writable'
              locked   yes; --override writes locked keys
            $ settings describe app name --token-file reader | grep -E 'locked|writable'
              writable  no; this caller lacks the right
            $ settings describe app name --token-file owner | grep -E 'locked|writable'
            => 1
            """)
    }

    @Test("describe says that the schema does not allow a key")
    func describeUnlistedKey() throws {
        let shell = try Shell(hasSchema: false)
        let schema = #"{"type":"object","additionalProperties":false,"properties":{"a":{}}}"#
        _ = try shell.directory.file("app.json", schema)
        try shell.runTranscript(
            """
            $ settings set app b=1 --quiet
            $ settings schema apply app app.json --on-conflict keep --quiet
            $ settings describe app b | grep writable
              writable  no; the schema does not allow the key
            """)
    }

    @Test("--json prints secrets only with --secrets", arguments: ["list app", "history app", "diff app 1"])
    func secretsInJSON(command: String) throws {
        let shell = try Shell(["settings set app key hunter2 --quiet"])
        let masked = try shell.run("settings \(command) --json").output
        #expect(masked.contains(#""key":"key","secret":true,"#) && !masked.contains("hunter2"))
        #expect(
            try shell.run("settings \(command) --json --secrets").output.contains(#""value":"hunter2","secret":true,"#))
        #expect(try shell.run("settings \(command) --secrets").code == 64)
    }

    @Test("find searches the keys, values and descriptions of all suites, and a suite that is given twice only once")
    func find() throws {
        try Shell(["settings set b motto 'turn the VOLUME up' --quiet"]).runTranscript(
            #"""
            $ settings find volume
            app  player.volume  number  default  0.5
            b    motto                           "turn the VOLUME up"
            $ settings find started --suite app --suite app
            app  launchCount  integer  default  0  Times the app was started
            $ settings find started --json
            {"suite":"app","key":"launchCount","value":0,"source":"default","revision":1,"description":"Times the app was started"}
            $ settings find started --format tsv | tr '\t' ,
            app,launchCount,integer,default,0,1,false,Times the app was started
            $ settings find zebra
            => 4
            """#)
    }

    @Test("status prints the daemon and whether it accepts writes, and ends with 7 if the daemon does not run")
    func status() throws {
        let shell = try Shell()
        let end = try shell.run("settings status")
        #expect(end.code == 0)
        let version = try shell.run("settings --version").output.split(separator: " ").last ?? ""
        #expect(
            end.output.hasPrefix("daemon  settingsd \(version.dropLast()) at unix:\(shell.directory.path)/socket\n"))
        #expect(end.output.hasSuffix("writes  accepted\n"))
        try shell.stop()
        #expect(try shell.run("settings status").code == 7)
    }
}
