import Foundation
import TestSupport
import Testing

@testable import settings

/// Tests of clients that report which state of a suite they have applied: the command `clients` and the option
/// `--wait-for`. `Shell` applies the schema in `Shell.swift` to the suite `app`, in commit 1. In transcripts, `! `
/// begins a line of standard error, and `=> ` an exit code that is not 0: see `Shell`.
@Suite(.ownThread)
struct ClientTests {
    private let shell: Shell

    init() throws {
        shell = try Shell()
    }

    /// Sends the report of a client of the suite `app`: which state the client has applied, or could not apply.
    private func report(_ name: String, _ body: String) throws {
        let end = try shell.run(
            "curl -sS --fail-with-body --unix-socket socket -X PUT http://localhost/v1/suites/app/clients/\(name) -d '\(body)'"
        )
        guard end.code == 0 else { throw ChildProcess.Failure(description: "\(end)") }
    }

    private func success(_ cursor: String) -> String { #"{"applied":"\#(cursor)"}"# }

    private func failure(_ cursor: String, _ reason: String) -> String {
        #"{"failed":"\#(cursor)","reason":"\#(reason)"}"#
    }

    /// Starts a command line that writes, and waits until the daemon has made its commit. Returns the cursor of the
    /// commit.
    private func startWrite(_ line: String) throws -> (command: ChildProcess, cursor: String) {
        let before = try shell.cursor()
        let command = try shell.start(line)
        try eventually { try shell.cursor() != before }
        return (command, try shell.cursor())
    }

    @Test("clients lists the state of each client, and says for a suite without clients how programs report")
    func listed() throws {
        try shell.runTranscript(
            """
            $ settings clients app
            no program reports which revision of app it has applied; 'settings help clients' says how programs report
            $ settings clients app --json
            $ settings clients nowhere
            ! settings: there is no suite nowhere
            => 4
            """)
        let old = try shell.cursor()
        try shell.runSettings("set", "app", "theme=dark", "--quiet")
        let new = try shell.cursor()
        try report("web1", success(new))
        try report("web2", success(old))
        try report("web3", #"{"applied":"\#(old)","failed":"\#(new)","reason":"port in use"}"#)
        // The other columns have times and the sender.
        let lines = try shell.run("settings clients app --format tsv --header | cut -f 1,2,3,4,9").output
        #expect(
            lines == """
                name\tstatus\tapplied\tmissingCommits\treason
                web1\tcurrent\t\(new)\t0\t
                web2\tbehind\t\(old)\t1\t
                web3\tfailed\t\(old)\t1\tport in use

                """)
        let table = try shell.run("settings clients app --header").output.split(separator: "\n")
        #expect(table.count == 4 && table[0].hasPrefix("NAME  STATUS   APPLIED"))
        #expect(table[2].contains("revision 1  1 commit, ") && table[3].hasSuffix("port in use"))
        let objects = try shell.run("settings clients app --json | jq -c '[.name, .status, .failure.reason]'").output
        #expect(objects == #"["web1","current",null]\#n["web2","behind",null]\#n["web3","failed","port in use"]\#n"#)
    }

    @Test("--wait-for ends when the given share of the clients has applied the change, and names the other clients")
    func converged() throws {
        for name in ["web1", "web2"] { try report(name, success(try shell.cursor())) }
        let (command, cursor) = try startWrite("settings set app theme=dark --wait-for 50%")
        try report("web1", success(cursor))
        let end = try command.end()
        #expect(end.code == 0)
        #expect(
            end.output == """
                theme: "light" (default) → "dark"
                1 of 2 clients of app applied revision 2
                  waiting for web2

                """)
        // A write that changes nothing waits for the present state. The daemon stores the request key of this write in
        // commit 3. Commit 3 changes no setting, so a client that has applied revision 2 has also applied revision 3.
        let repeated = try shell.run("settings set app theme=dark --wait-for 100 --timeout 0")
        #expect(repeated.code == 8)
        #expect(
            repeated.errors == """
                settings: timed out after 0.0 seconds: 1 of 2 clients of app applied revision 3
                  waiting for web2

                """)
        _ = try shell.directory.file("plan.json", #"{"suites":{"app":{"theme":"dark"}}}"#)
        try report("web2", success(cursor))
        try shell.runTranscript(
            """
            $ settings apply plan.json --wait-for 100%
            nothing to change
            2 of 2 clients of app applied revision 3
            $ settings set app theme=dark --wait-for 1 --quiet
            """)
    }

    @Test("With --confirm, --wait-for keeps a change that the clients have applied")
    func confirmed() throws {
        try report("web1", success(try shell.cursor()))
        _ = try shell.directory.file("values.json", #"{"theme":"dark","launchCount":5}"#)
        let (command, cursor) = try startWrite("settings import app values.json --confirm 1h --wait-for 95 --quiet")
        try report("web1", success(cursor))
        let end = try command.end()
        #expect(end.code == 0 && end.output == "p2\n", "\(end)")
        #expect(try shell.runSettings("pending") == "")
        #expect(try shell.runSettings("get", "app", "theme") == "dark\n")
    }

    @Test("With --confirm, --wait-for reverts a change that a client could not apply, and ends with 9")
    func failed() throws {
        for name in ["web1", "web2"] { try report(name, success(try shell.cursor())) }
        let (command, cursor) = try startWrite("settings set app launchCount=5 --confirm 1h --wait-for 95% --quiet")
        try report("web2", failure(cursor, "port in use"))
        let end = try command.end()
        #expect(end.code == 9)
        #expect(
            end.errors == """
                settings: 1 client of app could not apply revision 2, so the change was reverted
                  web2 failed: port in use
                  waiting for web1

                """)
        #expect(try shell.runSettings("get", "app", "launchCount") == "0\n")
        #expect(try shell.runSettings("pending") == "")
    }

