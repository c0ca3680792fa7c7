import ClientTestSupport
import Foundation
import SettingsClient
import SettingsClientCompatibility
import SettingsClientTesting
import TestSupport
import Testing

// A global of this file, which shadows the global `Defaults` of SettingsClient.
// swift-format-ignore: AlwaysUseLowerCamelCase
private let Defaults = DefaultsAdapter.inMemory(keyStore: DefaultsKeys(), log: DefaultsLog { _, _, _ in })

/// `NamespaceSettingsTests.swift` declares `Settings`, an enumeration without cases that contains namespaces.
extension Settings {
    fileprivate enum Profile: AdapterNamespace {
        enum Key: String { case isUserLoggedIn, name }
        static var defaults: DefaultsAdapter<DefaultsKeys> { Defaults }
    }
}

private struct Appearance {
    @Setting(\.theme, in: Defaults) var theme
    @Setting(\.theme, in: Defaults, options: .cached) var cached
    @Setting(\.theme, in: Defaults, options: .observed) var observed
    @SwiftyUserDefault(keyPath: \.theme, in: Defaults, options: [.cached, .observed]) var both
}

/// Every form of access to settings, as a reader of the documentation would type it. Other tests cover the edge cases.
@Suite(.ownThread, .serialized)
struct SpellingTests {
    init() {
        Defaults.removeAll()
    }

    @Test("Adapters are created for a suite of a daemon and in memory, and two adapters in memory share no setting")
    func adapters() throws {
        let ofSuite = DefaultsAdapter(suite: "com.my.app", keyStore: DefaultsKeys(), writes: .confirmed)
        let named = DefaultsAdapter(suite: try SuiteName("com.my.app"), keyStore: TypeKeys(), writes: .confirmed)
        let inMemory = DefaultsAdapter.inMemory(keyStore: DefaultsKeys())
        inMemory.launchCount += 1
        #expect(type(of: ofSuite) == type(of: inMemory) && type(of: named) == DefaultsAdapter<TypeKeys>.self)
        #expect(inMemory.launchCount == 1 && Defaults.launchCount == 0)
    }

    @Test("Settings are accessed by key path, as a member and by key")
    func access() {
        let undeclaredKey = DefaultsKey<String?>("color")
        Defaults[\.launchCount] += 1
        Defaults.launchCount += 1
        Defaults[key: undeclaredKey] = "red"
        Defaults[key: undeclaredKey]? += "dish"
        Defaults[\.libraries].append("x")
        Defaults[\.libraries][0] += " 2.0"
        Defaults.libraries[0].append("!")
        Defaults[\.username] = "me"
        #expect(Defaults[\.launchCount] == 2 && Defaults.launchCount == 2 && Defaults[key: undeclaredKey] == "reddish")
        #expect(Defaults.libraries == ["x 2.0!"] && Defaults.username == "me")
        swap(&Defaults[\.launchCount], &Defaults.loginTries)
        changeInPlace(&Defaults.launchCount) { $0 *= 10 }
        #expect(Defaults.launchCount == 10 && Defaults.loginTries == 2)
    }

    @Test("Keys can be optional or not, with or without a default")
    func optionals() {
        #expect(Defaults.username == nil && Defaults.nickname == "anonymous")
        Defaults[\.username] = "me"
        Defaults[\.nickname] = "joe"
        #expect(Defaults.username == "me" && Defaults.nickname == "joe")
        Defaults[\.username] = nil
        Defaults.nickname = nil
        #expect(Defaults.username == nil && Defaults.nickname == "anonymous" && !Defaults.isSet(\.nickname))
    }

    @Test("A value of each type reads back equal")
    func types() {
        let types = DefaultsAdapter.inMemory(keyStore: TypeKeys())
        func check<each Value: DefaultsSerializable & Equatable>(_ keys: repeat DefaultsKey<each Value>) {
            for key in repeat each keys {
                types[key: key] = key.defaultValue
                #expect(types.isSet(key: key) && types[key: key] == key.defaultValue, "\(key.name)")
            }
        }
        let keys = TypeKeys()
        check(keys.string, keys.int, keys.double, keys.bool, keys.data, keys.date, keys.url, keys.json)
        check(keys.float, keys.int8, keys.int16, keys.int32, keys.int64)
        check(keys.uint, keys.uint8, keys.uint16, keys.uint32, keys.uint64)
        check(keys.uuid, keys.decimal, keys.permissions, keys.set, keys.range, keys.closedRange)
        check(keys.levels, keys.infinite, keys.nested, keys.optionals)
        #expect(types["set"].array == ["a", "b"] && types["infinite"].string == "-Infinity")
    }

