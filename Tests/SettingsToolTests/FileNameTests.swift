import TestSupport
import Testing

/// Tests of arguments that are not UTF-8: names of files, and other arguments.
/// `Shell` applies the schema in `Shell.swift` to the suite `app`, in commit 1.
/// In transcripts, `! ` begins a line of standard error, and `=> ` an exit code that is not 0: see `Shell`.
@Suite(.ownThread)
struct FileNameTests {
    /// Puts assignments of two names that are not UTF-8 before a command line: `n` for a file, and `d` for a directory.
    private static func withNames(_ line: String) -> String {
        #"n="$(printf 'a\377\342\202b')"; d="$(printf 'd\377')"; "# + line
    }

    @Test(arguments: [
        #"echo '{"theme":"dark"}' >"$n"; settings import app "$n" --quiet"#,
        #"echo 'theme=dark' >"$n.env"; settings import app "$n.env" --quiet"#,
        #"echo '{"do":[{"op":"set","suite":"app","key":"theme","value":"dark"}]}' >"$n"; settings transaction "$n""#,
        #"echo '{"suites":{"app":{"theme":"dark"}}}' >"$n"; settings apply "$n""#,
        #"mkdir "$d"; echo '{"theme":"dark"}' >"$d/app.json"; settings apply "$d""#,
        #"settings export app --to "$d"; echo '{"theme":"dark"}' >"$d/app.json"; settings apply "$d/""#,
        #"sed 's/"default": "light"/"default": "dark"/' app.json >"$n"; settings schema apply app "$n""#,
        // The daemon needs no token, so the text of a token file has no effect.
        #"echo secret >"$n"; settings set app theme dark --token-file "$n""#,
        #"echo secret >"$n"; settings --token-file="$n" set app theme dark"#,
        #"echo secret >"$n"; SETTINGS_TOKEN_FILE="$n" settings set app theme dark"#,
    ])
    func `A command takes the name of a file that is not UTF-8`(line: String) throws {
        let shell = try Shell()
        let end = try shell.run(Self.withNames("set -e; " + line))
        #expect(end.code == 0 && end.errors == "", "\(end)")
        #expect(try shell.runSettings("get", "app", "theme") == "dark\n")
    }

