import TestSupport
import Testing

/// Tests of `settings set` and `unset`: types, operations in place, guards, dry runs.
/// `Shell` applies the schema in `Shell.swift` to the suite `app`, in commit 1. The schema declares the setting `key` a
/// secret. A `Shell` with `hasSchema: false` applies no schema.
/// In transcripts, `! ` begins a line of standard error, and `=> ` an exit code that is not 0: see `Shell`.
@Suite(.ownThread)
struct WritingTests {
    @Test("set takes the type of a value from the schema; the message of a refusal names the allowed values")
    func types() throws {
        try Shell().runTranscript(
            #"""
            $ settings set app theme blue
            ! settings: theme: must be one of "light", "dark" (got "blue")
            => 5
            $ settings set app theme dark
            theme: "light" (default) → "dark"
            $ settings set app theme dark
            nothing to change
            $ settings set app launchCount five
            ! settings: launchCount takes an integer from 0, not 'five'
            => 5
            $ settings set app launchCount -3
            ! settings: launchCount: must be at least 0 (got -3)
            => 5
            $ settings set app player.muted yes
            ! settings: player.muted takes true or false, not 'yes'
            => 5
            $ settings set app player.volume 1
            player.volume: 0.5 (default) → 1
            $ settings set app name 5
            name: (unset) → "5"
            $ settings get app name --json
            "5"
            $ settings set app limit null
            limit: (unset) → null
            $ settings set app limit none
            ! settings: limit takes an integer or a null, not 'none'
            => 5
            $ settings set open a 1 --quiet && settings set open b true --quiet && settings set open c hello
            c: (unset) → "hello"
            $ settings list open
            a      1
            b      true
            c      "hello"
            $ settings set app key secret
            key: ••• → •••
            """#)
    }

    @Test(
        "Without a schema, set refuses JSON that cannot be stored, and --text stores the text as a string")
    func unrepresentable() throws {
        try Shell().runTranscript(
            #"""
            $ settings set free a 99999999999999999999 2>/dev/null
            => 5
            $ settings set free a '{"a":1,"a":2}'
            ! settings: a: cannot store the JSON: the name "a" occurs twice in the object; 'settings set --text' stores a text
            => 5
            $ echo a=1e400 >free.env; settings import free free.env 2>/dev/null
            => 5
            $ settings set free a 1e400 --text
            a: (unset) → "1e400"
            $ settings set free a '1e400 is a text'
            a: "1e400" → "1e400 is a text"
            $ settings set free list --json '[]' --quiet; settings set free list --append 5 --text
            list: [] → ["5"]
            $ settings set free a 1 --text --json
            ! settings: --json and --text exclude each other
            => 64
            """#)
    }

    @Test(
        "Without a schema, set adds a word such as +2 to a stored number; without a number, set stores the string")
    func plusWithoutSchema() throws {
        try Shell().runTranscript(
            #"""
            $ settings set free phone +4930123
            phone: (unset) → "+4930123"
            ! settings: phone is stored as the text '+4930123', because no number is stored
            $ settings set free count 1 --quiet; settings set free count +2
            count: 1 → 3
            """#)
    }

    @Test("unset removes more values than one commit may change, also with --prefix and with --dry-run")
    func unsetMany() throws {
        // A dry run of --drop prints 252 changes, a line about the suite, and a line about the dry run.
        // The name k\u0301 begins with k, although Swift compares it as the single character ḱ.
        // `settings list --json | grep …` prints the revision of the suite.
        let shell = try Shell(hasSchema: false, configuration: #"{"limits":{"commitKeys":100}}"#)
        let keys = (1...250).map { #""k\#(1000 + $0)":1"# }.joined(separator: ",")
        _ = try shell.directory.file("many.json", #"{\#(keys),"k\u0301":1,"other":1}"#)
        try shell.runTranscript(
            """
            $ settings import many many.json --quiet
            $ settings unset many --all --dry-run | tail -2
            other: 1 → (unset)
            (a dry run: nothing was changed)
            $ settings unset many --drop --dry-run | wc -l
            254
            $ settings unset many --drop --dry-run | tail -3
            other: 1 → (unset)
            the suite would be dropped
            (a dry run: nothing was changed)
            $ settings unset many --prefix k --if-revision 1 2>/dev/null
            => 5
            $ settings unset many --prefix k --if-revision $(settings list --json | grep -o '[0-9]*,"schema' | grep -o '[0-9]*') | wc -l
            251
            $ settings export many --format env
            other=1
            """)
    }

    @Test("unset --drop drops a suite with more values than one commit may change")
    func dropMany() throws {
        let shell = try Shell(hasSchema: false, configuration: #"{"limits":{"commitKeys":100}}"#)
        let keys = (1...250).map { #""k\#(1000 + $0)":1"# }.joined(separator: ",")
        _ = try shell.directory.file("many.json", "{\(keys)}")
        _ = try shell.directory.file("open.json", #"{"type":"object","additionalProperties":{}}"#)
        try shell.runTranscript(
            """
            $ settings schema apply many open.json --quiet; settings import many many.json --quiet
            $ settings unset many --drop | tail -2
            k1250: 1 → (unset)
            the suite was dropped
            $ settings list many
            ! settings: there is no suite many
            => 4
            $ settings import many many.json --quiet; settings unset many --drop --quiet
            $ settings list many
            ! settings: there is no suite many
            => 4
            """)
    }

    @Test(
        "The message of a violation has the whole path in the value, also if the path contains a member with the name do"
    )
    func violationPath() throws {
        let shell = try Shell(hasSchema: false)
        let innerSchema = #"{"type":"object","properties":{"y":{"type":"integer"}}}"#
        let outerSchema = #"{"type":"object","properties":{"do":{"type":"object","properties":{"x":\#(innerSchema)}}}}"#
        let schema = #"{"type":"object","additionalProperties":{},"properties":{"k":\#(outerSchema)}}"#
        _ = try shell.directory.file("do.json", schema)
        #expect(try shell.run("settings schema apply app do.json --quiet").code == 0)
        // The second command changes two settings, so it sends a transaction. The pointer in the answer then begins
        // with the operation, such as `/do/0/value`, and the command line removes only this beginning.
        for command in [#"k --json '{"do":{"x":{"y":"text"}}}'"#, #"'k={"do":{"x":{"y":"text"}}}' j=3"#] {
            let end = try shell.run("settings set app \(command)")
            #expect(end.code == 5)
            #expect(end.errors == "settings: k at /do/x/y: must be an integer (got \"text\")\n")
        }
    }

    @Test("unset --drop reports that it drops a suite that has a schema but no values")
    func dropWithoutValues() throws {
        try Shell().runTranscript(
            #"""
            $ echo '{"type":"object","additionalProperties":{}}' >open.json; settings schema apply empty open.json
            $ settings unset empty --drop --dry-run
            the suite would be dropped
            (a dry run: nothing was changed)
            $ settings unset empty --drop
            the suite was dropped
            """#)
    }

    @Test("set adds to a number, appends to a string or an array, and toggles a boolean")
    func inPlace() throws {
        try Shell().runTranscript(
            #"""
            $ settings set app launchCount +5
            launchCount: 0 (default) → 5
            $ settings set app launchCount +-2
            launchCount: 5 → 3
            $ settings set app name +5
            name: (unset) → "+5"
            $ settings set app name --append 6
            name: "+5" → "+56"
            $ settings set app tags --append a
            tags: (unset) → ["a"]
            $ settings set app tags --append 5
            tags: ["a"] → ["a","5"]
            $ settings set app player.muted --toggle
            player.muted: false (default) → true
            $ settings set app player.muted --toggle --append
            ! settings: --append and --toggle exclude each other
            => 64
            $ settings set open text abc && settings set open text --append def
            text: (unset) → "abc"
            text: "abc" → "abcdef"
            $ settings set open list --append 1 --quiet; settings set open list --append --json '{"a":2}'
            list: [1] → [1,{"a":2}]
            $ settings set open count +1
            count: (unset) → "+1"
            ! settings: count is stored as the text '+1', because no number is stored
            """#)
    }

    @Test("set reads JSON and standard input, and stores several settings in one commit")
    func several() throws {
        try Shell().runTranscript(
            #"""
            $ settings set app theme=dark launchCount=5 --note 'as the manual says'
            theme: "light" (default) → "dark"
            launchCount: 0 (default) → 5
            $ settings history app --limit 1
            revision 2, TIME by user:ME: as the manual says
              theme: "light" (default) → "dark"
              launchCount: 0 (default) → 5
            $ settings set app theme=light launchCount=-9 'tags=[1,2]'
            ! settings: launchCount: must be at least 0 (got -9)
            !   tags at /0: must be a string (got an integer)
            !   tags at /1: must be a string (got an integer)
            => 5
            $ settings get app theme launchCount
            dark
            5
            $ settings set app --json tags '["a b"]'
            tags: (unset) → ["a b"]
            $ settings set app --json tags='["q"'
            ! settings: '["q"' is not JSON: line 1, column 5: expected ',' or ']' after the element, found the end of the text
            => 64
            $ echo 'from a pipe' | settings set app name -
            name: (unset) → "from a pipe"
            $ printf 'a\377' | settings set app name -
            ! settings: cannot read the value from standard input: the bytes are not valid UTF-8
            => 1
            $ settings set app -- name=--quiet
            name: "from a pipe" → "--quiet"
            """#)
    }

    @Test("set obeys guards, locked keys and --dry-run")
    func guards() throws {
        try Shell(["settings set app theme dark --quiet"]).runTranscript(
            #"""
            $ settings set app theme light --if-revision 1
            ! settings: theme of suite app is at revision 2, not at 1
            => 5
            $ settings set app theme light --if-unset
            ! settings: theme of suite app already exists, at revision 2
            => 5
            $ settings set app theme light --if-revision 2 --dry-run
            theme: "dark" → "light"
            (a dry run: nothing was changed)
            $ settings set app theme light --if-revision 2
            theme: "dark" → "light"
            $ settings set app theme dark --note ' a blank'
            ! settings: --note takes one line, without control characters and without blanks at its ends
            => 64
            $ settings set app theme dark --note "$(printf 'two\nlines')" 2>/dev/null
            => 64
            $ settings set app theme light --if-revision soon
            ! settings: --if-revision takes a revision, not 'soon'
            => 64
            $ settings set app theme light --if-revision 2 --if-unset
            ! settings: --if-unset and --if-revision exclude each other
            => 64
            $ settings set app theme=dark name=a --if-unset
            ! settings: --if-revision and --if-unset need exactly one key; this command changes several keys
            => 64
            $ settings set app build 7
            ! settings: build of suite app is locked (readOnly in the schema); a caller that has the right override can write it with --override
            => 5
            $ settings set app build 7 --override
            build: (unset) → "7"
            """#)
    }

    @Test("unset restores the default of one key, of several keys, or of all keys")
    func unset() throws {
        try Shell(["settings set app theme=dark name=a player.muted=true player.volume=1 --quiet"]).runTranscript(
            #"""
            $ settings unset app theme
            theme: "dark" → "light" (default)
            $ settings unset app theme
            nothing to change
            $ settings unset app --prefix player. --dry-run
            player.muted: true → false (default)
            player.volume: 1 → 0.5 (default)
            (a dry run: nothing was changed)
            $ settings unset app name player.muted
            name: "a" → (unset)
            player.muted: true → false (default)
            $ settings unset app --all --if-revision 2
            ! settings: suite app is at revision 5, not at 2
            => 5
            $ settings unset app --all
            player.volume: 1 → 0.5 (default)
            $ settings unset app
            ! settings: KEY is missing; the usage is 'settings unset SUITE KEY…', 'settings unset SUITE --prefix PREFIX', 'settings unset SUITE --all' or 'settings unset SUITE --drop'
            => 64
            $ settings set app 'player.*=5' --quiet
            $ settings unset app 'player.*'
            ! settings: 'player.*' is a pattern, not a key; 'settings unset app --prefix player.' removes these keys, and with --dry-run shows them; write '["player.*"]' for a key with this name
            => 64
            $ settings unset app '["player.*"]'
            player.*: 5 → (unset)
            $ settings unset app '*' 2>&1 | grep -o "'settings unset app --all'"
            'settings unset app --all'
            $ settings unset app --prefix ''
            ! settings: --prefix is empty; use --all to remove all keys of the suite
            => 64
            $ settings unset app --drop --quiet; settings get app theme
            ! settings: there is no suite app
            => 4
            """#)
    }
}
