import SettingsClient
import SettingsHTTP
import TestSupport
import Testing

/// Requests over TLS that wait for changes, reach their deadline, are cancelled or end without an answer.
@Suite(.ownThread)
struct SecureWaitingTests {
    private let app: SuiteName
    private let theme: KeyName

    init() throws {
        app = try SuiteName("app")
        theme = try KeyName("theme")
    }

    @Test("Many long polls over https get a change, and none holds up a write", .timeLimit(.minutes(10)))
    func eachManyListenersTold() async throws {
        let (daemon, client) = try SecureDaemon.withClient()
        let app = app
        try await client.send(.set(theme, to: "light", in: app))
        try await withThrowingTaskGroup(of: [JSONValue?].self) { group in
            for _ in 0..<12 {
                group.addTask(priority: .high) {
                    for try await observation in client.changes(of: app) {
                        if case .changes(let told) = observation { return told.changes.map(\.new) }
                    }
                    return []
                }
            }
            #expect(try await daemon.waits(forWatchers: 12))
            try await client.send(.set(theme, to: "dark", in: app))
            var count = 0
            for try await told in group {
                #expect(told == ["dark"])
                count += 1
            }
            #expect(count == 12)
        }
    }

    @Test("A cancelled task throws, and its connection is closed", .timeLimit(.minutes(10)))
    func taskCancelledToldSo()
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
        // The proxy closes its connection with that of its client, and the daemon removes the watcher.
        #expect(try await daemon.waits(forWatchers: 0))
    }

    @Test("A request ends at its deadline, and a write may have been done by then") func requestEndsDeadlineWrite()
        async throws
    {
        let daemon = try SecureDaemon()
        let silent = try SuiteName("silent")
        let client = try daemon.client(timeout: .milliseconds(300))
        let read = #expect(throws: SettingsError.self) { try client.blocking.send(.suite(silent)) }
        #expect(read == .timedOut("\(client.address): no answer in time", outcome: .notDone))
        let write = #expect(throws: SettingsError.self) { try client.blocking.send(.set(theme, to: 1, in: silent)) }
        #expect(write == .timedOut("\(client.address): no answer in time", outcome: .unknown))
        let later = await #expect(throws: SettingsError.self) { try await client.send(.set(theme, to: 1, in: silent)) }
        #expect(later == .timedOut("\(client.address): no answer in time", outcome: .unknown))
    }

    @Test("The deadline holds while TLS is not even spoken") func deadlineHoldsWhileTLS() async throws {
        _ = try Certificates.shared()
        let port = try LocalPort()
        let client = try SettingsClient("https://localhost:\(port.number)", timeout: .milliseconds(100))
        let blocking = #expect(throws: SettingsError.self) { try client.blocking.send(.service) }
        #expect(blocking == .timedOut("\(client.address): no answer in time", outcome: .notDone))
        let task = await #expect(throws: SettingsError.self) { try await client.send(.service) }
        #expect(task == .timedOut("\(client.address): no answer in time", outcome: .notDone))
    }

    @Test("A connection that ends without an answer fails at once, and a write has an unknown outcome")
    func connectionEndsWithoutAnswer() throws {
        let (daemon, client) = try SecureDaemon.withClient()
        let lost = try SuiteName("lost")
        // Once on a new connection and once on one that was kept, where the session would send it again by itself.
        for isKept in [false, true] {
            if isKept { _ = try client.blocking.send(.service) }
            for options in [WriteOptions.plain, .plain.repeatable()] {
                let error = #expect(throws: SettingsError.self) {
                    try client.blocking.send(.set(theme, to: 1, in: lost, options))
                }
                guard case .unreachable(_, .unknown) = error else {
                    Issue.record("\(isKept) \(error as Any)")
                    continue
                }
            }
            _ = try client.blocking.send(.service)
            let read = #expect(throws: SettingsError.self) { try client.blocking.send(.suite(lost)) }
            #expect(read?.outcome == .notDone)
        }
        let named = try daemon.requests().filter { $0[0] == "PUT" && $0[2] != "-" }
        #expect(named.count >= 2 && Set(named.map { $0[2] }).count == 2)
    }

    @Test("A removal that the session sends twice has a name by which the daemon knows it again")
    func removalSessionSendsTwice() throws {
        let (daemon, client) = try SecureDaemon.withClient()
        _ = try client.blocking.send(.service)
        let error = #expect(throws: SettingsError.self) {
            try client.blocking.send(.remove(theme, in: try SuiteName("lost")))
        }
        #expect(error?.outcome == .unknown)
        let names = try daemon.requests().filter { $0[0] == "DELETE" }.map { $0[2] }
        #expect(!names.isEmpty && Set(names).count == 1 && names != ["-"], "\(names)")
    }
}
