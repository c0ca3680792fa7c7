import ClientTestSupport
import SettingsModel
import TestSupport
import Testing

@testable import SettingsHTTP

/// Tests of the endpoints with a real daemon. All tests but the last send blocking requests, most of them over
/// each transport. The last test sends async requests over each transport. `SampleNames.schema` allows the themes
/// `light` and `dark`, an integer `launchCount`, and the locked key `locked`. `keyToEscape` is a key with characters
/// that a path must escape.
@Suite(.ownThread)
struct EndpointTests {
    private let names: SampleNames

    init() throws {
        names = try SampleNames()
    }

    @Test("A client stores, changes, reads and removes a setting", arguments: ServedDaemon.Transport.allCases)
    func settingOperations(transport: ServedDaemon.Transport) throws {
        let daemon = try ServedDaemon()
        let client = try daemon.client(transport).blocking
        for key in [names.launchCount, names.keyToEscape] {
            let created = try client.send(.set(key, to: 41, in: names.app))
            #expect(created.isCreated && created.changed == true && created.previous?.source == .unset)
            #expect(created.cursor.revision == created.revision)
            let repeated = try client.send(.set(key, to: 41, in: names.app))
            #expect(!repeated.isCreated && repeated.changed == false && repeated.revision == created.revision)
            let changed = try client.send(.change(key, by: .add(1), in: names.app))
            #expect(changed.value == 42 && changed.previous?.value == 41)
            let read = try client.send(.setting(key, in: names.app))
            #expect(read.key == key && read.value == 42 && read.source == .stored)
            #expect(read.revision == changed.revision && read.modified == changed.modified)
            #expect(try client.send(.setting(key, in: names.app, changedFrom: read.revision)) == nil)
            #expect(try client.send(.setting(key, in: names.app, changedFrom: .zero))?.value == 42)
            let removed = try client.send(.remove(key, in: names.app))
            #expect(removed.source == .unset && removed.changed == true)
            let error = #expect(throws: SettingsError.self) { try client.send(.setting(key, in: names.app)) }
            #expect(error?.code == .notSet && error?.status == 404 && error?.outcome == .notDone)
            guard case .problem(_, let revision)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(revision == removed.revision)
        }
    }

    @Test(
        "A client merges values into a suite, reads, replaces and removes its values, and drops the suite",
        arguments: ServedDaemon.Transport.allCases)
    func suiteOperations(transport: ServedDaemon.Transport) throws {
        let daemon = try ServedDaemon()
        let client = try daemon.client(transport).blocking
        // `merge` removes a key with the value null, and `replace` stores the null.
        let merged = try client.send(.merge(["a.x": 1, "a.y": ["z": 2], "b": .null], into: names.app))
        #expect(merged.changed && merged.changes.map(\.key.text) == ["a.x", "a.y"])
        let state = try client.send(.suite(names.app))
        #expect(state.contents.values.map(\.value) == [1, ["z": 2]])
        let valueOfKey = state[try KeyName("a.y")]
        #expect(state["a.x"] == 1 && valueOfKey == ["z": 2] && state["b"] == nil)
        #expect(state.revision == merged.revision && state.cursor == merged.cursor)
        let replaced = try client.send(.replace(names.app, with: ["a.x": 1, "c": .null]))
        #expect(Set(replaced.changes.map(\.key.text)) == ["a.y", "c"])
        #expect(try client.send(.suite(names.app, prefix: "a.")).contents.values.map(\.key.text) == ["a.x"])
        // The suite has no schema, so it has no defaults.
        #expect(try client.send(.suite(names.app, view: .default)).contents.values.isEmpty)
        let past = try client.send(.suite(names.app, view: .stored, at: .revision(merged.revision)))
        #expect(past.contents.values.count == 2 && past.cursor.revision == merged.revision)
        #expect(try client.send(.suite(names.app, changedFrom: replaced.revision)) == nil)
        #expect(try client.send(.suite(names.app, changedFrom: merged.revision))?.revision == replaced.revision)
        #expect(try client.send(.reset(names.app, prefix: "a.")).changes.map(\.key.text) == ["a.x"])
        #expect(try client.send(.reset(names.app)).changes.map(\.key.text) == ["c"])
        #expect(try !client.send(.reset(names.app)).changed)
        #expect(try client.send(.drop(names.app)).changed)
        let error = #expect(throws: SettingsError.self) { try client.send(.suite(names.app)) }
        #expect(error?.code == .unknownSuite)
    }

