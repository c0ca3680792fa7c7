import SettingsClient
import TestSupport
import Testing

@Suite(.ownThread)
struct NestedMutationTests {
    struct Address: Codable, Hashable {
        var city: String
        var lines: [String] = []
    }

    struct Person: Codable, Hashable, DefaultsSerializable {
        var name: String
        var address: Address?
        var scores: [String: [Int]] = [:]
    }

    struct Keys: DefaultsKeyStore {
        var person: DefaultsKey<Person> { .init("person", defaultValue: Person(name: "a")) }
        var boss: DefaultsKey<Person?> { .init("boss") }
        var team: DefaultsKey<[Person]> { .init("team", defaultValue: []) }
        var numbers: DefaultsKey<[Int]> { .init("numbers", defaultValue: [3, 1, 2]) }
        var staff: StaffKeys { StaffKeys() }
    }

    struct StaffKeys: DefaultsKeyStore {
        static let prefix = "staff"
        var head: DefaultsKey<Person?> { .init(Self["head"]) }
        var numbers: DefaultsKey<[Int]> { .init(Self["numbers"], defaultValue: [2, 1]) }
    }

    @Test(
        "Nested values are changed through members, subscripts and optionals, in all forms of access",
        arguments: BackendKind.allCases)
    func depth(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter(Keys())
        defaults.person.address = Address(city: "Bern")
        defaults[\.person].address?.lines.append("1")
        defaults[key: Keys().person].address?.lines[0] += "a"
        defaults.person.scores["x", default: []].append(3)
        defaults[\.person].scores["x"]?[0] *= 2
        defaults[\.team].append(Person(name: "b"))
        defaults.team[0].address = Address(city: "Basel")
        defaults.team[0].address?.city.removeLast()
        defaults.staff.head = Person(name: "c")
        defaults.staff.head?.scores["y"] = [1]
        defaults[\.staff.head]?.scores["y"]?.append(2)
        let other = fixture.adapter(Keys())
        #expect(
            other.person
                == Person(name: "a", address: Address(city: "Bern", lines: ["1a"]), scores: ["x": [6]]))
        #expect(other.team == [Person(name: "b", address: Address(city: "Base"))])
        #expect(other.staff.head == Person(name: "c", scores: ["y": [1, 2]]))
        #expect(fixture.drainIssues() == [])
    }

    @Test("A setting can be changed through a writable key path of its value", arguments: BackendKind.allCases)
    func writablePaths(_ kind: BackendKind) throws {
        let defaults = try kind.fixture().adapter(Keys())
        let name = \Person.name
        defaults[\.person][keyPath: name] = "z"
        defaults.person[keyPath: \.scores["k"]] = [1]
        #expect(defaults.person == Person(name: "z", scores: ["k": [1]]))
    }

    @Test("Optional chains that end in nil and changes to equal values send no write", arguments: BackendKind.allCases)
    func chains(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let (defaults, backend) = fixture.interruptibleAdapter(Keys())
        defaults.boss?.name = "x"
        defaults[\.boss]?.address?.city += "x"
        defaults.person.address?.city = "x"
        defaults.person.scores["none"]?.append(1)
        defaults.staff.head?.name = "x"
        defaults[key: Keys().boss]?.scores = [:]
        defaults.numbers.sort(by: { _, _ in false })
        defaults.person.name = "a"
        #expect(backend.counts.writes == 0)
        #expect(try await fixture.storedKeys() == [])
        defaults.numbers.sort()
        defaults.staff.numbers.sort()
        #expect(defaults.numbers == [1, 2, 3] && defaults.staff.numbers == [1, 2])
        #expect(backend.counts.writes == 2)
        defaults.numbers.sort()
        #expect(backend.counts.writes == 2)
    }

    @Test("Parts of two values can be swapped and passed as inout", arguments: BackendKind.allCases)
    func swapping(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter(Keys())
        swap(&defaults.numbers[0], &defaults.staff.numbers[1])
        #expect(defaults.numbers == [1, 1, 2] && defaults.staff.numbers == [2, 3])
        swap(&defaults[\.numbers], &defaults[\.staff.numbers])
        #expect(defaults.numbers == [2, 3] && defaults.staff.numbers == [1, 1, 2])
        func rename(_ person: inout Person) { person.name += "!" }
        rename(&defaults.person)
        rename(&defaults[\.person])
        defaults.boss = Person(name: "b")
        if defaults.boss != nil { rename(&defaults.boss!) }
        #expect(defaults.person.name == "a!!" && defaults.boss?.name == "b!")
        #expect(fixture.drainIssues() == [])
    }
}
