import ClientTestSupport
import Dispatch
import SettingsClient
import SettingsClientCompatibility
import SettingsClientTesting
import TestSupport
import Testing

private let shared = DefaultsAdapter.inMemory(keyStore: ClientKeys())

/// Each form of declaring a setting as a property. `ofProgram` uses the global `Defaults`; the tests read only its
/// name.
private struct Appearance {
    @Setting(\.theme, in: shared) var theme
    @Setting(\.player.volume, in: shared, options: .cached) var volume: Double
    @Setting(\.equalizer.bass, in: shared.player, options: [.cached, .observed]) var bass
    @Setting(key: DefaultsKey<String?>("username"), in: shared) var name
    @SwiftyUserDefault(keyPath: \.launchCount, in: shared, options: [.cached, .observed]) var launchCount
    @SwiftyUserDefault(keyPath: \.ofProgram, in: Defaults) var ofProgram
}

/// `Setting` constants for static properties and for properties of a `Sendable` class, where `@Setting var` does not
/// compile.
private final class Model: Sendable {
    static let theme = Setting(\.theme, in: shared)
    let volume = Setting(\.player.volume, in: shared)
}

private let globalTheme = Setting(\.theme, in: shared)

extension DefaultsKeys {
    fileprivate var ofProgram: DefaultsKey<Int> { .init("ofProgram", defaultValue: 1) }
}

@Suite(.ownThread, .serialized)
struct SettingPropertyTests {
    @Test("Each form of a property accesses the setting of the adapter")
    func forms() {
        shared.removeAll()
        let appearance = Appearance()
        #expect(appearance.theme == .light && appearance.volume == 0.5 && appearance.bass == 0)
        #expect(appearance.name == nil && appearance.launchCount == 0)
        appearance.theme = .dark
        appearance.volume = 1
        appearance.bass -= 2
        appearance.name = "me"
        appearance.launchCount += 1
        #expect(shared.theme == .dark && shared.player.volume == 1 && shared.player.equalizer.bass == -2)
        #expect(shared.username == "me" && shared.launchCount == 1)
        #expect(appearance.volume == 1 && appearance.bass == -2)
        #expect(appearance.$bass.key == "player.equalizer.bass" && appearance.$ofProgram.key == "ofProgram")
    }

    @Test("A constant accesses the same setting as a property")
    func constants() {
        shared.removeAll()
        Model.theme.value = .dark
        Model().volume.value += 0.25
        #expect(globalTheme.value == .dark && shared.player.volume == 0.75)
        globalTheme.remove()
        #expect(Model.theme.value == .light && !globalTheme.isSet)
    }

    @Test(
        "A property returns the newest value, unless cached is its only option",
        arguments: BackendKind.allCases)
    func plain(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let (one, two) = (fixture.adapter(), fixture.adapter())
        @Setting(\.launchCount, in: one) var plain
        @Setting(\.launchCount, in: one, options: .observed) var observed
        @Setting(\.launchCount, in: one, options: [.cached, .observed]) var both
        #expect(plain == 0 && observed == 0 && both == 0)
        for number in 1...20 {
            two.launchCount = number
            try await one.synchronize()
            #expect(plain == number && observed == number && both == number)
        }
        both = 30
        observed += 1
        #expect(plain == 31 && observed == 31 && both == 31)
        #expect($plain.isSet)
        $plain.remove()
        #expect(plain == 0 && both == 0 && !$both.isSet)
        #expect(fixture.drainIssues() == [])
    }

    private struct CachedProperties {
        @Setting var count: Int
        @Setting var name: String?

        init(_ defaults: DefaultsAdapter<ClientKeys>) {
            _count = Setting(\.launchCount, in: defaults, options: .cached)
            _name = Setting(\.username, in: defaults, options: .cached)
        }
    }

    @Test("A cached property reads the setting once, and stores each assigned value", arguments: BackendKind.allCases)
    func cached(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let (one, two) = (fixture.adapter(), fixture.adapter())
        two.launchCount = 1
        let cached = CachedProperties(one)
        let copy = cached.$count
        #expect(cached.count == 1 && cached.name == nil)
        two.launchCount = 2
        two.username = "me"
        try await one.synchronize()
        #expect(one.launchCount == 2 && one.username == "me")
        #expect(cached.count == 1 && copy.value == 1 && cached.name == nil)
        cached.count = 5
        #expect(cached.count == 5 && copy.value == 5 && one.launchCount == 5)
        two.launchCount = 7
        try await one.synchronize()
        #expect(cached.count == 5)
        cached.count += 1
        #expect(cached.count == 8 && one.launchCount == 8, "a change in place starts from the stored value")
        cached.$count.remove()
        #expect(cached.count == 0)
        #expect(fixture.drainIssues() == [])
    }

    @Test("A cached property drops a refused value", arguments: BackendKind.allCases)
    func refused(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        @Setting(\.volume, in: fixture.adapter(), options: .cached) var volume
        volume = 1
        volume = 2
        volume += 1
        #expect(volume == 1)
        #expect(fixture.drainIssues().count == 2)
    }

    private struct Thrown: Error {}

    @Test(
        "After a change that throws, a property stores the partial value, and $property.value does not"
    )
    func throwing() throws {
        let defaults = try BackendKind.memory.fixture().adapter()
        let cached = CachedProperties(defaults)
        func fail(_ count: inout Int) throws {
            count += 5
            throw Thrown()
        }
        #expect(throws: Thrown.self) { try fail(&cached.$count.value) }
        #expect(throws: Thrown.self) { try fail(&defaults.launchCount) }
        #expect(!defaults.isSet(\.launchCount))
        // For `@Setting var`, the compiler generates the accessor, which stores the value even if the body throws. If
        // this expectation fails, a newer compiler does not store the value. Then correct the documentation of
        // `Setting`.
        #expect(throws: Thrown.self) { try fail(&cached.count) }
        #expect(defaults.launchCount == 5)
    }

    @Test("A property can be observed with a handler and in a loop", arguments: BackendKind.allCases)
    func updates(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let (one, two) = (fixture.adapter(), fixture.adapter())
        @Setting(\.theme, in: one, options: .cached) var theme
        let log = EventLog()
        // A summary is `old→new`.
        let observation = $theme.observe { log.add($0.summary) }
        var updates = $theme.updates(options: .initial).makeAsyncIterator()
        two.theme = .dark
        #expect(await updates.next()?.newValue == .light)
        #expect(await updates.next()?.newValue == .dark)
        #expect(await log.waits(for: "light→dark"))
        withExtendedLifetime(observation) {}
    }

    @Test("A property may be used from many threads", arguments: [SettingOptions(), .cached, .observed])
    func threads(_ options: SettingOptions) {
        let defaults = DefaultsAdapter.inMemory(keyStore: ClientKeys())
        let visits = Setting(\.visits, in: defaults, options: options)
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            var last = 0
            for _ in 0..<200 {
                if thread % 2 == 0 {
                    visits.value += 1
                } else {
                    let value = visits.value
                    #expect((last...800).contains(value), "a reader never sees an older value after a newer value")
                    last = value
                }
            }
        }
        // Four of the threads add 200 each. No increment is lost, because `visits` has the merge rule `.sum`.
        #expect(visits.value == 800 && defaults.visits == 800)
    }
}
