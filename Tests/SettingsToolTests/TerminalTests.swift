import TestSupport
import Testing

/// Tests of the program at a terminal: keys such as Ctrl-C (`\003`), editors, and messages about progress. The exit
/// code -2 says that SIGINT has ended the program, 4 that the suite does not exist, 5 that the change was refused, and
/// 8 that nobody has confirmed the change in time. The home directory is the directory of the test, so `TMPDIR=$HOME`
/// puts the edited files there.
@Suite(.ownThread)
struct TerminalTests {
    private let shell: Shell

    init() throws {
        // A commit may change at most 100 keys, so `import` of 250 settings needs several commits.
        shell = try Shell(hasSchema: false, configuration: #"{"limits":{"commitKeys":100}}"#)
    }

    @Test("Ctrl-C ends the editor but not settings edit, which keeps the edited file and prints its path")
    func interruptedEditor() throws {
        try shell.runSettings("set", "app", "a=1")
        let editor = try shell.directory.file("editor", "echo '{\"a\":2}' >\"$1\"; echo typed; exec sleep 60")
        let (output, code) = try shell.atTerminal(
            "export TMPDIR=$HOME EDITOR='/bin/sh \(editor)'; exec settings edit app", [("typed", "\\003")])
        #expect(code == 1)
        #expect(
            output.contains("settings: cannot store app: the editor '/bin/sh \(editor)' ended with exit code 130"),
            "\(output)")
        let editedFile = try shell.run("cat settings-app-*.json")
        #expect(editedFile.output == "{\"a\":2}\n")
        #expect(output.contains("settings import app \(shell.directory.path)/settings-app-"))
        #expect(try shell.runSettings("get", "app", "a") == "1\n")
    }

