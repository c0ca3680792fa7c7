import ClientTestSupport
import SettingsClientTesting
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsClientCompatibility

/// Sequences of updates. The summary of an update is `old→new`, `-→new` without the old value, or the value of an
/// initial update.
@Suite(.ownThread, .timeLimit(.minutes(10)))
struct UpdatesTests {
    @Test(
        "A sequence returns each change that follows the creation of the sequence, in order",
        arguments: BackendKind.allCases)
    func order(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let (one, two) = (fixture.adapter(), fixture.adapter())
        try await one.ready()
        let updates = one.updates(of: \.launchCount)
        for number in 1...20 { two.launchCount = number }
        try await one.synchronize()
        one.launchCount = 50
        var received: [String] = []
        for await update in updates {
            received.append(update.summary)
            if update.newValue == 50 { break }
        }
        #expect(received.last == "20→50")
        #expect(received.dropLast() == (1...20).map { "\($0 - 1)→\($0)" }[...])
        #expect(one.core.observers.count == 0)
        #expect(fixture.drainIssues() == [])
    }

    @Test(
        "A sequence of a key path, of a key or of the whole suite returns effective values",
        arguments: BackendKind.allCases)
    func layers(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter(arguments: ["-loginTries", "3"])
        try await defaults.ready()
        var names = defaults.updates(key: DefaultsKey<String?>("username"), options: .initial).makeAsyncIterator()
        var volumes = defaults.player.updates(of: \.volume).makeAsyncIterator()
        var all = defaults.updates(options: .old).makeAsyncIterator()
        defaults.username = "me"
        // The launch argument hides this write.
        defaults.loginTries = 1
        defaults.player.volume = 1
        defaults.remove(\.username)
        // A number is not a valid `username`, so it is reported and causes no update of the key.
        defaults["username"] = 5
        defaults.register(defaults: ["username": "guest"])
        defaults.remove(\.username)
        #expect(await names.next()?.summary == "nil")
        #expect(await names.next()?.summary == #"-→"me""#)
        #expect(await names.next()?.summary == "-→nil")
        #expect(await names.next()?.summary == #"-→"guest""#)
        #expect(await volumes.next()?.summary == "0.5→1.0")
        #expect(await all.next()?.newValue == "me")
        #expect(await all.next()?.newValue == .double(1))
        let removal = await all.next()
        #expect(removal?.key == "username" && removal?.oldValue == "me" && removal?.newValue == nil)
        #expect(fixture.drainIssues().map(\.key) == ["username"])
    }

    @Test("A sequence of several keys returns updates that name their keys", arguments: BackendKind.allCases)
    func severalKeys(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let (one, two) = (fixture.adapter(), fixture.adapter())
        try await one.ready()
        let updates = one.updates(of: \.launchCount, \.theme, \.player.equalizer.bass)
        let inner = one.player.updates(of: \.volume, \.equalizer.bass, options: .initial)
        two.launchCount = 1
        two.theme = .dark
        two.loginTries = 5
        two.launchCount = 2
        two.player.equalizer.bass = 3
        var received: [String] = []
        for await update in updates {
            if let count = update[\.launchCount] { received.append("count \(count.summary)") }
            if let theme = update[\.theme] { received.append("theme \(theme.summary)") }
            guard let bass = update[\.player.equalizer.bass] else { continue }
            received.append("bass \(bass.summary)")
            break
        }
        #expect(received == ["count 0→1", "theme light→dark", "count 1→2", "bass 0→3"])
        received = []
        for await update in inner {
            // The key, the summary for `volume` and the summary for `bass`. One of the summaries is empty.
            received.append(
                "\(update.key) \(update[\.volume]?.summary ?? "") \(update[\.equalizer.bass]?.summary ?? "")")
            if !update.isInitial { break }
        }
        #expect(received == ["player.volume 0.5 ", "player.equalizer.bass  0", "player.equalizer.bass  -→3"])
    }

    @Test("Cancelling the task ends the sequence and releases its observer", arguments: BackendKind.allCases)
    func cancelling(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        try await defaults.ready()
        let log = EventLog()
        let updates = defaults.updates(of: \.launchCount)
        let task = Task {
            for await update in updates { log.add(update.summary) }
            log.add("ended")
        }
        defaults.launchCount = 1
        #expect(await log.waits(for: "0→1"))
        #expect(defaults.core.observers.count == 1)
        task.cancel()
        #expect(await log.waits(for: "ended"))
        #expect(defaults.core.observers.count == 0)
        defaults.launchCount = 2
        var endedIterator = updates.makeAsyncIterator()
        #expect(await endedIterator.next() == nil)
        let cancelledEarly = Task {
            while !Task.isCancelled { await Task.yield() }
            for await update in defaults.updates(of: \.launchCount, options: .initial) { log.add(update.summary) }
            log.add("ended early")
        }
        cancelledEarly.cancel()
        #expect(await log.waits(for: "ended early"))
        #expect(log.all == ["0→1", "ended", "ended early"])
        #expect(defaults.core.observers.count == 0)
    }

    @Test("Releasing the iterator, or a sequence without an iterator, releases its observer")
    func dropping() async throws {
        let defaults = DefaultsAdapter.inMemory(keyStore: ClientKeys())
        let updates = defaults.updates(of: \.launchCount)
        do {
            var iterator = updates.makeAsyncIterator()
            var second = updates.makeAsyncIterator()
            #expect(await second.next() == nil, "only the first iterator gets updates")
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
        #expect(await last.next()?.newValue == 2, "an iterator works after its sequence is released")
    }

    @Test("A slow loop gets the newest value of each key, and each old value is the previous new value")
    func slow() async throws {
        let defaults = DefaultsAdapter.inMemory(keyStore: ClientKeys())
        try await defaults.ready()
        let updates = defaults.updates(of: \.launchCount, \.theme, options: [.initial, .old])
        for number in 1...4000 { defaults.launchCount = number }
        defaults.theme = .dark
        var (last, count, received) = (0, 0, [String]())
        for await update in updates {
            count += 1
            if let launches = update[\.launchCount] {
                #expect(launches.isInitial || launches.oldValue == last)
                last = launches.newValue
            } else if let theme = update[\.theme] {
                received.append("\(theme.summary) after \(last)")
                if !theme.isInitial { break }
            }
        }
        #expect(received == ["light after 0", "light→dark after 4000"])
        // When the queue of the observer is full, it keeps only the newest notice (the change of a key) of each key.
        // The limit also allows a few updates that are not in the queue.
        #expect(count <= NoticeBacklog.minimumLimit + 4)
    }

    @Test("Many sequences at once each get every update", arguments: BackendKind.allCases)
    func many(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let (one, two) = (fixture.adapter(), fixture.adapter())
        try await one.ready()
        let sequences = (0..<20).map { _ in one.updates(of: \.launchCount) }
        let tasks = sequences.map { updates in
            Task {
                var received: [Int] = []
                for await update in updates {
                    received.append(update.newValue)
                    if update.newValue == 50 { break }
                }
                return received
            }
        }
        for number in 1...50 { try await two.set(\.launchCount, number) }
        for task in tasks { #expect(await task.value == Array(1...50)) }
        #expect(one.core.observers.count == 0)
    }
}
