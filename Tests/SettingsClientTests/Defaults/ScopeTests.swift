import ClientTestSupport
import SettingsClient
import SettingsClientCompatibility
import SettingsClientTesting
import Synchronization
import TestSupport
import Testing

/// Scopes. A scope, such as `defaults.player`, accesses the keys of a store that is nested in the adapter's store.
@Suite(.ownThread, .timeLimit(.minutes(10)))
struct ScopeTests {
    @Test("A scope reads, changes and observes keys with the members of an adapter", arguments: BackendKind.allCases)
    func members(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        let player = defaults.player
        let undeclared = DefaultsKey<Double>("player.volume", defaultValue: 0.5)
        let log = EventLog()
        let observations = [
            player.observe(\.volume) { log.add("\($0.oldValue as Any) \($0.newValue)") },
            player.observe(key: undeclared) { log.add("undeclared \($0.newValue)") },
            player.observe(\.volume, \.queue) { log.add("both \($0.key)") },
        ]
        var updates = player.updates(of: \.volume).makeAsyncIterator()
        #expect(!player.hasKey(\.volume) && !player.isSet(\.volume) && !player.hasKey(key: undeclared))
        try await player.set(\.volume, 0.75)
        #expect(player.hasKey(\.volume) && player.isSet(key: undeclared))
        #expect(try await player.value(\.volume) == 0.75)
        #expect(try await player.value(key: undeclared) == 0.75)
        #expect(await updates.next()?.newValue == 0.75)
        try await player.update(\.volume) { $0 += 0.125 }
        #expect(player.volume == 0.875 && defaults[key: undeclared] == 0.875)
        #expect(try await !player.setIfAbsent(\.volume) { 0 })
        player.remove(\.volume)
        #expect(try await player.setIfAbsent(key: undeclared) { 0.25 })
        #expect(player[\.volume] == 0.25 && player.equalizer[\.bass] == 0)
        player.remove(key: undeclared)
        #expect(!player.isSet(\.volume))
        #expect(await log.waits(for: "Optional(0.25) 0.5"))
        #expect(await log.waits(for: "undeclared 0.5"))
        #expect(await log.waits(for: "both player.volume"))
        withExtendedLifetime(observations) {}
        #expect(fixture.drainIssues() == [])
    }

    /// Keys whose names depend on the instance of the store.
    struct UserKeys: DefaultsKeyStore {
        var user = "nobody"
        var evaluations = EventLog()
        init() {}
        init(user: String) { self.user = user }
        var color: DefaultsKey<String> {
            evaluations.add("color of \(user)")
            return .init("\(user).color", defaultValue: "red")
        }
        var desk: DeskKeys {
            evaluations.add("desk of \(user)")
            return DeskKeys(owner: user)
        }
        var guest: DeskKeys { DeskKeys(owner: "guest") }
    }

    struct DeskKeys: DefaultsKeyStore {
        static let prefix = "desk"
        var owner = "nobody"
        init() {}
        init(owner: String) { self.owner = owner }
        var height: DefaultsKey<Int> { .init("desk.\(owner).height", defaultValue: 70) }
    }