    @Test("Types of the program are stored as raw values, Codable values, archives or by bridges")
    func ownTypes() {
        Defaults.theme = .dark
        Defaults.level = .high
        Defaults.account = Account(name: "me")
        Defaults.account?.ports.append(80)
        Defaults.bookmark = Bookmark("a", page: 3)
        Defaults.color = Color(red: 1, green: 2, blue: 3)
        Defaults.colors["a", default: []].append(Color(red: 0, green: 0, blue: 0))
        Defaults.colors["a"]?.append(nil)
        #expect(Defaults["theme"].string == "dark" && Defaults["level"].int == 9)
        #expect(Defaults["account"].dictionary == ["name": "me", "ports": [80]])
        #expect(Defaults.bookmark == Bookmark("a", page: 3) && Defaults["bookmark"].data != nil)
        #expect(Defaults["color"].string == "1 2 3" && Defaults["colors"].value == ["a": ["0 0 0", .null]])
    }

    @Test("A setting can be tested and removed, and all settings can be removed together")
    func presence() {
        #expect(!Defaults.hasKey(\.theme) && !Defaults.isSet(\.theme))
        Defaults.theme = .light
        #expect(Defaults.hasKey(\.theme) && Defaults.isSet(\.theme))
        Defaults.remove(\.theme)
        Defaults.remove(\.theme)
        #expect(!Defaults.hasKey(\.theme))
        Defaults.launchCount = 1
        Defaults.removeAll()
        #expect(!Defaults.isSet(\.launchCount))
    }

    @Test("Arithmetic in place, ?= and ++ change a setting")
    func operators() async throws {
        Defaults[\.ratio] += 10
        Defaults.launchCount += 10
        Defaults[\.launchCount]++
        Defaults.launchCount++
        Defaults[\.username] ?= "first"
        Defaults.username ?= "second"
        #expect(Defaults.ratio == 13.14 && Defaults.launchCount == 12 && Defaults.username == "first")
        func count() throws -> Int { 5 }
        func name() async -> String { "async" }
        try Defaults.loginTries ?= try count()
        try await Defaults.setIfAbsent(\.nickname) { await name() }
        #expect(Defaults.loginTries == 5 && Defaults.nickname == "async")
    }

