import ClientTestSupport
import SettingsHTTP
import SettingsModel
import TestSupport
import Testing

/// Tests of requests over TLS that wait for changes, reach their deadline, are cancelled or end without an answer.
///
/// A proxy provides TLS for the daemon. The proxy never answers a request to the suite `silent`, and closes the
/// connection of a request to the suite `lost`. Tasks have a high priority, because a task with the default priority
/// would start only after all tests in the queue.
@Suite(.ownThread)
struct SecureWaitingTests {
    private let app: SuiteName
    private let theme: KeyName

    init() throws {
        app = try SuiteName("app")
        theme = try KeyName("theme")
    }

    @Test("Many long polls over https receive a change, and none delays a write", .timeLimit(.minutes(10)))
    func manyLongPolls() async throws {
        let (daemon, client) = try SecureDaemon.withClient()
        let app = app
        try await client.send(.set(theme, to: "light", in: app))
        try await withThrowingTaskGroup(of: [JSONValue?].self) { group in
            for _ in 0..<12 {
                group.addTask(priority: .high) {
                    for try await observation in client.changes(of: app) {
                        if case .changes(let received) = observation { return received.changes.map(\.new) }
                    }
                    return []
                }
            }
            #expect(try await daemon.waits(forWatchers: 12))
            try await client.send(.set(theme, to: "dark", in: app))
            var count = 0
            for try await received in group {
                #expect(received == ["dark"])
                count += 1
            }
            #expect(count == 12)
        }
    }

    @Test("A cancelled task throws, and its connection is closed", .timeLimit(.minutes(10)))
    func cancelledTask()
        async throws
    {
        let (daemon, client) = try SecureDaemon.withClient()
        let (app, theme) = (app, theme)
        let revision = try await client.send(.set(theme, to: "dark", in: app)).revision
        let task = Task(priority: .high) {
            try await client.send(.setting(theme, in: app, changedFrom: revision, wait: .seconds(300)))
        }
        #expect(try await daemon.waits(forWatchers: 1))
        task.cancel()
        let error = await #expect(throws: SettingsError.self) { try await task.value }
        #expect(error == .cancelled(outcome: .notDone))
        // When the client closes its connection, the proxy closes its connection to the daemon, and the daemon removes
        // the watcher.
        #expect(try await daemon.waits(forWatchers: 0))
    }

    @Test("At its deadline, a read fails with the outcome notDone, and a write with an unknown outcome") func deadline()
        async throws
    {
        let daemon = try SecureDaemon()
        let silent = try SuiteName("silent")
        let client = try daemon.client(timeout: .milliseconds(300))
        let readError = #expect(throws: SettingsError.self) { try client.blocking.send(.suite(silent)) }
        #expect(readError == .timedOut("\(client.address): the daemon did not answer in time", outcome: .notDone))
        let writeError = #expect(throws: SettingsError.self) {
            try client.blocking.send(.set(theme, to: 1, in: silent))
        }
        #expect(writeError == .timedOut("\(client.address): the daemon did not answer in time", outcome: .unknown))
        let asyncWriteError = await #expect(throws: SettingsError.self) {
            try await client.send(.set(theme, to: 1, in: silent))
        }
        #expect(asyncWriteError == .timedOut("\(client.address): the daemon did not answer in time", outcome: .unknown))
    }

    @Test("If a connection ends without an answer, a write fails with an unknown outcome, and a read with notDone")
    func connectionEndsWithoutAnswer() throws {
        let (daemon, client) = try SecureDaemon.withClient()
        let lost = try SuiteName("lost")
        // The first iteration uses a new connection, and the second iteration uses an idle connection of the pool.
        for usesIdleConnection in [false, true] {
            if usesIdleConnection { _ = try client.blocking.send(.service) }
            // Only the repeatable write has an idempotency key, so only this write may be sent twice.
            for options in [WriteOptions.plain, .plain.repeatable()] {
                let error = #expect(throws: SettingsError.self) {
                    try client.blocking.send(.set(theme, to: 1, in: lost, options))
                }
                guard case .unreachable(_, .unknown) = error else {
                    Issue.record("\(usesIdleConnection) \(error as Any)")
                    continue
                }
            }
            _ = try client.blocking.send(.service)
            let readError = #expect(throws: SettingsError.self) { try client.blocking.send(.suite(lost)) }
            #expect(readError?.outcome == .notDone)
        }
        // In the log of the proxy, a request has its method at index 0 and its idempotency key, or `-`, at index 2.
        // Each iteration of the outer loop sent a write with a new key. If the client repeated the write, the log has
        // the key twice.
        let sentKeys = try daemon.requests().filter { $0[0] == "PUT" && $0[2] != "-" }.map { $0[2] }
        #expect(sentKeys.count >= 2 && Set(sentKeys).count == 2)
    }
}
