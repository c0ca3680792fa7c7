import TestSupport
import Testing

/// Tests of `settings history`, `diff`, `undo`, `restore` and `schema`.
/// `Shell` applies the schema in `Shell.swift` to the suite `app`, in commit 1. A `Shell` with `hasSchema: false`
/// applies no schema.
/// In transcripts, `! ` begins a line of standard error, and `=> ` an exit code that is not 0: see `Shell`.
@Suite(.ownThread)
struct PastTests {
    /// The command lines that make the commits 2, 3 and 4. Commit 1 applies the schema.
    private static let commits = [
        "settings set app theme dark --quiet", "settings set app launchCount=5 theme=light --note why --quiet",
        "settings set app player.muted true --quiet",
    ]

    @Test("history prints the commits of a suite or of some keys, the newest commit first")
    func history() throws {
        try Shell(Self.commits).runTranscript(
            #"""
            $ settings history app --limit 2
            revision 4, TIME by user:ME
              player.muted: false (default) → true
            revision 3, TIME by user:ME: why
              launchCount: 0 (default) → 5
              theme: "dark" → "light"
            $ settings history app theme
            revision 3, TIME by user:ME: why
              theme: "dark" → "light"
            revision 2, TIME by user:ME
              theme: "light" (default) → "dark"
            revision 1, TIME by user:ME
              the schema was changed
              theme: (unset) → "light" (default)
            $ settings history app --prefix player.
            revision 4, TIME by user:ME
              player.muted: false (default) → true
            revision 1, TIME by user:ME
              the schema was changed
              player.muted: (unset) → false (default)
              player.volume: (unset) → 0.5 (default)
            $ settings history app --by token:other --limit 0
            $ settings history app --limit 1 --json | tr ',' '\n' | head -1
            {"revision":4
            $ settings history app --limit few
            ! settings: --limit takes a number, not 'few'
            => 64
            """#)
    }

    @Test("history of several suites is one list, and --commit shows one commit in all suites")
    func historyOfSuites() throws {
        let shell = try Shell(Self.commits + ["settings set net port=1 --quiet", "settings set tv on=true --quiet"])
        _ = try shell.directory.file(
            "both.json",
            """
            {"do":[{"op":"set","suite":"net","key":"port","value":2},{"op":"set","suite":"app","key":"name","value":"joe"}]}
            """)
        try shell.runTranscript(
            #"""
            $ settings transaction both.json --note both --quiet; settings history --all --limit 3
            revision 7, TIME by user:ME: both
              app name: (unset) → "joe"
              net port: 1 → 2
            revision 6, TIME by user:ME
              tv on: (unset) → true
            revision 5, TIME by user:ME
              net port: (unset) → 1
            $ settings history app --suite net --limit 2
            revision 7, TIME by user:ME: both
              app name: (unset) → "joe"
              net port: 1 → 2
            revision 5, TIME by user:ME
              net port: (unset) → 1
            $ settings history --commit 7 --json | jq -c '[.revision, .suite, .note, (.changes[] | .key)]'
            [7,"app","both","name"]
            [7,"net","both","port"]
            $ settings history app --commit 1 --prefix player.
            revision 1, TIME by user:ME
              the schema was changed
              player.muted: (unset) → false (default)
              player.volume: (unset) → 0.5 (default)
            $ settings history --commit 1 --prefix player.m
            revision 1, TIME by user:ME
              the schema of suite app was changed
              app player.muted: (unset) → false (default)
            $ settings history --all --limit 0 | grep -c '^revision'
            7
            $ settings history --suite tv --commit 5
            ! settings: the history of suite tv has no commit 5
            => 4
            $ settings history --commit 8
            ! settings: the history of these suites has no commit 8
            => 4
            $ settings history --commit last
            ! settings: --commit takes a revision, not 'last'
            => 64
            $ settings history --all app
            ! settings: 'app' is one argument too many; the usage is 'settings history SUITE [KEY…]', 'settings history [SUITE] [KEY…] --suite SUITE', 'settings history --all' or 'settings history [SUITE] [KEY…] --commit REVISION'
            => 64
            $ settings history --commit 5 --limit 1
            ! settings: --commit and --limit exclude each other
            => 64
            $ settings history app --json --full
            ! settings: --json and --full exclude each other
            => 64
            $ settings history
            ! settings: SUITE is missing; the usage is 'settings history SUITE [KEY…]', 'settings history [SUITE] [KEY…] --suite SUITE', 'settings history --all' or 'settings history [SUITE] [KEY…] --commit REVISION'
            => 64
            """#)
    }

    @Test
    func `history --all and history --commit show the commits of dropped suites`() throws {
        let setupLines = ["settings set net port=1 --quiet", "settings set tv on=true --quiet"]
        try Shell(setupLines + ["settings unset net --drop --quiet"], hasSchema: false).runTranscript(
            #"""
            $ settings history --all
            revision 3, TIME by user:ME
              suite net was dropped
              net port: 1 → (unset)
            revision 2, TIME by user:ME
              tv on: (unset) → true
            revision 1, TIME by user:ME
              net port: (unset) → 1
            $ settings history --commit 1
            revision 1, TIME by user:ME
              net port: (unset) → 1
            $ settings history --all --prefix p --json | jq -c '[.revision, .suite, .dropped]'
            [3,"net",true]
            [1,"net",false]
            $ settings list --json | jq -r .suite
            tv
            """#)
    }

    @Test("history shows twenty changes of a commit, and all with --full or --json")
    func largeCommit() throws {
        // `wc -l` also counts the line with the revision.
        try Shell(hasSchema: false).runTranscript(
            #"""
            $ settings set app $(seq -f 'k%02.0f=1' 20) --quiet; settings history app | wc -l
            21
            $ settings set app $(seq -f 'k%02.0f=2' 22) --quiet; settings history app --limit 1 | tail -2
              k20: 1 → 2
              … and 2 more changes; --full shows all
            $ settings set net $(seq -f 'k%02.0f=1' 19) --quiet; settings history app --suite net --limit 1 | wc -l
            20
            $ settings history app --limit 1 --full | tail -1
              k22: (unset) → 2
            $ settings history app --limit 1 --json | jq '.changes | length'
            22
            """#)
    }

    @Test("history --limit 0 reads all pages of a long history")
    func pages() throws {
        // The program requests at most 1,000 commits at once. `curl` makes 1,010 commits, one for each key.
        try Shell(hasSchema: false).runTranscript(
            """
            $ curl -s --unix-socket socket -X PUT -d 1 'http://localhost/v1/suites/app/keys/k[1-1010]' | grep -o changed | wc -l
            1010
            $ settings history app --limit 0 | grep -c '^revision'
            1010
            """)
    }

    @Test("diff prints the differences of a suite between two revisions, and ends with 2 if there are any")
    func diff() throws {
        try Shell(Self.commits).runTranscript(
            #"""
            $ settings diff app 2
            launchCount: 0 (default) → 5
            player.muted: false (default) → true
            theme: "dark" → "light"
            => 2
            $ settings diff app 3 2
            launchCount: 5 → 0 (default)
            theme: "light" → "dark"
            => 2
            $ settings diff app 3 3
            $ settings diff app now
            $ settings schema remove app && settings diff app 4 --json | head -1
            {"schema":true}
            $ settings diff app 99
            ! settings: revision 99 does not exist yet; the newest revision is 5
            => 4
            $ settings diff app
            ! settings: FROM is missing; the usage is 'settings diff SUITE FROM [TO]'
            => 64
            """#)
    }

    @Test(
        "--at accepts a day, a day with a time, and a time span of several units",
        arguments: ["2001-01-01", "today", "yesterday 18:00", "1h30m", "0.5d"])
    func timesInThePast(text: String) throws {
        let shell = try Shell()
        // The exit code 4 shows that the program parsed the text. The daemon has no history of this time.
        let end = try shell.settings("get", "app", "theme", "--at", text)
        #expect(end.code == 4, "\(end)")
        #expect(try shell.settings("get", "app", "theme", "--at", "\(text) x").code == 64)
    }

    @Test("undo reverts a commit, and is refused without --force if a key of the commit was changed later")
    func undo() throws {
        try Shell(Self.commits).runTranscript(
            #"""
            $ settings undo 4 --dry-run
            player.muted: true → false (default)
            (a dry run: nothing was changed)
            $ settings undo app 4 --note 'a mistake'
            player.muted: true → false (default)
            $ settings undo app 2
            ! settings: cannot undo commit 2: theme of suite app was changed at revision 3; --force undoes the commit anyway
            !   theme was changed by revision 3
            => 5
            $ settings undo app 2 --force
            theme: "light" → "light" (default)
            $ settings history app --limit 2 | grep revision
            revision 6, TIME by user:ME: undo revision 2
            revision 5, TIME by user:ME: a mistake
            $ settings undo app
            ! settings: 'app' is not a revision; 'settings history SUITE' lists the revisions
            => 64
            """#)
    }

    @Test("restore sets all or some settings of a suite to their values at an earlier revision")
    func restore() throws {
        // `1w` is a week ago, before the first commit.
        try Shell(Self.commits).runTranscript(
            #"""
            $ settings restore app 2 theme
            theme: "light" → "dark"
            $ settings history app --limit 1 | grep revision
            revision 5, TIME by user:ME: go back to revision 2
            $ settings restore app 1 --dry-run
            launchCount: 5 → 0 (default)
            player.muted: true → false (default)
            theme: "dark" → "light" (default)
            (a dry run: nothing was changed)
            $ settings restore app 1 --prefix player. --quiet
            $ settings get app player.muted launchCount
            false
            5
            $ settings restore app 1w
            ! settings: suite app did not exist at revision 0; it was created at revision 1
            => 4
            $ settings restore app 2 theme --prefix player.
            ! settings: 'theme' is one argument too many; the usage is 'settings restore SUITE WHEN [KEY…]' or 'settings restore SUITE WHEN --prefix PREFIX'
            => 64
            $ settings restore app
            ! settings: WHEN is missing; the usage is 'settings restore SUITE WHEN [KEY…]' or 'settings restore SUITE WHEN --prefix PREFIX'
            => 64
            """#)
    }

    @Test("The schema commands check, show, compare, apply and remove a schema")
    func schema() throws {
        try Shell(["settings set app theme=dark --quiet"]).runTranscript(
            #"""
            $ settings schema check app.json
            the schema is valid
            $ echo '{"type":"object","additionalProperties":false,"properties":{"a":{"type":"objct"}}}' | settings schema check -
            /properties/a/type: type names "objct", which is not a type; did you mean object?
            => 5
            $ settings schema check none.json
            ! settings: cannot read none.json: No such file or directory
            => 1
            $ settings schema show app | sed 's/"maximum": 1$/"maximum": 2/' >louder.json; settings schema diff app louder.json
            ~ player.volume maximum: 1 → 2 (widening)
            the schema would change
            => 2
            $ settings schema diff app app.json
            the suite has the schema already
            $ echo '{"type":"object","additionalProperties":{"type":"integer"}}' >numbers.json
            $ settings schema apply app numbers.json
            ! settings: the content of suite app does not match the schema: theme: must be an integer (got "dark"); --on-conflict keep keeps these values, --on-conflict reset removes them
            !   theme: must be an integer (got "dark")
            => 5
            $ settings schema apply app numbers.json --on-conflict reset --dry-run | grep '^launchCount'
            launchCount: 0 (default) → (unset)
            $ settings schema apply app numbers.json --on-conflict keep --quiet; settings list app --changed
            theme  integer  invalid  "dark"
            $ settings get app theme --source
            invalid
            $ settings schema apply app numbers.json --on-conflict delete
            ! settings: --on-conflict takes refuse, keep or reset, not 'delete'
            => 64
            $ settings schema remove app --dry-run
            (a dry run: nothing was changed)
            $ settings schema remove app; settings schema show app
            ! settings: suite app has no schema: it accepts any key with any value
            => 4
            """#)
    }
}
