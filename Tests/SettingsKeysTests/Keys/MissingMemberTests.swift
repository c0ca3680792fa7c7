import SettingsKeys
import Testing

/// Tests of a stored object that lacks members of the type because an older program stored the object.
struct MissingMemberTests {
    struct Proxy: Codable, Equatable, DefaultsSerializable {
        var host = "localhost"
        var port = 8080
    }

    struct Account: Codable, Equatable, DefaultsSerializable {
        var name = "guest"
        var retries = 3
        var note: String?
        var proxy = Proxy()
        var backup: Proxy?
        var mirrors: [Proxy] = [Proxy()]
        var ports = ["http": 80]
    }

    private func decode(_ stored: JSONValue, default value: Account = Account()) throws -> Account {
        try KeyCodec(DefaultsKey<Account>("account", defaultValue: value)).decode(stored)
    }

    /// An object with all members that are not optional.
    private let complete: JSONValue = [
        "name": "radek", "retries": 5, "proxy": ["host": "h", "port": 1], "mirrors": [], "ports": [:],
    ]

    private func complete(without name: String) -> JSONValue {
        .object(JSONObject((complete.object ?? [:]).members.filter { $0.name != name }) ?? [:])
    }

    @Test func `A missing member gets the value of the member in the key's default`() throws {
        let customDefault = Account(retries: 7)
        #expect(try decode(complete(without: "retries"), default: customDefault).retries == 7)
        #expect(try decode(complete(without: "retries"), default: customDefault).name == "radek")
        #expect(try decode(complete(without: "proxy"), default: customDefault).proxy == Proxy())
        #expect(try decode([:], default: customDefault) == customDefault)
    }

    @Test func `A missing member of a nested object gets the value of the member in the key's default`() throws {
        var stored = complete.object ?? [:]
        stored["proxy"] = ["host": "h"]
        #expect(try decode(.object(stored)).proxy == Proxy(host: "h", port: 8080))
    }

    @Test func `The default of the key supplies missing members of an optional value`() throws {
        let codec = try KeyCodec(DefaultsKey<Account?>("account", defaultValue: Account(retries: 9)))
        #expect(try codec.decode(["name": "radek"])?.retries == 9)
        let withoutDefault = try KeyCodec(DefaultsKey<Account?>("account"))
        #expect(throws: InvalidValue.self) { try withoutDefault.decode(["name": "radek"]) }
    }

    @Test func `A missing optional member stays nil, also if the default has a value for the member`() throws {
        let customDefault = Account(note: "default", backup: Proxy())
        let read = try decode(complete(without: "retries"), default: customDefault)
        #expect(read.note == nil && read.backup == nil)
        #expect(try decode([:], default: customDefault) == Account(note: nil, backup: nil))
    }

    @Test func `A dictionary gets no entries of the default`() throws {
        #expect(try decode(complete(without: "retries")).ports == [:])
        let servers = DefaultsKey<[String: Proxy]>("servers", defaultValue: ["a": Proxy()])
        let error = #expect(throws: InvalidValue.self) { try KeyCodec(servers).decode(["b": ["host": "h"]]) }
        #expect(error?.description == #"servers at /b: is missing the member "port""#)
    }

    @Test func `A missing member of an array element is an error`() throws {
        var stored = complete.object ?? [:]
        stored["mirrors"] = [["host": "h"]]
        let error = #expect(throws: InvalidValue.self) { try decode(.object(stored)) }
        #expect(error?.description == #"account at /mirrors/0: is missing the member "port""#)
    }

    @Test func `A member of the wrong type is an error, also if another member is missing`() throws {
        // No member has the name `none`, so the second object is complete.
        for name in ["retries", "none"] {
            var stored = complete(without: name).object ?? [:]
            stored["name"] = 1
            let error = #expect(throws: InvalidValue.self) { try decode(.object(stored)) }
            #expect(error?.description == "account at /name: must be a string (got an integer)")
        }
        #expect(throws: InvalidValue.self) { try decode("text") }
        #expect(throws: InvalidValue.self) { try decode(["proxy": 1]) }
    }

    /// A type whose schema requires all members.
    struct Shape: Codable, DefaultsSerializable, Equatable {
        static var defaultsBridge: CodableBridge<Shape> {
            CodableBridge(schema: .object(exactly: ["sides": .integer, "color": .string]))
        }

        var sides = 3
        var color = "red"
    }

    @Test func `A schema that requires the member refuses the object`() throws {
        let error = #expect(throws: InvalidValue.self) {
            try KeyCodec(DefaultsKey<Shape>("shape", defaultValue: Shape())).decode(["sides": 4])
        }
        #expect(error?.violations.first?.keyword == "required")
    }

    /// A type that requires a member which its own default does not encode.
    struct Demanding: Codable, DefaultsSerializable {
        var count = 1

        enum Keys: CodingKey { case count, secret }

        init() {}
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Keys.self)
            count = try container.decode(Int.self, forKey: .count) + container.decode(Int.self, forKey: .secret)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode(count, forKey: .count)
        }
    }

    @Test func `A member that is missing in the stored value and in the default is an error`() throws {
        let error = #expect(throws: InvalidValue.self) {
            try KeyCodec(DefaultsKey<Demanding>("d", defaultValue: Demanding())).decode([:])
        }
        #expect(error?.description == #"d: is missing the member "secret""#)
    }
}