    @Test
    func `A message shows the bytes of a name that is not UTF-8`() throws {
        let shell = try Shell()
        // A token file that cannot be read is a wrong command line (64), and another file is a failure (1).
        for (line, expected) in [
            (
                #"import app "$n""#,
                #"! settings: cannot read a\xff\xe2\x82b: No such file or directory"# + "\n=> 1"
            ),
            (
                #"get app theme --token-file "$n""#,
                #"! settings: cannot read the token file a\xff\xe2\x82b: No such file or directory"# + "\n=> 64"
            ),
            (
                #"schema generate swift -f "$n""#,
                #"! settings: cannot read a\xff\xe2\x82b: No such file or directory"# + "\n=> 1"
            ),
        ] {
            let line = Self.withNames("settings \(line)")
            try shell.runTranscript("$ \(line)\n\(expected)")
        }
        let table = try shell.run(Self.withNames(#"cp app.json "$n"; settings schema generate markdown -f "$n""#))
        #expect(table.output.hasPrefix(#"# Settings of a\xff\xe2\x82b"#), "\(table)")
    }

    @Test
    func `plan and apply refuse a directory with the file of a suite whose name is not UTF-8`() throws {
        let shell = try Shell(["settings export app --to settings"])
        for command in ["plan", "apply"] {
            try shell.runTranscript(
                #"""
                $ \#(Self.withNames(#"echo {} >"settings/$n.json"; settings \#(command) settings"#))
                ! settings: cannot read settings/a\xff\xe2\x82b.json: the name before .json is not a valid name of a suite
                => 1
                $ \#(Self.withNames(#"mv settings/"$n.json" settings/"$n.txt"; settings \#(command) settings"#))
                nothing to change
                """#)
        }
    }

    @Test(arguments: [
        #"set app name "$n""#, #"set app name="$n""#, #"set app "$n" 1"#, #"set "$n" name 1"#, #"get app theme "$n""#,
        #"set app name joe --note "$n""#, #"set app name joe --note="$n""#, #"import "$n" app.json"#,
        #"import app app.json "$n""#, #"import app app.json --format "$n""#, #"get app theme --server "$n""#,
        #"watch app --exec "$n""#, #"list "$n""#, #""$n""#, #"help "$n""#, #"--version "$n""#,
        #"get "--$n""#, #"schema "$n""#, #"get --help "$n""#, #"schema generate swift "$n""#,
        #"set app name joe -- "$n""#,
    ])
    func `An argument that is not UTF-8 and not the name of a file is refused, and the message shows the argument`(
        arguments: String
    ) throws {
        let shell = try Shell()
        let end = try shell.run(Self.withNames("settings \(arguments)"))
        #expect(end.code == 64 && end.output == "")
        #expect(end.errors.contains(#"a\xff\xe2\x82b"#), "\(end.errors)")
        #expect(try shell.run("settings list app --changed").output == "")
    }

    @Test(arguments: [
        #"settings render t --to "$n""#, #"ln -s "$n" link; settings render t --to link"#,
        #"ln -s "$PWD/$n" link; settings render t --to link"#,
        #"settings render t --to "$n" --check 'grep -q light {}'"#,
        #"mkdir "$d"; ln -s ../"$n" "$d/out"; settings render t --to "$d/out" --check 'test -s {}'"#,
    ])
    func `A template is rendered to a file whose name is not UTF-8, also through a link and with a check`(
        line: String
    ) throws {
        let shell = try Shell()
        _ = try shell.directory.file("t", "{{ app.theme }}\n")
        let end = try shell.run(Self.withNames("set -e; \(line) >&2; cat \"$n\""))
        #expect(end.code == 0 && end.output == "light\n", "\(end)")
        // The program represents a byte that is not UTF-8 by a zero character, whose escape `\u{0}` must not be
        // visible.
        #expect(end.errors.hasPrefix("wrote ") && !end.errors.contains("u{"), "\(end)")
    }

    @Test
    func `run passes arguments that are not UTF-8 to the program`() throws {
        let shell = try Shell()
        let end = try shell.run(Self.withNames(#"echo light >"$n"; settings run app -- cat "$n""#))
        #expect(end.code == 0 && end.output == "light\n", "\(end)")
    }

    // `render` gives names such as `.FILE.settings-old` to its own files, and removes the files of a killed process.
    @Test
    func `render does not touch a file whose name differs only in the encoding of an accent`() throws {
        let shell = try Shell()
        _ = try shell.directory.file("t", "{{ app.theme }}\n")
        let names = #"c="$(printf 'caf\303\251')"; d="$(printf 'cafe\314\201')"; "#
        let end = try shell.run(
            names + #"set -e; echo other >"$d"; ln "$d" ".$d.settings-old"; echo >".$d.settings-new-1"; "#
                + #"settings render t --to "$c" --reload true; cat "$c" "$d"; ls -A | grep -c settings-"#)
        // The two files with the other encoding remain.
        #expect(end.code == 0 && end.output == "wrote caf\u{E9}\nlight\nother\n2\n", "\(end)")
    }

    @Test
    func `Completion offers files if the word at the cursor is not UTF-8`() throws {
        let shell = try Shell()
        for words in [#"import app "$n""#, #"plan "$n""#, #"schema generate swift --file "$n""#, #"--token-file "$n""#]
        {
            let end = try shell.run(Self.withNames("settings complete \(words)"))
            // This line makes the completion function of the shell offer files.
            #expect(end.code == 0 && end.output == "\tfiles\n" && end.errors == "", "\(words): \(end)")
        }
    }
}
