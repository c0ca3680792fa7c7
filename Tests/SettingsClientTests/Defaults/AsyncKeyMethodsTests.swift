import SettingsClient
import TestSupport
import Testing

/// The async methods that take a key instead of a key path.
@Suite(.ownThread)
struct AsyncKeyMethodsTests {
    @Test(arguments: BackendKind.allCases)
    func `The async methods accept a key that no key store declares`(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        let count = DefaultsKey<Int>("count", defaultValue: 2)
        // The same setting with another default. A read uses the default of the key with which it is called.
        let other = DefaultsKey<Int>("count", defaultValue: 5)
        #expect(try await defaults.value(key: count) == 2)
        #expect(try await defaults.value(key: other) == 5)
        try await defaults.update(key: other) { $0 += 1 }
        #expect(try await defaults.value(key: count) == 6)
        try await defaults.set(key: count, 7)
        #expect(try await defaults.setIfAbsent(key: count) { 8 } == false)
        let sum = try await defaults.transaction { t in
            t[key: count] += 1
            t.launchCount = t[key: other]
            return t[key: count] + t.launchCount
        }
        #expect(sum == 16 && defaults[key: count] == 8 && defaults.launchCount == 8)
        defaults.remove(key: count)
        #expect(try await defaults.transaction { t in (t[key: count], t[key: other]) } == (2, 5))
        #expect(try await defaults.setIfAbsent(key: count) { 8 })
        #expect(try await defaults.value(key: other) == 8)
        #expect(fixture.drainIssues() == [])
    }
}
