import Foundation
import TestSupport
import Testing

/// Tests of `edit` and `transaction` with the built program. The exit code 4 says that the suite does not exist, 5 that
/// the change was refused, and 1 that the command failed for another reason.
/// In transcripts, `! ` begins a line of standard error, and `=> ` an exit code that is not 0: see `Shell`.
@Suite(.ownThread)
struct DocumentTests {
    private let shell: Shell

    init() throws {
        shell = try Shell(hasSchema: false)
    }

    /// Runs `settings edit app` with a shell script as the editor. The script gets the path of the file as `$1`.
    /// The file is in the directory of the test, which is also the home directory.
    private func edit(_ script: String, _ options: String = "") throws -> ChildProcess.End {
        let editor = try shell.directory.file("editor", script)
        return try shell.run("TMPDIR=$HOME EDITOR='/bin/sh \(editor)' settings edit app \(options)")
    }

    /// The names of the edited files that `settings edit` has not removed.
    private func remainingFiles() throws -> [String] {
        let end = try shell.run(
            "for file in settings-*.json; do [ -e $file ] && echo $file; done; true")
        return end.output.split(separator: "\n").map(String.init)
    }

    @Test("edit stores the text of the editor in one commit, and removes the edited file")
    func editStores() throws {
        try shell.runSettings("set", "app", "a=1", "b=two")
        let end = try edit("echo '{\"a\":5,\"c\":[null]}' >\"$1\"", "--note 'by hand'")
        #expect(
            end
                == ChildProcess.End(
                    code: 0, output: "a: 1 → 5\nc: (unset) → [null]\nb: \"two\" → (unset)\n", errors: ""))
        #expect(try shell.runSettings("export", "app", "--format", "env") == "a=5\nc='[null]'\n")
        #expect(try shell.runSettings("history", "app", "--limit", "1").contains("by hand"))
        #expect(try remainingFiles().isEmpty)
    }

    @Test("The editor gets the stored values as indented JSON in a file that only its owner can read")
    func editorGetsFile() throws {
        try shell.runSettings("set", "app", "b=two", "a=1")
        let end = try edit("cat \"$1\"; stat -c %a \"$1\"")
        #expect(end.output == "{\n  \"a\": 1,\n  \"b\": \"two\"\n}\n600\nnothing changed\n")
        #expect(try remainingFiles().isEmpty)
    }

    @Test("edit of an unset key stores nothing if the text stays as it was opened")
    func unchangedUnsetKey() throws {
        try shell.runTranscript(
            """
            $ EDITOR=true settings edit app newkey
            nothing changed
            $ settings list
            $ settings set app text '' --quiet; EDITOR=true settings edit app text
            nothing changed
            """)
    }

    @Test("edit and wait refuse a part of a value, and take a key that is written in brackets")
    func partsOfValues() throws {
        try shell.runTranscript(
            #"""
            $ settings set app '["a[b"]=1' --quiet; EDITOR=true settings edit app '["a[b"]'
            nothing changed
            $ settings wait app '["a[b"]' --timeout 0
            $ EDITOR=true settings edit app 'servers[0]'
            ! settings: 'servers[0]' is a part of a value, but the command takes whole keys; write servers, or ["servers[0]"] for a key with this name
            => 64
            $ settings wait app 'servers[0]=1'
            ! settings: 'servers[0]' is a part of a value, but the command takes whole keys; write servers, or ["servers[0]"] for a key with this name
            => 64
            """#)
    }

    @Test("edit starts the editor in VISUAL if both VISUAL and EDITOR are set")
    func visualPreferred() throws {
        let end = try shell.run("TMPDIR=$HOME VISUAL='echo visual' EDITOR=false settings edit app")
        #expect(end.code == 0)
        #expect(end.output.hasPrefix("visual /"))
    }

    @Test("edit of a suite that does not exist creates the suite")
    func editNewSuite() throws {
        #expect(try edit("cat \"$1\"; echo '{\"a\":1}' >\"$1\"").output == "{}\na: (unset) → 1\n")
    }

    @Test("After a mistake in JSON the edited file stays, and nothing is stored")
    func editMistake() throws {
        try shell.runSettings("set", "app", "a=1")
        let end = try edit("echo '{\"a\":2,}' >\"$1\"")
        #expect(end.code == 1)
        #expect(end.errors.contains(": not valid JSON"))
        let file = try #require(try remainingFiles().first)
        #expect(end.errors.contains("the edited text is in \(shell.directory.path)/\(file)"))
        #expect(end.errors.contains("settings import app \(shell.directory.path)/\(file) --replace"))
        #expect(try shell.run("cat \(file)").output == "{\"a\":2,}\n")
        #expect(try shell.runSettings("get", "app", "a") == "1\n")
    }

    @Test("After a refusal the edited file stays, and import --replace stores the file after it is corrected")
    func editRefused() throws {
        let schema =
            #"{"type":"object","additionalProperties":false,"properties":{"a":{"type":"integer","maximum":9}}}"#
        try shell.runSettings("schema", "apply", "app", try shell.directory.file("schema.json", schema))
        let end = try edit("echo '{\"a\":10}' >\"$1\"")
        #expect(end.code == 5)
        #expect(end.errors.contains("at most 9"))
        let file = shell.directory.path + "/" + (try #require(try remainingFiles().first))
        _ = try shell.run("echo '{\"a\":9}' >\(file)")
        try shell.runSettings("import", "app", file, "--replace")
        #expect(try shell.runSettings("get", "app", "a") == "9\n")
    }

    @Test("The commands in the messages of edit repeat the options of the command line, quoted for the shell")
    func editAdvice() throws {
        _ = try shell.run("mkdir 'a dir'; echo secret >'a token'")
        let editor = try shell.directory.file("editor", "echo '{' >\"$1\"")
        let end = try shell.run(
            """
            TMPDIR="$HOME/a dir" EDITOR='/bin/sh \(editor)' settings edit app --note "it's" --override \
                --server "$SETTINGS_URL" --token-file 'a token'
            """)
        let options = "--server \(shell.url) --token-file 'a token' --note 'it'\\''s' --override\n"
        #expect(end.errors.hasSuffix(" --replace \(options)"), "\(end.errors)")
        #expect(end.errors.contains("\n  settings import app '\(shell.directory.path)/a dir/settings-app-"))
    }

    @Test(
        "The commands in the messages of edit quote empty values, and omit a token file that is a pipe",
        arguments: ["-", "fifo"])
    func editAdviceWithPipe(token: String) throws {
        let editor = try shell.directory.file("editor", "echo '{' >\"$1\"")
        let end = try shell.run(
            """
            mkfifo fifo; [ \(token) = - ] || printf secret >fifo &
            printf secret | TMPDIR=$HOME EDITOR='/bin/sh \(editor)' settings edit app --note '' --token-file \(token)
            """)
        #expect(end.code == 1)
        #expect(end.errors.contains(" --replace --note '' --dry-run\n"), "\(end.errors)")
        #expect(end.errors.hasSuffix(" --replace --note ''\n"), "\(end.errors)")
    }

    @Test("A change by another caller while the file is open is a conflict: the other change and the edited file stay")
    func editConflict() throws {
        try shell.runSettings("set", "app", "a=1")
        let settings = ChildProcess.built("settings")
        let end = try edit("'\(settings)' set app b=3 --quiet; echo '{\"a\":2}' >\"$1\"")
        #expect(end.code == 5)
        let file = try #require(try remainingFiles().first)
        #expect(
            end.errors == """
                settings: cannot store app: another caller changed the suite meanwhile
                the edited text is in \(shell.directory.path)/\(file); see the other change, then edit the suite again:
                  settings diff app 1
                  settings edit app

                """)
        #expect(try shell.runSettings("export", "app", "--format", "env") == "a=1\nb=3\n")
    }

    @Test("An editor that fails changes nothing; the file stays if it was changed", arguments: [true, false])
    func editorFails(writes: Bool) throws {
        let end = try edit((writes ? "echo '{\"a\":1}' >\"$1\"; " : "") + "exit 3")
        #expect(end.code == 1)
        #expect(end.errors.contains("ended with exit code 3"))
        #expect(try remainingFiles().count == (writes ? 1 : 0))
        #expect(try shell.settings("export", "app").code == 4)
    }

    @Test("edit --dry-run shows the changes, and keeps the file")
    func editDryRun() throws {
        let end = try edit("echo '{\"a\":1}' >\"$1\"", "--dry-run")
        #expect(end.code == 0)
        #expect(end.output.hasPrefix("a: (unset) → 1\n(a dry run: nothing was changed)\n"))
        #expect(try remainingFiles().count == 1)
        #expect(try shell.settings("export", "app").code == 4)
    }

    @Test("edit of a key opens only its value, a string without quotation marks, and stores the saved text")
    func editKey() throws {
        try shell.runSettings("set", "app", "banner=one", "list=[1]")
        let text = try edit("cat \"$1\"; printf 'two\\nlines\\n' >\"$1\"", "banner")
        #expect(text.output == "one\nbanner: \"one\" → \"two\\nlines\"\n")
        let list = try edit("cat \"$1\"; echo '[1,2]' >\"$1\"", "list --dry-run")
        #expect(
            list.output.hasPrefix(
                "[\n  1\n]\nlist: [1] → [1,2]\n(a dry run: nothing was changed)\nthe edited text is in ")
        )
        #expect(try edit("echo 5 >\"$1\"", "new").output == "new: (unset) → 5\n")
        #expect(try edit("true", "new").output == "nothing changed\n")
    }

    @Test("A conflict while an unset key is open names a command that shows the change of the other caller")
    func editUnsetKeyConflict() throws {
        let settings = ChildProcess.built("settings")
        // When the editor starts, the suite does not exist: first at revision 0 of the daemon, then at revision 1. The
        // key `a=b` must be quoted in the command.
        for suite in ["app", "later"] {
            let script = "'\(settings)' set \(suite) '[\"a=b\"]' 7 --quiet; echo 8 >\"$1\""
            let editor = try shell.directory.file("editor", script)
            let end = try shell.run("TMPDIR=$HOME EDITOR='/bin/sh \(editor)' settings edit \(suite) '[\"a=b\"]'")
            #expect(end.code == 5, "\(end)")
            let advice = end.errors.split(separator: "\n").suffix(2).map { $0.trimmingCharacters(in: .whitespaces) }
            #expect(advice == ["settings history \(suite) '[\"a=b\"]'", "settings edit \(suite) '[\"a=b\"]'"])
            #expect(try shell.run(advice[0]).output.contains("a=b: (unset) → 7\n"))
        }
    }

    @Test(
        "After a mistake or a conflict in edit of a key, the message names the commands with which the caller can continue"
    )
    func editKeyRefused() throws {
        try shell.runSettings("set", "app", "list=[1]")
        let end = try edit("echo '[1,' >\"$1\"", "list")
        let file = shell.directory.path + "/" + (try #require(try remainingFiles().first))
        #expect(end.code == 1 && end.errors.contains(": not valid JSON"))
        #expect(end.errors.hasSuffix("\n  settings set app --json list - <\(file)\n"), "\(end.errors)")
        _ = try shell.run("echo '[1,2]' >\(file)")
        #expect(try shell.run("settings set app --json list - <\(file)").output == "list: [1] → [1,2]\n")
        let settings = ChildProcess.built("settings")
        let conflict = try edit("'\(settings)' set app list 7 --quiet; echo '[8]' >\"$1\"", "list")
        #expect(conflict.code == 5)
        #expect(
            conflict.errors.hasPrefix("settings: cannot store app list: another caller changed the setting meanwhile\n")
        )
        #expect(
            conflict.errors.hasSuffix(
                "edit the setting again:\n  settings history app list\n  settings edit app list\n"))
        #expect(try shell.runSettings("get", "app", "list") == "7\n")
    }

    @Test("transaction makes all operations of a document in one commit")
    func transactionCommits() throws {
        try shell.runSettings("set", "app", "count=1")
        let document = """
            {"if":[{"suite":"app","key":"count","value":1}],
             "do":[{"op":"add","suite":"app","key":"count","by":2},{"op":"set","suite":"other","key":"x","value":null}]}
            """
        let file = try shell.directory.file("change.json", document)
        #expect(
            try shell.runSettings("transaction", file, "--dry-run")
                == "app count: 1 → 3\nother x: (unset) → null\n(a dry run: nothing was changed)\n")
        #expect(
            try shell.runSettings("transaction", file, "--note", "together")
                == "app count: 1 → 3\nother x: (unset) → null\n")
        #expect(try shell.runSettings("history", "other").contains("together"))
    }

    @Test("The message of transaction has the present state for each condition that does not hold")
    func transactionConditions() throws {
        try shell.runSettings("set", "app", "count=1")
        let document = """
            {"if":[{"suite":"app","key":"count","value":1},{"suite":"app","key":"count","value":2},
            {"suite":"app","revision":7}],"do":[{"op":"set","suite":"app","key":"count","value":3}]}
            """
        let end = try shell.settings("transaction", try shell.directory.file("change.json", document))
        #expect(end.code == 5)
        let lines = end.errors.split(separator: "\n").dropFirst()
        #expect(
            lines == [
                "  the present state: app count is 1 (stored), revision 1",
                "  the present state: the suite app is at revision 1",
            ])
        #expect(try shell.runSettings("get", "app", "count") == "1\n")
    }

    @Test("transaction refuses a malformed document with the position of the mistake")
    func transactionMistake() throws {
        let end = try shell.run(
            "echo '{\"do\":[{\"op\":\"ad\",\"suite\":\"app\",\"key\":\"a\"}]}' | settings transaction -")
        #expect(end.code == 1)
        #expect(end.errors.contains("cannot read the transaction in standard input: \"op\" of element 1 of \"do\": "))
        #expect(end.errors.contains("did you mean add?"))
    }
}
