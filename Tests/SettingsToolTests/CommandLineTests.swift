import Foundation
import TestSupport
import Testing

/// Tests of the command line itself: commands, options, help texts, tokens and exit codes.
/// `Shell` applies the schema in `Shell.swift` to the suite `app`, in commit 1. The schema declares the setting `key` a
/// secret. A `Shell` with `tokens` applies no schema.
/// In transcripts, `! ` begins a line of standard error, and `=> ` an exit code that is not 0: see `Shell`.
@Suite(.ownThread)
struct CommandLineTests {
    @Test("A wrong command line fails, and the message names the correct form")
    func mistakes() throws {
        try Shell().runTranscript(
            #"""
            $ settings lst a b
            ! settings: there is no command 'lst'; did you mean list?; 'settings help' lists the commands
            => 64
            $ settings help lst
            ! settings: there is no command 'lst'; did you mean list?; 'settings help' lists the commands
            => 64
            $ settings ls app theme
            ! settings: there is no command 'ls'; did you mean list?; 'settings help' lists the commands
            => 64
            $ settings rollback app 1
            ! settings: there is no command 'rollback'; did you mean undo or restore?; 'settings help' lists the commands
            => 64
            $ settings -v
            ! settings: there is no command '-v'; did you mean --version?; 'settings help' lists the commands
            => 64
            $ settings app theme
            ! settings: there is no command 'app'; did you mean 'settings get app theme'?; 'settings help' lists the commands
            => 64
            $ settings rm
            ! settings: there is no command and no suite 'rm'; did you mean unset?
            => 4
            $ settings set app name -x
            ! settings: 'settings set' has no option -x; write -- before a value that begins with a dash; 'settings help set' lists the options
            => 64
            $ settings set app name -inf
            ! settings: 'settings set' has no option -inf; write -- before a value that begins with a dash; 'settings help set' lists the options
            => 64
            $ settings unset app name --dryrun
            ! settings: 'settings unset' has no option --dryrun; did you mean --dry-run?; 'settings help unset' lists the options
            => 64
            $ settings --json
            ! settings: there is no command '--json'; 'settings help' lists the commands
            => 64
            $ settings list app --changd
            ! settings: 'settings list' has no option --changd; did you mean --changed?; 'settings help list' lists the options
            => 64
            $ settings list app -x
            ! settings: 'settings list' has no option -x; 'settings help list' lists the options
            => 64
            $ settings list app ---json
            ! settings: 'settings list' has no option ---json; did you mean --json?; 'settings help list' lists the options
            => 64
            $ settings list app --json=yes
            ! settings: --json takes no value
            => 64
            $ settings list app --json --json
            ! settings: --json is given twice
            => 64
            $ settings get app theme --default
            ! settings: --default needs a value: --default VALUE
            => 64
            $ settings list app a b
            ! settings: 'b' is one argument too many; the usage is 'settings list' or 'settings list SUITE [PREFIX]'
            => 64
            $ settings get .app theme
            ! settings: '.app': a suite name must not start with '.'
            => 64
            $ settings get app theme --server localhost
            ! settings: --server localhost: it must begin with http://, https:// or unix:, as in http://127.0.0.1:7070
            => 64
            $ settings get app theme --server ''
            ! settings: --server is empty; write http://HOST:PORT, https://HOST or unix:PATH
            => 64
            $ settings --server
            ! settings: --server needs a value: --server URL
            => 64
            $ settings --server get app theme
            ! settings: --server get: it must begin with http://, https:// or unix:, as in http://127.0.0.1:7070
            => 64
            $ settings get app theme --server unix:/nothing
            ! settings: no answer from the daemon: unix:/nothing: No such file or directory
            => 7
            $ settings 2>all
            => 64
            $ head -1 all; settings help | diff - all
            Reads, changes and watches the settings of a settingsd daemon.
            $ settings schema check app.json --dry-run
            ! settings: 'settings schema check' has no option --dry-run; 'settings help schema check' lists the options
            => 64
            $ settings schema show app --on-conflict reset
            ! settings: 'settings schema show' has no option --on-conflict; 'settings help schema show' lists the options
            => 64
            $ settings watch app --json --exec true
            ! settings: --exec and --json exclude each other
            => 64
            """#)
    }

    @Test("A token comes from a file or the environment; without a token or the required right, a command ends with 6")
    func tokens() throws {
        let shell = try Shell(tokens: ["writer": "app:read,write", "reader": "app:read"])
        let none = try shell.run("settings get app theme")
        #expect(none.code == 6)
        #expect(try shell.run("settings set app theme dark --token-file writer --quiet").code == 0)
        for line in [
            "settings get app theme --token-file reader", "SETTINGS_TOKEN_FILE=reader settings get app theme",
            "SETTINGS_TOKEN=$(cat reader) settings get app theme",
            "SETTINGS_TOKEN=wrong settings get app theme --token-file reader",
        ] {
            #expect(try shell.run(line) == ChildProcess.End(code: 0, output: "dark\n", errors: ""), "\(line)")
        }
        #expect(try shell.run("settings set app theme light --token-file reader").code == 6)
        #expect(try shell.run("SETTINGS_TOKEN=wrong settings get app theme").code == 6)
        #expect(try shell.run("settings get app theme --token $(cat reader)").code == 64)
        _ = try shell.directory.file("desired.json", #"{"suites":{"app":{"theme":"light"}}}"#)
        // If the file cannot be read or is empty, the exit code is 64; if the token is malformed, the exit code is 6.
        try shell.runTranscript(
            """
            $ settings get app theme
            ! settings: the request needs a token; name a file that has the token with --token-file, or put the token into SETTINGS_TOKEN
            => 6
            $ settings get app theme --token-file none
            ! settings: cannot read the token file none: No such file or directory
            => 64
            $ SETTINGS_TOKEN_FILE=none settings get app theme
            ! settings: cannot read the token file none (SETTINGS_TOKEN_FILE): No such file or directory
            => 64
            $ settings get app theme --token-file /dev/null
            ! settings: cannot read the token file /dev/null: it is a device, not a regular file
            => 64
            $ : >empty && settings get app theme --token-file empty
            ! settings: cannot read the token file empty: it is empty
            => 64
            $ echo two words >words && settings get app theme --token-file words
            ! settings: cannot read the token file words: it contains a character that is not visible ASCII
            => 6
            $ printf 'two\\nlines\\n' >lines && settings get app theme --token-file lines
            ! settings: cannot read the token file lines: it contains a character that is not visible ASCII
            => 6
            $ echo >blank && settings get app theme --token-file blank
            ! settings: cannot read the token file blank: it is empty
            => 64
            $ echo two words | settings get app theme --token-file -
            ! settings: cannot read the token from standard input: it contains a character that is not visible ASCII
            => 6
            $ settings get app theme --token-file - <reader
            dark
            $ mkfifo fifo; cat reader >fifo & settings get app theme --token-file fifo
            dark
            $ mkfifo pipe; cat writer >pipe & settings apply desired.json --token-file pipe
            theme: "dark" → "light"
            $ SETTINGS_TOKEN='two words' settings get app theme
            ! settings: cannot send the token (SETTINGS_TOKEN): it contains a character that is not visible ASCII
            => 6
            """)
    }

    @Test("A command refuses to read a value from standard input if it reads the token from standard input")
    func tokenAndValue() throws {
        let shell = try Shell(["settings set app name joe --quiet"])
        let commands = [
            "set app name -", "set app name=-", "import app - --replace", "import app /dev/stdin --replace", "plan -",
            "apply -", "transaction -", "schema check -", "schema diff app -", "schema apply app -",
        ]
        for command in commands {
            for token in ["-", "/dev/stdin"] {
                let end = try shell.run("printf secret | settings \(command) --token-file \(token)")
                #expect(end.code == 64 && end.output.isEmpty, "\(command): \(end)")
                let message =
                    "cannot read standard input twice: it also has the token (--token-file \(token))"
                #expect(end.errors == "settings: \(message)\n", "\(command)")
            }
        }
        try shell.runTranscript(
            """
            $ printf secret | SETTINGS_TOKEN_FILE=- settings set app name -
            ! settings: cannot read standard input twice: it also has the token (SETTINGS_TOKEN_FILE=-)
            => 64
            $ settings get app name
            joe
            """)
    }

    @Test("A command succeeds if the name of the program is not UTF-8")
    func invalidProgramName() throws {
        let shell = try Shell()
        let end = try shell.run("bash -c 'exec -a $(printf \"\\377\") settings get app theme'")
        #expect(end == ChildProcess.End(code: 0, output: "light\n", errors: ""))
    }

    @Test("Short forms of options have the effect of the long forms, after the command and before it")
    func shortForms() throws {
        let shell = try Shell()
        let url = shell.url
        shell.url = "unix:/nothing"
        #expect(try shell.run("settings -s \(url) set app theme dark -m why --quiet").code == 0)
        #expect(try shell.run("settings history app --limit 1 -s \(url)").output.contains(": why\n"))
        #expect(try shell.run("settings schema generate markdown -f app.json").output.contains("launchCount"))
        #expect(try shell.run("settings set -h").output.contains("\n  -m, --note TEXT "))
    }

    @Test("status, describe, find and plan print JSON objects with --json")
    func outputInJSON() throws {
        let shell = try Shell(["settings set app theme dark --note why --quiet"])
        _ = try shell.directory.file("desired.json", #"{"suites":{"app":{"theme":"light","key":"hunter2"}}}"#)
        let jsonObject = { (line: String) in
            let object = try JSONSerialization.jsonObject(with: Data(try shell.run(line).output.utf8))
            return try #require(object as? [String: Any])
        }
        let status = try jsonObject("settings status --json")
        let cursor = try shell.cursor()
        #expect(status["takesWrites"] as? Bool == true && status["cursor"] as? String == cursor)
        let setting = try jsonObject("settings describe app theme --json")
        #expect(
            setting["note"] as? String == "why" && (setting["setting"] as? [String: Any])?["value"] as? String == "dark"
        )
        #expect(try jsonObject("settings find DARK --json")["key"] as? String == "theme")
        let plan = try jsonObject("settings plan desired.json --json")
        let text = try shell.run("settings plan desired.json").output
        #expect(text.hasSuffix("plan \(plan["hash"] as? String ?? "")\n"))
        let operations = try #require(plan["operations"] as? [[String: Any]])
        // A plan does not contain the value of the secret `key`.
        #expect(operations.map { $0["value"] as? String } == [nil, "light"])
        #expect(operations.map { $0["op"] as? String } == ["set", "set"])
    }

    /// Command lines that create the files and the commits 2 to 30 that the examples use. Each commit changes different
    /// keys, so that an example can undo one commit without a conflict with a later commit. Commit 17 changes `limit`,
    /// because an example in the manual changes `limit` only if it is at revision 17.
    private static let setupLines =
        [
            "settings set app ready=true leader=a theme=dark --quiet "
                + #"'servers=[{"port":80,"names":[]},{"port":81}]'"#
        ]
        + [
            "settings export app > values.json", "settings export app --format env > app.env",
            "settings export app --to settings",
        ]
        + [
            #"echo '{"do":[{"op":"set","suite":"app","key":"theme","value":"dark"}]}' > change.json"#,
            #"echo '{"suites":{"app":{"theme":"dark"}}}' > desired.json"#,
            "echo 'theme {{ app.theme }}' > app.conf.tmpl",
            #"echo '[{"template":"app.conf.tmpl","to":"app.conf"}]' > render.json"#,
        ]
        + (3...30).map { "settings set app \($0 == 17 ? "limit" : "n.\($0)") \($0) --quiet" }

    @Test("A write ends with exit code 7 if the daemon cannot store it")
    func storageFailure() throws {
        let end = try Shell().run("mv data data-elsewhere; settings set app theme dark")
        #expect(end.code == 7, "\(end)")
    }

    @Test("The examples in the help of each command succeed")
    func examplesOfHelp() throws {
        let shell = try Shell(Self.setupLines)
        let commands = try GrammarTests.commands(of: shell.runSettings("help"))
        #expect(commands.count >= 20)
        for command in commands {
            let help = try shell.run("settings help \(command)")
            #expect(help.code == 0)
            #expect(try shell.run("settings \(command) --help") == help)
            let examples = try #require(help.output.components(separatedBy: "\nexamples:\n").last)
            let lines = examples.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            #expect(lines.count >= 2)
            for line in lines {
                #expect("\(line) ".hasPrefix("settings \(command) "), "\(line)")
                try Self.runExample(line, in: shell)
            }
        }
    }

    /// Runs an example, adapted to the test. The suite does not have a state of yesterday, so the function replaces
    /// `yesterday` by revision 1. `watch` does not end by itself, so the function ends `watch` after its first line.
    private static func runExample(_ line: String, in shell: Shell) throws {
        let adapted = line.replacing("yesterday", with: "1").replacing(
            "unix:/run/settingsd/socket", with: "unix:\(shell.directory.path)/socket"
        ).replacing("settings edit", with: "EDITOR=true settings edit")
            .replacing("--plan HASH", with: "--plan $(settings plan desired.json --hash)")
            .replacing("p51", with: "$(settings set app launchCount +1 --confirm 1h --quiet)")
            .replacing("p52", with: "$(settings set app launchCount +1 --effective 1h --quiet)")
        guard !line.hasPrefix("settings watch") else {
            let watch = try shell.start("exec \(adapted) >&2 --since \(try shell.cursor())")
            _ = try shell.run("settings set app theme dark; settings set app theme light")
            _ = try watch.line(containing: "theme")
            watch.signal(SIGINT)
            #expect(try watch.end().code == -SIGINT, "\(line)")
            return
        }
        let end = try shell.run(adapted)
        // The exit code 2 says that `diff` or `plan` has found differences.
        #expect([0, 2].contains(end.code), "\(line): \(end)")
        #expect(end.errors == "", "\(line)")
    }

    @Test("The examples of the manual succeed in their order", arguments: ["docs/command-line.md"])
    func examplesOfManual(_ path: String) throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let parts = try String(contentsOf: root.appending(path: path), encoding: .utf8).components(separatedBy: "```")
        let shell = try Shell(Self.setupLines)
        var count = 0
        for block in stride(from: 1, to: parts.count, by: 2).map({ parts[$0] }) where block.hasPrefix("sh\n") {
            for line in block.dropFirst(3).split(separator: "\n") where line.hasPrefix("settings ") {
                try Self.runExample(line.components(separatedBy: "  # ")[0], in: shell)
                count += 1
            }
        }
        #expect(count >= 20)
    }
}
