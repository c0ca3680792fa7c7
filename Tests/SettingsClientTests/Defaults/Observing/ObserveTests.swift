import ClientTestSupport
import SettingsClient
import SettingsClientCompatibility
import TestSupport
import Testing

/// Handlers of updates. The summary of an update is `old→new`, `-→new` without the old value, or the value of an
/// initial update.
@Suite(.ownThread)
struct ObserveTests {
    @Test(
        "A handler gets the writes of all programs, whether a key path or a key names the setting",
        arguments: BackendKind.allCases)
    func keyPathsAndKeys(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let (one, two) = (fixture.adapter(), fixture.adapter())
        let log = EventLog()
        let observations = [
            one.observe(\.launchCount) { log.add("path \($0.summary)") },
            one.observe(key: DefaultsKey<Int>("launchCount", defaultValue: 0)) { log.add("key \($0.summary)") },
            one.observe(\.player.volume) { log.add("nested path \($0.summary)") },
            one.player.observe(\.volume) { log.add("scope \($0.summary)") },
        ]
        one.launchCount = 1
        one.launchCount += 1
        two.launchCount = 7
        #expect(await log.waits(for: "path 2→7"))
        two.player.volume = 0.25
        #expect(await log.waits(for: "scope 0.5→0.25"))
        #expect(
            log.all == [
                "path 0→1", "key 0→1", "path 1→2", "key 1→2", "path 2→7", "key 2→7", "nested path 0.5→0.25",
                "scope 0.5→0.25",
            ])
        withExtendedLifetime(observations) {}
        #expect(fixture.drainIssues() == [])
    }

    @Test(
        "An update has the effective value: the launch argument, the stored value or the default, in this order",
        arguments: BackendKind.allCases)
    func layers(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter(arguments: ["-loginTries", "3"])
        let log = EventLog()
        let observations = [
            defaults.observe(\.nickname) { log.add("nickname \($0.summary)") },
            defaults.observe(\.username) { log.add("username \($0.summary)") },
            defaults.observe(\.loginTries) { log.add("tries \($0.summary)") },
            defaults.observe(\.launchCount) { log.add("count \($0.summary)") },
        ]
        defaults.nickname = "joe"
        defaults.nickname = nil
        defaults.username = "me"
        defaults.remove(\.username)
        // The next four writes and the repeated 1 do not change the effective value, so they cause no update.
        defaults.loginTries = 9
        defaults.remove(\.loginTries)
        defaults.launchCount = 0
        defaults["launchCount"] = 0.0
        defaults.launchCount = 1
        defaults.launchCount = 1
        defaults.register(defaults: ["launchCount": 5, "username": "guest"])
        defaults.remove(\.launchCount)
        defaults.register(defaults: ["launchCount": 6])
        defaults.removeAll()
        defaults.register(defaults: ["launchCount": 7])
        #expect(await log.waits(for: "count 6→7"))
        #expect(
            log.all == [
                #"nickname "anonymous"→"joe""#, #"nickname "joe"→"anonymous""#, #"username nil→"me""#,
                #"username "me"→nil"#, "count 0→1", #"username nil→"guest""#, "count 1→5", "count 5→6", "count 6→7",
            ])
        withExtendedLifetime(observations) {}
        #expect(fixture.drainIssues() == [])
    }

    @Test(
        "An observer gets the initial value with the option `initial`, and never an earlier change",
        arguments: BackendKind.allCases)
    func initial(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        fixture.adapter().launchCount = 3
        let defaults = fixture.adapter()
        let log = EventLog()
        let first = defaults.observe(\.launchCount, options: [.initial, .old, .new]) { log.add("first \($0.summary)") }
        defaults.launchCount = 4
        let second = defaults.observe(\.launchCount, options: [.initial]) { log.add("second \($0.summary)") }
        let third = defaults.observe(\.launchCount, options: []) { log.add("third \($0.summary)") }
        let unset = defaults.observe(\.theme, options: .initial) { log.add("theme \($0.summary)") }
        defaults.launchCount = 5
        #expect(await log.waits(for: "third -→5"))
        #expect(
            log.all == [
                "first 3", "first 3→4", "second 4", "theme light", "first 4→5", "second -→5", "third -→5",
            ])
        withExtendedLifetime((first, second, third, unset)) {}
    }

    @Test(
        "Several handlers get the updates of another program in the order of revisions",
        arguments: BackendKind.allCases)
    func order(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let (one, two) = (fixture.adapter(), fixture.adapter())
        let log = EventLog()
        let count = one.observe(\.launchCount) { log.add("count \($0.newValue)") }
        let tries = one.observe(\.loginTries) { log.add("tries \($0.newValue)") }
        let both = one.observe(\.launchCount, \.loginTries) { log.add("both \($0.key)") }
        var expected: [String] = []
        for number in 1...40 {
            try await two.transaction { t in
                t.launchCount = number
                t.loginTries = number + 1
            }
            expected += [
                "count \(number)", "both launchCount", "tries \(number + 1)", "both loginTries",
            ]
        }
        #expect(await log.waits(for: "both loginTries", times: 40))
        #expect(log.all == expected)
        withExtendedLifetime((count, tries, both)) {}
    }

    @Test("A handler can read, write, observe and cancel", arguments: BackendKind.allCases)
    func reentrance(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        let log = EventLog()
        let outer = Shared<DefaultsObservation>()
        let inner = Shared<DefaultsObservation>()
        let tries = defaults.observe(\.loginTries) { update in
            inner.value = defaults.observe(\.visits) { log.add("visits \($0.summary)") }
            log.add("tries \(update.summary)")
        }
        outer.value = defaults.observe(\.launchCount) { update in
            log.add("count \(update.summary), reads \(defaults.launchCount)")
            defaults.loginTries = update.newValue + 10
            defaults.launchCount += 1
            if update.newValue == 2 {
                outer.value?.cancel()
                log.add("cancelled")
            }
        }
        defaults.launchCount = 1
        #expect(await log.waits(for: "tries 11→12"))
        defaults.visits += 1
        #expect(await log.waits(for: "visits 0→1"))
        #expect(
            log.all == [
                "count 0→1, reads 1", "tries 1→11", "count 1→2, reads 2", "cancelled", "tries 11→12", "visits 0→1",
            ])
        #expect(defaults.launchCount == 3)
        withExtendedLifetime(tries) {}
        #expect(fixture.drainIssues() == [])
        // Breaks the reference cycles: a handler retains the box with its own observation.
        (outer.value, inner.value) = (nil, nil)
    }

    @Test("A refused write causes an update, and its rollback causes another update", arguments: BackendKind.allCases)
    func refusal(_ kind: BackendKind) async throws {
        let schema = try Schema(keys: [DefaultsKey<Int>("launchCount", defaultValue: 0, in: 0...3)])
        let fixture = try kind.fixture(schema: schema)
        let defaults = fixture.adapter()
        let log = EventLog()
        let observation = defaults.observe(\.launchCount) { log.add($0.summary) }
        defaults.launchCount = 3
        defaults.launchCount = 4
        defaults.launchCount = 2
        #expect(await log.waits(for: "3→2"))
        #expect(log.all == ["0→3", "3→4", "4→3", "3→2"])
        #expect(fixture.drainIssues().map(\.error.code) == [.invalidValue])
        withExtendedLifetime(observation) {}
    }

    @Test("A value of another type is reported and causes no update", arguments: BackendKind.allCases)
    func unreadable(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        defaults["launchCount"] = "many"
        let log = EventLog()
        let late = defaults.observe(\.launchCount, options: [.initial, .old]) { log.add("late \($0.summary)") }
        defaults.launchCount = 1
        #expect(await log.waits(for: "late 0→1"))
        #expect(fixture.drainIssues().map(\.attempt) == [.read])
        defaults["launchCount"] = ["many"]
        defaults["launchCount"] = 3
        #expect(await log.waits(for: "late 1→3"))
        #expect(log.all == ["late 0→1", "late 1→3"])
        let issues = fixture.drainIssues()
        #expect(issues.map(\.key) == ["launchCount"] && issues.map(\.attempt) == [.read])
        withExtendedLifetime(late) {}
    }

    @Test("If an observation has several keys, each update names its key", arguments: BackendKind.allCases)
    func severalKeys(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let (one, two) = (fixture.adapter(), fixture.adapter())
        let log = EventLog()
        let observation = one.observe(\.theme, \.player.volume, \.username, options: [.initial, .old]) { update in
            if let theme = update[\.theme] { log.add("\(update.key) \(theme.summary)") }
            if let volume = update[\.player.volume] { log.add("\(update.key) \(volume.summary)") }
            if let name = update[\.username] { log.add("\(update.key) \(name.summary)") }
            #expect(update[\.launchCount] == nil && update[\.nickname] == nil)
            // The first three entries of the log are the initial values.
            #expect(update.isInitial == (log.all.count <= 3))
        }
        two.theme = .dark
        two.player.volume = 1
        two.launchCount = 5
        two.username = "me"
        #expect(await log.waits(for: #"username nil→"me""#))
        #expect(
            log.all == [
                "theme light", "player.volume 0.5", "username nil", "theme light→dark", "player.volume 0.5→1.0",
                #"username nil→"me""#,
            ])
        let inner = one.player.observe(\.volume, \.equalizer.bass) { update in
            if let bass = update[\.equalizer.bass] { log.add("bass \(bass.summary)") }
        }
        two.player.equalizer.bass = 3
        #expect(await log.waits(for: "bass 0→3"))
        withExtendedLifetime((observation, inner)) {}
    }

    @Test("An observer of a whole suite gets the names of keys and JSON values", arguments: BackendKind.allCases)
    func wholeSuite(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let (one, two) = (fixture.adapter(arguments: ["-nickname", "joe"]), fixture.adapter())
        two.launchCount = 1
        try await one.synchronize()
        let log = EventLog()
        @Sendable func text(_ value: JSONValue?) -> String { value.map { "\($0)" } ?? "-" }
        let observation = one.observe(options: [.initial, .old]) { update in
            log.add("\(update.key) \(text(update.oldValue))→\(text(update.newValue))")
        }
        two.theme = .dark
        // The launch argument hides the changes of `nickname`.
        two.nickname = "ann"
        two["anything"] = [1]
        two.launchCount = 2
        two.remove(\.theme)
        #expect(await log.waits(for: #"theme "dark"→-"#))
        one.register(defaults: ["theme": "blue", "nickname": "sue"])
        #expect(await log.waits(for: #"theme -→"blue""#))
        #expect(
            log.all == [
                "launchCount -→1", #"theme -→"dark""#, "anything -→[1]", "launchCount 1→2", #"theme "dark"→-"#,
                #"theme -→"blue""#,
            ])
        withExtendedLifetime(observation) {}
    }

    @Test(
        "An observer of a key with an invalid name or an invalid default gets the default",
        arguments: BackendKind.allCases)
    func unusable(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        let log = EventLog()
        let limits = defaults.observe(\.unusable, options: .initial) { log.add("limits \($0.summary)") }
        let name = defaults.observe(key: DefaultsKey<Int>("", defaultValue: 1), options: .initial) {
            log.add("name \($0.summary)")
        }
        #expect(await log.waits(for: "limits 5"))
        #expect(await log.waits(for: "name 1"))
        #expect(fixture.drainIssues().count == 2)
        withExtendedLifetime((limits, name)) {}
    }
}
