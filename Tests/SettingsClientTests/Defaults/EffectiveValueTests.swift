import SettingsClient
import SettingsClientCompatibility
import TestSupport
import Testing

/// The order of precedence of an effective value: the launch argument, the stored value, the registered default, the
/// default of the schema, the default of the key.
@Suite(.ownThread)
struct EffectiveValueTests {
    @Test(
        "isSet is true for a stored value, and hasKey also for a launch argument or a registered default",
        arguments: BackendKind.allCases)
    func presence(_ kind: BackendKind) throws {
        let defaults = try kind.fixture().adapter(arguments: ["-loginTries", "3"])
        #expect(!defaults.hasKey(\.theme) && !defaults.isSet(\.theme))
        defaults[\.theme] = .light
        #expect(defaults.hasKey(\.theme) && defaults.isSet(\.theme))
        #expect(defaults.hasKey("theme") && defaults.isSet("theme"))
        defaults.remove(\.theme)
        #expect(!defaults.hasKey(\.theme) && !defaults.isSet(\.theme))
        #expect(defaults.hasKey(\.loginTries) && !defaults.isSet(\.loginTries))
        defaults.register(defaults: ["launchCount": 5])
        #expect(defaults.hasKey(\.launchCount) && !defaults.isSet(\.launchCount))
        let undeclared = DefaultsKey<Int?>("undeclared")
        #expect(!defaults.hasKey(key: undeclared) && !defaults.isSet(key: undeclared))
        defaults[key: undeclared] = 1
        #expect(defaults.hasKey(key: undeclared) && defaults.isSet(key: undeclared))
        defaults.remove(key: undeclared)
        #expect(!defaults.hasKey(key: undeclared))
    }

    @Test("A default of the schema is read, but the key is not set", arguments: BackendKind.allCases)
    func schemaDefaults(_ kind: BackendKind) throws {
        let schema = try Schema(of: ClientKeys.self) {
            \.loginTries; \.launchCount; \.theme
        }
        let fixture = try kind.fixture(schema: schema)
        let defaults = fixture.adapter()
        #expect(defaults[\.loginTries] == 1)
        #expect(!defaults.isSet(\.loginTries) && !defaults.hasKey(\.loginTries))
        defaults[\.loginTries] = 1
        #expect(defaults.isSet(\.loginTries))
        let other = fixture.adapter()
        #expect(other.isSet(\.loginTries) && !other.isSet(\.launchCount))
        other.launchCount += 1
        #expect(other.isSet(\.launchCount) && other.launchCount == 1)
        other.register(defaults: ["theme": "dark"])
        #expect(other.theme == .dark, "a registered default overrides the default of the schema")
        #expect(fixture.drainIssues() == [])
    }

    @Test("Removing an unset key causes no error, even in a suite that does not exist", arguments: BackendKind.allCases)
    func removal(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        defaults.remove(\.launchCount)
        defaults.removeAll()
        defaults[\.launchCount] = 3
        defaults.remove(\.launchCount)
        defaults.remove(\.launchCount)
        #expect(defaults.launchCount == 0)
        #expect(fixture.drainIssues() == [])
    }

    @Test("removeAll also removes the values that other programs have stored", arguments: BackendKind.allCases)
    func removingAll(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let (one, two) = (fixture.adapter(), fixture.adapter())
        one[\.launchCount] = 3
        #expect(one.username == nil)
        two[\.username] = "me"
        one.removeAll()
        #expect(one.launchCount == 0 && one.username == nil)
        try await two.synchronize()
        #expect(two.launchCount == 0 && two.username == nil)
        #expect(fixture.drainIssues() == [])
    }

    @Test(
        "A registered default is used only without a stored value, and is never stored", arguments: BackendKind.allCases
    )
    func registered(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let (defaults, other) = (fixture.adapter(), fixture.adapter())
        #expect(defaults.launchCount == 0)
        defaults.register(defaults: ["launchCount": 5, "username": "guest", "theme": "dark"])
        #expect(defaults.launchCount == 5 && defaults.username == "guest" && defaults.theme == .dark)
        defaults.register(defaults: ["launchCount": 6])
        #expect(defaults.launchCount == 6 && defaults.username == "guest")
        #expect(other.launchCount == 0)
        defaults.launchCount += 1
        #expect(defaults.launchCount == 7)
        try await other.synchronize()
        #expect(other.launchCount == 7 && other.username == nil)
        defaults.remove(\.launchCount)
        #expect(defaults.launchCount == 6)
        defaults[\.username] = nil
        #expect(defaults.username == "guest")
        #expect(fixture.drainIssues() == [])
    }

    @Test(
        "An invalid registered default is reported, and the default of the key is used",
        arguments: BackendKind.allCases)
    func invalidRegistered(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        // An empty text is not a valid name.
        defaults.register(defaults: ["launchCount": "many", "": 1])
        #expect(defaults.launchCount == 0)
        #expect(defaults.launchCount == 0)
        #expect(fixture.drainIssues().map(\.key) == ["", "launchCount"], "reported once, not at each read")
        defaults.launchCount += 1
        #expect(defaults.launchCount == 1, "the invalid registered default does not prevent writes")
        // A launch argument also overrides a stored value of another type.
        defaults["launchCount"] = "many"
        let withArgument = fixture.adapter(arguments: ["-launchCount", "3"])
        #expect(withArgument.launchCount == 3)
    }

    @Test("A launch argument overrides the stored value", arguments: BackendKind.allCases)
    func arguments(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        // The argument `-username` has no value, so it is ignored.
        let defaults = fixture.adapter(arguments: [
            "-skipLogin", "true", "-loginTries", "3", "-lastGameTime", "61.3", "-nickname", "joe",
            "-player.volume=0.25", "--set", #"libraries=["a","b"]"#, "-theme", "dark", "-username",
        ])
        #expect(defaults.skipLogin && defaults.loginTries == 3 && defaults.lastGameTime == 61.3)
        #expect(defaults.nickname == "joe" && defaults.volume == 0.25 && defaults.libraries == ["a", "b"])
        #expect(defaults.theme == .dark && defaults.username == nil)
        #expect(defaults["skipLogin"].bool == true && defaults["loginTries"].int == 3)
        defaults.loginTries = 9
        #expect(defaults.loginTries == 3, "the launch argument overrides the stored value while the program runs")
        #expect(fixture.adapter().loginTries == 9, "the setter has stored its value")
        #expect(fixture.drainIssues() == [])
    }

    @Test("A launch argument that is invalid for the key is ignored", arguments: BackendKind.allCases)
    func invalidArguments(_ kind: BackendKind) throws {
        let defaults = try kind.fixture().adapter(arguments: [
            "-skipLogin", "perhaps", "-loginTries", "many", "-player.volume", "2", "-theme", "blue",
        ])
        defaults.loginTries = 2
        #expect(!defaults.skipLogin && defaults.loginTries == 2 && defaults.volume == 0.5 && defaults.theme == .light)
        #expect(!defaults.hasKey(\.theme))
    }
}
