import SettingsClient
import SettingsClientCompatibility
import SettingsClientTesting
import TestSupport
import Testing

@Suite(.ownThread)
struct AccessTests {
    private let username = DefaultsKey<String?>("username")
    private let count = DefaultsKey<Int>("launchCount", defaultValue: 0)
    private let libraries = DefaultsKey<[String]>("libraries", defaultValue: [])

    @Test("By key path, by key and as a member it is one setting", arguments: Place.allCasesWithTCP)
    func threeWays(_ place: Place) throws {
        let world = try place.world()
        let defaults = world.adapter()
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
        #expect(world.takeIssues() == [])
    }

    @Test("What is inside a value is changed in its place, in all three ways", arguments: Place.allCases)
    func nested(_ place: Place) throws {
        let world = try place.world()
        let defaults = world.adapter()
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
        #expect(world.takeIssues() == [])
    }

    @Test("An optional chain changes what is there, and nothing where there is nothing", arguments: Place.allCases)
    func optionalChaining(_ place: Place) throws {
        let world = try place.world()
        let defaults = world.adapter()
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
        #expect(world.takeIssues() == [])
    }

    @Test("Two settings are swapped, one is passed as inout", arguments: Place.allCases)
    func swapping(_ place: Place) throws {
        let world = try place.world()
        let defaults = world.adapter()
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
        #expect(world.takeIssues() == [])
    }

    struct Failure: Error {}

    @Test("A change that throws or changes nothing sends nothing", arguments: Place.allCases)
    func throwing(_ place: Place) throws {
        let defaults = try place.world().adapter()
        #expect(throws: Failure.self) {
            try change(&defaults[\.libraries]) {
                $0.append("lost")
                throw Failure()
            }
        }
        #expect(throws: Failure.self) {
            try change(&defaults.launchCount) {
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
        #expect(defaults.isSet(\.launchCount), "an assignment says what is to be stored, whatever is read")
    }

    @Test("An optional is nil or its default while nothing is stored; nil removes", arguments: Place.allCases)
    func optionals(_ place: Place) throws {
        let defaults = try place.world().adapter()
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

    @Test("Arithmetic is that of the key's type, and begins with the default", arguments: Place.allCases)
    func arithmetic(_ place: Place) throws {
        let defaults = try place.world().adapter()
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

    @Test("Stores within stores, of any depth", arguments: Place.allCases)
    func stores(_ place: Place) throws {
        let world = try place.world()
        let defaults = world.adapter()
        defaults.player.volume = 0.75
        #expect(defaults[\.player.volume] == 0.75)
        #expect(defaults[\.volume] == 0.75, "it is the key player.volume")
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
        #expect(world.takeIssues() == [])
    }

    @Test("A key named like a member of the adapter is reached by its path", arguments: Place.allCases)
    func shadowedNames(_ place: Place) throws {
        let defaults = try place.world().adapter()
        defaults[\.value] += 1
        #expect(defaults[\.value] == 8)
    }

    @Test("What an adapter and a scope are made of hides no key")
    func noHiddenKeys() throws {
        struct Inner: DefaultsKeyStore {
            static let prefix = "inner"
            var core: DefaultsKey<Int> { .init(Self["core"], defaultValue: 1) }
            var keeper: DefaultsKey<Int> { .init(Self["keeper"], defaultValue: 2) }
        }
        struct Outer: DefaultsKeyStore {
            var core: DefaultsKey<Int> { .init("core", defaultValue: 3) }
            var keepers: DefaultsKey<Int> { .init("keepers", defaultValue: 4) }
            var inner: Inner { Inner() }
        }
        let defaults = DefaultsAdapter.inMemory(keyStore: Outer())
        defaults.core += 10
        defaults.keepers += 10
        defaults.inner.core += 10
        defaults.inner.keeper += 10
        #expect(defaults.core == 13 && defaults.keepers == 14)
        #expect(defaults.inner.core == 11 && defaults.inner.keeper == 12)
    }

    @Test("What works with a store works with it in an adapter and within another store")
    func anyAccess() throws {
        func turnUp(_ place: some KeyedAccess<PlayerKeys>) -> Double {
            place.volume += 0.25
            place[\.volume] += 0.25
            place.equalizer.bass += 1
            place.equalizer.bands ?= [7]
            return place[key: DefaultsKey("player.volume", defaultValue: 0)]
        }
        let player = DefaultsAdapter.inMemory(keyStore: PlayerKeys())
        #expect(turnUp(player) == 1)
        let defaults = DefaultsAdapter.inMemory(keyStore: ClientKeys())
        #expect(turnUp(defaults.player) == 1)
        #expect(defaults.player.equalizer.bass == 1 && defaults.player.equalizer.bands == [7])
    }

    @Test("A scope works on after its adapter is let go")
    func lastingScope() {
        var defaults: DefaultsAdapter? = .inMemory(keyStore: ClientKeys())
        defaults?.player.volume = 0.75
        let player = defaults?.player
        defaults = nil
        #expect(player?.volume == 0.75)
        player?.volume = 0.25
        #expect(player?.volume == 0.25)
    }

    @Test("The default is that of the key given, also where two keys have one name", arguments: Place.allCases)
    func defaults(_ place: Place) throws {
        let defaults = try place.world().adapter()
        let one = DefaultsKey<Int>("n", defaultValue: 1)
        let two = DefaultsKey<Int>("n", defaultValue: 2)
        #expect(defaults[key: one] == 1)
        #expect(defaults[key: two] == 2)
        defaults[key: two] += 1
        #expect(defaults[key: one] == 3)
        #expect(defaults[key: DefaultsKey<Double>("n", defaultValue: 0)] == 3)
    }

    @Test("Keys of one name are read each by its own rules, however often", arguments: Place.allCases)
    func rules(_ place: Place) throws {
        let world = try place.world()
        let defaults = world.adapter()
        let (all, few) = (DefaultsKey<Int>("n", defaultValue: 1), DefaultsKey<Int>("n", defaultValue: 2, in: 0...9))
        let listed = DefaultsKey<Int>("n", defaultValue: 3, allowed: [3, 4])
        for round in 0..<3 {
            defaults[key: all] = 50 + round
            for _ in 0..<3 {
                #expect(defaults[key: all] == 50 + round)
                #expect(defaults[key: few] == 2)
                #expect(defaults[key: DefaultsKey("n", defaultValue: 5, in: 0...60)] == 50 + round)
                #expect(defaults[key: DefaultsKey("n", defaultValue: 6, in: 0...8)] == 6)
                #expect(defaults[key: listed] == 3)
            }
            defaults[key: all] = 4
            #expect(defaults[key: few] == 4)
            #expect(defaults[key: listed] == 4)
        }
        #expect(world.takeIssues().allSatisfy { $0.key == "n" && $0.attempt == .read })
    }

    @Test("What one adapter stores, another reads", arguments: Place.allCases)
    func shared(_ place: Place) async throws {
        let world = try place.world()
        let (one, two) = (world.adapter(), world.adapter())
        #expect(two[\.theme] == .light)
        one[\.theme] = .dark
        try await two.synchronize()
        #expect(two[\.theme] == .dark)
        two.remove(\.theme)
        try await one.synchronize()
        #expect(one[\.theme] == .light)
    }
}
