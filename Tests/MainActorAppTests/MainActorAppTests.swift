import SettingsClient
import TestSupport
import Testing

/// The default isolation of this module is the main actor, as it may be in the module of an app. `Package.swift` sets
/// the isolation. The tests share the settings of the global `Defaults`, so they run one after the other. The global
/// `launches` is a `Setting` of the key `launchCount`.
@Suite(.serialized)
struct MainActorAppTests {
    init() {
        Defaults.removeAll()
    }

    @Test("A program on the main actor reads and writes its keys with its own global Defaults")
    func access() async throws {
        Defaults[\.launchCount] += 1
        Defaults.launchCount += 1
        Defaults.player.volume = 0.75
        Defaults[\.theme] = .dark
        Defaults.account = Account(name: "me")
        Defaults.account?.name += "!"
        Defaults[\.launchCount] += 1
        #expect(Defaults.launchCount == 3 && Defaults[\.player.volume] == 0.75 && Defaults.theme == .dark)
        #expect(Defaults.account == Account(name: "me!"))
        try await Defaults.set(\.launchCount, 5)
        try await Defaults.update(\.launchCount) { $0 += 1 }
        #expect(try await Defaults.value(\.launchCount) == 6)
        try await Defaults.transaction { t in
            t.launchCount += 1
            t.player.volume += 0.25
        }
        #expect(Defaults.launchCount == 7 && Defaults.player.volume == 1)
        let countOfDetachedTask = await Task.detached {
            Defaults.launchCount += 1; return Defaults[\.launchCount]
        }.value
        #expect(countOfDetachedTask == 8)
    }

    @Test("Properties of a main-actor class read and write settings, and a handler can switch to the main actor")
    func properties() async throws {
        let log = EventLog()
        var model: AppModel? = AppModel { log.add("shown") }
        #expect(await isLogged("shown", times: 1, in: log))
        model?.theme = .dark
        #expect(await isLogged("shown", times: 2, in: log))
        #expect(model?.themes == [.light, .dark] && Defaults.theme == .dark && AppModel.sharedTheme == .dark)
        Defaults.launchCount = 4
        launches.value += 1
        #expect(model?.launchCount == 5 && launches.value == 5)
        model?.volume = 1
        AppModel.account.value = Account(name: "a")
        #expect(Defaults.player.volume == 1 && Defaults.account == Account(name: "a"))
        weak let released = model
        model = nil
        #expect(released == nil, "an observation does not retain an object that its handler captures weakly")
    }

    @Test("A task on the main actor gets updates in a loop, and a loop over updates ends when its task is cancelled")
    func updates() async throws {
        var themes: [Theme] = []
        let updates = Defaults.updates(of: \.theme, \.launchCount)
        let task = Task {
            for await update in updates {
                if let theme = update[\.theme] { themes.append(theme.newValue) }
                if update[\.launchCount] != nil { return }
            }
        }
        Defaults.theme = .dark
        Defaults.launchCount = 1
        await task.value
        #expect(themes == [.dark])
        let endless = Task { for await _ in Defaults.updates(of: \.theme) {} }
        endless.cancel()
        await endless.value
    }

    /// Waits in a detached task, because the handler that logs the event needs the main actor.
    private func isLogged(_ event: String, times: Int, in log: EventLog) async -> Bool {
        await Task.detached { log.wait(for: event, times: times) }.value
    }
}