    @Test("All forms of access use the keys of the key store instance with which the adapter was created")
    func instance() async throws {
        let defaults = DefaultsAdapter.inMemory(keyStore: UserKeys(user: "joe"))
        var both = defaults.updates(of: \.color, \.desk.height).makeAsyncIterator()
        defaults.color = "blue"
        defaults[\.desk.height] = 71
        #expect(defaults["joe.color"].string == "blue" && defaults["desk.joe.height"].int == 71)
        #expect(await both.next()?[\.color]?.newValue == "blue")
        #expect(await both.next()?[\.desk.height]?.newValue == 71)
        defaults.desk.height += 1
        defaults.guest.height = 90
        #expect(defaults["desk.joe.height"].int == 72 && defaults["desk.guest.height"].int == 90)
        try await defaults.desk.set(\.height, 73)
        try await defaults.transaction {
            $0.color += "!"
            $0.desk.height += 1
            $0.guest.height += 1
        }
        #expect(defaults.color == "blue!" && defaults.desk.height == 74 && defaults.guest.height == 91)
        let height = Setting(\.height, in: defaults.guest)
        #expect(height.value == 91 && defaults.hasKey(\.color) && !defaults.hasKey("nobody.color"))
        #expect(
            try await defaults.publishSchema {
                \.color; \.desk.height; \.guest.height
            })
        #expect(defaults.color == "blue!")
    }

    @Test("An adapter evaluates each computed key and each nested store once per key path")
    func evaluations() {
        let keys = UserKeys(user: "joe")
        for _ in 1...2 {
            let defaults = DefaultsAdapter.inMemory(keyStore: keys)
            for _ in 1...100 { _ = (defaults.color, defaults[\.color], defaults.desk.height) }
        }
        // Once for each of the two adapters: `defaults.color` and `defaults[\.color]` have the same key path.
        #expect(keys.evaluations.all.filter { $0 == "color of joe" }.count == 2)
        #expect(keys.evaluations.all.filter { $0 == "desk of joe" }.count == 2)
    }

    /// A store without a prefix of its own.
    struct WithoutPrefix: DefaultsKeyStore {
        let size = DefaultsKey<Int>(Self["size"], defaultValue: 1)
    }

    /// A store with the same prefix as the store that contains it.
    struct WithOuterPrefix: DefaultsKeyStore {
        static let prefix = "outer"
        let size = DefaultsKey<Int>(Self["size"], defaultValue: 1)
    }

    struct Outer: DefaultsKeyStore {
        static let prefix = "outer"
        var withoutPrefix: WithoutPrefix { WithoutPrefix() }
        var withOuterPrefix: WithOuterPrefix { WithOuterPrefix() }
        var middle: Middle { Middle() }
    }

    struct Middle: DefaultsKeyStore {
        static let prefix = "outer.middle"
        var partial: Partial { Partial() }
    }

    /// A store whose prefix does not begin with the prefix of the store that contains it.
    struct Partial: DefaultsKeyStore {
        static let prefix = "partial"
        let size = DefaultsKey<Int>(Self["size"], defaultValue: 1)
    }

    struct StoringWithoutPrefix: DefaultsKeyStore { let withoutPrefix = WithoutPrefix() }

    struct StoringWithOuterPrefix: DefaultsKeyStore {
        static let prefix = "outer"
        let withOuterPrefix = WithOuterPrefix()
    }

    @Test
    func `A stored nested store without its own prefix ends a debug program when the adapter is created`() async {
        await #expect(processExitsWith: .failure) { _ = DefaultsAdapter.inMemory(keyStore: StoringWithoutPrefix()) }
        await #expect(processExitsWith: .failure) { _ = DefaultsAdapter.inMemory(keyStore: StoringWithOuterPrefix()) }
    }

    @Test
    func `A computed nested store without its own prefix ends a debug program at its first use`() async {
        await #expect(processExitsWith: .failure) {
            _ = DefaultsAdapter.inMemory(keyStore: Outer()).withoutPrefix.size
        }
        await #expect(processExitsWith: .failure) {
            _ = DefaultsAdapter.inMemory(keyStore: Outer()).withOuterPrefix.size
        }
    }

    @Test
    func `A schema is not published if the prefix of a nested store does not extend the outer prefix`() async throws {
        let defaults = DefaultsAdapter.inMemory(keyStore: Outer())
        let withoutPrefix = try await #require(throws: DefaultsError.self) {
            try await defaults.publishSchema { \.withoutPrefix.size }
        }
        #expect(
            "\(withoutPrefix)".contains("size is the key of a store nested in Outer, but its name lacks the prefix"))
        let withOuterPrefix = try await #require(throws: DefaultsError.self) {
            try await defaults.publishSchema { \.withOuterPrefix.size }
        }
        #expect("\(withOuterPrefix)".contains("outer.size is the key of a store nested in Outer"))
        let partial = try await #require(throws: DefaultsError.self) {
            try await defaults.publishSchema { \.middle.partial.size }
        }
        #expect("\(partial)".contains("partial.size is the key of a store nested 2 levels deep in Outer"))
    }
}
