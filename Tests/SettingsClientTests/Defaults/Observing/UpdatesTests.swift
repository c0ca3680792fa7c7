import ClientTestSupport
import SettingsClientTesting
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsClientCompatibility

@Suite(.ownThread)
struct UpdatesTests {
    @Test("A sequence begins when it is asked for, and gives every update since, in order", arguments: Place.allCases)
    func calling(_ place: Place) async throws {
        let world = try place.world()
        let (one, two) = (world.adapter(), world.adapter())
        try await one.ready()
        let updates = one.updates(of: \.launchCount)
        for number in 1...20 { two.launchCount = number }
        try await one.synchronize()
        one.launchCount = 50
        var told: [String] = []
        for await update in updates {
            told.append(update.told)
            if update.newValue == 50 { break }
        }
        #expect(told.last == "20→50")
        #expect(told.dropLast() == (1...20).map { "\($0 - 1)→\($0)" }[...])
        #expect(one.core.observers.count == 0)
        #expect(world.takeIssues() == [])
    }

    @Test("A sequence gives what a reader gets, by key and with options too", arguments: Place.allCases)
    func layers(_ place: Place) async throws {
        let world = try place.world()
        let defaults = world.adapter(arguments: ["-loginTries", "3"])
        try await defaults.ready()
        var names = defaults.updates(key: DefaultsKey<String?>("username"), options: .initial).makeAsyncIterator()
        var themes = defaults.player.updates(of: \.volume).makeAsyncIterator()
        var all = defaults.updates(options: .old).makeAsyncIterator()
        defaults.username = "me"
        defaults.loginTries = 1
        defaults.player.volume = 1
        defaults.remove(\.username)
        defaults["username"] = 5
        defaults.register(defaults: ["username": "guest"])
        defaults.remove(\.username)
        #expect(await names.next()?.told == "nil")
        #expect(await names.next()?.told == #"-→"me""#)
        #expect(await names.next()?.told == "-→nil")
        #expect(await names.next()?.told == #"-→"guest""#)
        #expect(await themes.next()?.told == "0.5→1.0")
        #expect(await all.next()?.newValue == "me")
        #expect(await all.next()?.newValue == .double(1))
        let removal = await all.next()
        #expect(removal?.key == "username" && removal?.oldValue == "me" && removal?.newValue == nil)
        #expect(world.takeIssues().map(\.key) == ["username"])
    }

    @Test("Several keys come in one sequence, each update says which", arguments: Place.allCases)
    func severalKeys(_ place: Place) async throws {
        let world = try place.world()
        let (one, two) = (world.adapter(), world.adapter())
        try await one.ready()
        let updates = one.updates(of: \.launchCount, \.theme, \.player.equalizer.bass)
        let inner = one.player.updates(of: \.volume, \.equalizer.bass, options: .initial)
        two.launchCount = 1
        two.theme = .dark
        two.loginTries = 5
        two.launchCount = 2
        two.player.equalizer.bass = 3
        var told: [String] = []
        for await update in updates {
            if let count = update[\.launchCount] { told.append("count \(count.told)") }
            if let theme = update[\.theme] { told.append("theme \(theme.told)") }
            guard let bass = update[\.player.equalizer.bass] else { continue }
            told.append("bass \(bass.told)")
            break
        }
        #expect(told == ["count 0→1", "theme light→dark", "count 1→2", "bass 0→3"])
        told = []
        for await update in inner {
            told.append("\(update.key) \(update[\.volume]?.told ?? "") \(update[\.equalizer.bass]?.told ?? "")")
            if !update.isInitial { break }
        }
        #expect(told == ["player.volume 0.5 ", "player.equalizer.bass  0", "player.equalizer.bass  -→3"])
    }

    @Test("Cancelling the task ends the sequence, and frees what it needed", arguments: Place.allCases)
    func cancelling(_ place: Place) async throws {
        let world = try place.world()
        let defaults = world.adapter()
        try await defaults.ready()
        let log = EventLog()
        let updates = defaults.updates(of: \.launchCount)
        let task = Task {
            for await update in updates { log.add(update.told) }
            log.add("ended")
        }
        defaults.launchCount = 1
        #expect(await log.waits(for: "0→1"))
        #expect(defaults.core.observers.count == 1)
        task.cancel()
        #expect(await log.waits(for: "ended"))
        #expect(defaults.core.observers.count == 0)
        defaults.launchCount = 2
        var rest = updates.makeAsyncIterator()
        #expect(await rest.next() == nil)
        let early = Task {
            while !Task.isCancelled { await Task.yield() }
            for await update in defaults.updates(of: \.launchCount, options: .initial) { log.add(update.told) }
            log.add("ended early")
        }
        early.cancel()
        #expect(await log.waits(for: "ended early"))
        #expect(log.all == ["0→1", "ended", "ended early"])
        #expect(defaults.core.observers.count == 0)
    }

    @Test("Dropping the iterator, or a sequence without one, frees its observer")
    func dropping() async throws {
        let defaults = DefaultsAdapter.inMemory(keyStore: ClientKeys())
        let updates = defaults.updates(of: \.launchCount)
        do {
            var iterator = updates.makeAsyncIterator()
            var second = updates.makeAsyncIterator()
            #expect(await second.next() == nil, "each update is given once, to the first")
            defaults.launchCount = 1
            #expect(await iterator.next()?.newValue == 1)
            #expect(defaults.core.observers.count == 1)
        }
        #expect(defaults.core.observers.count == 0)
        do {
            let unused = defaults.updates(of: \.launchCount, \.theme)
            #expect(defaults.core.observers.count == 1)
            withExtendedLifetime(unused) {}
        }
        #expect(defaults.core.observers.count == 0)
        var last = defaults.updates(of: \.launchCount).makeAsyncIterator()
        defaults.launchCount = 2
        #expect(await last.next()?.newValue == 2, "an iterator does not need the sequence")
    }

    @Test("A loop far behind gets the newest of each key, old values follow on")
    func slow() async throws {
        let defaults = DefaultsAdapter.inMemory(keyStore: ClientKeys())
        try await defaults.ready()
        let updates = defaults.updates(of: \.launchCount, \.theme, options: [.initial, .old])
        for number in 1...4000 { defaults.launchCount = number }
        defaults.theme = .dark
        var (last, count, told) = (0, 0, [String]())
        for await update in updates {
            count += 1
            if let launches = update[\.launchCount] {
                #expect(launches.isInitial || launches.oldValue == last)
                last = launches.newValue
            } else if let theme = update[\.theme] {
                told.append("\(theme.told) after \(last)")
                if !theme.isInitial { break }
            }
        }
        #expect(told == ["light after 0", "light→dark after 4000"])
        #expect(count <= NoticeBacklog.bound + 4)
    }

    @Test("Many sequences at once each get every update", arguments: Place.allCases)
    func many(_ place: Place) async throws {
        let world = try place.world()
        let (one, two) = (world.adapter(), world.adapter())
        try await one.ready()
        let sequences = (0..<20).map { _ in one.updates(of: \.launchCount) }
        let tasks = sequences.map { updates in
            Task {
                var told: [Int] = []
                for await update in updates {
                    told.append(update.newValue)
                    if update.newValue == 50 { break }
                }
                return told
            }
        }
        for number in 1...50 { try await two.set(\.launchCount, number) }
        for task in tasks { #expect(await task.value == Array(1...50)) }
        #expect(one.core.observers.count == 0)
    }
}
