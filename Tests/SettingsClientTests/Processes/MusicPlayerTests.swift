import SettingsClient
import SettingsHTTP
import TestSupport
import Testing

/// The program in Examples/MusicPlayer, run with a daemon, as a reader of the example would run it.
@Suite(.ownThread)
struct MusicPlayerTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func daemon() throws -> DaemonProcess {
        try DaemonProcess(data: directory.path + "/data")
    }

    private func run(_ arguments: String..., port: UInt16) throws -> ChildProcess.End {
        try run(arguments, url: "http://127.0.0.1:\(port)")
    }

    private func run(_ arguments: [String], url: String) throws -> ChildProcess.End {
        let environment = ["HOME=\(directory.path)", "SETTINGS_URL=\(url)"]
        return try ChildProcess(
            arguments, environment: environment, of: ChildProcess.built("music-player")
        ).end(seconds: 120)
    }

    private static let reportedIssue =
        "settings: cannot write player.volume of suite music-player: player.volume: must be at most 1.0 (got 11.0)\n"

    @Test("The example prints its settings, and a second run prints the stored settings after a kill of the daemon")
    func runs() throws {
        let first = try daemon()
        #expect(
            try run(port: first.port)
                == ChildProcess.End(
                    code: 0,
                    output: """
                        The daemon has a new schema.
                        Hello! Whoever you are, you are Ella from here on.
                        It is dark in here.
                        volume: 0.75
                        volume: 0.5
                        played: So What (live), Blue in Green
                        songs so far: 2
                        issue: player.volume: must be at most 1.0 (got 11.0)
                        error: player.volume: must be at most 1.0 (got 12.0)
                        The volume is 0.5.

                        """, errors: Self.reportedIssue))
        try first.killAtOnce()

        let second = try daemon()
        #expect(
            try run(port: second.port)
                == ChildProcess.End(
                    code: 0,
                    output: """
                        The daemon knows the schema.
                        Welcome back, Ella, for time 2.
                        It is light in here.
                        volume: 0.75
                        volume: 0.5
                        played: So What (live), Blue in Green
                        songs so far: 4
                        issue: player.volume: must be at most 1.0 (got 11.0)
                        error: player.volume: must be at most 1.0 (got 12.0)
                        The volume is 0.5.

                        """, errors: Self.reportedIssue))
        // A launch argument sets the value of a key for one run, and is not stored.
        let third = try run("-listener", "Miles", port: second.port)
        #expect(third.code == 0 && third.output.contains("Welcome back, Miles, for time 3."))
        let client = try DaemonClient("http://127.0.0.1:\(second.port)").blocking
        let suite = try SuiteName("music-player")
        #expect(try client.send(.setting(KeyName("listener"), in: suite)).value == "Ella")
        #expect(try client.send(.setting(KeyName("player.songsPlayed"), in: suite)).value == 6)
        try second.stop()
    }

    @Test("The example without a daemon prints that the settings cannot be used, and ends with exit code 0")
    func withoutDaemon() throws {
        let end = try run([], url: "unix:\(directory.path)/nobody")
        #expect(end.code == 0 && end.output.hasPrefix("The settings cannot be used: "), "\(end.output)")
    }
}
