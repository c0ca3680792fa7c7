import Foundation
import Platform
import TestSupport
import Testing

@Suite(.ownThread)
struct ShellCommandTests {
    @Test
    func `A command returns its exit code, or 128 plus the number of the signal that ended it`() throws {
        #expect(try ShellCommand("exit 7").run() == 7)
        // The test process may block or ignore other signals, and its children inherit the signal mask.
        #expect(try ShellCommand("kill -KILL $$").run() == 128 + 9)
    }

    @Test
    func `A command sees its arguments, its variables and the variables of the process`() throws {
        let directory = try TemporaryDirectory()
        let output = directory.path + "/output"
        var command = ShellCommand("echo \"$1 $ADDED ${HOME-none} ${PATH:+inherited}\" > \"$2\"")
        command.arguments = ["first", output]
        command.variables = ["ADDED": "a=b", "HOME": nil]
        #expect(try command.run() == 0)
        #expect(try String(contentsOfFile: output, encoding: .utf8) == "first a=b none inherited\n")
    }

    @Test
    func `Capturing returns both streams, and ends when the shell ends, although a child still runs`() throws {
        let command = ShellCommand("sleep 600 & echo $!; echo error >&2; exit 3")
        let (code, output) = try command.runCapturingOutput(for: .seconds(600))
        let lines = String(decoding: output, as: UTF8.self).split(separator: "\n")
        #expect(code == 3 && lines.last == "error")
        let background = try #require(lines.first.flatMap { Int32($0) })
        #expect(kill(background, SIGKILL) == 0)
    }

    @Test
    func `The captured output of a command that prints much is the end of its output`() throws {
        let (code, output) = try ShellCommand("seq 100000").runCapturingOutput(for: .seconds(600))
        // The limit of captured output is 4096 bytes.
        #expect(code == 0 && output.count == 4096)
        #expect(String(decoding: output, as: UTF8.self).hasSuffix("\n99999\n100000\n"))
    }

    @Test
    func `After the time limit, all processes of a command are ended, even if they ignore SIGTERM`() throws {
        for preparation in ["true", "trap '' TERM"] {
            let command = ShellCommand("\(preparation); sleep 600 & echo $!; sleep 600")
            let (code, output) = try command.runCapturingOutput(for: .milliseconds(300))
            #expect(code == nil)
            let background = try #require(Int32(String(decoding: output, as: UTF8.self).prefix { $0 != "\n" }))
            // A zombie has no command line.
            try eventually { (try? Data(contentsOf: URL(filePath: "/proc/\(background)/cmdline")))?.isEmpty ?? true }
        }
    }
}
