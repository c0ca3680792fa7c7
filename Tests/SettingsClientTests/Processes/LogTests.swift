import TestSupport
import Testing

/// The log that programs have unless they give another, in a real program.
@Suite(.ownThread)
struct LogTests {
    @Test("A standard error that takes nothing does not end the program", arguments: ["2>&-", "2>/dev/full"])
    func standardErrorTakesNothing(_ redirection: String) throws {
        let script = "exec \"$0\" complain \(redirection)"
        let child = try ChildProcess(["-c", script, ChildProcess.built("settings-worker")], of: "/bin/sh")
        let end = try child.end()
        #expect(end.code == 0 && end.output == "going on\n", "\(end)")
    }
}