    @Test(
        "A client lists, compares and reads earlier revisions, undoes a commit, and restores an earlier value",
        arguments: ServedDaemon.Transport.allCases)
    func historyOperations(transport: ServedDaemon.Transport) throws {
        let daemon = try ServedDaemon()
        let client = try daemon.client(transport).blocking
        let options = WriteOptions(note: "to begin with")
        let first = try client.send(.merge(["volume": 1, "theme": "red"], into: names.app, options))
        let second = try client.send(.set(names.theme, to: "blue", in: names.app))
        let history = try client.send(.history(of: names.app))
        #expect(history.commits.map(\.revision) == [second.revision, first.revision] && history.oldest == .zero)
        #expect(history.commits.last?.note == "to begin with" && history.commits.last?.changes.count == 2)
        #expect(try client.send(.history(of: names.app, keys: [names.theme], limit: 1)).next == second.revision)
        #expect(try client.send(.setting(names.theme, in: names.app, at: .revision(first.revision))).value == "red")
        let minuteLater = Moment.instant(Timestamp(milliseconds: history.commits[0].time.milliseconds + 60_000))
        #expect(try client.send(.suite(names.app, at: minuteLater))["theme"] == "blue")
        let difference = try client.send(.difference(of: names.app, from: .revision(first.revision)))
        #expect(difference.changes.map(\.key) == [names.theme] && !difference.isSchemaChanged)
        let undone = try client.send(.undo(second.revision, in: names.app))
        #expect(undone.changes.first?.new == "red")
        let error = #expect(throws: SettingsError.self) { try client.send(.undo(second.revision)) }
        #expect(error?.code == .changedSince)
        let restored = try client.send(
            .restore(names.app, to: .revision(second.revision), keys: [names.theme], options.repeatable()))
        #expect(restored.changes.first?.new == "blue" && restored.changes.first?.note == "to begin with")
    }

