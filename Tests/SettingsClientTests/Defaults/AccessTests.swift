import SettingsClient
import SettingsClientCompatibility
import SettingsClientTesting
import TestSupport
import Testing

/// Reads, writes and changes in place. The expected values start from the defaults in `ClientKeys`. `?=` stores a value
/// only if no value is stored.
@Suite(.ownThread)
struct AccessTests {
    private let username = DefaultsKey<String?>("username")
    private let count = DefaultsKey<Int>("launchCount", defaultValue: 0)
    private let libraries = DefaultsKey<[String]>("libraries", defaultValue: [])

    @Test("Access by key path, by key and as a member reaches the same setting", arguments: BackendKind.allCasesWithTCP)
    func threeWays(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        #expect(defaults[\.launchCount] == 0)
        defaults[\.launchCount] += 1
        defaults.launchCount += 1
        defaults[key: count] += 1
        #expect(defaults[\.launchCount] == 3)
        #expect(defaults.launchCount == 3)
        #expect(defaults[key: count] == 3)
        defaults[\.launchCount] = 7
        #expect(defaults.launchCount == 7)
        defaults.launchCount = 8
        #expect(defaults[key: count] == 8)
        defaults[key: count] = 9
        #expect(defaults[\.launchCount] == 9)
        #expect(fixture.drainIssues() == [])
    }

    @Test(
        "A change of an element or a member of a value is stored, in all three forms of access",
        arguments: BackendKind.allCases)
    func nested(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        defaults[\.libraries].append("x")
        defaults[\.libraries][0] += " 2.0"
        defaults.libraries.append("b")
        defaults.libraries[1] += "!"
        defaults[key: libraries].append("a")
        defaults[key: libraries][2] += "?"
        #expect(defaults[\.libraries] == ["x 2.0", "b!", "a?"])
        defaults[\.libraries].sort()
        #expect(defaults.libraries == ["a?", "b!", "x 2.0"])
        defaults.libraries.removeAll { $0.hasPrefix("b") }
        #expect(defaults[\.libraries] == ["a?", "x 2.0"])
        defaults[\.accounts]["me", default: Account(name: "me")].ports.append(80)
        defaults.accounts["me"]?.ports.append(81)
        #expect(defaults.accounts == ["me": Account(name: "me", ports: [80, 81])])
        defaults.permissions.insert(.write)
        defaults[\.permissions].formUnion(.read)
        #expect(defaults.permissions == [.read, .write])
        #expect(fixture.drainIssues() == [])
    }

    @Test(
        "An optional chain changes a stored value and does nothing for a missing value", arguments: BackendKind.allCases
    )
    func optionalChaining(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        defaults[\.account]?.name = "nobody"
        defaults.account?.ports.append(1)
        defaults[\.username]? += "x"
        #expect(defaults[\.account] == nil)
        #expect(!defaults.isSet(\.account))
        #expect(!defaults.isSet(\.username))
        defaults[\.account] = Account(name: "a")
        defaults[\.account]?.name = "b"
        defaults.account?.ports.append(1)
        defaults.account!.ports[0] += 1
        #expect(defaults.account == Account(name: "b", ports: [2]))
        defaults[\.username] = "me"
        defaults[\.username]? += "!"
        defaults[key: username]? += "?"
        #expect(defaults.username == "me!?")
        #expect(fixture.drainIssues() == [])
    }

    @Test("Two settings can be swapped, and a setting can be passed as inout", arguments: BackendKind.allCases)
    func swapping(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        defaults[\.launchCount] = 1
        defaults[\.loginTries] = 2
        swap(&defaults[\.launchCount], &defaults[\.loginTries])
        #expect(defaults.launchCount == 2 && defaults.loginTries == 1)
        swap(&defaults.launchCount, &defaults[key: DefaultsKey<Int>("loginTries", defaultValue: 1)])
        #expect(defaults.launchCount == 1 && defaults.loginTries == 2)
        func double(_ number: inout Int) { number *= 2 }
        double(&defaults[\.loginTries])
        double(&defaults.loginTries)
        double(&defaults[key: DefaultsKey<Int>("loginTries", defaultValue: 1)])
        #expect(defaults.loginTries == 16)
        defaults[\.launchCount] += defaults[\.launchCount] + defaults.loginTries
        #expect(defaults.launchCount == 18)
        #expect(fixture.drainIssues() == [])
    }

