import Foundation
import TestSupport
import Testing

/// Tests of how `settings render --to` replaces the file. During a replacement of `out`, `.out.settings-lock` excludes
/// other processes, `.out.settings-new-…` has the new content until it is renamed, and `.out.settings-old` is a link to
/// the old file until the reload has succeeded (without an old file: `.out.settings-first`, a link to the new file).
/// The exit code 137 says that SIGKILL has ended the program.
/// `Shell` applies the schema in `Shell.swift` to the suite `app`, in commit 1.
/// In transcripts, `! ` begins a line of standard error, and `=> ` an exit code that is not 0: see `Shell`.
@Suite(.ownThread)
struct RenderedFileTests {
    private let shell: Shell

    init() throws {
        shell = try Shell(["settings set app theme=dark --quiet"])
        _ = try shell.directory.file("t", "theme {{ app.theme }}\n")
    }

    @Test
    func `A file with equal content is not written, and neither the check nor the reload runs`() throws {
        // The modification time 1, which `touch` sets, stays if the file is not written.
        try shell.runTranscript(
            """
            $ settings render t --to out --check 'cat {} >>checks' --reload 'cat out >>reloads'
            wrote out
            $ touch -d @1 out; settings render t --to out --check 'cat {} >>checks' --reload 'cat out >>reloads'
            $ stat -c '%Y %a' out; cat out checks reloads
            1 644
            theme dark
            theme dark
            theme dark
            $ settings set app theme=light --quiet; settings render t --to out --reload 'cat out >>reloads'
            wrote out
            $ cat reloads; ls -A | grep out
            theme dark
            theme light
            out
            """)
    }

    @Test
    func `A failed check keeps the file, and the message has the output of the check`() throws {
        try shell.runTranscript(
            """
            $ echo old >out; settings render t --to out --check 'grep light {}; echo "not light" >&2; exit 3' --reload 'echo >reloaded'
            ! settings: cannot replace out: the check 'grep light {}; echo "not light" >&2; exit 3' ended with exit code 3; the old file stays
            !   not light
            => 1
            $ cat out; ls -A | grep -e out -e reloaded
            old
            out
            $ settings render t --to out --check true
            ! settings: the check 'true' must contain {}, which stands for the path of the new file
            => 64
            """)
    }

    @Test
    func `A failed reload puts the old file back, or removes a new file, and the next run tries again`() throws {
        try shell.runTranscript(
            """
            $ echo old >out; chmod 640 out; stat -c %i out >inode
            $ settings render t --to out --reload 'cat out; false'
            ! settings: cannot replace out: the reload 'cat out; false' ended with exit code 1; the old file is back in place
            !   theme dark
            => 1
            $ cat out; stat -c %i out | cmp - inode; ls -A | grep out
            old
            out
            $ settings render t --to new --reload 'cat new; false'
            ! settings: cannot replace new: the reload 'cat new; false' ended with exit code 1; the file is removed
            !   theme dark
            => 1
            $ ls -A | grep new
            => 1
            $ settings render t --to out --reload true; stat -c %a out; ls -A | grep out
            wrote out
            640
            out
            """)
    }

    @Test
    func `The mode of an existing file stays, and --mode applies to a new file despite the umask`() throws {
        try shell.runTranscript(
            """
            $ umask 077; settings render t --to a; settings render t --to b --mode 0640; stat -c %a a b
            wrote a
            wrote b
            644
            640
            $ echo >c; chmod 604 c; settings render t --to c --mode 0640; stat -c %a c
            wrote c
            604
            $ settings render t --to d --mode 888
            ! settings: a mode is an octal number such as 0644, not '888'
            => 64
            $ settings render t --to d --mode +644
            ! settings: a mode is an octal number such as 0644, not '+644'
            => 64
            """)
    }

    @Test(.enabled(if: geteuid() == 0))
    func `The owner and the group of an existing file stay`() throws {
        try shell.runTranscript(
            """
            $ echo >out; chown 12345:23456 out; settings render t --to out; stat -c %u:%g out; cat out
            wrote out
            12345:23456
            theme dark
            """)
    }