    @Test("edit stores the text that a person types into the editor; after a conflict, the edited file stays")
    func typedInto() throws {
        try shell.runSettings("set", "app", "a=1")
        let editor = try shell.directory.file("editor", "echo which; read number; echo \"{\\\"a\\\":$number}\" >\"$1\"")
        let edit = "TMPDIR=$HOME EDITOR='/bin/sh \(editor)' settings edit app"
        let stored = try shell.atTerminal(edit, [("which", "2\\n")])
        #expect(stored.code == 0 && stored.output.hasSuffix("a: 1 → 2\n"), "\(stored)")
        let settings = ChildProcess.built("settings")
        let other = try shell.directory.file("other", "'\(settings)' set app a=7 --quiet; . '\(editor)'")
        let refused = try shell.atTerminal(
            "TMPDIR=$HOME EDITOR='/bin/sh \(other)' settings edit app", [("which", "3\\n")])
        #expect(
            refused.code == 5
                && refused.output.contains("cannot store app: another caller changed the suite meanwhile"), "\(refused)"
        )
        #expect(try shell.run("cat settings-app-*.json").output == "{\"a\":3}\n")
        #expect(try shell.runSettings("get", "app", "a") == "7\n")
    }

    @Test("With --interactive, Enter keeps a change, and without Enter the daemon reverts the change")
    func interactiveConfirmation() throws {
        let set = "exec settings set app a=1 --interactive --confirm"
        let kept = try shell.atTerminal("\(set) 1h", [("press Enter", "\\n")])
        #expect(kept.code == 0 && kept.output.contains("p1: the change was confirmed by user:"), "\(kept)")
        let reverted = try shell.atTerminal("exec settings set app a=2 --interactive --confirm 1s")
        #expect(reverted.code == 8, "\(reverted)")
        #expect(reverted.output.contains("p3 was not confirmed; the daemon reverts the change at"), "\(reverted)")
        try shell.runSettings("wait", "app", "a=1", "--timeout", "60")
    }

    @Test("After a mistake, edit asks at a terminal whether to edit the text again; the answer n keeps the edited file")
    func editsAgain() throws {
        let editor = try shell.directory.file("editor", "cat \"$1\"; echo which; read text; echo \"$text\" >\"$1\"")
        let edit = "TMPDIR=$HOME EDITOR='/bin/sh \(editor)' settings edit app"
        let editAgain = ("edit again? [Y/n]", "\\n")
        let stored = try shell.atTerminal(edit, [("which", "{\"a\":}\\n"), editAgain, ("which", "{\"a\":1}\\n")])
        #expect(stored.code == 0 && stored.output.hasSuffix("a: (unset) → 1\n"), "\(stored)")
        #expect(stored.output.contains("cannot store the edited text: not valid JSON: line 1"))
        // The terminal echoes the text, and the editor shows the text in the second round.
        #expect(stored.output.ranges(of: "{\"a\":}").count == 2, "\(stored)")
        let stopped = try shell.atTerminal(edit, [("which", "[]\\n"), ("edit again? [Y/n]", "n\\n")])
        #expect(stopped.code == 1 && stopped.output.contains("the edited text is in "), "\(stopped)")
        #expect(try shell.run("cat settings-app-*.json").output == "[]\n")
    }

    @Test("At a terminal, get escapes control characters except tabs and line ends; elsewhere, get escapes none")
    func controlCharacters() throws {
        try shell.runSettings("set", "app", "--json", #"text="a\u001b[31m\tb\nc\u202e""#)
        let (output, code) = try shell.atTerminal("settings get app text")
        #expect(code == 0 && output == "a\\u{1b}[31m\tb\nc\\u{202e}\n", "\(output)")
        #expect(try shell.runSettings("get", "app", "text") == "a\u{1b}[31m\tb\nc\u{202e}\n")
    }

    @Test("Ctrl-C ends watch and wait, without a message")
    func interruptedWatch() throws {
        let start = try shell.cursor()
        try shell.runSettings("set", "app", "a=1")
        let watch = try shell.atTerminal("exec settings watch app --since \(start)", [("→ 1", "\\003")])
        #expect(watch.code == -2 && watch.output.contains("a: (unset) → 1 (by user:"), "\(watch)")
        #expect(!watch.output.contains("settings:"))
        let wait = try shell.atTerminal("echo waits; exec settings wait app ready=true", [("waits", "\\003")])
        #expect(wait.code == -2 && !wait.output.contains("settings:"), "\(wait)")
    }

    /// Writes a file with settings for `import`. Returns its path.
    private func valuesFile(count: Int, last: String = "1") throws -> String {
        let members = (1...count).map { "\"k\($0)\":\($0 == count ? last : "1")" }
        return try shell.directory.file("values.json", "{\(members.joined(separator: ","))}")
    }

    @Test("import of more settings than fit one commit makes several commits, and prints its progress at a terminal")
    func importParts() throws {
        let file = try valuesFile(count: 250)
        let dryRun = try shell.runSettings("import", "app", file, "--dry-run")
        #expect(dryRun.split(separator: "\n").count == 251 && dryRun.hasSuffix("(a dry run: nothing was changed)\n"))
        #expect(try shell.settings("get", "app", "k1").code == 4)
        let (output, code) = try shell.atTerminal("settings import app '\(file)' --note 'a move'")
        #expect(code == 0 && output.contains("checked 250 of 250 settings") && output.contains("committed 250 of 250"))
        #expect(output.contains("k250: (unset) → 1\n"))
        // The export has a line for each setting, and a line for each brace.
        #expect(try shell.runSettings("export", "app").split(separator: "\n").count == 252)
        let history = try shell.runSettings("history", "app", "--limit", "0")
        #expect(history.split(separator: "\n").count { $0.hasPrefix("revision") && $0.hasSuffix("a move") } >= 3)
        #expect(try shell.runSettings("import", "app", file) == "nothing to change\n")
    }

    @Test("import in several commits finds a refused value of the last commit before it stores anything")
    func importPartsRefused() throws {
        let schema = #"{"type":"object","additionalProperties":{"type":"integer","maximum":9}}"#
        try shell.runSettings("schema", "apply", "app", try shell.directory.file("schema.json", schema))
        let end = try shell.settings("import", "app", try valuesFile(count: 250, last: "10"), "--quiet")
        #expect(end.code == 5 && end.errors.contains("k250"), "\(end)")
        // A dry run prints no change of the other commits, because the import would not make these changes.
        let dryRun = try shell.settings("import", "app", "\(shell.directory.path)/values.json", "--dry-run")
        #expect(dryRun.code == 5 && dryRun.output.isEmpty, "\(dryRun)")
        #expect(try shell.runSettings("export", "app") == "{}\n")
    }

    @Test(
        "A change by another caller between two commits ends import; the message has the number of committed settings"
    )
    func importPartsConflict() throws {
        // The output about the first commit does not fit into the pipe, so import waits for the reader before the
        // second commit.
        let members = (1...250).map { "\"k\($0)\":\"\(String(repeating: "x", count: 2000))\"" }
        let file = try shell.directory.file("values.json", "{\(members.joined(separator: ","))}")
        let end = try shell.run(
            """
            { settings import app '\(file)'; echo $? >code; } |
                { read -r line; settings set app other=1 --quiet; cat >/dev/null; }
            """)
        #expect(shell.text("code") == "5\n")
        #expect(end.errors.contains("of 250 settings are committed; run the command again"), "\(end)")
        #expect(end.errors.contains("another caller changed it meanwhile"))
        #expect(try shell.settings("import", "app", file, "--quiet").code == 0)
        // 250 settings of the file, the setting of the other caller, and two braces.
        #expect(try shell.runSettings("export", "app").split(separator: "\n").count == 253)
    }
}