    @Test("If --wait-for times out, the change stays without --confirm, and is reverted with --confirm")
    func timeout() throws {
        try report("web1", success(try shell.cursor()))
        // `--confirm 1` ends the wait after a second, when the daemon reverts the change.
        try shell.runTranscript(
            """
            $ settings set app launchCount=5 --wait-for 95% --timeout 0.1 --quiet
            ! settings: timed out after 0.1 seconds: 0 of 1 client of app applied revision 2
            !   waiting for web1
            => 8
            $ settings set app launchCount=6 --wait-for 95% --timeout 0.1 --confirm 1h
            launchCount: 5 → 6
            pending p3: the daemon reverts the change at TIME unless it is confirmed
              settings confirm p3    keeps the change
              settings revert p3     reverts the change now
            launchCount: 6 → 5
            p3: the change was reverted by user:ME at revision 4
            ! settings: timed out after 0.1 seconds: 0 of 1 client of app applied revision 3, so the change was reverted
            !   waiting for web1
            => 8
            $ settings set app launchCount=7 --wait-for 95% --confirm 1 --quiet 2>/dev/null
            p5
            => 8
            $ settings get app launchCount
            5
            """)
    }

    @Test(
        "If no program reports, --wait-for prints a message and ends with 0; with --confirm, it reverts and ends with 1"
    )
    func noClients() throws {
        try shell.runTranscript(
            """
            $ settings set app theme=dark --wait-for 95% --quiet
            ! settings: no program reports which revision of app it has applied; 'settings help clients' says how programs report
            $ settings set app theme=light --wait-for 95% --confirm 1h --quiet; echo $?
            p3
            1
            ! settings: no program reports which revision of app it has applied, so the change was reverted
            $ settings pending
            $ settings get app theme
            dark
            """)
    }

    @Test("After a restart of the daemon, --wait-for still counts the clients that were present before the restart")
    func restarted() throws {
        for name in ["web1", "web2"] { try report(name, success(try shell.cursor())) }
        let (command, cursor) = try startWrite("settings set app theme=dark --wait-for 100% --timeout 60")
        // The restart must happen while the command waits for the clients.
        try shell.awaitWatcher()
        try shell.restart()
        try report("web1", success(cursor))
        try report("web2", success(cursor))
        let end = try command.end()
        #expect(end.code == 0, "\(end)")
        #expect(end.output.contains("2 of 2 clients of app applied revision 2"))
    }

    @Test("--wait-for prints a warning for each outage of the daemon")
    func outages() throws {
        try report("web1", success(try shell.cursor()))
        let (command, cursor) = try startWrite("settings set app theme=dark --wait-for 100% --timeout 600 2>warnings")
        for count in 1...2 {
            try shell.awaitWatcher()
            try shell.stop()
            try eventually { shell.text("warnings").split(separator: "\n").count == count }
            try shell.startAgain()
            // The client reports revision 1, the state before the change, so that the next request of the command
            // waits.
            try report("web1", success("\(cursor.prefix { $0 != "." }).1"))
        }
        try report("web1", success(cursor))
        #expect(try command.end().code == 0)
        let warnings = shell.text("warnings").split(separator: "\n")
        #expect(
            warnings.count == 2 && warnings.allSatisfy { $0.hasSuffix("; trying until the daemon answers") },
            "\(warnings)")
    }

    @Test("The message of a timeout counts the clients that were present at the start and are absent now")
    func absentClients() {
        #expect(ConvergenceWait.absence(ofClients: 0) == nil)
        #expect(ConvergenceWait.absence(ofClients: 1) == "  1 client that was present at the start is absent now")
        #expect(ConvergenceWait.absence(ofClients: 2) == "  2 clients that were present at the start are absent now")
    }

    @Test(
        "Invalid values of --wait-for and --timeout, and wrong combinations with other options, end with 64",
        arguments: [
            ("--wait-for 0", "--wait-for takes a percentage from 1 to 100 such as 95%, not '0'"),
            ("--wait-for 101%", "--wait-for takes a percentage from 1 to 100 such as 95%, not '101%'"),
            ("--wait-for most", "--wait-for takes a percentage from 1 to 100 such as 95%, not 'most'"),
            ("--timeout 5", "--timeout needs --wait-for"),
            ("--wait-for 5 --timeout soon", "--timeout takes seconds, or a time span such as 2m, not 'soon'"),
            ("--wait-for 95 --dry-run", "--wait-for and --dry-run exclude each other"),
            ("--wait-for 95 --effective 2h", "--wait-for and --effective exclude each other"),
            ("--wait-for 95 --interactive --confirm 2m", "--wait-for and --interactive exclude each other"),
        ])
    func refused(options: String, message: String) throws {
        let end = try shell.run("settings set app theme=dark \(options)")
        #expect(end.code == 64)
        #expect(end.errors == "settings: \(message)\n")
        #expect(try shell.runSettings("get", "app", "theme") == "light\n")
    }
}
