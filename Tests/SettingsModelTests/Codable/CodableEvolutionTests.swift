import Testing

@testable import SettingsModel

struct CodableEvolutionTests {
    struct First: Codable, Equatable {
        var name: String
        var retries: Int
        var legacy: Bool
    }

    /// Renamed `name`, added `timeout` with a default and `comment` without a value, dropped `legacy`.
    struct Second: Codable, Equatable {
        var title: String
        var retries: Int
        var timeout: Double
        var comment: String?

        enum CodingKeys: String, CodingKey {
            case title = "name"
            case retries, timeout, comment
        }

        init(title: String, retries: Int, timeout: Double, comment: String? = nil) {
            self.title = title
            self.retries = retries
            self.timeout = timeout
            self.comment = comment
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            title = try container.decode(String.self, forKey: .title)
            retries = try container.decode(Int.self, forKey: .retries)
            timeout = try container.decodeIfPresent(Double.self, forKey: .timeout) ?? 30
            comment = try container.decodeIfPresent(String.self, forKey: .comment)
        }
    }

    @Test("A newer type reads an older value and fills in its defaults")
    func newerReadsOlder() throws {
        let old = try encoded(First(name: "a", retries: 3, legacy: true)).text()
        #expect(try decoded(Second.self, old) == Second(title: "a", retries: 3, timeout: 30))
    }

    @Test("An older type reads a newer value if that has what it needs")
    func olderReadsNewer() throws {
        let new = try encoded(Second(title: "a", retries: 3, timeout: 5, comment: "c"))
        #expect(try refusal(First.self, new.text()) == #"is missing the member "legacy""#)
        var members = try #require(new.object)
        members["legacy"] = false
        #expect(
            try decoded(First.self, JSONValue.object(members).text()) == First(name: "a", retries: 3, legacy: false))
    }

    @Test("An optional is nil where its member is missing or null")
    func optionals() throws {
        struct Optionals: Codable, Equatable {
            var text: String?
            var list: [Int]?
            var point: Point?
            var own: Hexadecimal?
            var double: Double?
        }
        let empty = Optionals()
        #expect(try decoded(Optionals.self, "{}") == empty)
        #expect(
            try decoded(Optionals.self, #"{"text":null,"list":null,"point":null,"own":null,"double":null,"more":1}"#)
                == empty)
        #expect(try encoded(empty) == [:])
        #expect(try afterRoundTrip(Optionals(own: Hexadecimal(value: 1))) == Optionals(own: Hexadecimal(value: 1)))
    }

    @Test("A type that tries one form and then another reads both")
    func eitherForm() throws {
        struct Flexible: Decodable, Equatable {
            var ports: [Int]

            init(from decoder: any Decoder) throws {
                let container = try decoder.singleValueContainer()
                do {
                    ports = [try container.decode(Int.self)]
                } catch DecodingError.typeMismatch {
                    ports = try container.decode([Int].self)
                }
            }
        }
        #expect(try decoded([Flexible].self, "[1,[2,3]]").map(\.ports) == [[1], [2, 3]])
        #expect(try refusal([Flexible].self, #"[1,"x"]"#) == "/1 must be an array, but is a string")
    }
}
