import SettingsClient
import SettingsClientCompatibility
import SettingsClientTesting
import Testing

/// Stored elements of an enumeration with cases that only a newer version of the program declares.
struct UnknownElementsTests {
    enum Feature: String, CaseIterable, DefaultsSerializable {
        case search, voice
    }

    struct Keys: DefaultsKeyStore {
        var list: DefaultsKey<[Feature]> { .init("list", defaultValue: [], elements: .droppingUnknown) }
        // With `merge: .append`, the client sends an append instead of the whole list.
        var added: DefaultsKey<[Feature]> {
            .init("added", defaultValue: [], elements: .droppingUnknown, merge: .append)
        }
        var unique: DefaultsKey<Set<Feature>> { .init("unique", defaultValue: [], elements: .droppingUnknown) }
    }

    @Test func `A change in place keeps the unknown elements that are stored`() {
        let defaults = DefaultsAdapter.inMemory(keyStore: Keys())
        for name in ["list", "added", "unique"] { defaults[name] = ["holograms", "search"] }
        #expect(defaults.list == [.search])
        defaults.list.append(.voice)
        #expect(defaults["list"].array == ["holograms", "search", "voice"])
        defaults.list.removeAll()
        #expect(defaults["list"].array == ["holograms"])
        defaults.added.append(.voice)
        #expect(defaults["added"].array == ["holograms", "search", "voice"])
        defaults.unique.insert(.voice)
        #expect(defaults["unique"].array == ["holograms", "search", "voice"])
        #expect(defaults.unique == [.search, .voice])
    }

    @Test func `An assignment replaces the unknown elements`() {
        let defaults = DefaultsAdapter.inMemory(keyStore: Keys())
        defaults["list"] = ["holograms", "search"]
        defaults.list = [.voice]
        #expect(defaults["list"].array == ["voice"])
    }
}
