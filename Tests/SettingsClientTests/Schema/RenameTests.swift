import ClientTestSupport
import Dispatch
import SettingsAPI
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsClientCompatibility

/// Keys with `renamedFrom:`. The client moves a value that is stored under a former name of the key to the new name.
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
        /// Not renamed. A read of this key loads the suite and moves no value.
        var other: DefaultsKey<Int> { .init("other", defaultValue: 0) }
    }

    /// Creates a suite with values that an older version of the program has stored under former names.
    private func fixture(_ kind: BackendKind, folders: [String]? = ["a"], paths: [String]? = nil) throws -> SuiteFixture
    {
        let fixture = try kind.fixture()
        let old = fixture.adapter(OldKeys())
        if let folders { old.folders = folders }
        if let paths { old.paths = paths }
        return fixture
    }

    @Test("The state of a key with former names is not cacheable, also with an answer to the request for the source")
    func stateWithFormerNames() {
        let setting = ReplicaSetting(value: 1, source: nil, revision: nil)
        for readsFormerNames in [false, true] {
            var state = KeyState(
                visible: setting, settingToRead: setting, registered: 2, isCacheable: false,
                readsFormerNames: readsFormerNames)
            state.update(from: ReplicaSetting(value: 1, source: .default, revision: nil))
            #expect(state.isCacheable == !readsFormerNames)
        }
    }

    @Test("The first access of any form moves the value and removes the former name", arguments: BackendKind.allCases)
    func firstAccess(_ kind: BackendKind) async throws {
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
            let fixture = try fixture(kind)
            let defaults = fixture.adapter(NewKeys())
            try await access(defaults)
            #expect(try await fixture.waits(forStoredKeys: ["libraries"]), "access \(index)")
            #expect(defaults.libraries == ["a"], "access \(index)")
            #expect(fixture.drainIssues() == [])
        }
    }

    @Test("A write before the move replaces the former value", arguments: BackendKind.allCases)
    func writing(_ kind: BackendKind) async throws {
        let writes: [@Sendable (DefaultsAdapter<NewKeys>) async throws -> Void] = [
            { $0.libraries = [] },
            { try await $0.set(\.libraries, []) },
            { adapter in try await adapter.transaction { $0.libraries = [] } },
        ]
        for write in writes {
            let fixture = try fixture(kind)
            let defaults = fixture.adapter(NewKeys())
            try await write(defaults)
            #expect(try await fixture.waits(forStoredKeys: ["libraries"]))
            #expect(defaults.libraries == [])
            // If the former value were still stored, it would now be visible again.
            defaults.remove(\.libraries)
            #expect(fixture.adapter(NewKeys()).libraries == [])
        }
        let fixture = try fixture(kind)
        fixture.adapter(NewKeys()).remove(\.libraries)
        #expect(try await fixture.waits(forStoredKeys: []))
        #expect(fixture.adapter(NewKeys()).libraries == [])
        #expect(fixture.drainIssues() == [])
    }

    @Test("A change in place starts from the value of the former name", arguments: BackendKind.allCases)
    func inPlace(_ kind: BackendKind) async throws {
        let fixture = try fixture(kind)
        fixture.adapter(NewKeys())[\.libraries].append("b")
        #expect(fixture.adapter(NewKeys()).libraries == ["a", "b"])
        #expect(try await fixture.waits(forStoredKeys: ["libraries"]))
        #expect(fixture.drainIssues() == [])
    }

    @Test(
        "The value of the first former name that has a value is moved, unless the new name has a value",
        arguments: BackendKind.allCases)
    func severalFormerNames(_ kind: BackendKind) async throws {
        let both = try fixture(kind, folders: ["a"], paths: ["b"])
        #expect(both.adapter(NewKeys()).libraries == ["a"])
        #expect(try await both.waits(forStoredKeys: ["libraries", "paths"]))
        let older = try fixture(kind, folders: nil, paths: ["b"])
        #expect(older.adapter(NewKeys()).libraries == ["b"])
        let stored = try fixture(kind)
        stored.adapter(ClientKeys()).libraries = ["c"]
        #expect(stored.adapter(NewKeys()).libraries == ["c"])
        #expect(try await stored.waits(forStoredKeys: ["folders", "libraries"]))
        let nothing = try fixture(kind, folders: nil)
        #expect(nothing.adapter(NewKeys()).libraries == [] && nothing.adapter(NewKeys()).count == 5)
        #expect(try await nothing.waits(forStoredKeys: []))
        #expect(both.drainIssues() + older.drainIssues() + stored.drainIssues() + nothing.drainIssues() == [])
    }

    @Test("A value is moved once, and later reads send no request", arguments: BackendKind.allCases)
    func once(_ kind: BackendKind) async throws {
        let fixture = try fixture(kind)
        let (defaults, backend) = fixture.interruptibleAdapter(NewKeys())
        for _ in 0..<100 { #expect(defaults.libraries == ["a"] && defaults.count == 5) }
        try await defaults.flush()
        #expect(backend.counts.writes == 1 && backend.counts.settingReads == 0)
        fixture.adapter(OldKeys()).folders = ["again"]
        try await defaults.synchronize()
        #expect(defaults.libraries == ["a"])
        #expect(backend.counts.writes == 1)
    }

    @Test("If several programs move the value at the same time, all see the value", arguments: BackendKind.allCases)
    func concurrentMoves(_ kind: BackendKind) async throws {
        for _ in 0..<10 {
            let fixture = try fixture(kind)
            let programs = (0..<4).map { _ in fixture.interruptibleAdapter(NewKeys()) }
            for (program, _) in programs { #expect(program.other == 0) }
            DispatchQueue.concurrentPerform(iterations: 8) { thread in
                #expect(programs[thread % 4].0.libraries == ["a"])
            }
            #expect(try await fixture.waits(forStoredKeys: ["libraries"]))
            #expect(fixture.drainIssues() == [])
        }
    }

    @Test(
        "A read returns the right value if another program moves, changes or removes the former value at the same time",
        arguments: BackendKind.allCases)
    func races(_ kind: BackendKind) async throws {
        // The closure of `beforeNextWrite` acts as another program, just before `secondMover`, `program` or `last`
        // sends the write that moves the value.
        let fixture = try fixture(kind)
        let (secondMover, secondBackend) = fixture.interruptibleAdapter(NewKeys())
        #expect(secondMover.other == 0)
        secondBackend.beforeNextWrite { #expect(fixture.adapter(NewKeys()).libraries == ["a"]) }
        #expect(secondMover.libraries == ["a"])

        let changed = try self.fixture(kind)
        let (program, backend) = changed.interruptibleAdapter(NewKeys())
        #expect(program.other == 0)
        backend.beforeNextWrite { changed.adapter(OldKeys()).folders = ["b"] }
        #expect(program.libraries == ["b"])
        #expect(try await changed.waits(forStoredKeys: ["libraries"]))

        let removed = try self.fixture(kind, paths: ["p"])
        let (last, lastBackend) = removed.interruptibleAdapter(NewKeys())
        #expect(last.other == 0)
        lastBackend.beforeNextWrite { removed.adapter(OldKeys()).remove(\.folders) }
        #expect(last.libraries == ["p"], "if the first former name has no value, the value of the second name is moved")
        #expect(fixture.drainIssues() + changed.drainIssues() + removed.drainIssues() == [])
    }

    @Test("A former value of another type is kept and reported once", arguments: BackendKind.allCases)
    func unreadable(_ kind: BackendKind) async throws {
        let fixture = try fixture(kind, folders: nil)
        let defaults = fixture.adapter(NewKeys())
        defaults["folders"] = "a, b"
        for _ in 0..<3 { #expect(defaults.libraries == []) }
        let issues = fixture.drainIssues()
        #expect(issues.map(\.key) == ["libraries"] && issues.map(\.attempt) == [.read])
        #expect(
            issues.first?.description
                == "settings: cannot read libraries of suite com.example.app: cannot move or convert the stored value "
                + "of folders: libraries: must be an array (got a string)")
        #expect(try await defaults.value(\.libraries) == [])
        #expect(try await fixture.waits(forStoredKeys: ["folders"]))
        defaults.libraries = ["c"]
        #expect(fixture.adapter(NewKeys()).libraries == ["c"] && fixture.drainIssues() == [])
    }

    @Test(
        "During an outage, the former value is read from the replica, and moved later",
        arguments: BackendKind.allCases
    )
    func outage(_ kind: BackendKind) async throws {
        let fixture = try fixture(kind)
        let (defaults, backend) = fixture.interruptibleAdapter(NewKeys())
        #expect(defaults.other == 0)
        backend.isServerUnreachable = true
        for _ in 0..<3 { #expect(defaults.libraries == ["a"]) }
        #expect(try await defaults.value(\.libraries) == ["a"])
        #expect(fixture.drainIssues() == [])
        #expect(try await fixture.waits(forStoredKeys: ["folders"]))
        backend.isServerUnreachable = false
        try await defaults.synchronize()
        #expect(defaults.libraries == ["a"])
        #expect(try await fixture.waits(forStoredKeys: ["libraries"]))
        defaults.libraries.append("b")
        #expect(defaults.libraries == ["a", "b"])
    }

    @Test(
        "After a failed attempt to move the value, the first read after a change of the suite makes another attempt",
        arguments: BackendKind.allCases)
    func resuming(_ kind: BackendKind) async throws {
        let fixture = try fixture(kind)
        let (defaults, backend) = fixture.interruptibleAdapter(NewKeys())
        #expect(defaults.other == 0)
        backend.isServerUnreachable = true
        #expect(defaults.libraries == ["a"])
        backend.isServerUnreachable = false
        let log = EventLog()
        let listener = defaults.core.session.listen { changes in
            for change in changes { log.add(change.key.text) }
        }
        fixture.adapter(NewKeys()).other = 1
        #expect(await log.waits(for: "other"))
        defaults.core.session.removeListener(listener)
        try await defaults.flush()
        #expect(defaults.libraries == ["a"])
        #expect(try await fixture.waits(forStoredKeys: ["libraries", "other"]))
        #expect(fixture.drainIssues() == [])
    }

    @Test(.timeLimit(.minutes(10)))
    func `A log handler that gets the issue about an unreadable former value can read the key`() async throws {
        let backend = InMemoryBackend(suite: try SuiteName("app"))
        let readValues = Mutex<[Int]>([])
        let adapter = Mutex<DefaultsAdapter<NewKeys>?>(nil)
        let log = DefaultsLog { _, _, _ in
            let defaults = adapter.withLock { $0 }
            readValues.withLock { $0.append(defaults?.count ?? 0) }
        }
        let defaults = DefaultsAdapter(keyStore: NewKeys(), session: SuiteSession(backend), log: log)
        adapter.withLock { $0 = defaults }
        defaults["n"] = "many"
        #expect(defaults.count == 5)
        defaults.core.issues.waitUntilLogged(until: .now + .seconds(180))
        #expect(readValues.withLock { $0 } == [5])
        adapter.withLock { $0 = nil }
    }

    @Test("A published schema allows the former names, so their values can be moved", arguments: BackendKind.allCases)
    func schema(_ kind: BackendKind) async throws {
        let fixture = try fixture(kind)
        let (one, two) = (fixture.adapter(NewKeys()), fixture.adapter(NewKeys()))
        #expect(
            try await one.publishSchema {
                \.libraries; \.count; \.other
            })
        #expect(one.libraries == ["a"] && two.libraries == ["a"] && two.count == 5)
        #expect(try await fixture.waits(forStoredKeys: ["libraries"]))
        #expect(fixture.drainIssues() == [])
    }

    @Test(
        "If the schema does not have the new name, the former value stays, and an issue is reported",
        arguments: BackendKind.allCases)
    func refused(_ kind: BackendKind) async throws {
        let fixture = try fixture(kind)
        try await fixture.put(schema: SuiteFixture.schema(of: ["folders": ["type": "array"]]))
        let defaults = fixture.adapter(NewKeys())
        #expect(defaults.libraries == [] && defaults.libraries == [])
        let issues = fixture.drainIssues().filter { $0.attempt == .read }
        #expect(issues.count == 1 && issues.first?.key == "libraries")
        #expect(try await fixture.waits(forStoredKeys: ["folders"]))
    }

    @Test("A value under a former name that the schema does not list is moved", arguments: BackendKind.allCases)
    func keptByPolicy(_ kind: BackendKind) async throws {
        let fixture = try fixture(kind)
        let document = SuiteFixture.schema(of: [
            "libraries": ["type": "array", "items": ["type": "string"], "default": []]
        ])
        try await fixture.put(schema: document, onConflict: .keep)
        let defaults = fixture.adapter(NewKeys())
        #expect(defaults.libraries == ["a"])
        #expect(try await fixture.waits(forStoredKeys: ["libraries"]))
        #expect(fixture.drainIssues() == [])
    }

    @Test(
        "With a schema that lists no former names, a transaction removes only former names that have a value",
        arguments: BackendKind.allCases)
    func closedSchema(_ kind: BackendKind) async throws {
        let writes: [@Sendable (DefaultsAdapter<NewKeys>) async throws -> Void] = [
            { adapter in try await adapter.transaction { $0.libraries = ["b"] } },
            { adapter in
                try await adapter.transaction {
                    $0.unset(\.count)
                    $0.libraries = ["b"]
                }
            },
        ]
        for (index, write) in writes.enumerated() {
            let fixture = try fixture(kind)
            let document = SuiteFixture.schema(of: [
                "libraries": ["type": "array"], "count": ["type": "integer"], "other": [:],
            ])
            try await fixture.put(schema: document, onConflict: .keep)
            let defaults = fixture.adapter(NewKeys())
            #expect(defaults.other == 0)
            try await write(defaults)
            #expect(try await fixture.waits(forStoredKeys: ["libraries"]), "write \(index)")
            #expect(defaults.libraries == ["b"], "write \(index)")
            #expect(fixture.drainIssues().filter { $0.attempt == .write } == [], "write \(index)")
        }
    }

    @Test(
        "After a change of the schema, `isSet` or a transaction moves a value whose first move was refused",
        arguments: BackendKind.allCases)
    func secondAttempt(_ kind: BackendKind) async throws {
        let accesses: [@Sendable (DefaultsAdapter<NewKeys>) async throws -> Void] = [
            { #expect($0.isSet(\.libraries)) },
            { adapter in
                let libraries = try await adapter.transaction { $0.libraries }
                #expect(libraries == ["a"])
            },
        ]
        for access in accesses {
            let fixture = try fixture(kind)
            try await fixture.put(schema: SuiteFixture.schema(of: ["folders": ["type": "array"]]))
            let defaults = fixture.adapter(NewKeys())
            #expect(defaults.libraries == [] && !fixture.drainIssues().isEmpty)
            let names: JSONObject = ["folders": ["type": "array"], "libraries": ["type": "array"]]
            try await fixture.put(schema: SuiteFixture.schema(of: names))
            try await defaults.synchronize()
            try await access(defaults)
            #expect(try await fixture.waits(forStoredKeys: ["libraries"]))
        }
    }

    @Test("A function that waits for a confirmation which has already come is called at once")
    func earlierConfirmation() async throws {
        let session = try BackendKind.memory.fixture().adapter(NewKeys()).core.session
        // The number of times that the daemon has confirmed the replica.
        let confirmationsBefore = session.confirmations
        try await session.synchronize(until: .now + .seconds(180))
        let calls = Mutex(0)
        session.whenConfirmed(after: confirmationsBefore) { calls.withLock { $0 += 1 } }
        #expect(calls.withLock { $0 } == 1)
    }

    @Test("An invalid former name makes the key unusable")
    func unusable() async throws {
        let fixture = try BackendKind.memory.fixture()
        let key = DefaultsKey<Int>("k", defaultValue: 3, renamedFrom: [""])
        #expect(fixture.adapter()[key: key] == 3)
        #expect(fixture.drainIssues().map(\.key) == ["k"])
    }
}
