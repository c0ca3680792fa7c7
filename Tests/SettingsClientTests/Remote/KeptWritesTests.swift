import ClientTestSupport
import Foundation
import Glibc
import HTTPServer
import SettingsModel
import SettingsServer
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsClientCompatibility
@testable import SettingsHTTP

/// Kept writes with a daemon in this process. A kept write is a write that waits in the outbox for an answer of the
/// daemon. A second `ServedDaemon` in the same directory is the daemon after a restart. With port 0, the kernel chooses
/// a port. A `CuttingProxy` forwards requests to a daemon. After `dropAnswers(count)`, it closes the connection instead
/// of sending the next `count` answers.
@Suite(.ownThread)
struct KeptWritesTests {
    private let names: SampleNames
    private let directory: TemporaryDirectory
    private let issues = IssueCollector()
    private var outbox: FileLocation { .directory(directory.path + "/outbox") }

    init() throws {
        names = try SampleNames()
        directory = try TemporaryDirectory()
    }

    /// Returns an adapter, which stands for a program. Its outbox is in the directory of the daemon.
    private func program(
        _ address: ServerAddress, cache: FileLocation = .none, writes: WriteMode = .confirmed
    ) -> DefaultsAdapter<ClientKeys> {
        issues.collect(
            from: DefaultsAdapter(
                suite: names.app, keyStore: ClientKeys(), server: address, timeout: .seconds(1), outbox: outbox,
                cache: cache, writes: writes, arguments: [], log: issues.log))
    }

    /// Loads the suite. Tries 60 times, because a load on a busy machine may take longer than the timeout of the
    /// adapter. Returns false if all attempts fail.
    private func waitUntilReady(_ defaults: DefaultsAdapter<ClientKeys>) async -> Bool {
        for _ in 0..<60 {
            if (try? await defaults.ready()) != nil { return true }
        }
        return false
    }

    /// Sends all writes and receives all changes. Tries 60 times, because an attempt on a busy machine may take longer
    /// than the timeout of the adapter. Returns false if all attempts fail.
    private func waitUntilSynchronized(_ defaults: DefaultsAdapter<ClientKeys>) async -> Bool {
        for _ in 0..<60 {
            if (try? await defaults.synchronize()) != nil { return true }
        }
        return false
    }

    /// Returns the value that the daemon has stored.
    private func stored(_ key: KeyName, _ daemon: ServedDaemon) throws -> JSONValue? {
        try daemon.client().blocking.send(.setting(key, in: names.app)).value
    }

    @Test
    func `Writes during an outage of the daemon are sent after its restart`() throws {
        let first = try ServedDaemon(in: directory, port: 0)
        let defaults = program(try first.address(.unix))
        defaults.launchCount = 1
        first.stop()
        defaults.launchCount = 2
        defaults.launchCount += 1
        defaults.username = "me"
        #expect(defaults.launchCount == 3 && defaults.username == "me")
        let second = try ServedDaemon(in: directory, port: 0)
        let log = EventLog()
        let key = try KeyName("username")
        // The daemon does not know the epoch `none`, so the first answer is a reset.
        let subscription = RemoteBackend(
            suite: names.app, server: SharedServer(try second.address()), timeout: .seconds(20)
        )
        .follow(from: Cursor(epoch: try #require(Epoch("none")), revision: .zero), onFailure: { _ in }) {
            observation in
            switch observation {
            case .state(let state):
                for entry in state.suites.first?.values ?? [] where entry.key == key { log.add("stored") }
            case .changes(let changes):
                for change in changes.changes where change.key == key { log.add("stored") }
            }
        }
        #expect(log.wait(for: "stored"))
        subscription.stop()
        #expect(try stored(names.launchCount, second) == 3 && stored(key, second) == "me")
        #expect(defaults.launchCount == 3 && issues.drain() == [])
    }

    @Test
    func `A write whose answer is lost repeatedly is done once`() async throws {
        let daemon = try ServedDaemon()
        let proxy = try CuttingProxy(to: daemon.port)
        let defaults = program(proxy.server.address)
        defaults.visits = 1
        #expect(await waitUntilReady(defaults))
        proxy.dropAnswers(100_000)  // All answers.
        defaults.visits += 1
        await #expect(throws: DefaultsError.self) { try await defaults.update(\.visits) { $0 += 10 } }
        #expect(defaults.visits == 12)
        #expect(
            try stored(try KeyName("visits"), daemon) == 2,
            "the daemon has done the first addition, and the second addition waits in the queue")
        proxy.dropAnswers(0)
        #expect(await waitUntilSynchronized(defaults))
        #expect(try stored(try KeyName("visits"), daemon) == 12)
        #expect(defaults.visits == 12 && issues.drain() == [])
    }

