import Foundation
import TestSupport
import Testing

/// Tests of `settings render --watch`. In some tests, the check or the reload fails or hangs if the launch count is 13.
/// `Shell` applies the schema in `Shell.swift` to the suite `app`, in commit 1.
@Suite(.ownThread)
struct RenderServiceTests {
    private let shell: Shell

    init() throws {
        shell = try Shell()
        _ = try shell.directory.file("t", "{{ app.theme }} {{ app.launchCount }}\n")
    }

    /// Starts `settings render --watch` for the template `t` and the file `out`. Its output goes to standard error,
    /// which `ChildProcess.line(containing:)` reads.
    private func start(_ options: String) throws -> ChildProcess {
        try shell.start("exec settings render t --to out --watch --settle 0 \(options) >&2")
    }

    private func awaitContent(_ text: String) throws {
        try eventually { shell.text("out") == "\(text)\n" }
    }

    @Test
    func `render --watch follows changes after a restart of the daemon`() throws {
        let render = try start("")
        try awaitContent("light 0")
        try shell.runSettings("set", "app", "theme=dark")
        try awaitContent("dark 0")
        try shell.restart()
        try shell.runSettings("set", "app", "launchCount=1")
        try awaitContent("dark 1")
        try shell.stop()
        _ = try render.line(containing: "; trying until the daemon answers")
        try shell.startAgain()
        try shell.runSettings("set", "app", "launchCount=2")
        try awaitContent("dark 2")
        render.signal(SIGTERM)
        let end = try render.end()
        #expect(end.code == -SIGTERM)
        let lines = end.errors.split(separator: "\n")
        #expect(lines.allSatisfy { $0 == "wrote out" || $0.hasSuffix("; trying until the daemon answers") }, "\(lines)")
    }

    @Test
    func `render --watch follows changes after the daemon was killed and started again`() throws {
        let render = try start("")
        try awaitContent("light 0")
        try shell.runSettings("set", "app", "theme=dark")
        try awaitContent("dark 0")
        for count in 1...3 {
            try shell.restartAfterKill()
            try shell.runSettings("set", "app", "launchCount=\(count)")
            try awaitContent("dark \(count)")
        }
        render.signal(SIGTERM)
        let lines = try render.end().errors.split(separator: "\n")
        #expect(lines.allSatisfy { $0 == "wrote out" || $0.hasSuffix("; trying until the daemon answers") }, "\(lines)")
    }

    @Test
    func `A reload that hangs is stopped, and the next change is rendered`() throws {
        let render = try start("--command-timeout 300ms --reload 'grep -v 13 out || exec sleep 600'")
        try awaitContent("light 0")
        try shell.runSettings("set", "app", "launchCount=13")
        let message = try render.line(containing: "cannot replace out: the reload")
        #expect(message.hasSuffix("did not end within 0.3 seconds and was stopped; the old file is back in place"))
        try shell.runSettings("set", "app", "launchCount=14")
        try awaitContent("light 14")
        render.signal(SIGTERM)
        _ = try render.end()
    }

    @Test
    func `render --watch waits for a daemon that does not run yet`() throws {
        try shell.stop()
        let render = try start("")
        _ = try render.line(containing: "; trying until the daemon answers")
        try shell.startAgain()
        try awaitContent("light 0")
        render.signal(SIGTERM)
        _ = try render.end()
    }

    @Test
    func `Changes during a reload cause another reload, and the last reload has the newest values`() throws {
        _ = try shell.directory.file(
            "reload", "cat out >>reloads; for n in $(seq 6000); do [ ! -e go ] || break; sleep 0.01; done")
        let render = try start("--reload 'sh ./reload'")
        try eventually { shell.text("reloads") == "light 0\n" }
        for value in 1...4 { try shell.runSettings("set", "app", "launchCount=\(value)") }
        #expect(shell.text("reloads") == "light 0\n")
        _ = try shell.run("touch go")
        try awaitContent("light 4")
        try eventually { shell.text("reloads").hasSuffix("light 4\n") }
        render.signal(SIGTERM)
        _ = try render.end()
        let reloads = shell.text("reloads").split(separator: "\n")
        #expect(reloads == reloads.sorted() && Set(reloads).count == reloads.count, "\(reloads)")
    }

