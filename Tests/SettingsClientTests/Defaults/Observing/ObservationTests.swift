import Dispatch
import Observation
import SettingsAPI
import SettingsClientCompatibility
import SettingsClientTesting
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient

/// Reads within `withObservationTracking` and `Observations`. `link` is the connection of a program to the daemon.
@Suite(.ownThread, .timeLimit(.minutes(10)))
struct ObservationTests {
    /// Counts the calls of `onChange` functions.
    private final class ChangeCount: Sendable {
        let count = Atomic(0)

        var value: Int { count.load(ordering: .acquiring) }

        /// Tracks the reads of the closure, and counts the next change of a value that the closure has read.
        func track(_ read: () -> Void) {
            withObservationTracking(read) { self.count.add(1, ordering: .acquiringAndReleasing) }
        }
    }

    @Observable
    final class Player {
        @ObservationIgnored @Setting var theme: Theme
        var title = "none"

        init(_ defaults: DefaultsAdapter<ClientKeys>) {
            _theme = Setting(\.theme, in: defaults)
        }

        var isDark: Bool { theme == .dark }
    }

    @Test("A change by the program is announced before the setter returns", arguments: BackendKind.allCases)
    func ownChange(_ kind: BackendKind) async throws {
        let defaults = try kind.fixture().adapter()
        try await defaults.ready()
        let changes = ChangeCount()
        changes.track { _ = defaults.launchCount }
        defaults.loginTries = 7
        #expect(changes.value == 0, "a change of another key is not announced")
        defaults.launchCount = 1
        #expect(changes.value == 1)
        defaults.launchCount = 2
        #expect(changes.value == 1, "tracking ends with the first change")
        changes.track { _ = defaults[\.launchCount] }
        defaults.launchCount += 1
        #expect(changes.value == 2)
        changes.track { _ = defaults[key: ClientKeys().launchCount] }
        defaults.remove(\.launchCount)
        #expect(changes.value == 3)
    }

    @Test(arguments: BackendKind.allCases)
    func `A change by another program is announced`(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let (defaults, other) = (fixture.adapter(), fixture.adapter())
        try await defaults.ready()
        let changes = ChangeCount()
        changes.track { _ = defaults.launchCount }
        try await other.set(\.launchCount, 5)
        try eventually { changes.value == 1 }
        #expect(defaults.launchCount == 5)
    }

    @Test
    func `A new default of the schema and a registered default are announced`() async throws {
        let defaults = DefaultsAdapter.inMemory(keyStore: ClientKeys())
        let changes = ChangeCount()
        changes.track { _ = defaults.launchCount }
        let key: JSONValue = ["type": "integer", "default": 9]
        let schema: JSONValue = ["additionalProperties": [:], "properties": ["launchCount": key]]
        _ = try await defaults.core.session.backend.setSchema(schema, onConflict: .refuse, requestKey: .unique())
        try eventually { changes.value == 1 }
        #expect(defaults.launchCount == 9)
        changes.track { _ = defaults.launchCount }
        defaults.register(defaults: ["launchCount": 11])
        #expect(changes.value == 2 && defaults.launchCount == 11)
    }

    @Test("The confirmation of a write announces nothing, because no reader sees a difference")
    func confirmation() async throws {
        let defaults = try BackendKind.unixSocket.fixture().adapter()
        try await defaults.ready()
        defaults.launchCount = 1
        let changes = ChangeCount()
        changes.track { _ = defaults.launchCount }
        try await defaults.synchronize()
        try await defaults.set(\.loginTries, 1)
        #expect(changes.value == 0)
    }

    @Test
    func `A value that changes while the tracked function runs is announced after the function has returned`()
        async throws
    {
        let defaults = DefaultsAdapter.inMemory(keyStore: ClientKeys())
        let changes = ChangeCount()
        changes.track {
            _ = defaults.launchCount
            // Another thread changes the value between the read and the end of the tracked function.
            DispatchQueue.global().sync { defaults.launchCount = 1 }
        }
        try eventually { changes.value == 1 }
    }

    @Test
    func `A value that was read before the load is announced when the suite is loaded`() async throws {
        let memory = InMemoryBackend(suite: .sample)
        let link = FlakyBackend(memory)
        let other = DefaultsAdapter(keyStore: ClientKeys(), session: SuiteSession(memory))
        try await other.set(\.launchCount, 3)
        link.disconnect()
        let defaults = DefaultsAdapter(
            keyStore: ClientKeys(),
            session: SuiteSession(link, options: SuiteSession.Options(timeout: .milliseconds(50))),
            log: DefaultsLog(issues: { _ in }))
        let changes = ChangeCount()
        changes.track { _ = defaults.launchCount }
        link.reconnect()
        // On a busy machine, a load may take longer than the timeout.
        for _ in 0..<1000 where (try? await defaults.ready()) == nil {}
        try eventually { changes.value == 1 }
        #expect(defaults.launchCount == 3)
    }

    @Test("The sequence Observations returns values in order, and always the last value")
    func sequence() async throws {
        let defaults = DefaultsAdapter.inMemory(keyStore: ClientKeys())
        let values = Observations { defaults.launchCount }
        var iterator = values.makeAsyncIterator()
        #expect(await iterator.next() == 0)
        for number in 1...3 {
            defaults.launchCount = number
            #expect(await iterator.next() == number)
        }
        let writer = Task.detached { for number in 4...500 { defaults.launchCount = number } }
        var last = 3
        while last < 500, let next = await iterator.next() {
            #expect(next >= last)
            last = next
        }
        await writer.value
        #expect(last == 500)
    }

