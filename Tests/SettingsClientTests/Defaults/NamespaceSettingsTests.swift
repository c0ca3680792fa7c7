import Foundation
import SettingsClient
import SettingsClientCompatibility
import SettingsClientTesting
import TestSupport
import Testing

private let sharedSettings = DefaultsAdapter.inMemory(keyStore: ClientKeys())

enum Settings {
    enum Account: AdapterNamespace {
        enum Key: String { case isUserLoggedIn, email, seen, tries, icon, home, list, map, ratio }
        static var defaults: DefaultsAdapter<ClientKeys> { sharedSettings }
    }
}

/// `Account` has the same namespace as `Settings.Account`, and `Renamed` declares its namespace.
private enum Other {
    enum Account: DefaultsNamespace {
        enum Key: String { case email }
    }

    enum Renamed: DefaultsNamespace {
        static let namespace = "other.account"
        enum Key: String { case email }
    }
}

/// This global constant compiles only if its type is `Sendable`.
private let accountSettings = sharedSettings.namespace(Settings.Account.self)

@Suite(.ownThread)
struct NamespaceSettingsTests {
    @Test("A namespace type with an adapter reads and writes its settings with static methods")
    func statics() throws {
        typealias Account = Settings.Account
        Settings.Account.set(true, forKey: .isUserLoggedIn)
        #expect(Settings.Account.bool(forKey: .isUserLoggedIn))
        #expect(sharedSettings["Account.isUserLoggedIn"].bool == true)
        #expect(Account.string(forKey: .email) == nil && !Account.isSet(forKey: .email))
        let url = try #require(URL(string: "https://example.com"))
        Account.set("a@b.example", forKey: .email)
        Account.set(Date.distantPast, forKey: .seen)
        Account.set(3, forKey: .tries)
        Account.set(0.5, forKey: .ratio)
        Account.set(Data([1]), forKey: .icon)
        Account.set(url, forKey: .home)
        Account.set(["a"], forKey: .list)
        Account.set(["a": 1], forKey: .map)
        #expect(Account.string(forKey: .email) == "a@b.example" && Account.date(forKey: .seen) == .distantPast)
        #expect(Account.integer(forKey: .tries) == 3 && Account.data(forKey: .icon) == Data([1]))
        #expect(Account.double(forKey: .ratio) == 0.5 && Account.url(forKey: .home) == url)
        #expect(Account.array(forKey: .list) == ["a"] && Account.dictionary(forKey: .map) == ["a": 1])
        #expect(Account.value(forKey: .tries) == 3)
        #expect(accountSettings[.tries]?.int == 3)
        Account.remove(forKey: .email)
        #expect(!Account.isSet(forKey: .email) && Account.isSet(forKey: .tries))
    }

    @Test("The name of a key starts with the name of its type, or with the namespace that the type declares")
    func names() {
        #expect(Settings.Account.name(of: .isUserLoggedIn) == "Account.isUserLoggedIn")
        #expect(Other.Renamed.name(of: .email) == "other.account.email")
    }

    @Test(
        "A second type with the same namespace is refused, and its reads and writes are reported",
        arguments: BackendKind.allCases)
    func conflicts(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        try defaults.register(namespace: Settings.Account.self)
        try defaults.register(namespace: Settings.Account.self)
        #expect(throws: NamespaceConflict.self) { try defaults.register(namespace: Other.Account.self) }
        defaults.namespace(Settings.Account.self).set("a", forKey: .email)
        defaults.namespace(Other.Account.self).set("b", forKey: .email)
        #expect(defaults.namespace(Other.Account.self)[.email]?.value == nil)
        #expect(defaults.namespace(Settings.Account.self)[.email]?.string == "a")
        #expect(!defaults.namespace(Other.Account.self).isSet(forKey: .email))
        #expect(fixture.drainIssues().map(\.attempt) == [.write, .read, .read])
    }
}