    @Test
    func `Kept writes that the daemon refuses are rolled back and reported`() async throws {
        let first = try ServedDaemon(in: directory, port: 0)
        let address = try first.address(.unix)
        let defaults = program(address)
        defaults.launchCount = 1
        #expect(await waitUntilReady(defaults))
        first.stop()
        defaults.launchCount = 100
        defaults.loginTries = 2
        defaults.visits += 5
        let schema = try Schema(
            keys: [
                DefaultsKey<Int>("launchCount", defaultValue: 0, in: 0...10),
                DefaultsKey<Int>("visits", defaultValue: 0),
            ])
        do {
            // This daemon has no Unix domain socket, so the program cannot connect to it.
            let other = try ServedDaemon(in: directory, port: 0) { $0.listen = [.tcp(host: "127.0.0.1", port: 0)] }
            try other.client().blocking.send(.setSchema(schema.document, of: names.app))
            other.stop()
        }
        #expect(defaults.launchCount == 100 && defaults.loginTries == 2)
        let last = try ServedDaemon(in: directory, port: 0)
        #expect(await waitUntilSynchronized(defaults))
        // The default of `loginTries` is 1.
        #expect(defaults.launchCount == 1 && defaults.loginTries == 1 && defaults.visits == 5)
        #expect(try stored(names.launchCount, last) == 1)
        // 100 is above the maximum, and the schema does not have `loginTries`. The client also reports that the keys of
        // the program differ from the schema (`.check`).
        let found = issues.drain().filter { $0.attempt != .check }
        #expect(found.map(\.key) == ["launchCount", "loginTries"])
        #expect(found.map(\.error.code) == [.invalidValue, .unknownKey])
        withExtendedLifetime(last) {}
    }

    @Test(arguments: [1, 4, 30])
    func `The next program sends the kept writes of killed programs once and in order`(_ count: Int) async throws {
        let address = try ServerAddress("unix:\(directory.path)/socket")
        var written: [Int64] = []
        // `outbox-writer` appends `first` and the following numbers to the array `log`. Each program finds the outbox
        // files of the killed programs before it.
        for round in 0..<3 {
            let first = Int64(round * 100_000)
            let child = try ChildProcess(
                [address.description, directory.path + "/outbox", "\(first)", "\(first + 99_999)"],
                of: ChildProcess.built("outbox-writer"))
            _ = try child.line(containing: "wrote \(first + Int64(count)).")
            child.signal(SIGKILL)
            let end = try child.end()
            #expect(end.code == -SIGKILL)
            // The program prints a line such as "wrote 17." when the setter for the number 17 has returned.
            written += end.errors.split(separator: "\n").compactMap { line in
                line.hasPrefix("wrote ") ? Int64(line.dropFirst(6).dropLast()) : nil
            }
        }
        let daemon = try ServedDaemon(in: directory, port: 0)
        let defaults = program(address)
        #expect(await waitUntilSynchronized(defaults))
        let stored = (try stored(try KeyName("log"), daemon)?.array ?? []).compactMap(\.integer)
        #expect(stored == stored.sorted() && Set(stored).count == stored.count)
        let missing = Set(written).subtracting(stored)
        // Each of the three programs has written at least the numbers from `first` to `first + count`.
        #expect(missing == [] && written.count >= 3 * (count + 1))
        // Each of the three programs may have been killed after it stored its last write and before it printed the
        // write.
        #expect(stored.count <= written.count + 3)
        #expect(defaults["log"].array?.count == stored.count && issues.drain() == [])
    }

    @Test
    func `The next program sends the kept writes of a program that has ended normally`() async throws {
        let first = try ServedDaemon(in: directory, port: 0)
        let address = try first.address(.unix)
        var defaults: DefaultsAdapter<ClientKeys>? = program(address)
        defaults?.visits = 5
        first.stop()
        defaults?.visits += 1
        defaults?.removeAll()
        defaults?.visits += 2
        defaults = nil
        #expect(LockedOutboxFiles(directory: directory.path).waits { $0 == 0 })
        let second = try ServedDaemon(in: directory, port: 0)
        let next = program(address)
        #expect(next.visits == 2)
        #expect(await waitUntilSynchronized(next))
        #expect(try next.visits == 2 && stored(try KeyName("visits"), second) == 2 && issues.drain() == [])
    }