    @Test
    func `A change is written only after the time of --settle`() throws {
        let render = try shell.start("exec settings render t --to out --watch --settle 300ms >&2")
        try awaitContent("light 0")
        let start = ContinuousClock.now
        try shell.runSettings("set", "app", "theme=dark")
        try awaitContent("dark 0")
        #expect(ContinuousClock.now - start >= .milliseconds(300))
        render.signal(SIGTERM)
        _ = try render.end()
    }

    @Test
    func `After a failed check, render --watch tries again when the result changes`() throws {
        let render = try start("--check 'cat {} >>checks; grep -v 13 {}'")
        try awaitContent("light 0")
        try shell.runSettings("set", "app", "launchCount=13")
        _ = try render.line(
            containing: "cannot replace out: the check 'cat {} >>checks; grep -v 13 {}' ended with exit code 1")
        // The next change does not change the result, so the check does not run again.
        try shell.runSettings("set", "app", "name=joe")
        try shell.runSettings("set", "app", "theme=dark", "launchCount=14")
        try awaitContent("dark 14")
        #expect(shell.text("checks") == "light 0\nlight 13\ndark 14\n")
        render.signal(SIGTERM)
        // The message occurs once, so it separates two parts.
        #expect(try render.end().errors.components(separatedBy: "cannot replace").count == 2)
    }

    @Test
    func `A failed reload puts the old file back, and the next change is rendered and reloaded`() throws {
        let render = try start("--reload 'grep -v 13 out'")
        try awaitContent("light 0")
        try shell.runSettings("set", "app", "launchCount=13")
        _ = try render.line(
            containing: "cannot replace out: the reload 'grep -v 13 out' ended with exit code 1; the old file is")
        #expect(shell.text("out") == "light 0\n")
        try shell.runSettings("set", "app", "launchCount=14")
        try awaitContent("light 14")
        render.signal(SIGTERM)
        _ = try render.end()
    }

    @Test
    func `After a failed write, render --watch tries again, also without a change`() throws {
        let render = try shell.start("exec settings render t --to later/out --watch --settle 0 >&2")
        _ = try render.line(containing: "cannot write later/out: No such file or directory")
        _ = try shell.run("mkdir later")
        _ = try render.line(containing: "wrote later/out")
        #expect(shell.text("later/out") == "light 0\n")
        render.signal(SIGTERM)
        _ = try render.end()
    }

    @Test
    func `render --watch reports a setting without a value, and writes the file when the suite and the setting exist`()
        throws
    {
        _ = try shell.directory.file("t", "{{ later.name }}\n")
        let render = try start("")
        _ = try render.line(containing: "cannot render t:1:4: there is no suite later")
        #expect(shell.text("out") == "")
        try shell.runSettings("set", "later", "nane=a")
        _ = try render.line(
            containing: "the suite later has no setting 'name' that this caller may read; did you mean nane?")
        try shell.runSettings("set", "later", "name=b")
        try awaitContent("b")
        try shell.runSettings("unset", "later", "--drop")
        try shell.runSettings("set", "later", "name=c")
        try awaitContent("c")
        render.signal(SIGTERM)
        _ = try render.end()
    }

    @Test
    func `render --watch follows the defaults and the secrets of a new schema`() throws {
        let render = try start("")
        try awaitContent("light 0")
        // The test replaces the % by further keywords of `launchCount`.
        let schema = """
            {"additionalProperties": {}, "properties": {"theme": {"default": "dark"}, "launchCount": {"default": 7%}}}
            """
        _ = try shell.directory.file("new.json", schema.replacing("%", with: ""))
        try shell.runSettings("schema", "apply", "app", "\(shell.directory.path)/new.json")
        try awaitContent("dark 7")
        _ = try shell.directory.file("new.json", schema.replacing("%", with: #", "writeOnly": true"#))
        try shell.runSettings("schema", "apply", "app", "\(shell.directory.path)/new.json")
        _ = try render.line(containing: "cannot render t:1:20: app launchCount is a secret")
        #expect(shell.text("out") == "dark 7\n")
        render.signal(SIGTERM)
        _ = try render.end()
    }
}
