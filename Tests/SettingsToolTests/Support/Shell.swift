import Foundation
import TestSupport
import Testing

/// Runs command lines with the built program `settings` in `PATH`, and a daemon on a Unix socket, whose address is in
/// `SETTINGS_URL`.
final class Shell {
    let directory: TemporaryDirectory
    private let options: [String]
    /// The address that command lines get in the variable `SETTINGS_URL`.
    var url: String
    /// Additional environment variables of command lines, as `NAME=VALUE`.
    var variables: [String] = []
    private var daemon: ChildProcess

    /// Starts a daemon, applies the schema of the suite `app` if `hasSchema` is true, and runs command lines that store
    /// settings.
    ///
    /// - Parameter configuration: the configuration file of the daemon, as JSON.
    /// - Throws: If one of the command lines does not end with 0.
    init(_ setupLines: [String] = [], hasSchema: Bool = true, configuration: String? = nil) throws {
        let directory = try TemporaryDirectory()
        self.directory = directory
        options = try configuration.map { ["--config", try directory.file("settingsd.json", $0)] } ?? []
        url = "unix:\(directory.path)/socket"
        daemon = try Self.daemon(in: directory, options)
        _ = try directory.file("app.json", Self.schema)
        for line in (hasSchema ? ["settings schema apply app app.json --quiet"] : []) + setupLines {
            let end = try run(line)
            guard end.code == 0 else { throw ChildProcess.Failure(description: "\(line): \(end)") }
        }
    }

    /// Starts a daemon whose callers need a token. Creates a token for each pair of a name and a grant, and writes the
    /// token to a file with this name in the directory of the test.
    init(tokens: [String: String]) throws {
        directory = try TemporaryDirectory()
        let file = directory.path + "/tokens.json"
        for (name, grant) in tokens {
            let end = try ChildProcess.run(["token", "create", name, "--grant", grant, "--access.tokens", file])
            guard end.code == 0 else { throw ChildProcess.Failure(description: "\(end)") }
            _ = try directory.file(name, end.output)
        }
        options = ["--access.tokens", file]
        url = "unix:\(directory.path)/socket"
        daemon = try Self.daemon(in: directory, options)
    }

    private static func daemon(in directory: TemporaryDirectory, _ options: [String]) throws -> ChildProcess {
        let path = directory.path
        let daemon = try ChildProcess(["--listen", "unix:\(path)/socket", "--data", "\(path)/data"] + options)
        _ = try daemon.line(containing: "listening on unix:")
        return daemon
    }

    /// Ends the daemon.
    func stop() throws {
        daemon.signal(SIGTERM)
        _ = try daemon.end()
    }

    /// Stops the process of the daemon with SIGSTOP. The kernel still accepts connections, but no request gets an
    /// answer.
    func freeze() { daemon.signal(SIGSTOP) }

    /// Lets the process of the daemon continue after `freeze()`.
    func thaw() { daemon.signal(SIGCONT) }

    /// Ends the daemon, and starts it again on the same data.
    func restart() throws {
        try stop()
        try startAgain()
    }

    /// Kills the daemon, and starts it again on the same data.
    func restartAfterKill() throws {
        daemon.signal(SIGKILL)
        _ = try daemon.end()
        try startAgain()
    }

    /// Starts the daemon that was stopped.
    func startAgain() throws {
        daemon = try Self.daemon(in: directory, options)
    }

    /// The environment variables of command lines. `built("")` is the directory of the built programs.
    var environment: [String] {
        [
            "PATH=\(ChildProcess.built("")):/usr/bin:/bin", "HOME=\(directory.path)", "LC_ALL=C.UTF-8",
            "SETTINGS_URL=\(url)",
        ] + variables
    }

    /// Starts a command line in the directory of the test, and does not wait for its end.
    func start(_ line: String) throws -> ChildProcess {
        try ChildProcess(["-c", "cd \"$HOME\"; \(line)"], environment: environment, of: "/bin/sh")
    }

    /// Runs a command line in the directory of the test, and waits for its end.
    func run(_ line: String) throws -> ChildProcess.End { try start(line).end() }

    /// Runs the program `settings` with these arguments, and waits for its end.
    func settings(_ arguments: String...) throws -> ChildProcess.End {
        try ChildProcess(arguments, environment: environment, of: ChildProcess.built("settings")).end()
    }

    /// Runs the program `settings` with these arguments, and returns its output.
    ///
    /// - Throws: If the program does not end with 0.
    @discardableResult
    func runSettings(_ arguments: String...) throws -> String {
        let end = try ChildProcess(arguments, environment: environment, of: ChildProcess.built("settings")).end()
        guard end.code == 0 else { throw ChildProcess.Failure(description: "\(arguments): \(end)") }
        return end.output
    }

    /// Waits until the daemon has exactly one watcher.
    func awaitWatcher() throws {
        try eventually {
            try run("curl -s --unix-socket socket http://localhost/metrics").output.contains("\nsettingsd_watchers 1\n")
        }
    }

    /// The cursor of the newest commit.
    func cursor() throws -> String {
        try run("settings status | sed -n 's/^cursor *//p' | tr -d '\\n'").output
    }

    /// The contents of a file in the directory of the test. Empty if the file does not exist.
    func text(_ name: String) -> String {
        String(decoding: FileManager.default.contents(atPath: "\(directory.path)/\(name)") ?? Data(), as: UTF8.self)
    }

    /// Runs the command lines of a transcript, and compares their output and exit codes with the transcript.
    ///
    /// A line `$ …` is a command line. The lines after it are the standard output, then the standard error with `! `
    /// before each line, then `=> CODE` if the exit code is not 0. The transcript has `TIME` for each time, `user:ME`
    /// for the name of the user, and `DIR` for the directory of the test.
    func runTranscript(_ transcript: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        for expected in ("\n" + transcript).components(separatedBy: "\n$ ").dropFirst() {
            let line = String(expected.prefix { $0 != "\n" })
            let end = try run(line)
            var lines = [line] + Self.lines(end.output) + Self.lines(end.errors).map { "! \($0)" }
            if end.code != 0 { lines.append("=> \(end.code)") }
            let found = lines.joined(separator: "\n").replacing(
                /\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?Z/, with: "TIME"
            )
            .replacing(/user:[a-z0-9_-]+/, with: "user:ME").replacing(directory.path, with: "DIR")
            #expect("$ " + found == "$ " + expected, sourceLocation: sourceLocation)
        }
    }

    private static func lines(_ text: String) -> [String] {
        text.isEmpty ? [] : (text.hasSuffix("\n") ? String(text.dropLast()) : text).components(separatedBy: "\n")
    }
}

extension Shell {
    /// The schema of the suite `app`.
    private static let schema = """
        {"type": "object", "additionalProperties": {},
         "properties": {
           "launchCount": {"type": "integer", "default": 0, "minimum": 0, "description": "Times the app was started"},
           "theme": {"enum": ["light", "dark"], "default": "light"},
           "player.volume": {"type": "number", "default": 0.5, "minimum": 0, "maximum": 1},
           "player.muted": {"type": "boolean", "default": false},
           "name": {"type": "string", "maxLength": 20},
           "tags": {"type": "array", "items": {"type": "string"}},
           "limit": {"type": ["integer", "null"]},
           "build": {"type": "string", "readOnly": true},
           "key": {"type": "string", "writeOnly": true}
         }}
        """
}