    /// Waits until a cache file contains all these texts. Returns false after `Deadline.patience` seconds.
    private func waitUntilCached(_ parts: String...) -> Bool {
        let folder = directory.path + "/cache"
        let deadline = ContinuousClock.now + .seconds(Deadline.patience)
        while ContinuousClock.now < deadline {
            let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
            let texts = names.compactMap { try? String(contentsOfFile: "\(folder)/\($0)", encoding: .utf8) }
            if texts.contains(where: { text in parts.allSatisfy(text.contains) }) { return true }
            poll(nil, 0, 1)  // Sleeps for a millisecond.
        }
        return false
    }

    @Test
    func `A program with a cache and without a daemon starts with the cached state, and later follows the daemon`()
        async throws
    {
        let first = try ServedDaemon(in: directory, port: 0)
        let address = try first.address(.unix)
        let cache = FileLocation.directory(directory.path + "/cache")
        do {
            let defaults = program(address, cache: cache)
            defaults.launchCount = 5
            defaults.theme = .dark
            try first.client().blocking.send(.set(try KeyName("nickname"), to: "x", in: names.app))
            #expect(await waitUntilSynchronized(defaults))
        }
        // Another thread may retain the session for a moment. The session saves the cache when it is deallocated.
        #expect(waitUntilCached(#""launchCount":5"#, #""theme":"dark""#, #""nickname":"x""#))
        first.stop()
        let defaults = program(address, cache: cache)
        #expect(defaults.launchCount == 5 && defaults.theme == .dark && defaults.nickname == "x")
        #expect(defaults.isSet(\.theme) && !defaults.isSet(\.username))
        #expect(try await defaults.value(\.launchCount) == 5)
        defaults.launchCount += 1
        #expect(defaults.launchCount == 6)
        await #expect(throws: DefaultsError.self) { try await defaults.synchronize() }
        let second = try ServedDaemon(in: directory, port: 0)
        try second.client().blocking.send(.set(try KeyName("nickname"), to: "y", in: names.app))
        #expect(await waitUntilSynchronized(defaults))
        #expect(try stored(names.launchCount, second) == 6)
        #expect(defaults.launchCount == 6 && defaults.nickname == "y" && issues.drain() == [])
    }

    @Test
    func `A program without a cache and without a daemon reads defaults and reports an issue`() async throws {
        let defaults = program(try ServerAddress("unix:\(directory.path)/socket"))
        #expect(defaults.launchCount == 0 && defaults.theme == .light)
        #expect(issues.drain().map(\.attempt) == [.read])
        await #expect(throws: DefaultsError.self) { try await defaults.value(\.launchCount) }
    }

    @Test
    func `Changes in place before the first load are kept, and are done if no other value is stored`() async throws {
        do {
            let defaults = program(try ServerAddress("unix:\(directory.path)/socket"))
            defaults.launchCount += 1
            defaults.launchCount += 1
            defaults[\.libraries].append("x")
            defaults.loginTries++
            defaults.username ?= "me"
            #expect(defaults.launchCount == 2 && defaults.libraries == ["x"] && defaults.username == "me")
            #expect(issues.drain().map(\.attempt).allSatisfy { $0 == .read })
        }
        let daemon = try ServedDaemon(in: directory, port: 0)
        let defaults = program(try daemon.address(.unix))
        #expect(await waitUntilSynchronized(defaults))
        #expect(try stored(names.launchCount, daemon) == 2 && stored(try KeyName("libraries"), daemon) == ["x"])
        #expect(try stored(try KeyName("loginTries"), daemon) == 2 && stored(try KeyName("username"), daemon) == "me")
        #expect(defaults.launchCount == 2 && defaults.loginTries == 2 && issues.drain() == [])
    }

    @Test
    func `Changes in place before the first load are merged with another stored value, or are conflicts`()
        async throws
    {
        let first = try ServedDaemon(in: directory, port: 0)
        try first.client().blocking.send(
            .merge(
                ["launchCount": 41, "visits": 41, "recent": ["r"], "username": "other"], into: names.app))
        first.stop()
        let defaults = program(try first.address(.unix))
        defaults.launchCount += 1
        defaults.visits += 1
        defaults.recent.append("x")
        defaults.username ?= "me"
        #expect(defaults.launchCount == 1)
        _ = issues.drain()
        let second = try ServedDaemon(in: directory, port: 0)
        #expect(await waitUntilSynchronized(defaults))
        // `visits` has the merge rule `.sum` and `recent` has `.append`. `launchCount` has no merge rule, so its change
        // is a conflict.
        #expect(try stored(names.launchCount, second) == 41 && stored(try KeyName("visits"), second) == 42)
        #expect(try stored(try KeyName("recent"), second) == ["r", "x"])
        #expect(defaults.launchCount == 41 && defaults.visits == 42 && defaults.username == "other")
        let found = issues.drain()
        #expect(found.map(\.key) == ["launchCount"] && found.map(\.error.isConflict) == [true])
        #expect(found.first?.description.contains("changed the value from unset to 41") ?? false, "\(found)")
    }

