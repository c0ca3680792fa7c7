import Testing

@testable import SettingsKeys

/// Tests of the containers from which a `Codable` type decodes itself. `AnyKey` (`CodingSupport.swift`) is a coding key
/// of any name.
struct CodableReadingTests {
    /// The decoder that a type receives for JSON text.
    private func decoder(_ text: String) throws -> any Decoder {
        struct Keeper: Decodable {
            let decoder: any Decoder

            init(from decoder: any Decoder) throws {
                self.decoder = decoder
            }
        }
        return try decoded(Keeper.self, text).decoder
    }

    @Test("A keyed container lists its members, finds them by key and decodes them")
    func keyed() throws {
        let container = try decoder(#"{"b":1,"a":null,"super":[2],"n":{"x":true}}"#).container(keyedBy: AnyKey.self)
        #expect(container.allKeys.map(\.stringValue) == ["b", "a", "super", "n"])
        #expect(container.contains("a"))
        #expect(!container.contains("c"))
        #expect(try container.decodeNil(forKey: "a"))
        #expect(try !container.decodeNil(forKey: "b"))
        #expect(throws: DecodingError.self) { try container.decodeNil(forKey: "c") }
        #expect(try container.decodeIfPresent(Int.self, forKey: "c") == nil)
        #expect(try container.decodeIfPresent(Int.self, forKey: "a") == nil)
        #expect(try [Int](from: container.superDecoder()) == [2])
        #expect(try [Int](from: container.superDecoder(forKey: "super")) == [2])
        let nested = try container.nestedContainer(keyedBy: AnyKey.self, forKey: "n")
        #expect(try nested.decode(Bool.self, forKey: "x"))
        #expect(nested.codingPath.map(\.stringValue) == ["n"])
        #expect(throws: DecodingError.self) { try container.superDecoder(forKey: "c") }
        #expect(throws: DecodingError.self) { try container.nestedUnkeyedContainer(forKey: "n") }
    }

    @Test("A nested container for a missing or null member throws an error that names the member")
    func missingNested() throws {
        let container = try decoder(#"{"a":null}"#).container(keyedBy: AnyKey.self)
        do {
            _ = try container.nestedContainer(keyedBy: AnyKey.self, forKey: "b")
            Issue.record("there is no b")
        } catch DecodingError.keyNotFound(let key, let context) {
            #expect(key.stringValue == "b")
            #expect(context.debugDescription == "is missing the member \"b\"")
        }
        do {
            _ = try container.nestedUnkeyedContainer(forKey: "a")
            Issue.record("a is null")
        } catch DecodingError.valueNotFound(_, let context) {
            #expect(context.codingPath.map(\.stringValue) == ["a"])
        }
    }

    @Test("An unkeyed container advances only after it has decoded an element")
    func unkeyed() throws {
        var container = try decoder(#"[1,null,[2],{"a":3},"x",4]"#).unkeyedContainer()
        #expect(container.count == 6)
        #expect(try container.decode(Int8.self) == 1)
        #expect(try container.decodeNil())
        #expect(container.currentIndex == 2)
        var list = try container.nestedUnkeyedContainer()
        #expect(try list.decode(Int.self) == 2)
        #expect(list.isAtEnd)
        #expect(list.codingPath.map(\.stringValue) == ["2"])
        #expect(throws: DecodingError.self) { try list.decodeNil() }
        let object = try container.nestedContainer(keyedBy: AnyKey.self)
        #expect(try object.decode(Int.self, forKey: "a") == 3)
        #expect(try !container.decodeNil())
        #expect(throws: DecodingError.self) { try container.decode(Int.self) }
        #expect(throws: DecodingError.self) { try container.decode(Point.self) }
        #expect(throws: DecodingError.self) { try container.nestedUnkeyedContainer() }
        #expect(container.currentIndex == 4)
        #expect(try String(from: container.superDecoder()) == "x")
        #expect(try container.decodeIfPresent(Int.self) == 4)
        #expect(container.isAtEnd)
        #expect(try container.decodeIfPresent(Int.self) == nil)
        #expect(throws: DecodingError.self) { try container.superDecoder() }
    }

    @Test("A type can read one decoder through several containers")
    func severalContainers() throws {
        let decoder = try decoder(#"{"a":1}"#)
        #expect(decoder.userInfo.isEmpty)
        #expect(try [String: Int](from: decoder) == ["a": 1])
        #expect(try decoder.container(keyedBy: AnyKey.self).decode(Int.self, forKey: "a") == 1)
        #expect(try decoder.singleValueContainer().decode(JSONValue.self) == ["a": 1])
        #expect(try !decoder.singleValueContainer().decodeNil())
    }
}
