import ClientTestSupport
import Dispatch
import Glibc
import SettingsClientCompatibility
import SettingsClientTesting
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient

/// The messages of adapters in their logs.
@Suite(.ownThread, .timeLimit(.minutes(10)))
struct LogTests {
    private final class Messages: Sendable {
        typealias Message = (level: DefaultsLog.Level, text: String, metadata: [String: String])

        private let messages = Mutex<[Message]>([])

        var log: DefaultsLog {
            DefaultsLog { [self] level, text, metadata in messages.withLock { $0.append((level, text, metadata)) } }
        }

        /// Returns the messages of all adapters with this log, after one of these adapters has logged all its issues.
        func all<Keys>(of adapter: DefaultsAdapter<Keys>) -> [Message] {
            adapter.core.issues.waitUntilLogged(until: .now + .seconds(180))
            return messages.withLock { $0 }
        }
    }

    @Test("A log gets the level, the message, the suite, the key, the attempt and the error code of an issue")
    func contents() throws {
        let messages = Messages()
        let schema = try Schema(keys: [DefaultsKey<Int>("launchCount", defaultValue: 0, in: 0...3)])
        let defaults = DefaultsAdapter.inMemory(keyStore: ClientKeys(), schema: schema, log: messages.log)
        defaults.volume = 2
        defaults.launchCount = -1
        // The client itself refuses the volume, so this issue has no error code. The server refuses -1. Other messages
        // say that the keys differ from the schema. The suite of an adapter in memory has the name `memory`.
        let writeMessages = messages.all(of: defaults).filter { $0.metadata["attempt"] == "write" }
        #expect(writeMessages.map(\.level) == [.error, .error])
        #expect(
            writeMessages.first?.text
                == "cannot write player.volume of suite memory: player.volume: must be at most 1.0 (got 2.0)")
        #expect(writeMessages.first?.metadata == ["suite": "memory", "key": "player.volume", "attempt": "write"])
        #expect(writeMessages.last?.metadata["code"] == "invalid_value")
    }

    @Test(
        "Unreachable reads, waiting writes and unusable files are warnings; failed writes and bad tokens are errors")
    func levels() throws {
        let suite = try SuiteName("app")
        let rows: [(issue: DefaultsIssue, level: DefaultsLog.Level, message: String)] = [
            (
                DefaultsIssue(suite: suite, key: "k", attempt: .read, error: .unreachable("no answer")), .warning,
                "cannot read k of suite app: no answer"
            ),
            (
                DefaultsIssue(suite: suite, key: "k", attempt: .write, error: .unreachable("no answer")), .error,
                "cannot write k of suite app: no answer"
            ),
            (
                DefaultsIssue(suite: suite, key: nil, attempt: .write, error: .kept("2 writes wait: no answer")),
                .warning, "suite app: 2 writes wait: no answer"
            ),
            (
                DefaultsIssue(
                    suite: suite, key: nil, attempt: .write, error: .unusableFile(path: "/x", reason: "gone")),
                .warning, "suite app: /x: gone"
            ),
            (
                DefaultsIssue(suite: suite, key: "k", attempt: .read, error: .unusableToken("cannot read the file")),
                .error, "cannot read k of suite app: cannot read the file"
            ),
        ]
        for row in rows {
            #expect(row.issue.level == row.level && row.issue.message == row.message)
            #expect("\(row.issue)" == "settings: \(row.message)")
        }
    }

    @Test("A slow log gets the first messages and the number of omitted messages")
    func slowLog() throws {
        let messages = Mutex<[String]>([])
        let release = DispatchSemaphore(value: 0)
        let log = DefaultsLog { _, message, _ in
            if messages.withLock({ $0.isEmpty }) { release.patientWait() }
            messages.withLock { $0.append(message) }
        }
        let defaults = DefaultsAdapter.inMemory(keyStore: ClientKeys(), log: log)
        // The limit of `volume` is 1. The queue of a log holds 1,024 messages, so 476 of 1,500 messages are dropped.
        for _ in 0..<1500 { defaults.volume = 2 }
        release.signal()
        let report = "the log: 476 messages were dropped, because the log was too slow"
        try eventually { messages.withLock { $0.last?.contains(report) ?? false } }
        // The 1,024 messages and the report.
        #expect(messages.withLock { $0.count } == 1025)
        defaults.volume = 2
        try eventually { messages.withLock { $0.count } == 1026 }
    }

    @Test("A handler that blocks delays no setter, no getter and no async method")
    func blockingHandler() async throws {
        let (gate, calls) = (DispatchSemaphore(value: 0), EventLog())
        let defaults = DefaultsAdapter.inMemory(
            keyStore: ClientKeys(),
            log: DefaultsLog { _, _, _ in
                calls.add("handler called")
                gate.wait()
            })
        // At least one signal for each issue, so that the handler returns after the test.
        defer { for _ in 0..<4 { gate.signal() } }
        // The limit of `volume` is 1, so the values 2 and 3 each cause an issue.
        defaults.volume = 2
        #expect(await calls.waits(for: "handler called"))
        defaults.volume = 3
        defaults.volume = 1
        #expect(defaults.volume == 1)
        try await defaults.set(\.volume, 0.25)
        await #expect(throws: DefaultsError.self) { try await defaults.set(\.volume, 4) }
        #expect(defaults.volume == 0.25)
    }

    @Test("The default log can be set before and after the first use, and adapters with their own log do not use it")
    func defaultLog() async {
        await #expect(processExitsWith: .success) {
            setenv("SETTINGS_URL", "memory:", 1)
            let (first, second, own) = (Messages(), Messages(), Messages())
            DefaultsLog.default = first.log
            let other = DefaultsAdapter.inMemory(keyStore: ClientKeys())
            let separate = DefaultsAdapter.inMemory(keyStore: ClientKeys(), log: own.log)
            // An empty name is not valid, so each of these writes causes one issue.
            Defaults[""] = 1
            other[""] = 1
            separate[""] = 1
            // `all(of:)` returns the messages of both adapters with the log, but waits only for the issues of its
            // argument. The exit code tells which check has failed.
            guard first.all(of: Defaults).count >= 1, first.all(of: other).count == 2 else { exit(1) }
            DefaultsLog.default = second.log
            Defaults[""] = 1
            other[""] = 1
            separate[""] = 1
            guard second.all(of: Defaults).count >= 1, second.all(of: other).count == 2 else { exit(2) }
            exit(first.all(of: other).count == 2 && own.all(of: separate).count == 2 ? 0 : 3)
        }
    }

    /// With the argument `complain`, `settings-worker` causes an issue, and its log writes the message to standard
    /// error.
    @Test(arguments: ["2>&-", "2>/dev/full"])
    func `A closed or full standard error does not end the program`(_ redirection: String) throws {
        let script = "exec \"$0\" complain \(redirection)"
        let child = try ChildProcess(["-c", script, ChildProcess.built("settings-worker")], of: "/bin/sh")
        let end = try child.end()
        #expect(end.code == 0 && end.output == "going on\n", "\(end)")
    }

    @Test
    func `A program that ends directly after an issue still writes the message to standard error`() throws {
        let end = try ChildProcess(["complain"], of: ChildProcess.built("settings-worker")).end()
        #expect(end.code == 0 && end.errors.contains("settings: cannot write \"\" of suite"), "\(end)")
    }
}
