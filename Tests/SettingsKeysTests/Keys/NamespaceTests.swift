import SettingsKeys
import Testing

struct NamespaceTests {
    enum Account: DefaultsNamespace {
        enum Key: String { case isUserLoggedIn }
    }

    enum Other {
        enum Account: DefaultsNamespace {
            enum Key: String { case email }
        }

        enum Renamed: DefaultsNamespace {
            static let namespace = "other.account"
            enum Key: String { case email }
        }
    }

    @Test("The name of a key starts with the name of its type, or with the namespace that the type declares")
    func names() {
        #expect(Account.name(of: .isUserLoggedIn) == "Account.isUserLoggedIn")
        #expect(Other.Renamed.name(of: .email) == "other.account.email")
        #expect(EqualizerKeys().bass.name == "player.equalizer.bass")
        #expect(SampleKeys["x"] == "x")
    }

    @Test("Two types with the same namespace are refused, and a repeated registration of one type is accepted")
    func registry() throws {
        var registry = NamespaceRegistry()
        try registry.register(Account.self)
        try registry.register(Account.self)
        try registry.register(Other.Renamed.self)
        let conflict = #expect(throws: NamespaceConflict.self) { try registry.register(Other.Account.self) }
        #expect(conflict?.namespace == "Account")
        #expect(conflict?.description.contains("Other.Account") == true)
    }
}
