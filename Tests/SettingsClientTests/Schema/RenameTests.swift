import ClientTestSupport
import Dispatch
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsClientCompatibility

@Suite(.ownThread)
struct RenameTests {
    struct OldKeys: DefaultsKeyStore {
        var folders: DefaultsKey<[String]> { .init("folders", defaultValue: []) }
        var paths: DefaultsKey<[String]> { .init("paths", defaultValue: []) }
    }

    struct NewKeys: DefaultsKeyStore {
        var libraries: DefaultsKey<[String]> {
            .init("libraries", defaultValue: [], renamedFrom: ["folders", "paths"])
        }
        var count: DefaultsKey<Int> { .init("count", defaultValue: 5, renamedFrom: ["n"]) }
        var other: DefaultsKey<Int> { .init("other", defaultValue: 0) }
    }

    /// A suite that older versions of a program left something in.
    private func world(_ place: Place, folders: [String]? = ["a"], paths: [String]? = nil) throws -> World {
        let world = try place.world()
        let old = world.adapter(OldKeys())
        if let folders { old.folders = folders }
        if let paths { old.paths = paths }
        return world
    }

    @Test("Whatever comes first finds it, and the old name is gone", arguments: Place.allCases)
    func firstAccess(_ place: Place) async throws {
        let accesses: [@Sendable (DefaultsAdapter<NewKeys>) async throws -> Void] = [
            { #expect($0.libraries == ["a"]) },
            { #expect($0[key: NewKeys().libraries] == ["a"]) },
            { _ = try await $0.value(\.libraries) },
            { #expect($0.isSet(\.libraries) && $0.hasKey(\.libraries)) },
            { #expect(Setting(\.libraries, in: $0).isSet) },
            { $0.libraries += [] },
            { $0[\.libraries] ?= ["b"] },
            { try await $0.setIfAbsent(\.libraries) { ["b"] } },
            { adapter in try await adapter.transaction { #expect($0.libraries == ["a"]) } },
            { try await $0.update(\.libraries) { $0.removeAll { $0 == "b" } } },
        ]
        for (index, access) in accesses.enumerated() {
            let world = try world(place)
            let defaults = world.adapter(NewKeys())
            try await access(defaults)
            #expect(try await world.stores(["libraries"]), "access \(index)")
            #expect(defaults.libraries == ["a"], "access \(index)")
            #expect(world.takeIssues() == [])
        }
    }

    @Test("What is written first is what stays, and the old value never comes back", arguments: Place.allCases)
    func writing(_ place: Place) async throws {
        let writes: [@Sendable (DefaultsAdapter<NewKeys>) async throws -> Void] = [
            { $0.libraries = [] },
            { try await $0.set(\.libraries, []) },
            { adapter in try await adapter.transaction { $0.libraries = [] } },
        ]
        for write in writes {
            let world = try world(place)
            let defaults = world.adapter(NewKeys())
            try await write(defaults)
            #expect(try await world.stores(["libraries"]))
            #expect(defaults.libraries == [])
            defaults.remove(\.libraries)
            #expect(world.adapter(NewKeys()).libraries == [])
        }
        let world = try world(place)
        world.adapter(NewKeys()).remove(\.libraries)
        #expect(try await world.stores([]))
        #expect(world.adapter(NewKeys()).libraries == [])
        #expect(world.takeIssues() == [])
    }

    @Test("A change in place goes on from the old value", arguments: Place.allCases)
    func inPlace(_ place: Place) async throws {
        let world = try world(place)
        world.adapter(NewKeys())[\.libraries].append("b")
        #expect(world.adapter(NewKeys()).libraries == ["a", "b"])
        #expect(try await world.stores(["libraries"]))
        #expect(world.takeIssues() == [])
    }

    @Test("Of several former names the latest counts; where the new one is stored, none", arguments: Place.allCases)
    func several(_ place: Place) async throws {
        let both = try world(place, folders: ["a"], paths: ["b"])
        #expect(both.adapter(NewKeys()).libraries == ["a"])
        #expect(try await both.stores(["libraries", "paths"]))
        let older = try world(place, folders: nil, paths: ["b"])
        #expect(older.adapter(NewKeys()).libraries == ["b"])
        let stored = try world(place)
        stored.adapter(ClientKeys()).libraries = ["c"]
        #expect(stored.adapter(NewKeys()).libraries == ["c"])
        #expect(try await stored.stores(["folders", "libraries"]))
        let nothing = try world(place, folders: nil)
        #expect(nothing.adapter(NewKeys()).libraries == [] && nothing.adapter(NewKeys()).count == 5)
        #expect(try await nothing.stores([]))
        #expect(both.takeIssues() + older.takeIssues() + stored.takeIssues() + nothing.takeIssues() == [])
    }

    @Test("A value is taken over once: later reads send no request", arguments: Place.allCases)
    func once(_ place: Place) async throws {
        let world = try world(place)
        let (defaults, backend) = world.interruptedAdapter(NewKeys())
        for _ in 0..<100 { #expect(defaults.libraries == ["a"] && defaults.count == 5) }
        try await defaults.flush()
        #expect(backend.counts.commits == 1 && backend.counts.settings == 0)
        world.adapter(OldKeys()).folders = ["again"]
        try await defaults.synchronize()
        #expect(defaults.libraries == ["a"])
        #expect(backend.counts.commits == 1)
    }

    @Test("Of programs that start together one does it, and all see the value", arguments: Place.allCases)
    func together(_ place: Place) async throws {
        for _ in 0..<10 {
            let world = try world(place)
            let programs = (0..<4).map { _ in world.interruptedAdapter(NewKeys()) }
            for (program, _) in programs { #expect(program.other == 0) }
            DispatchQueue.concurrentPerform(iterations: 8) { thread in
                #expect(programs[thread % 4].0.libraries == ["a"])
            }
            #expect(try await world.stores(["libraries"]))
            #expect(world.takeIssues() == [])
        }
    }

    @Test("A quicker program, or a change of the old value, is seen", arguments: Place.allCases)
    func races(_ place: Place) async throws {
        let world = try world(place)
        let (late, lateBackend) = world.interruptedAdapter(NewKeys())
        #expect(late.other == 0)
        lateBackend.beforeNextCommit { #expect(world.adapter(NewKeys()).libraries == ["a"]) }
        #expect(late.libraries == ["a"])

        let changed = try self.world(place)
        let (program, backend) = changed.interruptedAdapter(NewKeys())
        #expect(program.other == 0)
        backend.beforeNextCommit { changed.adapter(OldKeys()).folders = ["b"] }
        #expect(program.libraries == ["b"])
        #expect(try await changed.stores(["libraries"]))

        let removed = try self.world(place, paths: ["p"])
        let (last, lastBackend) = removed.interruptedAdapter(NewKeys())
        #expect(last.other == 0)
        lastBackend.beforeNextCommit { removed.adapter(OldKeys()).remove(\.folders) }
        #expect(last.libraries == ["p"], "the one before it is the latest then")
        #expect(world.takeIssues() + changed.takeIssues() + removed.takeIssues() == [])
    }

    @Test("An old value of another kind is left alone and reported once", arguments: Place.allCases)
    func unreadable(_ place: Place) async throws {
        let world = try world(place, folders: nil)
        let defaults = world.adapter(NewKeys())
        defaults["folders"] = "a, b"
        for _ in 0..<3 { #expect(defaults.libraries == []) }
        let issues = world.takeIssues()
        #expect(issues.map(\.key) == ["libraries"] && issues.map(\.attempt) == [.read])
        #expect(
            issues.first?.description
                == "settings: cannot read libraries of suite com.example.app: cannot move the value of the former key "
                + "folders to its new key: libraries: must be an array (got a string)")
        #expect(try await defaults.value(\.libraries) == [])
        #expect(try await world.stores(["folders"]))
        defaults.libraries = ["c"]
        #expect(world.adapter(NewKeys()).libraries == ["c"] && world.takeIssues() == [])
    }

    @Test(
        "While nobody answers the old value is read from what is known, and taken over later", arguments: Place.allCases
    )
    func away(_ place: Place) async throws {
        let world = try world(place)
        let (defaults, backend) = world.interruptedAdapter(NewKeys())
        #expect(defaults.other == 0)
        backend.isAway = true
        for _ in 0..<3 { #expect(defaults.libraries == ["a"]) }
        #expect(try await defaults.value(\.libraries) == ["a"])
        #expect(world.takeIssues() == [])
        #expect(try await world.stores(["folders"]))
        backend.isAway = false
        try await defaults.synchronize()
        #expect(defaults.libraries == ["a"])
        #expect(try await world.stores(["libraries"]))
        defaults.libraries.append("b")
        #expect(defaults.libraries == ["a", "b"])
    }

    @Test("The rename is tried again when following brings a change", arguments: Place.allCases)
    func resuming(_ place: Place) async throws {
        let world = try world(place)
        let (defaults, backend) = world.interruptedAdapter(NewKeys())
        #expect(defaults.other == 0)
        backend.isAway = true
        #expect(defaults.libraries == ["a"])
        backend.isAway = false
        let log = EventLog()
        let listener = defaults.core.session.listen { changes in
            for change in changes { log.add(change.key.text) }
        }
        world.adapter(NewKeys()).other = 1
        #expect(await log.waits(for: "other"))
        defaults.core.session.removeListener(listener)
        try await defaults.flush()
        #expect(defaults.libraries == ["a"])
        #expect(try await world.stores(["libraries", "other"]))
        #expect(world.takeIssues() == [])
    }

    @Test("The handler of the issue about an old value that stays may read the key", .timeLimit(.minutes(10)))
    func readingInLog() async throws {
        let backend = InMemoryBackend(suite: try SuiteName("app"))
        let heard = Mutex<[Int]>([])
        let adapter = Mutex<DefaultsAdapter<NewKeys>?>(nil)
        let log = DefaultsLog { _, _, _ in
            let defaults = adapter.withLock { $0 }
            heard.withLock { $0.append(defaults?.count ?? 0) }
        }
        let defaults = DefaultsAdapter(keyStore: NewKeys(), session: SuiteSession(backend), log: log)
        adapter.withLock { $0 = defaults }
        defaults["n"] = "many"
        #expect(defaults.count == 5)
        defaults.core.issues.finishReporting(until: .now + .seconds(180))
        #expect(heard.withLock { $0 } == [5])
        adapter.withLock { $0 = nil }
    }

    @Test("Under the schema of the new keys the old name stays until it is taken over", arguments: Place.allCases)
    func schema(_ place: Place) async throws {
        let world = try world(place)
        let (one, two) = (world.adapter(NewKeys()), world.adapter(NewKeys()))
        #expect(
            try await one.publishSchema {
                \.libraries; \.count; \.other
            })
        #expect(one.libraries == ["a"] && two.libraries == ["a"] && two.count == 5)
        #expect(try await world.stores(["libraries"]))
        #expect(world.takeIssues() == [])
    }

    @Test("A schema that refuses the new name leaves the old value alone, which is reported", arguments: Place.allCases)
    func refused(_ place: Place) async throws {
        let world = try world(place)
        try await world.put(schema: World.schema(of: ["folders": ["type": "array"]]))
        let defaults = world.adapter(NewKeys())
        #expect(defaults.libraries == [] && defaults.libraries == [])
        let issues = world.takeIssues().filter { $0.attempt == .read }
        #expect(issues.count == 1 && issues.first?.key == "libraries")
        #expect(try await world.stores(["folders"]))
    }

    @Test("What a schema has left is taken over, too", arguments: Place.allCases)
    func leftover(_ place: Place) async throws {
        let world = try world(place)
        let document = World.schema(of: [
            "libraries": ["type": "array", "items": ["type": "string"], "default": []]
        ])
        try await world.put(schema: document, onConflict: .keep)
        let defaults = world.adapter(NewKeys())
        #expect(defaults.libraries == ["a"])
        #expect(try await world.stores(["libraries"]))
        #expect(world.takeIssues() == [])
    }

    @Test("A former name that cannot be one makes the key unusable")
    func unusable() async throws {
        let world = try Place.memory.world()
        let key = DefaultsKey<Int>("k", defaultValue: 3, renamedFrom: [""])
        #expect(world.adapter()[key: key] == 3)
        #expect(world.takeIssues().map(\.key) == ["k"])
    }
}
