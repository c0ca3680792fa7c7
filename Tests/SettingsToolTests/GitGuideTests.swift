import Foundation
import TestSupport
import Testing

/// Tests that the commands of `docs/guides/git.md` and the steps of its CI example do what the page says.
/// `Shell` applies the schema in `Shell.swift` to the suite `app`, in commit 1. The schema declares the setting `key` a
/// secret.
@Suite(.ownThread)
struct GitGuideTests {
    private static let docs = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "docs")

    private let shell: Shell
    /// The code blocks of the page: the language, and the text.
    private let blocks: [(language: String, text: String)]

    init() throws {
        let parts = try String(contentsOf: Self.docs.appending(path: "guides/git.md"), encoding: .utf8).components(
            separatedBy: "```")
        blocks = stride(from: 1, to: parts.count, by: 2).map { position in
            let lines = parts[position].split(separator: "\n", maxSplits: 1)
            return (String(lines[0]), String(lines[1]))
        }
        shell = try Shell(["settings set app theme=light key=hunter2 --quiet", "settings set net port=8080 --quiet"])
        shell.variables = ["GIT_AUTHOR", "GIT_COMMITTER"].flatMap { ["\($0)_NAME=a", "\($0)_EMAIL=a@example.org"] }
        try run("git init --quiet")
    }

    @discardableResult
    private func run(_ script: String) throws -> String {
        let end = try shell.run("set -e\n\(script)")
        #expect(end.code == 0 && end.errors == "", "\(script): \(end)")
        return end.output
    }

    @Test("The shell code blocks of the page succeed in the order of the page")
    func shellBlocks() throws {
        let scripts = blocks.filter { $0.language == "sh" }.map(\.text)
        let outputs = try scripts.map(run)
        #expect(outputs.contains("nothing to change\n"))
        // The plan of the pull request, and the nightly plan, print the same change.
        #expect(outputs.count { $0.hasPrefix("~ app theme: \"light\" → \"dark\"\nplan ") } == 2)
        #expect(outputs.last?.contains("1 file changed") == true)
        #expect(try shell.runSettings("get", "app", "key") == "hunter2\n")
        #expect(!shell.text("settings/app.json").contains("hunter2"))
    }

    @Test("The steps of the CI example plan and apply a change; apply refuses a plan that is not the approved plan")
    func steps() throws {
        // The first block writes the files of the suites. The block with << 'END' writes ci/plan.sh and ci/apply.sh.
        for block in blocks where block.language == "sh" && block.text.contains("<< 'END'") || block == blocks[0] {
            try run(block.text)
        }
        let workflow = try String(contentsOf: Self.docs.appending(path: "examples/github-actions.yml"), encoding: .utf8)
        let steps = workflow.matches(of: /- run: (.+)/).map { String($0.output.1) }
        #expect(steps.count == 2)
        // Without a change, both steps succeed.
        for step in steps { try run(step) }
        try run("echo '{\"port\":9090}' > settings/net.json")
        #expect(try run(steps[0]).hasPrefix("~ net port: 8080 → 9090\nplan "))
        #expect(try run(steps[1]) == "port: 8080 → 9090\n")
        #expect(try shell.runSettings("history", "net", "--limit", "1").contains(": pull request\n"))
        try run("echo '{\"port\":1}' > settings/net.json")
        try run(steps[0])
        try run("settings set net port 2 --quiet")
        // The exit code 5 says that the plan is refused.
        #expect(try shell.run(steps[1]).code == 5)
        #expect(try shell.runSettings("get", "net", "port") == "2\n")
        // The first step, which makes the plan, fails if the daemon refuses a value in the file.
        try run("echo '{\"theme\":\"green\"}' > settings/app.json")
        #expect(try shell.run(steps[0]).code == 5)
    }
}