    struct Failure: Error {}

    @Test(
        "A change in place that throws or that does not change the value sends no write",
        arguments: BackendKind.allCases)
    func throwing(_ kind: BackendKind) throws {
        let defaults = try kind.fixture().adapter()
        #expect(throws: Failure.self) {
            try changeInPlace(&defaults[\.libraries]) {
                $0.append("lost")
                throw Failure()
            }
        }
        #expect(throws: Failure.self) {
            try changeInPlace(&defaults.launchCount) {
                $0 += 1
                throw Failure()
            }
        }
        defaults[\.libraries].sort()
        defaults.launchCount += 0
        defaults[key: count] += 0
        #expect(defaults.libraries.isEmpty && defaults.launchCount == 0)
        #expect(!defaults.isSet(\.libraries) && !defaults.isSet(\.launchCount))
        defaults[\.launchCount] = 0
        #expect(defaults.isSet(\.launchCount), "an assignment stores the value even if it is the default")
    }

    @Test(
        "An optional without a stored value is nil or its default, and assigning nil removes the value",
        arguments: BackendKind.allCases)
    func optionals(_ kind: BackendKind) throws {
        let defaults = try kind.fixture().adapter()
        #expect(defaults[\.username] == nil)
        #expect(defaults[\.nickname] == "anonymous")
        defaults[\.username] = "radek"
        defaults[\.nickname] = "r"
        #expect(defaults.username == "radek" && defaults.nickname == "r")
        defaults[\.username] = nil
        defaults.nickname = nil
        #expect(defaults[\.username] == nil && defaults[\.nickname] == "anonymous")
        #expect(!defaults.isSet(\.username) && !defaults.isSet(\.nickname))
        defaults[\.username] = nil
        #expect(defaults[\.username] == nil)
    }

    @Test("Arithmetic uses the key's type and starts from the default", arguments: BackendKind.allCases)
    func arithmetic(_ kind: BackendKind) throws {
        let defaults = try kind.fixture().adapter()
        defaults[\.ratio] += 10
        #expect(defaults.ratio == 13.14)
        defaults.ratio *= 2
        #expect(defaults[\.ratio] == 26.28)
        defaults[\.loginTries] -= 3
        #expect(defaults.loginTries == -2)
        defaults.loginTries <<= 2
        #expect(defaults.loginTries == -8)
        defaults.skipLogin.toggle()
        #expect(defaults.skipLogin)
    }

    @Test("Keys of nested stores are read and written at any depth", arguments: BackendKind.allCases)
    func stores(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        defaults.player.volume = 0.75
        #expect(defaults[\.player.volume] == 0.75)
        #expect(defaults[\.volume] == 0.75, "both key paths lead to the key player.volume")
        defaults.player.equalizer.bass -= 3
        defaults.player.equalizer.bands.append(1)
        defaults.player.equalizer.bands[0] += 1
        defaults[\.player.equalizer.bass] += 1
        defaults.player[\.equalizer.bass] += 1
        defaults.player.equalizer[\.bass] *= 2
        #expect(defaults.player.equalizer.bass == -2)
        #expect(defaults.player.equalizer.bands == [2])
        #expect(defaults["player.equalizer.bass"].int == -2)
        defaults.player.equalizer[\.bass]++
        defaults.player.queue ?= ["a"]
        #expect(defaults.player.equalizer.bass == -1 && defaults.player.queue == ["a"])
        #expect(defaults.isSet(\.player.equalizer.bands))
        defaults.remove(\.player.equalizer.bands)
        #expect(defaults.player.equalizer.bands == [])
        #expect(fixture.drainIssues() == [])
    }

    @Test("A key with the name of an adapter member is reached by its key path", arguments: BackendKind.allCases)
    func shadowedNames(_ kind: BackendKind) throws {
        let defaults = try kind.fixture().adapter()
        // An adapter has a method `value`.
        defaults[\.value] += 1
        #expect(defaults[\.value] == 8)
    }

    @Test
    func `Internal members of an adapter and a scope do not hide keys with the same names`() throws {
        struct Inner: DefaultsKeyStore {
            static let prefix = "inner"
            var core: DefaultsKey<Int> { .init(Self["core"], defaultValue: 1) }
            var instance: DefaultsKey<Int> { .init(Self["instance"], defaultValue: 2) }
        }
        struct Outer: DefaultsKeyStore {
            var core: DefaultsKey<Int> { .init("core", defaultValue: 3) }
            var inner: Inner { Inner() }
        }
        let defaults = DefaultsAdapter.inMemory(keyStore: Outer())
        defaults.core += 10
        defaults.inner.core += 10
        defaults.inner.instance += 10
        #expect(defaults.core == 13 && defaults.inner.core == 11 && defaults.inner.instance == 12)
    }

    @Test("A function that takes some KeyedAccess accepts an adapter and the scope of a nested store")
    func genericAccess() throws {
        func raiseVolume(_ access: some KeyedAccess<PlayerKeys>) -> Double {
            access.volume += 0.25
            access[\.volume] += 0.25
            access.equalizer.bass += 1
            access.equalizer.bands ?= [7]
            return access[key: DefaultsKey("player.volume", defaultValue: 0)]
        }
        let player = DefaultsAdapter.inMemory(keyStore: PlayerKeys())
        #expect(raiseVolume(player) == 1)
        let defaults = DefaultsAdapter.inMemory(keyStore: ClientKeys())
        #expect(raiseVolume(defaults.player) == 1)
        #expect(defaults.player.equalizer.bass == 1 && defaults.player.equalizer.bands == [7])
    }

    @Test("The scope of a nested store works after its adapter is released")
    func lastingScope() {
        var defaults: DefaultsAdapter? = .inMemory(keyStore: ClientKeys())
        defaults?.player.volume = 0.75
        let player = defaults?.player
        defaults = nil
        #expect(player?.volume == 0.75)
        player?.volume = 0.25
        #expect(player?.volume == 0.25)
    }

    @Test(
        "Without a stored value, each of two keys with the same name returns its own default",
        arguments: BackendKind.allCases)
    func defaults(_ kind: BackendKind) throws {
        let defaults = try kind.fixture().adapter()
        let one = DefaultsKey<Int>("n", defaultValue: 1)
        let two = DefaultsKey<Int>("n", defaultValue: 2)
        #expect(defaults[key: one] == 1)
        #expect(defaults[key: two] == 2)
        defaults[key: two] += 1
        #expect(defaults[key: one] == 3)
        #expect(defaults[key: DefaultsKey<Double>("n", defaultValue: 0)] == 3)
    }

    @Test("Keys with the same name apply their own limits to every read", arguments: BackendKind.allCases)
    func rules(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        let unlimited = DefaultsKey<Int>("n", defaultValue: 1)
        let limited = DefaultsKey<Int>("n", defaultValue: 2, in: 0...9)
        let enumerated = DefaultsKey<Int>("n", defaultValue: 3, allowed: [3, 4])
        for round in 0..<3 {
            defaults[key: unlimited] = 50 + round
            for _ in 0..<3 {
                #expect(defaults[key: unlimited] == 50 + round)
                #expect(defaults[key: limited] == 2)
                #expect(defaults[key: DefaultsKey("n", defaultValue: 5, in: 0...60)] == 50 + round)
                #expect(defaults[key: DefaultsKey("n", defaultValue: 6, in: 0...8)] == 6)
                #expect(defaults[key: enumerated] == 3)
            }
            defaults[key: unlimited] = 4
            #expect(defaults[key: limited] == 4)
            #expect(defaults[key: enumerated] == 4)
        }
        let issues = fixture.drainIssues()
        #expect(!issues.isEmpty && issues.allSatisfy { $0.key == "n" && $0.attempt == .read })
    }

    @Test("An adapter reads the values that another adapter stores", arguments: BackendKind.allCases)
    func shared(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let (one, two) = (fixture.adapter(), fixture.adapter())
        #expect(two[\.theme] == .light)
        one[\.theme] = .dark
        try await two.synchronize()
        #expect(two[\.theme] == .dark)
        two.remove(\.theme)
        try await one.synchronize()
        #expect(one[\.theme] == .light)
    }
}