    @Test("Registered defaults apply until a value is stored, and launch arguments set values")
    func layers() {
        let registering = DefaultsAdapter.inMemory(keyStore: DefaultsKeys())
        registering.register(defaults: ["loginTries": 3, "libraries": ["a"]])
        registering.libraries.append("b")
        #expect(registering.loginTries == 3 && registering.libraries == ["a", "b"])
        let line = "-skipLogin true -loginTries 3 -lastGameTime 61.3 -nickname joe -player.volume=0.25"
        let launched = DefaultsAdapter.inMemory(
            keyStore: DefaultsKeys(),
            arguments: line.split(separator: " ").map(String.init) + ["--set", #"libraries=["x"]"#])
        #expect(launched.skipLogin && launched.loginTries == 3 && launched.lastGameTime == 61.3)
        #expect(launched.nickname == "joe" && launched.volume == 0.25 && launched.libraries == ["x"])
    }

    @Test("Settings can be accessed without declared keys")
    func untyped() {
        Defaults["color"] = "red"
        Defaults["list"] = ["a", 1, true]
        Defaults["map"] = ["a": ["b"]]
        Defaults["number"] = 3.14
        Defaults["moment"] = Date(timeIntervalSinceReferenceDate: 1)
        Defaults["directory"] = URL(fileURLWithPath: "/tmp")
        Defaults["bytes"] = Data([1])
        #expect(Defaults["color"].string == "red" && Defaults["number"].int == 3 && Defaults["number"].double == 3.14)
        #expect(Defaults["number"].bool == true && Defaults["list"].array == ["a", 1, true])
        #expect(Defaults["map"].dictionary == ["a": ["b"]] && Defaults["bytes"].data == Data([1]))
        #expect(Defaults["moment"].date == Date(timeIntervalSinceReferenceDate: 1))
        #expect(Defaults["directory"].url == URL(fileURLWithPath: "/tmp") && Defaults["color"].value == "red")
        Defaults["color"] = nil
        #expect(Defaults["color"].string == nil && Defaults["color"].stringValue == "")
        #expect(Defaults["none"].intValue == 0 && Defaults["none"].doubleValue == 0 && !Defaults["none"].boolValue)
        #expect(Defaults["none"].arrayValue == [] && Defaults["none"].dictionaryValue == [:])
        #expect(Defaults["none"].dataValue == Data())
        Defaults["count"] += 4
        Defaults["count"]++
        Defaults["count"] ?= 9
        #expect(Defaults["count"].int == 5)
    }

    @Test("Nested stores and namespaces group settings")
    func namespaces() {
        Defaults.player.volume = 0.75
        Defaults.player.equalizer.bass += 1
        Defaults[\.player.equalizer.bass] += 1
        #expect(Defaults.player.equalizer.bass == 2 && Defaults["player.equalizer.bass"].int == 2)
        Settings.Profile.set(true, forKey: .isUserLoggedIn)
        #expect(Settings.Profile.bool(forKey: .isUserLoggedIn) && Defaults["Profile.isUserLoggedIn"].bool == true)
        #expect(Settings.Profile.string(forKey: .name) == nil)
    }

    @Test("Settings are observed by a handler and in a loop")
    func observing() async {
        let log = EventLog()
        // A summary is `old→new`, or the value of an initial update.
        let token = Defaults.observe(\.launchCount, options: [.initial, .old, .new]) { update in log.add(update.summary)
        }
        let byKey: DefaultsDisposable = Defaults.observe(key: DefaultsKey<Int>("launchCount", defaultValue: 7)) { _ in }
        let updates = Defaults.updates(of: \.launchCount)
        let ofBoth = Defaults.updates(of: \.launchCount, \.theme)
        Defaults.launchCount += 1
        Defaults.remove(\.launchCount)
        Defaults.theme = .dark
        for await update in updates {
            #expect(update.oldValue == 0 && update.newValue == 1)
            break
        }
        for await update in ofBoth {
            if let theme = update[\.theme] {
                #expect(theme.newValue == .dark)
                break
            }
        }
        #expect(await log.waits(for: "1→0"))
        token.dispose()
        byKey.dispose()
        Defaults.launchCount = 5
        #expect(log.all == ["0", "0→1", "1→0"])
    }

    @Test("Settings can be used as properties and as constants")
    func properties() {
        final class Model: Sendable {
            let theme = Setting(\.theme, in: Defaults)
        }
        let appearance = Appearance()
        appearance.theme = .dark
        #expect(appearance.theme == .dark && appearance.cached == .dark)
        Model().theme.value = .light
        #expect(appearance.observed == .light && appearance.both == .light && appearance.cached == .dark)
    }

    @Test("Keys can declare limits")
    func limits() async {
        Defaults.age = 150
        Defaults.tries = 0
        Defaults.scale = 2.5
        Defaults.month = 13
        Defaults.code = "1234"
        Defaults.word = "A"
        Defaults.port = 8080
        #expect(Defaults.age == nil && Defaults.tries == 1 && Defaults.scale == 1 && Defaults.month == nil)
        #expect(Defaults.code == nil && Defaults.word == "a" && Defaults.port == 80)
        await #expect(throws: DefaultsError.self) { try await Defaults.set(\.port, 8080) }
    }

    @Test("Settings have async methods that throw errors")
    func asynchronous() async throws {
        try await Defaults.set(\.launchCount, 1)
        try await Defaults.update(\.launchCount) { $0 += 1 }
        try await Defaults.transaction { t in
            t[\.launchCount] += 1
            t.player.volume += 0.25
        }
        try await Defaults.synchronize()
        #expect(try await Defaults.value(\.launchCount) == 3)
        let closed = DefaultsAdapter.inMemory(
            keyStore: DefaultsKeys(), schema: try Schema(of: DefaultsKeys.self) { \.launchCount })
        do {
            try await closed.set(\.username, "me")
            Issue.record("a key that the schema does not list was stored")
        } catch {
            #expect(error.code == .unknownKey)
        }
    }
}
