import SettingsModel
import TestSupport
import Testing

@testable import SettingsClient

/// Settings on the command line of a program. `-key value` and `-key=value` give text, and `--set key=JSON` gives JSON.
/// A value after `-key` may begin with a hyphen only if it is a number. All arguments after `--` are ignored. Only the
/// last argument for a key counts, even if it is invalid.
@Suite(.ownThread)
struct LaunchArgumentsTests {
    /// The launch arguments of a program, and a key.
    struct Row: Sendable, CustomTestStringConvertible {
        let arguments: [String]
        let key: String
        /// The values that the argument can mean, depending on the type of the key. Empty if there is no argument for
        /// the key, or if the last argument for the key is invalid.
        let candidates: [JSONValue]

        init(_ arguments: String, _ key: String, _ candidates: JSONValue...) {
            self.arguments = arguments.split(separator: " ").map(String.init)
            self.key = key
            self.candidates = candidates
        }

        var testDescription: String { arguments.joined(separator: " ") }
    }

    static let rows = [
        Row("-name joe", "name", "joe"),
        Row("-n 3", "n", "3", 3, 3.0),
        Row("-n 1", "n", "1", true, 1, 1.0),
        Row("-n -3", "n", "-3", -3, -3.0),
        Row("-n=-0.5", "n", "-0.5", -0.5),
        Row("-n=a=b", "n", "a=b"),
        Row("-n=", "n", ""),
        Row("-on YES", "on", "YES", true),
        Row("-on f", "on", "f", false),
        Row("-n nan", "n", "nan"),
        Row("-list [1]", "list", "[1]", [1]),
        Row("--set n=[1,2]", "n", [1, 2]),
        Row("--set n=\"3\"", "n", "3"),
        Row("--set n={", "n"),
        Row("--set n", "n"),
        Row("-n 1 --set n={", "n"),
        Row("--set n={ -n x", "n", "x"),
        Row("--set", "set"),
        Row("-n 1 -n x", "n", "x"),
        Row("-n=x --set n=4", "n", 4),
        Row("-a -n x", "a"),
        Row("-a -n x", "n", "x"),
        Row("-n", "n"),
        Row("-n x -last", "last"),
        Row("x n y", "n"),
        Row("--n x", "n"),
        Row("-- -n x", "n"),
    ]

    @Test("An invalid launch argument is ignored, and the issue names the argument, the key and the rule")
    func invalidValue() throws {
        let fixture = try BackendKind.memory.fixture()
        // In `ClientKeys`, the maximum of `player.volume` is 1, and the secret `token` has at most four characters.
        let arguments = ["-player.volume", "5", "--set", "launchCount=\"x\"", "-token", "secrets"]
        let defaults = fixture.adapter(arguments: arguments)
        #expect(defaults.volume == 0.5 && defaults.launchCount == 0 && defaults.token == nil)
        let issues = fixture.drainIssues()
        #expect(issues.map(\.key) == ["player.volume", "launchCount", "token"])
        let texts = issues.map(\.description)
        #expect(texts.first?.contains("ignored the launch argument -player.volume 5: ") ?? false, "\(texts)")
        #expect(texts.first?.contains("at most 1") ?? false, "\(texts)")
        #expect(texts.dropFirst().first?.contains("--set launchCount=\"x\"") ?? false, "\(texts)")
        #expect(!texts.joined().contains("secrets"), "no message repeats a secret")
    }

    @Test(
        "An argument --set without valid JSON is ignored, and the issue names the argument, the key and the rule",
        arguments: ["launchCount={", "launchCount"])
    func invalidJSON(_ assignment: String) throws {
        let fixture = try BackendKind.memory.fixture()
        let defaults = fixture.adapter(arguments: ["--set", assignment, "--set", "token=secrets"])
        #expect(defaults.launchCount == 0 && defaults.token == nil)
        let issues = fixture.drainIssues()
        #expect(issues.map(\.key) == ["launchCount", "token"])
        let texts = issues.map(\.description)
        let expected = "ignored the launch argument --set \(assignment): launchCount: must be JSON"
        #expect(texts.first?.contains(expected) ?? false, "\(texts)")
        #expect(!texts.joined().contains("secrets"), "no message repeats a secret")
    }

    @Test("A launch argument has a candidate value for each type that its text can express", arguments: rows)
    func candidates(_ row: Row) {
        #expect(LaunchArguments(row.arguments).candidates(for: row.key) == row.candidates)
    }
}
