import SettingsClient

/// A program with settings. Start the daemon, then run the program twice:
///
///     swift run music-player
///
/// The second run prints values that the first run has stored. The argument `-listener Miles` overrides a setting for
/// one run. `curl http://127.0.0.1:7070/v1/suites/music-player` prints the values of all settings, also the defaults of
/// the schema. `Defaults` is an object of SettingsClient for the settings of the suite with the name of the program.
@main
enum MusicPlayer {
    static func main() async {
        do {
            try await publish()
            try await greet()
            await turnTheVolume()
            try await playTheQueue()
            await turnItTooLoud()
        } catch {
            print("The settings cannot be used: \(error)")
        }
    }

    /// Publishes the schema of the keys. From then on, the daemon refuses values that the schema does not allow, from
    /// any program and also from `curl`.
    static func publish() async throws {
        let isNewSchema = try await Defaults.publishSchema {
            \.listener
            \.launchCount
            \.theme
            \.queue
            \.player.volume
            \.player.songsPlayed
        }
        print(isNewSchema ? "The daemon has a new schema." : "The daemon knows the schema.")
    }

    /// Reads and writes settings like properties (`Defaults.launchCount`), or with a key path
    /// (`Defaults[\.launchCount]`).
    static func greet() async throws {
        Defaults.launchCount += 1
        if let listener = Defaults.listener {
            print("Welcome back, \(listener), for time \(Defaults[\.launchCount]).")
        } else {
            print("Hello! Whoever you are, you are Ella from here on.")
        }
        // Stores the name only if no name is stored.
        try await Defaults.setIfAbsent(\.listener) { "Ella" }
        Defaults.theme = Defaults.theme == .light ? .dark : .light
        print("It is \(Defaults.theme) in here.")
    }

    /// Receives each change of a setting, by this program or by another program.
    static func turnTheVolume() async {
        let changes = Defaults.updates(of: \.player.volume)
        Defaults.player.volume = 0.75
        Defaults.player.volume -= 0.25
        for await change in changes {
            print("volume: \(change.newValue)")
            // Another program may also change the volume, so the loop ends when it has received the current value.
            if change.newValue == Defaults.player.volume { break }
        }
    }

    /// Changes several settings together or not at all. If another program changes one of these settings before the
    /// transaction is stored, the body runs again.
    static func playTheQueue() async throws {
        Defaults.queue.append(Song(title: "So What", minutes: 9.4))
        Defaults.queue.append(Song(title: "Blue in Green", minutes: 5.6))
        Defaults[\.queue][0].title += " (live)"
        let played = try await Defaults.transaction { settings in
            let songs = settings.queue
            settings.player.songsPlayed += songs.count
            settings.queue = []
            return songs
        }
        print("played: \(played.map(\.title).joined(separator: ", "))")
        print("songs so far: \(Defaults.player.songsPlayed)")
    }

    /// A setter cannot throw. It restores the old value if it cannot store the new value, and reports an issue to
    /// `Defaults.issues` and to the log on standard error. The async method `set` throws the error. `PlayerKeys` allows
    /// volumes from 0 to 1.
    static func turnItTooLoud() async {
        var issues = Defaults.issues.makeAsyncIterator()
        Defaults.player.volume = 11
        if let issue = await issues.next() { print("issue: \(issue.error)") }
        do {
            try await Defaults.set(\.player.volume, 12)
        } catch {
            print("error: \(error)")
        }
        print("The volume is \(Defaults.player.volume).")
    }
}