    @Test("A client sets a schema, reads it as it was sent, and removes it", arguments: ServedDaemon.Transport.allCases)
    func schemaOperations(transport: ServedDaemon.Transport) throws {
        let daemon = try ServedDaemon()
        let client = try daemon.client(transport).blocking
        try client.send(.set(names.theme, to: "red", in: names.app))
        let conflict = #expect(throws: SettingsError.self) {
            try client.send(.setSchema(SampleNames.schema, of: names.app))
        }
        #expect(conflict?.code == .schemaConflict && conflict?.problem?.conflicts.map(\.key) == [names.theme])
        let answer = try client.send(.setSchema(SampleNames.schema, of: names.app, onConflict: .keep))
        let invalid = #expect(throws: SettingsError.self) { try client.send(.setting(names.theme, in: names.app)) }
        #expect(invalid?.code == .invalidStored && invalid?.problem?.stored == "red")
        #expect(try client.send(.suite(names.app)).contents.invalid.map(\.key) == [names.theme])
        let schema = try client.send(.schema(of: names.app))
        #expect(schema.document == SampleNames.schema && schema.revision == answer.schemaRevision)
        #expect(try client.send(.setSchema(SampleNames.schema, of: names.app, onConflict: .reset)).changed == false)
        let refusedWrite = #expect(throws: SettingsError.self) {
            try client.send(.set(names.theme, to: "blue", in: names.app))
        }
        #expect(refusedWrite?.code == .invalidValue && refusedWrite?.problem?.errors.map(\.keyword) == ["enum"])
        let guarded = WriteOptions.ifUnchanged(since: schema.revision)
        #expect(try client.send(.removeSchema(of: names.app, guarded)).changed)
        let missingSchema = #expect(throws: SettingsError.self) { try client.send(.schema(of: names.app)) }
        #expect(missingSchema?.code == .noSchema)
    }

    @Test("Writes respect their preconditions and options") func preconditions() throws {
        let daemon = try ServedDaemon()
        let client = try daemon.client().blocking
        try client.send(.setSchema(SampleNames.schema, of: names.app))
        let first = try client.send(.set(names.launchCount, to: 1, in: names.app, .ifAbsent))
        func refusalCode(_ options: WriteOptions) -> ErrorCode? {
            do throws(SettingsError) {
                try client.send(.set(names.launchCount, to: 2, in: names.app, options))
                return nil
            } catch {
                return error.code
            }
        }
        #expect(refusalCode(.ifAbsent) == .preconditionFailed)
        #expect(refusalCode(.ifUnchanged(since: .zero)) == .preconditionFailed)
        #expect(refusalCode(WriteOptions(ifNoneMatch: .tag(EntityTag(first.revision)))) == .preconditionFailed)
        let dryRun = try client.send(
            .set(names.launchCount, to: 2, in: names.app, WriteOptions(ifMatch: .any, isDryRun: true)))
        #expect(dryRun.isDryRun && dryRun.value == 2 && dryRun.changed == true)
        #expect(refusalCode(.ifUnchanged(since: first.revision)) == nil)
        let locked = try KeyName("locked")
        let refused = #expect(throws: SettingsError.self) { try client.send(.set(locked, to: true, in: names.app)) }
        #expect(refused?.code == .locked)
        #expect(
            try client.send(.set(locked, to: true, in: names.app, WriteOptions(overridesLocks: true))).value == true)
        let options = WriteOptions.plain.repeatable()
        let once = try client.send(.change(names.launchCount, by: .add(5), in: names.app, options))
        let twice = try client.send(.change(names.launchCount, by: .add(5), in: names.app, options))
        #expect(!once.isReplayed && twice.isReplayed && twice.revision == once.revision && twice.value == 7)
        let mismatch = #expect(throws: SettingsError.self) {
            try client.send(.remove(names.launchCount, in: names.app, options))
        }
        #expect(mismatch?.code == .idempotencyMismatch)
    }

    @Test("A transaction is applied completely, or fails with the condition that does not hold")
    func transactions() throws {
        let daemon = try ServedDaemon()
        let client = try daemon.client().blocking
        let operations = [
            Transaction.Operation(suite: names.app, key: names.theme, .set("dark")),
            Transaction.Operation(suite: names.otherSuite, key: names.launchCount, .change(.add(2))),
        ]
        try client.send(.set(names.launchCount, to: 1, in: names.otherSuite))
        let summary = try client.send(.commit(Transaction(do: operations)))
        #expect(
            summary.changes.map(\.suite) == [names.app, names.otherSuite]
                && Set(summary.changes.map(\.revision)).count == 1)
        // The condition says that no value is stored for the theme.
        let condition = Transaction.Condition.setting(names.app, names.theme, .stored(false))
        let error = #expect(throws: SettingsError.self) {
            try client.send(.commit(Transaction(if: [condition], do: operations)))
        }
        #expect(error?.code == .preconditionFailed && error?.problem?.failed.map(\.index) == [0])
    }

    @Test("A client reads a listing page by page or completely") func listings() throws {
        let daemon = try ServedDaemon()
        let client = try daemon.client().blocking
        for name in ["a1", "a2", "a3", "b"] {
            try client.send(.merge(["k1": 1, "k2": 2, "k3": 3], into: try SuiteName(name)))
        }
        let page = try client.send(.suites(prefix: "a", limit: 2))
        #expect(page.suites.map(\.suite.text) == ["a1", "a2"] && page.cursor.revision == page.revision)
        #expect(try client.send(.suites(prefix: "a", after: page.next, limit: 2)).suites.map(\.suite.text) == ["a3"])
        #expect(try client.send(.allSuites()).count == 4 && client.send(.allSuites(prefix: "a")).count == 3)
        let suite = try SuiteName("b")
        let keys = try client.send(.keys(of: suite, limit: 2))
        #expect(keys.keys.map(\.setting.value) == [1, 2] && keys.keys.allSatisfy(\.isWritable))
        #expect(try client.send(.keys(of: suite, after: keys.next, limit: 2)).keys.map(\.setting.key.text) == ["k3"])
        #expect(try client.send(.allKeys(of: suite, at: .revision(keys.revision))).count == 3)
        #expect(try client.send(.allKeys(of: suite, prefix: "k2")).count == 1)
    }

    @Test(
        "A client reads the service description, health, readiness and metrics",
        arguments: ServedDaemon.Transport.allCases)
    func daemonStatus(transport: ServedDaemon.Transport) throws {
        let daemon = try ServedDaemon()
        let client = try daemon.client(transport).blocking
        let service = try client.send(.service)
        #expect(service.name == "settingsd" && service.links.contains { $0.name == "suites" })
        try client.send(.health)
        try client.send(.readiness)
        #expect(try client.send(.metrics).contains("settingsd_"))
        #expect(try client.send(.interfaceDescription)["openapi"] != nil)
    }

    @Test("Values of the greatest allowed depth survive a write and a read") func greatestDepth() throws {
        let daemon = try ServedDaemon()
        let client = try daemon.client().blocking
        var value: JSONValue = 1
        for _ in 0..<JSONValue.maximumDepth { value = [value] }
        #expect(try client.send(.set(names.theme, to: value, in: names.app)).value == value)
        #expect(try client.send(.suite(names.app)).contents.values.map(\.value) == [value])
        #expect(try client.send(.keys(of: names.app)).keys.map(\.setting.value) == [value])
    }

    @Test(
        "Concurrent async requests lose no change, and other async requests return the expected results",
        arguments: ServedDaemon.Transport.allCases)
    func concurrentTasks(transport: ServedDaemon.Transport) async throws {
        let daemon = try ServedDaemon()
        let client = try daemon.client(transport)
        let names = names
        try await client.send(.setSchema(["type": "object", "additionalProperties": true], of: names.app))
        try await client.send(.set(names.launchCount, to: 0, in: names.app))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask { _ = try await client.send(.change(names.launchCount, by: .add(1), in: names.app)) }
            }
            try await group.waitForAll()
        }
        #expect(try await client.send(.setting(names.launchCount, in: names.app)).value == 50)
        #expect(client.pool.idleCount <= ConnectionPool.defaultLimit)
        try await client.send(.merge(["x": 1], into: names.app))
        try await client.send(.replace(names.app, with: ["x": 2]))
        #expect(try await client.send(.suite(names.app)).contents.values.map(\.value) == [2])
        #expect(try await client.send(.allKeys(of: names.app)).count == 1)
        #expect(try await client.send(.allSuites()).count == 1)
        try await client.send(.remove(try KeyName("x"), in: names.app))
        #expect(try await client.send(.reset(names.app)).changed == false)
        #expect(try await client.send(.schema(of: names.app)).document["type"] == "object")
        try await client.send(.removeSchema(of: names.app))
        try await client.send(.commit(Transaction(do: [.init(suite: names.app, key: names.theme, .set(1))])))
        let revision = try await client.send(.setting(names.theme, in: names.app)).revision
        #expect(try await client.send(.setting(names.theme, in: names.app, changedFrom: revision)) == nil)
        #expect(try await client.send(.suite(names.app, changedFrom: revision)) == nil)
        try await client.send(.drop(names.app))
        let error = await #expect(throws: SettingsError.self) { try await client.send(.suite(names.app)) }
        #expect(error?.code == .unknownSuite)
        #expect(try await client.send(.service).name == "settingsd")
        try await client.send(.health)
        try await client.send(.readiness)
        #expect(try await client.send(.metrics).contains("settingsd_"))
        #expect(try await client.send(.interfaceDescription)["openapi"] != nil)
    }
}
