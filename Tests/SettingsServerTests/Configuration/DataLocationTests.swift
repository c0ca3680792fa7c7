import SettingsServer
import SettingsWeb
import TestSupport
import Testing

@Suite(.ownThread)
struct DataLocationTests {
    private func location(
        _ configured: String? = nil, isRoot: Bool = false, _ environment: [String: String] = [:],
        home: String? = nil
    ) throws -> DataLocation {
        try DataLocation(
            configured: configured, isRoot: isRoot, environment: { environment[$0] }, home: { home })
    }

    @Test
    func `A configured data directory has precedence`() throws {
        let location = try location("data", isRoot: true, ["STATE_DIRECTORY": "/s"])
        #expect(location.path == "data")
        #expect(location.reason == "as configured")
    }

    @Test(arguments: [
        (["STATE_DIRECTORY": "/var/lib/a"], true, "/var/lib/a", "from $STATE_DIRECTORY"),
        (["STATE_DIRECTORY": "/var/lib/a:/var/lib/b"], false, "/var/lib/a", "from $STATE_DIRECTORY"),
        (["STATE_DIRECTORY": ":"], true, "/var/lib/settingsd", "the default for root"),
        (["XDG_STATE_HOME": "/x", "HOME": "/h"], true, "/var/lib/settingsd", "the default for root"),
        (["XDG_STATE_HOME": "/x", "HOME": "/h"], false, "/x/settingsd", "from $XDG_STATE_HOME"),
        (
            ["XDG_STATE_HOME": "relative", "HOME": "/h/"], false, "/h/.local/state/settingsd",
            "the default for users other than root"
        ),
        (["HOME": "/h"], false, "/h/.local/state/settingsd", "the default for users other than root"),
        ([:], false, "/home/of/record/.local/state/settingsd", "the default for users other than root"),
    ])
    func `Without a configured directory, the environment and the user determine the directory`(
        environment: [String: String], isRoot: Bool, path: String, reason: String
    ) throws {
        // The home directory in the user database is used if the environment has no variable HOME.
        let location = try location(nil, isRoot: isRoot, environment, home: "/home/of/record")
        #expect(location.path == path)
        #expect(location.reason == reason)
    }

    @Test
    func `Without a home directory, the choice of a data directory fails`() {
        let error = #expect(throws: ConfigurationError.self) { try location() }
        #expect(
            error?.description
                == "cannot choose a data directory: the user has no home directory: set the data directory with --data"
        )
    }
}
