import SettingsClient
import SettingsClientCompatibility
import TestSupport
import Testing

/// Codable values that another version of the program has stored with other fields.
@Suite(.ownThread)
struct CodableEvolutionTests {
    /// The type whose value is stored.
    struct First: Codable, DefaultsSerializable, Equatable {
        var name: String
        var port: Int
    }

    /// Has an additional optional field.
    struct WithOptionalHost: Codable, DefaultsSerializable, Equatable {
        var name: String
        var port: Int
        var host: String?
    }

    /// Has an additional required field.
    struct WithRequiredHost: Codable, DefaultsSerializable, Equatable {
        var name: String
        var port: Int
        var host: String
    }

    /// Has another type of the field `port`.
    struct Retyped: Codable, DefaultsSerializable, Equatable {
        var name: String
        var port: String
    }

    /// Does not have the field `port`.
    struct WithoutPort: Codable, DefaultsSerializable, Equatable {
        var name: String
    }

    /// Has the name `title` for the field `name`. Decoding reads both names.
    struct Renamed: Codable, DefaultsSerializable, Equatable {
        var title: String
        var port: Int

        init(title: String, port: Int) {
            self.title = title
            self.port = port
        }

        enum CodingKeys: String, CodingKey {
            case title, port, name
        }

        init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            title = try values.decodeIfPresent(String.self, forKey: .title) ?? values.decode(String.self, forKey: .name)
            port = try values.decode(Int.self, forKey: .port)
        }

        func encode(to encoder: any Encoder) throws {
            var values = encoder.container(keyedBy: CodingKeys.self)
            try values.encode(title, forKey: .title)
            try values.encode(port, forKey: .port)
        }
    }

    private let first = DefaultsKey<First?>("account")

    private func fixture(_ kind: BackendKind) throws -> SuiteFixture {
        let fixture = try kind.fixture()
        fixture.adapter()[key: first] = First(name: "home", port: 80)
        return fixture
    }

    @Test(
        "A new optional field is nil in old values, and old programs read new values", arguments: BackendKind.allCases)
    func added(_ kind: BackendKind) throws {
        let fixture = try fixture(kind)
        let key = DefaultsKey<WithOptionalHost?>("account")
        let defaults = fixture.adapter()
        #expect(defaults[key: key] == WithOptionalHost(name: "home", port: 80))
        defaults[key: key]?.host = "example.com"
        #expect(fixture.adapter()[key: first] == First(name: "home", port: 80))
        #expect(fixture.adapter()[key: key]?.host == "example.com")
        #expect(fixture.drainIssues() == [])
    }

    @Test(
        "A new required field without a default makes old values unreadable, and a change in place does not replace them",
        arguments: BackendKind.allCases)
    func addedRequiredField(_ kind: BackendKind) throws {
        let fixture = try fixture(kind)
        let key = DefaultsKey<WithRequiredHost?>("account")
        let defaults = fixture.adapter()
        #expect(defaults[key: key] == nil)
        defaults[key: key]?.port += 1
        let issues = fixture.drainIssues()
        #expect(issues.first?.attempt == .read)
        #expect(issues.first?.description.contains("host") == true)
        #expect(fixture.adapter()[key: first] == First(name: "home", port: 80))
    }

    @Test(arguments: BackendKind.allCases)
    func `A new required field that an old value lacks is read from the key's default`(_ kind: BackendKind) throws {
        let fixture = try fixture(kind)
        let key = DefaultsKey<WithRequiredHost>(
            "account", defaultValue: WithRequiredHost(name: "", port: 0, host: "localhost"))
        let defaults = fixture.adapter()
        #expect(defaults[key: key] == WithRequiredHost(name: "home", port: 80, host: "localhost"))
        #expect(defaults["account"].value == ["name": "home", "port": 80])
        defaults[key: key].port += 1
        #expect(defaults["account"].value == ["name": "home", "port": 81, "host": "localhost"])
        #expect(fixture.adapter()[key: first] == First(name: "home", port: 81))
        #expect(fixture.drainIssues() == [])
    }

    @Test(
        "A field of another type makes old values unreadable, and a change in place is reported and does not replace them",
        arguments: BackendKind.allCases)
    func retyped(_ kind: BackendKind) throws {
        let fixture = try fixture(kind)
        let key = DefaultsKey<Retyped>("account", defaultValue: Retyped(name: "", port: "0"))
        let defaults = fixture.adapter()
        #expect(defaults[key: key] == Retyped(name: "", port: "0"))
        defaults[key: key].port += "1"
        let issues = fixture.drainIssues()
        #expect(issues.map(\.attempt) == [.read, .write])
        #expect(issues.first?.description.contains("port") == true)
        #expect(fixture.adapter()[key: first] == First(name: "home", port: 80))
    }

    @Test(
        "A field that the type no longer has is ignored, and a write removes the field", arguments: BackendKind.allCases
    )
    func removed(_ kind: BackendKind) throws {
        let fixture = try fixture(kind)
        let key = DefaultsKey<WithoutPort?>("account")
        let defaults = fixture.adapter()
        #expect(defaults[key: key] == WithoutPort(name: "home"))
        defaults[key: key]?.name = "office"
        #expect(defaults["account"].value == ["name": "office"])
        #expect(fixture.drainIssues() == [])
    }

    @Test("A renamed field is read under both names and written under the new name", arguments: BackendKind.allCases)
    func renamed(_ kind: BackendKind) throws {
        let fixture = try fixture(kind)
        let key = DefaultsKey<Renamed?>("account")
        let defaults = fixture.adapter()
        #expect(defaults[key: key] == Renamed(title: "home", port: 80))
        defaults[key: key]?.port += 1
        #expect(defaults["account"].value == ["title": "home", "port": 81])
        #expect(fixture.drainIssues() == [])
    }
}
