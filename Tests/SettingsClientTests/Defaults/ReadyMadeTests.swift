import Glibc
import Platform
import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsHTTP

/// The global `Defaults` of SettingsClient, which reads its server and its suite from the environment. Each test of
/// `Defaults` runs in a child process with its own environment. `SpellingKeys.swift` declares the keys.
@Suite(.ownThread, .timeLimit(.minutes(10)))
struct ReadyMadeTests {
    @Test("The Defaults of SettingsClient use the address and the suite in the environment")
    func environment() async {
        await #expect(processExitsWith: .success) {
            exit(try ReadyMadeTests.usesServerOfEnvironment() ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    /// Returns true if writes to `Defaults` reach the daemon and the suite in the environment. The code is in a
    /// function, so that the daemon is deallocated, and therefore stopped, before `exit`.
    private static func usesServerOfEnvironment() throws -> Bool {
        let directory = try TemporaryDirectory()
        let daemon = try DaemonProcess(data: directory.path + "/data")
        setenv("SETTINGS_URL", "http://127.0.0.1:\(daemon.port)", 1)
        setenv("SETTINGS_SUITE", "com.example.ready", 1)
        Defaults.launchCount += 1
        Defaults[\.launchCount] += 1
        try Defaults.synchronize()
        let client = try DaemonClient("http://127.0.0.1:\(daemon.port)").blocking
        let (suite, key) = (try SuiteName("com.example.ready"), try KeyName("launchCount"))
        return try client.send(.setting(key, in: suite)).value == 2 && Defaults.launchCount == 2
    }

    @Test("With SETTINGS_URL=memory:, the Defaults of SettingsClient are in memory")
    func memory() async {
        await #expect(processExitsWith: .success) {
            setenv("SETTINGS_URL", "memory:", 1)
            Defaults.launchCount += 1
            Defaults.launchCount += 1
            try await Defaults.flush()
            let stored = try await Defaults.isStored(\.launchCount)
            exit(stored && Defaults.launchCount == 2 ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    @Test("Without HOME, setters work, and an issue says that writes do not survive the end of the program")
    func withoutHome() async {
        await #expect(processExitsWith: .success) {
            unsetenv("HOME")
            unsetenv("XDG_STATE_HOME")
            setenv("SETTINGS_URL", "unix:/nobody/listens/here", 1)
            var issues = Defaults.issues.makeAsyncIterator()
            Defaults.launchCount = 1
            Defaults.launchCount = 2
            let issue = await issues.next()
            guard case .unusableFile(_, let reason)? = issue?.error, reason.contains("HOME") else { exit(EXIT_FAILURE) }
            exit(Defaults.launchCount == 2 ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    @Test("An invalid environment is reported as an issue and does not end the program")
    func badEnvironment() async {
        await #expect(processExitsWith: .success) {
            setenv("SETTINGS_URL", "127.0.0.1:7070", 1)
            let issues = Defaults.issues
            let count = Defaults.launchCount
            Defaults.launchCount = 3
            var iterator = issues.makeAsyncIterator()
            for attempt in [DefaultsIssue.Attempt.read, .write] {
                let issue = await iterator.next()
                guard issue?.attempt == attempt, case .unreachable(let reason)? = issue?.error,
                    reason.hasPrefix("SETTINGS_URL: 127.0.0.1:7070: it must begin with http://")
                else { exit(EXIT_FAILURE) }
            }
            exit(count == 0 && Defaults.launchCount == 0 ? EXIT_SUCCESS : EXIT_FAILURE)
        }
    }

    @Test("An invalid suite name in the source ends the program with the reason and the file")
    func wrongLiteral() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = DefaultsAdapter(suite: "my app", keyStore: DefaultsKeys(), writes: .confirmed)
        }
        let message = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
        #expect(message.contains("ReadyMadeTests.swift"))
        #expect(
            message.contains(
                "cannot use \"my app\" as the name of a suite: a suite name must consist of A-Z a-z 0-9 . _ -, but character 3"
            ))
    }

    /// The path of a program, and the suite and the server in its environment.
    struct Row: Sendable, CustomTestStringConvertible {
        let environment: ProgramEnvironment
        let expectedSuite: String
        /// The reason why the environment is invalid, with which all requests fail. Nil if the environment is valid.
        let refusal: String?

        init(
            _ program: String, suite: String? = nil, server: String? = nil, expected: String, refusal: String? = nil
        ) {
            environment = ProgramEnvironment(server: server, suite: suite, program: program)
            expectedSuite = expected
            self.refusal = refusal
        }

        var testDescription: String { "\(environment)" }
    }

    static let rows = [
        Row("/usr/local/bin/player", expected: "player"),
        Row("player", expected: "player"),
        Row("./My Player (2).app/", expected: "My-Player--2-.app"),
        Row("/opt/.hidden", expected: "hidden"),
        Row("/opt/Füße", expected: "F--e"),
        Row("", expected: "program"),
        Row("/", expected: "program"),
        Row("...", expected: "program"),
        Row(String(repeating: "x", count: 200), expected: String(repeating: "x", count: 128)),
        Row("player", suite: "com.example.app", expected: "com.example.app"),
        Row("player", suite: "", expected: "player"),
        Row("player", server: "unix:/run/settingsd.sock", expected: "player"),
        Row("player", server: "", expected: "player"),
        Row(
            "player", suite: "my app", expected: "player",
            refusal: "SETTINGS_SUITE: a suite name must consist of A-Z a-z 0-9 . _ -, but character 3 is ' '"),
        Row(
            "player", server: "ftp://host", expected: "player",
            refusal: "SETTINGS_URL: ftp://host: the scheme ftp: is not supported; use http://, https:// or unix:/path"),
    ]

    @Test("The suite is the name in the environment, or the name of the program in a valid form", arguments: rows)
    func suites(_ row: Row) async throws {
        let backend = row.environment.session(suite: nil, server: nil, timeout: .milliseconds(1)).backend
        #expect(backend.suite.text == row.expectedSuite)
        guard let refusal = row.refusal else {
            #expect(backend is RemoteBackend)
            return
        }
        await #expect(throws: BackendError.unusable(refusal)) { try await backend.load() }
        await #expect(throws: BackendError.unusable(refusal)) {
            try await backend.write(PendingChange(action: .removeAll, requestKey: .unique()))
        }
        await #expect(throws: BackendError.unusable(refusal)) { try await backend.setting(try KeyName("k")) }
    }

    // `.usual` is the default address of a daemon.
    @Test("A program that names its address and suite ignores the environment")
    func explicit() throws {
        let environment = ProgramEnvironment(server: "ftp://host", suite: "my app", program: "player")
        let backend = environment.session(
            suite: try SuiteName("app"), server: .usual, timeout: .milliseconds(1)
        ).backend
        #expect(backend is RemoteBackend && backend.suite.text == "app")
    }

    @Test("The client has the requested name, or the name in the environment, or the name HOST:PROGRAM:PID")
    func clientNames() throws {
        let host = try #require(CurrentProcess.hostName)
        let process = "\(CurrentProcess.identifier)"
        var environment = ProgramEnvironment(program: "/usr/bin/player")
        #expect(environment.clientName(nil)?.text == "\(host):player:\(process)")
        environment.client = ""
        #expect(environment.clientName(nil)?.text == "\(host):player:\(process)")
        environment.client = "web\n1"
        #expect(environment.clientName(nil)?.text == "web-1")
        #expect(environment.clientName("two")?.text == "two")
        // With an empty requested name, the program reports nothing to the daemon.
        #expect(environment.clientName("") == nil)
        let long = ProgramEnvironment(program: String(repeating: "x", count: 200))
        let name = try #require(long.clientName(nil)?.text)
        #expect(name.utf8.count == 128 && name.hasSuffix("x:\(process)"))
    }
}
