import SettingsClient

/// A program with settings, to read from top to bottom. Start the daemon, then run this twice:
///
///     swift run music-player
///
/// What it prints the second time comes from what it stored the first time. Give it `-listener Miles` for a setting that
/// holds for this run only; look at everything with `curl http://127.0.0.1:7070/v1/suites/music-player`.
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

    /// From here on the daemon refuses what these keys do not allow, from whatever program and with `curl` too.
    static func publish() async throws {
        let isNews = try await Defaults.publishSchema {
            \.listener
            \.launchCount
            \.theme
            \.queue
            \.player.volume
            \.player.songsPlayed
        }
        print(isNews ? "The daemon has a new schema." : "The daemon knows the schema.")
    }

    /// Settings are read and written like properties; a key path does the same.
    static func greet() async throws {
        Defaults.launchCount += 1
        if let listener = Defaults.listener {
            print("Welcome back, \(listener), for time \(Defaults[\.launchCount]).")
        } else {
            print("Hello! Whoever you are, you are Ella from here on.")
        }
        // Only if nothing is stored.
        try await Defaults.setIfAbsent(\.listener) { "Ella" }
        Defaults.theme = Defaults.theme == .light ? .dark : .light
        print("It is \(Defaults.theme) in here.")
    }

    /// An observer gets every change, of this program or another.
    static func turnTheVolume() async {
        let changes = Defaults.updates(of: \.player.volume)
        Defaults.player.volume = 0.75
        Defaults.player.volume -= 0.25
        for await change in changes {
            print("volume: \(change.newValue)")
            // Another program may turn it too, so what comes last is what is there.
            if change.newValue == Defaults.player.volume { break }
        }
    }

    /// Several settings are changed together or not at all; if another program changes one of them meanwhile, the body is
    /// run again.
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

    /// A setter cannot throw. What it cannot store is taken back and told: here, and in the log on standard error. The
    /// forms for async code throw.
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
