import SettingsKeys
import Testing

/// Tests of namespaces, the prefixes of the names of settings. A program registers one type for each namespace, so that
/// two types of the same name in different modules do not share their settings.
struct NamespaceTests {
    private enum Account {}
    private enum Other {}

    @Test("A second type with the same namespace is refused, and a repeated registration of one type is accepted")
    func registry() throws {
        var registry = NamespaceRegistry()
        try registry.register("Account", of: Account.self)
        try registry.register("Account", of: Account.self)
        try registry.register("other.account", of: Other.self)
        let conflict = #expect(throws: NamespaceConflict.self) { try registry.register("Account", of: Other.self) }
        #expect(conflict?.namespace == "Account")
        #expect(conflict?.description.contains("Other") == true)
    }

    @Test("The name of a key of a store begins with the prefix of the store")
    func names() {
        // `EqualizerKeys` (`SampleKeys.swift`) has the prefix `player.equalizer`, and `SampleKeys` has no prefix.
        #expect(EqualizerKeys().bass.name == "player.equalizer.bass")
        #expect(SampleKeys["x"] == "x")
    }
}
