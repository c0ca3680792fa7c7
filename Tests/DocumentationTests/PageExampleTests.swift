import Foundation
import TestSupport
import Testing

/// Runs the examples of `README.md` and of the pages below `docs/`.
///
/// - The blocks of the language `sh` of a page run in their order, in one shell, in an empty directory, with a new
///   daemon. The test replaces the address `http://127.0.0.1:7070` with the address of this daemon.
/// - The blocks of the language `shell` do not run. The test checks only their syntax.
@Suite(.ownThread)
struct PageExampleTests {
    /// The pages whose examples need suites that exist. `CommandLineTests` and `GitGuideTests` run their examples.
    private static let testedElsewhere: Set<String> = ["docs/command-line.md", "docs/guides/git.md"]

    private static let languages: Set<String> = [
        "sh", "shell", "go", "ini", "java", "javascript", "json", "python", "swift", "text", "yaml",
    ]

    static let allPages: [String] = {
        let docs = FileManager.default.enumerator(atPath: Article.root.appending(path: "docs").path())
        let names = (docs?.compactMap { $0 as? String } ?? []).filter { $0.hasSuffix(".md") }.map { "docs/\($0)" }
        return (["README.md"] + names).sorted()
    }()
    static let pages = allPages.filter { !testedElsewhere.contains($0) }

    @Test(
        "The examples of a page succeed in order", .enabled(if: access("/usr/bin/curl", X_OK) == 0), arguments: pages)
    func examples(_ path: String) throws {
        let page = try Article(path: path)
        let blocks = page.blocks.filter { $0.language == "sh" }
        guard !blocks.isEmpty else { return }
        let directory = try TemporaryDirectory()
        let daemon = try DaemonProcess(data: directory.path + "/data")
        let url = "http://127.0.0.1:\(daemon.port)"
        let run = try PageRun(path, blocks, in: directory, url: url)
        if let failure = run.failure { Issue.record("\(failure)") }
        for code in run.errorCodes {
            if page.lines.contains(where: { $0.contains("`\(code)`") }) { continue }
            Issue.record("\(path): the daemon answered with the error '\(code)', which the page does not explain")
        }
        try daemon.stop()
    }

    @Test("Shell blocks that no test runs have valid shell syntax", arguments: allPages)
    func syntax(_ path: String) throws {
        let directory = try TemporaryDirectory()
        for block in try Article(path: path).blocks where block.language == "shell" {
            let lines = Array(repeating: "", count: block.firstLine - 1) + block.lines
            let script = try directory.file("page", lines.joined(separator: "\n") + "\n")
            let end = try ChildProcess(["-n", script], environment: [], of: "/bin/bash").end()
            #expect(end.code == 0, "\(path): \(end.errors.replacing("\(script): ", with: ""))")
        }
    }

    @Test("Each code block has a known language", arguments: allPages)
    func languages(_ path: String) throws {
        for block in try Article(path: path).blocks where !Self.languages.contains(block.language) {
            Issue.record("\(path):\(block.firstLine - 1): '\(block.language)' is not one of \(Self.languages.sorted())")
        }
    }

    @Test("A failure names the page, the line, the command and its output")
    func failure() throws {
        let page = ["# Title", "", "```sh", "echo fine", "```", "", "```sh", "echo bad", "ls \\", "  nothing", "```"]
        // The commands send no request, so no daemon has to listen at the address.
        let run = try PageRun(
            "docs/page.md", CodeBlock.blocks(in: page), in: try TemporaryDirectory(), url: "http://127.0.0.1:1")
        let failure = try #require(run.failure)
        // The command `ls` ends in line 10 of the page.
        #expect(failure.hasPrefix("docs/page.md:10: ls nothing\n"))
        #expect(failure.contains("bad\nls: ") && !failure.contains("fine"))
    }

    @Test("An example gets the address of the daemon, and its process in the background ends with the run of the page")
    func background() throws {
        // `PageRun` waits until no process has the output of the script open. `tail` would keep the output open
        // forever. The example gets the address `http://here:1` in place of the address in the text.
        let page = ["# Title", "```sh", "tail -f /dev/null &", "echo http://127.0.0.1:7070 $SETTINGS_URL", "```"]
        let run = try PageRun("page.md", CodeBlock.blocks(in: page), in: try TemporaryDirectory(), url: "http://here:1")
        #expect(run.failure == nil && run.output.hasSuffix("http://here:1 http://here:1\n"))
    }
}

/// One run of the examples of a page.
private struct PageRun {
    /// The page, the line, the failed command and the output of the block; nil if all commands succeeded.
    let failure: String?
    /// The output of the commands on standard output and standard error.
    let output: String

    /// Runs the blocks in a shell that stops at the first failed command. The first line of the page is not in a block.
    init(_ path: String, _ blocks: [CodeBlock], in directory: TemporaryDirectory, url: String) throws {
        let (home, work) = (directory.path + "/home", directory.path + "/work")
        for folder in [home, work] {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        }
        // When a person runs an example, curl writes to a terminal and shows no progress. Here, curl writes to a pipe,
        // so the option `silent` is needed to omit the progress.
        _ = try directory.file("home/.curlrc", "silent\nshow-error\nmax-time = 60\n")
        let failed = directory.path + "/failed"
        // Each command has the line in the script that it has on the page, so that the shell reports lines of the page.
        // A form feed, printed in the line of the opening fence, separates the output of a block from the output
        // before.
        var lines = Array(repeating: "", count: blocks.last.map { $0.firstLine + $0.lines.count } ?? 0)
        for block in blocks {
            lines[block.firstLine - 2] = "printf '\\f'"
            lines.replaceSubrange(block.firstLine - 1..<block.firstLine - 1 + block.lines.count, with: block.lines)
        }
        lines[0] = """
            set -e; exec 2>&1; trap 'kill $(jobs -p) 2>/dev/null || :' EXIT; \
            trap 'echo "$LINENO: $BASH_COMMAND" >\(failed)' ERR
            """
        let script = lines.joined(separator: "\n").replacing("http://127.0.0.1:7070", with: url) + "\n"
        let environment = [
            "PATH=\(ChildProcess.built("")):/usr/local/bin:/usr/bin:/bin", "HOME=\(home)", "LC_ALL=C.UTF-8",
            "SETTINGS_URL=\(url)",
        ]
        let file = try directory.file("script", script)
        let end = try ChildProcess(
            ["-c", "cd '\(work)' && exec bash '\(file)'"], environment: environment, of: "/bin/bash"
        ).end()
        output = end.output
        guard end.code != 0 else {
            failure = nil
            return
        }
        let command = FileManager.default.contents(atPath: failed).map { String(decoding: $0, as: UTF8.self) }
        let lastOutput = output.components(separatedBy: "\u{C}").last ?? ""
        failure = "\(path):\(command ?? " the shell ended with \(end.code)\n")\(lastOutput)"
    }

    /// The codes of errors with which the daemon answered.
    var errorCodes: Set<String> {
        Set(output.matches(of: /"code": ?"(\w+)"/).map { String($0.1) })
    }
}
