import Foundation
import TestSupport
import Testing

/// A shell with the built program `settings` in its path, and a daemon on a Unix socket that the program finds.
final class Shell {
    let directory: TemporaryDirectory
    private let options: [String]
    /// The address of the daemon in the environment of command lines.
    var url: String
    /// More variables of that environment.
    var variables: [String] = []
    private var daemon: ChildProcess

    /// Starts a daemon with a schema for the suite `app` unless told otherwise, and runs command lines that prepare what is stored.
    init(_ prepared: [String] = [], hasSchema: Bool = true, configuration: String? = nil) throws {
        let directory = try TemporaryDirectory()
        self.directory = directory
        options = try configuration.map { ["--config", try directory.file("settingsd.json", $0)] } ?? []
        url = "unix:\(directory.path)/socket"
        daemon = try Self.daemon(in: directory, options)
        _ = try directory.file("app.json", Self.schema)
        for line in (hasSchema ? ["settings schema apply app app.json --quiet"] : []) + prepared {
            let end = try run(line)
            guard end.code == 0 else { throw ChildProcess.Failure(description: "\(line): \(end)") }
        }
    }

    /// Starts a daemon whose callers need a token, with one in a file of its name for each of some grants.
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

    /// Has the kernel stop the daemon, so that it takes connections and answers nothing.
    func freeze() { daemon.signal(SIGSTOP) }

    func thaw() { daemon.signal(SIGCONT) }

    /// Ends the daemon, and starts it again on the same data.
    func restart() throws {
        try stop()
        try startAgain()
    }

    /// Starts the daemon that was stopped.
    func startAgain() throws {
        daemon = try Self.daemon(in: directory, options)
    }

    /// The environment of command lines.
    var environment: [String] {
        [
            "PATH=\(ChildProcess.built("")):/usr/bin:/bin", "HOME=\(directory.path)", "LC_ALL=C.UTF-8",
            "SETTINGS_URL=\(url)",
        ] + variables
    }

    /// Begins a command line in the directory of the test.
    func start(_ line: String) throws -> ChildProcess {
        try ChildProcess(["-c", "cd \"$HOME\"; \(line)"], environment: environment, of: "/bin/sh")
    }

    /// Runs a command line in the directory of the test, to its end.
    func run(_ line: String) throws -> ChildProcess.End { try start(line).end() }

    /// Runs the program with these arguments, to its end.
    func settings(_ arguments: String...) throws -> ChildProcess.End {
        try ChildProcess(arguments, environment: environment, of: ChildProcess.built("settings")).end()
    }

    /// Runs the program with these arguments. Throws unless it succeeds; returns its output.
    @discardableResult
    func does(_ arguments: String...) throws -> String {
        let end = try ChildProcess(arguments, environment: environment, of: ChildProcess.built("settings")).end()
        guard end.code == 0 else { throw ChildProcess.Failure(description: "\(arguments): \(end)") }
        return end.output
    }

    /// Waits until the daemon has a watcher.
    func awaitWatcher() throws {
        try eventually {
            try run("curl -s --unix-socket socket http://localhost/metrics").output.contains("\nsettingsd_watchers 1\n")
        }
    }

    /// The place in history of now.
    func cursor() throws -> String {
        try run("settings status | sed -n 's/^cursor *//p' | tr -d '\\n'").output
    }

    /// The text of a file of the test; empty if there is none.
    func text(_ name: String) -> String {
        String(decoding: FileManager.default.contents(atPath: "\(directory.path)/\(name)") ?? Data(), as: UTF8.self)
    }

    /// Runs the command lines of a transcript, and compares what they do.
    ///
    /// A line `$ …` is a command line. Behind it stands what it prints, `! ` before each line on standard error, and
    /// `=> CODE` if it ends with another code than 0. Times are `TIME`, the user is `ME`.
    func follow(_ transcript: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
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
