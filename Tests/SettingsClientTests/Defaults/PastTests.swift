import Foundation
import SettingsClient
import SettingsClientCompatibility
import TestSupport
import Testing

/// Past values of settings, the history, undo and restore.
@Suite(.ownThread)
struct PastTests {
    @Test("The past value of a key can be read at a revision and at an instant", arguments: BackendKind.allCases)
    func values(_ kind: BackendKind) async throws {
        let defaults = try kind.fixture().adapter()
        #expect(try await defaults.value(\.theme, at: .revision(0)) == .light)
        #expect(try await defaults.history(of: \.theme).isEmpty)
        #expect(try await defaults.diff(from: .revision(0)).isEmpty)
        try await defaults.set(\.theme, .dark)
        try await defaults.set(\.username, "me")
        let then = try #require(try await defaults.history().first)
        try await defaults.set(\.theme, .light)
        defaults.remove(\.username)
        #expect(try await defaults.value(\.theme, at: .revision(0)) == .light)
        #expect(try await defaults.value(\.theme, at: .revision(then.revision)) == .dark)
        #expect(try await defaults.value(\.username, at: .revision(then.revision)) == "me")
        #expect(try await defaults.value(key: ClientKeys().username, at: .instant(.distantFuture)) == nil)
        #expect(try await defaults.value(\.theme, at: .instant(.distantPast)) == .light)
        #expect(try await defaults.value(\.theme, at: .ago(.seconds(3600))) == .light)
        #expect(try await defaults.player.value(\.volume, at: .revision(1)) == 0.5)
        let future = await #expect(throws: DefaultsError.self) {
            try await defaults.value(\.theme, at: .revision(1000))
        }
        #expect(future?.code == .badRequest)
        let negative = await #expect(throws: DefaultsError.self) { try await defaults.undo(-1) }
        #expect(negative?.description.hasSuffix("the revision must be at least 0 (got -1)") == true)
    }

    @Test(
        "A past value depends neither on launch arguments nor on the value that is stored now",
        arguments: BackendKind.allCases)
    func layers(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter(arguments: ["-launchCount", "9"])
        defaults.register(defaults: ["launchCount": 4])
        try await defaults.set(\.launchCount, 1)
        let revision = try #require(try await defaults.history(of: \.launchCount).first?.revision)
        defaults["launchCount"] = "many"
        #expect(try await defaults.value(\.launchCount) == 9)
        #expect(try await defaults.value(\.launchCount, at: .revision(revision)) == 1)
        // At revision 0, no value was stored, so the registered default applies.
        #expect(try await defaults.value(\.launchCount, at: .revision(0)) == 4)
        let invalid = await #expect(throws: DefaultsError.self) {
            try await defaults.value(\.launchCount, at: .instant(.distantFuture))
        }
        #expect(invalid?.description == "launchCount: must be an integer (got \"many\")")
    }

    @Test("The history of a key has typed values, the newest first", arguments: BackendKind.allCases)
    func history(_ kind: BackendKind) async throws {
        let defaults = try kind.fixture().adapter()
        for count in 1...3 { try await defaults.set(\.launchCount, count) }
        try await defaults.set(\.theme, .dark)
        defaults["launchCount"] = "many"
        defaults.remove(\.launchCount)
        let changes = try await defaults.history(of: \.launchCount)
        // Nil stands for `many`, which is not an integer. The value of the key without a stored value is 0.
        #expect(changes.map(\.newValue) == [0, nil, 3, 2, 1])
        #expect(changes.map(\.oldValue) == [nil, 3, 2, 1, 0])
        #expect(changes.allSatisfy { $0.key == "launchCount" && abs($0.time.timeIntervalSinceNow) < 600 })
        #expect(zip(changes, changes.dropFirst()).allSatisfy { $0.revision > $1.revision })
        #expect(try await defaults.history(of: \.launchCount, limit: 2) == Array(changes.prefix(2)))
        #expect(try await defaults.history(key: ClientKeys().launchCount, limit: 0).isEmpty)
        #expect(try await defaults.history(limit: 3).map(\.key) == ["launchCount", "launchCount", "theme"])
        #expect(try await defaults.history(of: \.username).isEmpty)
    }

    @Test(
        "A commit is undone by its revision, with a note, and the undo can be undone", arguments: BackendKind.allCases)
    func undo(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        try await defaults.set(\.theme, .dark)
        try await defaults.set(\.launchCount, 1)
        let commit = try #require(try await defaults.history(of: \.theme).first).revision
        let undone = try await defaults.undo(commit, note: "too dark")
        #expect(undone.map(\.key) == ["theme"] && undone[0].oldValue == "dark" && undone[0].newValue == nil)
        #expect(defaults.theme == .light && defaults.launchCount == 1)
        let last = try #require(try await defaults.history(of: \.theme).first)
        #expect(last.note == "too dark" && last.oldValue == .dark && last.newValue == .light)
        try await defaults.undo(last.revision)
        #expect(defaults.theme == .dark)
        try await defaults.set(\.theme, .light)
        let refused = await #expect(throws: DefaultsError.self) { try await defaults.undo(commit) }
        #expect(refused?.code == .changedSince)
        try await defaults.undo(commit, isForced: true)
        #expect(defaults.theme == .light && fixture.drainIssues().isEmpty)
    }

    @Test(
        "The changes since a moment can be listed, and reverted for one key or all keys",
        arguments: BackendKind.allCases)
    func restore(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let (defaults, other) = (fixture.adapter(), fixture.adapter())
        try await defaults.set(\.theme, .dark)
        try await defaults.set(\.libraries, ["a"])
        let then = DefaultsMoment.revision(try #require(try await defaults.history().first).revision)
        try await other.set(\.theme, .light)
        try await other.set(\.libraries, ["a", "b"])
        try await other.set(\.username, "me")
        let changes = try await defaults.diff(from: then)
        #expect(changes.map(\.key) == ["libraries", "theme", "username"])
        #expect(changes.map(\.newValue) == [["a", "b"], "light", "me"])
        #expect(try await defaults.diff(from: then, to: then).isEmpty)
        try await defaults.restore(\.theme, to: then, note: "as it was")
        #expect(defaults.theme == .dark && defaults.libraries == ["a", "b"])
        #expect(try await defaults.history(of: \.theme).first?.note == "as it was")
        #expect(try await defaults.restore(to: then).map(\.key) == ["libraries", "username"])
        #expect(defaults.libraries == ["a"] && defaults.username == nil)
        #expect(try await defaults.restore(to: then).isEmpty)
        #expect(try await defaults.diff(from: then).isEmpty)
    }

    @Test(
        "A restore of a value that the current schema refuses throws an error and changes nothing",
        arguments: BackendKind.allCases)
    func conflict(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        try await defaults.set(\.launchCount, 70)
        let then = DefaultsMoment.revision(try #require(try await defaults.history().first).revision)
        try await defaults.set(\.launchCount, 1)
        try await fixture.put(schema: SuiteFixture.schema(of: ["launchCount": ["type": "integer", "maximum": 50]]))
        let refused = await #expect(throws: DefaultsError.self) { try await defaults.restore(to: then) }
        #expect(refused?.code == .schemaConflict && refused?.description.contains("at most 50") == true)
        #expect(defaults.launchCount == 1)
    }

    private struct NewKeys: DefaultsKeyStore {
        var look: DefaultsKey<Theme> { .init("look", defaultValue: .light, renamedFrom: ["theme"]) }
    }

    @Test("The history of a renamed key contains the changes under its former name", arguments: BackendKind.allCases)
    func renamed(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let old = fixture.adapter()
        try await old.set(\.theme, .dark)
        let then = DefaultsMoment.revision(try #require(try await old.history().first).revision)
        let new = fixture.adapter(NewKeys())
        #expect(new.look == .dark)
        try await new.set(\.look, .light)
        #expect(try await new.value(\.look, at: then) == .dark)
        // From the newest: the new value, the move from `theme` to `look` (two changes), and the first value.
        #expect(try await new.history(of: \.look).map(\.key) == ["look", "look", "theme", "theme"])
        try await new.restore(\.look, to: then)
        #expect(new.look == .dark)
        #expect(try await fixture.storedKeys() == ["look"])
    }

    @Test("A restore without a daemon changes nothing and throws")
    func withoutDaemon() async throws {
        let (defaults, backend) = try BackendKind.memory.fixture().interruptibleAdapter(ClientKeys())
        try await defaults.set(\.theme, .dark)
        backend.isServerUnreachable = true
        let error = await #expect(throws: DefaultsError.self) { try await defaults.restore(to: .revision(0)) }
        guard case .unreachable = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        await #expect(throws: DefaultsError.self) { try await defaults.value(\.theme, at: .revision(0)) }
        #expect(defaults.theme == .dark)
    }
}
