import SettingsClient
import SettingsClientCompatibility
import TestSupport
import Testing

/// A key with an empty name, which is not a valid name.
@Suite(.ownThread)
struct UnnamedKeyTests {
    @Test
    func `Each write to a key with an empty name is reported`() throws {
        let fixture = try BackendKind.memory.fixture()
        let defaults = fixture.adapter()
        let key = DefaultsKey<Int>("", defaultValue: 3)
        #expect(defaults[key: key] == 3)
        #expect(fixture.drainIssues().map(\.attempt) == [.read])
        defaults[key: key] ?= 4
        defaults[key: key] = 4
        defaults[key: key] += 1
        defaults[key: key]++
        #expect(defaults[key: key] == 3)
        // One issue for each of the four operators.
        #expect(fixture.drainIssues().map(\.attempt) == [.write, .write, .write, .write])
    }
}