    /// The form of a change that depends on the old value.
    enum Change: CaseIterable {
        case inPlace, transaction
    }

    @Test(arguments: Change.allCases, [false, true])
    func `A kept change is a conflict if another daemon has another value with the same revision`(
        _ change: Change, usesProxy: Bool
    ) async throws {
        let first = try ServedDaemon()
        let proxy = try CuttingProxy(to: first.port)
        let defaults = program(usesProxy ? proxy.server.address : try first.address(.unix))
        defaults.launchCount = 5
        let revision = try first.client().blocking.send(.setting(names.launchCount, in: names.app)).revision
        #expect(await waitUntilReady(defaults))
        first.stop()
        switch change {
        case .inPlace: defaults.launchCount += 1
        case .transaction:
            let error = await #expect(throws: DefaultsError.self) {
                try await defaults.transaction { $0[\.launchCount] += 1 }
            }
            guard case .kept? = error else {
                Testing.Issue.record("\(String(describing: error))")
                return
            }
        }
        #expect(defaults.launchCount == 6)
        let path = first.path
        let second = try ServedDaemon(in: try TemporaryDirectory(), port: 0) {
            if !usesProxy { $0.listen.append(.unix(path: path)) }
        }
        try second.client().blocking.send(.set(names.launchCount, to: 70, in: names.app))
        try #require(try second.client().blocking.send(.setting(names.launchCount, in: names.app)).revision == revision)
        proxy.redirect(to: second.port)
        #expect(await waitUntilSynchronized(defaults))
        #expect(try stored(names.launchCount, second) == 70 && defaults.launchCount == 70)
        let found = issues.drain()
        #expect(found.map(\.error.isConflict) == [true], "\(found)")
    }

    @Test
    func `A change in place whose answer was lost is done once`() async throws {
        let daemon = try ServedDaemon()
        let proxy = try CuttingProxy(to: daemon.port)
        let defaults = program(proxy.server.address)
        defaults.launchCount = 5
        proxy.dropAnswers(100_000)  // All answers.
        defaults.launchCount += 1
        #expect(try stored(names.launchCount, daemon) == 6, "the daemon has stored the value")
        proxy.dropAnswers(0)
        #expect(await waitUntilSynchronized(defaults))
        #expect(try stored(names.launchCount, daemon) == 6 && defaults.launchCount == 6 && issues.drain() == [])
    }

    @Test
    func `A kept removal that changes nothing does not hide the default`() throws {
        let first = try ServedDaemon(in: directory, port: 0)
        let key = try KeyName("loginTries")
        try first.client().blocking.send(
            .setSchema(
                ["type": "object", "additionalProperties": true, "properties": ["loginTries": ["default": 9]]],
                of: names.app))
        let defaults = program(try first.address(.unix))
        #expect(defaults.loginTries == 9)
        first.stop()
        let log = EventLog()
        defaults.remove(\.loginTries)
        _ = defaults.core.session.listen { changes in
            for change in changes where change.key == key { log.add("\(change.visible.value ?? .null)") }
        }
        let second = try ServedDaemon(in: directory, port: 0)
        // After commits of another suite, the answer to the removal has a later revision than the changes that the
        // client has seen.
        for number in 1...3 {
            try second.client().blocking.send(
                .set(names.launchCount, to: .integer(Int64(number)), in: names.otherSuite))
        }
        #expect(log.wait(for: "9"))
        #expect(defaults.loginTries == 9 && !defaults.isSet(\.loginTries))
        withExtendedLifetime(second) {}
    }

    @Test
    func `Released adapters with kept writes are deallocated`() throws {
        let address = try ServerAddress("unix:\(directory.path)/socket")
        let cores = (0..<100).map { _ in
            let defaults = program(address, writes: .background)
            defaults.visits += 1
            return WeakCore(core: defaults.core)
        }
        try eventually { cores.allSatisfy { $0.core == nil } }
    }
}

private struct WeakCore {
    weak var core: AdapterCore?
}