    @Test("Many tasks that observe one key all get its last value")
    func manyTasks() async throws {
        let defaults = DefaultsAdapter.inMemory(keyStore: ClientKeys())
        await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for await value in Observations({ defaults.launchCount }) where value == 300 { return value }
                    return nil
                }
            }
            group.addTask {
                for number in 1...300 {
                    defaults.launchCount = number
                    if number.isMultiple(of: 10) { await Task.yield() }
                }
                return 300
            }
            for await value in group { #expect(value == 300) }
        }
    }

    @Test("A computed property of an observable class that reads a setting is observed")
    func observableClass() async throws {
        let defaults = DefaultsAdapter.inMemory(keyStore: ClientKeys())
        let player = Player(defaults)
        let changes = ChangeCount()
        changes.track { #expect(!player.isDark) }
        defaults.theme = .dark
        #expect(changes.value == 1 && player.isDark)
        changes.track { #expect(player.$theme.value == .dark) }
        player.theme = .light
        #expect(changes.value == 2 && defaults.theme == .light)
    }

    @MainActor
    @Test("The sequence Observations on the main actor returns a changed value")
    func mainActor() async throws {
        let defaults = DefaultsAdapter.inMemory(keyStore: ClientKeys())
        var iterator = Observations { defaults.username }.makeAsyncIterator()
        #expect(await iterator.next() == .some(nil))
        defaults.username = "somebody"
        #expect(await iterator.next() == "somebody")
    }

    @Test("A read of a cached property, a read by name and a read of `isSet` are tracked", arguments: [false, true])
    func cachedProperty(_ isReadBefore: Bool) async throws {
        let defaults = DefaultsAdapter.inMemory(keyStore: ClientKeys())
        let theme = Setting(\.theme, in: defaults, options: .cached)
        if isReadBefore { _ = theme.value }
        let changes = ChangeCount()
        changes.track { #expect(theme.value == .light) }
        theme.value = .dark
        #expect(changes.value == 1 && theme.value == .dark)
        changes.track { #expect(defaults["theme"].string == "dark") }
        changes.track { #expect(defaults.isSet(\.theme)) }
        defaults.remove(\.theme)
        #expect(changes.value == 3)
    }

    @Test
    func `An onChange function that reads a cached property gets the new value`() async throws {
        let defaults = DefaultsAdapter.inMemory(keyStore: ClientKeys())
        let theme = Setting(\.theme, in: defaults, options: .cached)
        let seen = Mutex<[Theme]>([])
        func track() {
            withObservationTracking {
                _ = theme.value
            } onChange: {
                seen.withLock { $0.append(theme.value) }
            }
        }
        track()
        theme.value = .dark
        track()
        theme.remove()
        #expect(seen.withLock { $0 } == [.dark, .light] && theme.value == .light)
    }

    @Test
    func `A registered default is returned without a daemon`() async throws {
        let link = FlakyBackend(InMemoryBackend(suite: .sample))
        link.disconnect()
        let defaults = DefaultsAdapter(
            keyStore: ClientKeys(),
            session: SuiteSession(link, options: SuiteSession.Options(timeout: .milliseconds(50))),
            log: DefaultsLog(issues: { _ in }))
        defaults.register(defaults: ["launchCount": 11])
        #expect(defaults.launchCount == 11)
    }

    @Test
    func `An onChange function can write a setting and wait for the confirmation`() async throws {
        let defaults = DefaultsAdapter.inMemory(keyStore: ClientKeys())
        withObservationTracking {
            _ = defaults.launchCount
        } onChange: {
            defaults.loginTries = 9
            #expect(throws: Never.self) { try defaults.synchronize() }
        }
        defaults.launchCount += 1
        #expect(defaults.loginTries == 9)
    }

    @Test("A task that observes a key gets the last value after concurrent writes of two other tasks")
    func overlappingChanges() async throws {
        for _ in 0..<30 {
            let defaults = DefaultsAdapter.inMemory(keyStore: ClientKeys())
            let setting = Setting(\.launchCount, in: defaults)
            let observer = Task.detached {
                for await value in Observations({ setting.value }) where value < 0 { return }
            }
            await withTaskGroup(of: Void.self) { group in
                for thread in 1...2 {
                    group.addTask { for number in 1...50 { defaults.launchCount = thread * 100 + number } }
                }
            }
            defaults.launchCount = -1
            await observer.value
        }
    }

    @Test("A program with more keys than `KeyTable` can hold still gets changes of the first key")
    func manyKeys() async throws {
        let defaults = DefaultsAdapter.inMemory(keyStore: ClientKeys())
        let changes = ChangeCount()
        let values = Task.detached {
            for await value in Observations({ defaults.launchCount }) where value == 1 { return }
        }
        let setting = Setting(\.launchCount, in: defaults)
        changes.track { _ = setting.value }
        for number in 0...KeyTable.capacity { _ = defaults[key: DefaultsKey<Int>("name \(number)", defaultValue: 0)] }
        // A full table removes its keys and announces a change of each key, so that observers read and track them
        // again.
        try eventually { changes.value == 1 }
        changes.track { _ = setting.value }
        defaults.launchCount = 1
        #expect(changes.value == 2)
        await values.value
    }
}