    @Test
    func `A symbolic link stays and its target is written, also if the target does not exist`() throws {
        try shell.runTranscript(
            """
            $ mkdir real links; echo old >real/a; ln -s ../real/a links/a; ln -s links/a chain; ln -s real/missing dangling
            $ settings render t --to chain; settings render t --to dangling; readlink chain links/a dangling
            wrote chain
            wrote dangling
            links/a
            ../real/a
            real/missing
            $ cat real/a real/missing; ls -A links real
            theme dark
            theme dark
            links:
            a

            real:
            a
            missing
            $ ln -s loop loop; settings render t --to loop
            ! settings: cannot read loop: Too many levels of symbolic links
            => 1
            $ mkfifo fifo; settings render t --to fifo
            ! settings: cannot read fifo: it is a FIFO, not a regular file
            => 1
            $ settings render t --to fifo --diff
            ! settings: cannot read fifo: it is a FIFO, not a regular file
            => 1
            $ settings render t --to nothing/out
            ! settings: cannot write nothing/out: No such file or directory
            => 1
            """)
    }

    @Test
    func `If a reload fails and the old file cannot be put back, the message names both failures`() throws {
        try shell.runTranscript(
            """
            $ echo old >out; settings render t --to out --reload 'rm .out.settings-old; echo broken; exit 3'
            ! settings: cannot replace out: the reload 'rm .out.settings-old; echo broken; exit 3' ended with exit code 3; the old file could not be put back: ./.out.settings-old: No such file or directory (rename, error 2)
            !   broken
            => 1
            """)
    }

    @Test
    func `An update removes the files of a killed process, and no other file with a similar name`() throws {
        try shell.runTranscript(
            #"""
            $ touch .out.settings-new-a .out.settings-lock .out.settings-mine .out.settings-b.settings-new-c
            $ settings render t --to out; ls -A | grep out
            wrote out
            .out.settings-b.settings-new-c
            .out.settings-mine
            out
            """#)
    }

    @Test
    func `--diff prints the changes, writes nothing, and ends with 2 if there are changes`() throws {
        _ = try shell.directory.file(
            "long", (1...30).map { $0 == 20 ? "{{ app.theme }}\n" : "line \($0)\n" }.joined() + "end")
        try shell.runTranscript(
            #"""
            $ settings render t --to out --diff --mode 600 --reload 'echo >reloaded'
            --- /dev/null
            +++ out
            @@ -0,0 +1 @@
            +theme dark
            => 2
            $ ls -A | grep -e out -e reloaded
            => 1
            $ settings render t --to out; settings render t --to out --diff
            wrote out
            $ settings render long --to long.out; sed -i -e 1d -e 's/line 4/line four/' long.out; settings set app theme=light --quiet
            wrote long.out
            $ settings render long --to long.out --diff
            --- long.out
            +++ long.out
            @@ -1,6 +1,7 @@
            +line 1
             line 2
             line 3
            -line four
            +line 4
             line 5
             line 6
             line 7
            @@ -16,7 +17,7 @@
             line 17
             line 18
             line 19
            -dark
            +light
             line 21
             line 22
             line 23
            => 2
            $ settings render long --to long.out --diff >patch; patch -s long.out patch && settings render long --to long.out --diff
            $ printf 'theme light' >out; settings render t --to out --diff
            --- out
            +++ out
            @@ -1 +1 @@
            -theme light
            \ No newline at end of file
            +theme light
            => 2
            """#)
    }

    @Test
    func `A kill during a check or a reload leaves a complete file, and the next run repeats the update`() throws {
        try shell.runTranscript(
            """
            $ echo old >out; sh -c 'settings render t --to out --check "kill -9 \\$PPID; cat {}"' 2>/dev/null
            => 137
            $ cat out; ls -A | grep -c out.settings-new
            old
            1
            $ settings render t --to out --check 'cat {}; false'; ls -A | grep out
            out
            ! settings: cannot replace out: the check 'cat {}; false' ended with exit code 1; the old file stays
            !   theme dark
            $ sh -c 'settings render t --to out --reload "kill -9 \\$PPID"' 2>/dev/null
            => 137
            $ cat out; ls -A | grep out
            theme dark
            .out.settings-lock
            .out.settings-old
            out
            $ settings render t --to out --reload 'cat out >>reloads'; cat out reloads; ls -A | grep out
            wrote out
            theme dark
            theme dark
            out
            $ sh -c 'settings render t --to new --reload "kill -9 \\$PPID"' 2>/dev/null
            => 137
            $ cat new; ls -A | grep new
            theme dark
            .new.settings-first
            .new.settings-lock
            new
            $ settings render t --to new --reload 'cat new >>reloads'; cat new reloads; ls -A | grep new
            wrote new
            theme dark
            theme dark
            theme dark
            new
            """)
    }

    @Test
    func `A process that is killed before it renames the new file leaves files that the next run removes`() throws {
        // These files exist after the process has linked the old file, and before it renames the new file.
        try shell.runTranscript(
            """
            $ echo old >out; ln out .out.settings-old; echo theme dark >.out.settings-new-2000000000
            $ settings render t --to out --reload 'cat out; false'; cat out; ls -A | grep out
            old
            out
            ! settings: cannot replace out: the reload 'cat out; false' ended with exit code 1; the old file is back in place
            !   theme dark
            $ ln out .out.settings-old; settings render t --to out --reload 'cat out >>reloads'; cat reloads; ls -A | grep out
            wrote out
            theme dark
            out
            """)
    }

    @Test
    func `A second process waits until the first process has replaced the file`() throws {
        _ = try shell.directory.file("u", "second {{ app.theme }}\n")
        _ = try shell.directory.file(
            "reload", "touch started; for n in $(seq 6000); do [ ! -e go ] || break; sleep 0.01; done; exit 3")
        _ = try shell.run("echo old >out")
        let first = try shell.start("exec settings render t --to out --command-timeout 60 --reload 'sh ./reload'")
        try eventually { try shell.run("test -e started").code == 0 }
        try shell.runTranscript(
            """
            $ settings render u --to out --command-timeout 100ms; cat out
            theme dark
            ! settings: cannot write out: another process is replacing it
            """)
        let second = try shell.start("exec settings render u --to out")
        _ = try shell.run("touch go")
        let (firstEnd, secondEnd) = (try first.end(), try second.end())
        #expect(firstEnd.code == 1)
        #expect(firstEnd.errors.hasSuffix("ended with exit code 3; the old file is back in place\n"))
        #expect(secondEnd.code == 0 && secondEnd.output == "wrote out\n", "\(secondEnd)")
        #expect(shell.text("out") == "second dark\n")
        #expect(try shell.run("ls -A | grep settings-").output == "")
    }

    @Test
    func `A failed write leaves the old file`() throws {
        _ = try shell.directory.file("large", String(repeating: "x", count: 100_000) + "{{ app.theme }}")
        // `ulimit -f 8` limits the size of files to a few kilobytes. Without SIGXFSZ, a larger write fails.
        try shell.runTranscript(
            """
            $ echo old >out; trap "" XFSZ; ulimit -f 8; settings render large --to out
            ! settings: cannot write out: File too large
            => 1
            $ ls -A | grep out; cat out; settings render large --to out; wc -c <out; ls -A | grep out
            out
            old
            wrote out
            100004
            out
            """)
    }

    @Test
    func `render --config renders several templates, and an error names the element of the file`() throws {
        _ = try shell.directory.file("u", "{{ app.launchCount }}\n")
        try shell.runTranscript(
            #"""
            $ echo '[{"template":"t","to":"a","mode":"0600"},{"template":"u","to":"b","check":"grep 0 {}","reload":"cat b >reloaded"}]' >render.json
            $ settings render --config render.json; cat a b reloaded; stat -c %a a b
            wrote a
            wrote b
            theme dark
            0
            0
            600
            644
            $ settings render --config render.json --diff
            $ echo '[{"template":"t","to":"a","chek":"x"}]' | settings render --config -
            ! settings: cannot use element 1 of standard input: unknown member 'chek'; did you mean check?; the members are template, to, check, reload, mode
            => 1
            $ echo '[{"template":"t","to":"a"},{"template":"t","to":"a"}]' | settings render --config -
            ! settings: cannot use element 2 of standard input: element 1 writes the same file, a
            => 1
            $ echo '[{"template":"t"}]' | settings render --config -
            ! settings: cannot use element 1 of standard input: "template" and "to" are required
            => 1
            $ echo '[{"template":"t","to":1}]' | settings render --config -
            ! settings: cannot use element 1 of standard input: "to" must be a string, found an integer
            => 1
            $ echo '{}' | settings render --config -
            ! settings: cannot read standard input: expected an array of objects
            => 1
            $ echo '[{"template":"nothing","to":"a"}]' | settings render --config -
            ! settings: cannot use element 1 of standard input: cannot read nothing: No such file or directory
            => 1
            """#)
    }

    @Test(arguments: [
        ("a", "./a"), ("real/x", "real/../linked/x"), ("real/x", "symbolic"), ("linked/y", "dangling"),
        ("$HOME/real/y", "real/y"), ("new/../a", "a"),
    ])
    func `A configuration file with two paths to the same file is an error`(_ first: String, _ second: String) throws {
        #expect(
            try shell.run(
                "mkdir real new; ln -s real linked; ln -s real/x symbolic; ln -s linked/y dangling; echo >real/x"
            ).code == 0)
        let list = #"[{"template":"t","to":"\#(first)"},{"template":"t","to":"\#(second)"}]"#
            .replacing("$HOME", with: shell.directory.path)
        let end = try shell.run("echo '\(list)' | settings render --config -")
        #expect(end.code == 1 && end.errors.contains(": element 1 writes the same file, "), "\(end)")
    }

    @Test
    func `A wrong --command-timeout is a mistake of the command line, also with --config`() throws {
        let shell = try Shell()
        _ = try shell.directory.file("t", "x")
        _ = try shell.directory.file("render.json", #"[{"template":"t","to":"out"}]"#)
        let end = try shell.run("settings render --config render.json --command-timeout soon")
        #expect(end.code == 64 && end.errors.contains("--command-timeout"), "\(end)")
    }

    @Test
    func `A check that does not end is stopped after --command-timeout`() throws {
        try shell.runTranscript(
            """
            $ echo old >out; settings render t --to out --command-timeout 200ms --check 'cat {}; sleep 600'
            ! settings: cannot replace out: the check 'cat {}; sleep 600' did not end within 0.2 seconds and was stopped; the old file stays
            !   theme dark
            => 1
            $ cat out; ls -A | grep out
            old
            out
            $ settings render t --command-timeout 1s
            ! settings: --command-timeout needs --to FILE or --config FILE
            => 64
            """)
    }

    @Test
    func `At a terminal, a check can ask a question, and is stopped after --command-timeout`() throws {
        let render = "cd $HOME; exec settings render t --to out --check"
        let (output, code) = try shell.atTerminal(
            "\(render) ': {}; echo which >/dev/tty; read x </dev/tty; [ \"$x\" = abc ]'", [("which", "abc\\n")])
        #expect(code == 0 && output.hasSuffix("wrote out\n") && shell.text("out") == "theme dark\n", "\(output)")
        try shell.runSettings("set", "app", "theme=light")
        let stopped = try shell.atTerminal("\(render) ': {}; exec sleep 600' --command-timeout 200ms")
        #expect(stopped.code == 1 && stopped.output.contains(" did not end within 0.2 seconds "), "\(stopped)")
        #expect(shell.text("out") == "theme dark\n")
    }

    @Test
    func `Wrong combinations of options end with 64`() throws {
        try shell.runTranscript(
            """
            $ settings render t --check 'cat {}'
            ! settings: --check needs --to FILE or --config FILE
            => 64
            $ settings render t --watch
            ! settings: --watch needs --to FILE or --config FILE
            => 64
            $ settings render t --to out --settle 1s
            ! settings: --settle needs --watch
            => 64
            $ settings render t --to out --watch --timeout 1s
            ! settings: --watch and --timeout exclude each other
            => 64
            $ echo static | settings render - --to out --watch
            ! settings: --watch needs a template with a setting; without settings, nothing can change
            => 64
            $ echo static | settings render - --server unix:/nothing
            static
            """)
    }

    @Test
    func `Without a daemon, render waits until --timeout, keeps the file and ends with 7`() throws {
        try shell.stop()
        try shell.runTranscript(
            """
            $ echo old >out; settings render t --to out --timeout 300ms
            ! settings: no answer from the daemon: unix:DIR/socket: No such file or directory
            => 7
            $ cat out
            old
            """)
        // The program waits for a daemon that starts later.
        let render = try shell.start("exec settings render t --to out --timeout 10m")
        try shell.startAgain()
        #expect(try render.end().output == "wrote out\n")
    }
}
