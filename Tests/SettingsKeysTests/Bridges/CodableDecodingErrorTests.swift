import SettingsModel
import Testing

@testable import SettingsKeys

/// Tests of the errors of decoding `Codable` types. `decodingOutcome` returns the description of the error. The types
/// `Point`, `Theme`, `Level`, `Shape` and `Dog` are in `Specimens.swift`. `Dog` is a class that encodes its superclass
/// in the member `super`.
struct CodableDecodingErrorTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let error: String
        let outcome: @Sendable () throws -> String

        init<Value: Decodable & SendableMetatype>(_ type: Value.Type, _ text: String, _ error: String) {
            testDescription = "\(type) from \(text)"
            self.error = error
            outcome = { try decodingOutcome(type, text) }
        }
    }

    /// A type with an optional member of each kind.
    struct Typed: Codable {
        var flag: Bool?
        var text: String?
        var int: Int?
        var byte: UInt8?
        var double: Double?
        var float: Float?
        var list: [Int]?
        var map: [String: Point]?
        var numbers: [Int: Int]?
        var theme: Theme?
        var shape: Shape?
        var big: UInt64?
    }

    static let wrongKindCases: [Case] = [
        Case(Typed.self, "[]", "must be an object (got an array)"),
        Case(Typed.self, "null", "must be an object (got null)"),
        Case(Typed.self, #"{"flag":1}"#, "at /flag: must be true or false (got an integer)"),
        Case(Typed.self, #"{"flag":"true"}"#, "at /flag: must be true or false (got a string)"),
        Case(Typed.self, #"{"text":1.5}"#, "at /text: must be a string (got a floating-point number)"),
        Case(Typed.self, #"{"int":"1"}"#, "at /int: must be an integer (got a string)"),
        Case(Typed.self, #"{"int":true}"#, "at /int: must be an integer (got a boolean)"),
        Case(Typed.self, #"{"int":1.5}"#, "at /int: must be an integer (got a floating-point number)"),
        Case(Typed.self, #"{"int":1e19}"#, "at /int: must be an integer (got a floating-point number)"),
        // A double above 2⁵³ does not count as an integer.
        Case(Typed.self, #"{"int":9007199254740994.0}"#, "at /int: must be an integer (got a floating-point number)"),
        Case(Typed.self, #"{"byte":300}"#, "at /byte: must be between 0 and 255 (got 300)"),
        Case(Typed.self, #"{"byte":-1}"#, "at /byte: must be between 0 and 255 (got -1)"),
        Case(Typed.self, #"{"double":false}"#, "at /double: must be a number (got a boolean)"),
        Case(Typed.self, #"{"float":1e300}"#, "at /float: must be between ±3.4028235e+38 (got 1e+300)"),
        Case(Typed.self, #"{"list":{}}"#, "at /list: must be an array (got an object)"),
        Case(Typed.self, #"{"list":[1,[]]}"#, "at /list/1: must be an integer (got an array)"),
        Case(Typed.self, #"{"list":[1,null]}"#, "at /list/1: must be an integer (got null)"),
        Case(Typed.self, #"{"map":{"a/b":{"x":1}}}"#, #"at /map/a~1b: is missing the member "y""#),
        Case(Typed.self, #"{"map":{"a":{"x":1,"y":null}}}"#, "at /map/a/y: must be an integer (got null)"),
        Case(Typed.self, #"{"map":[]}"#, "at /map: must be an object (got an array)"),
        Case(Typed.self, #"{"theme":1}"#, "at /theme: must be a string (got an integer)"),
        Case(Typed.self, #"{"shape":{"circle":{}}}"#, #"at /shape/circle: is missing the member "radius""#),
        Case(Typed.self, #"{"shape":{"circle":5}}"#, "at /shape/circle: must be an object (got an integer)"),
        Case(
            Typed.self, #"{"big":"5"}"#,
            "at /big: must be an integer, or a string of digits for an integer greater than 9223372036854775807"),
        Case([Point].self, #"[{"x":1,"y":2},3]"#, "at /1: must be an object (got an integer)"),
        Case(Dog.self, #"{"tricks":[]}"#, #"is missing the member "super""#),
        Case(Dog.self, #"{"tricks":[],"super":{}}"#, #"at /super: is missing the member "name""#),
    ]

    @Test(
        "JSON of the wrong kind or range, or without a required member, is an error with its path",
        arguments: wrongKindCases)
    func refuses(wrong: Case) throws {
        #expect(try wrong.outcome() == wrong.error)
    }

    static let originalTextCases: [Case] = [
        Case(Typed.self, #"{"numbers":{"one":1}}"#, "at /numbers/one: "),
        Case(Typed.self, #"{"theme":"red"}"#, "at /theme: "),
        Case(Typed.self, #"{"shape":{}}"#, "at /shape: "),
        Case(Typed.self, #"{"shape":{"label":{"_0":"a"},"nothing":{}}}"#, "at /shape: "),
        // A dictionary whose keys are not text is an array of alternating keys and values.
        Case([[Theme: Int]].self, #"[[],["dark"]]"#, "at /1: "),
        Case([[Theme: Int]].self, #"[["red",1]]"#, "at /0/0: "),
        Case([Range<Int>].self, "[[2,1]]", "at /0: "),
    ]

    @Test(
        "If code of the standard library or of the compiler refuses a value, the error has the path and the original text",
        arguments: originalTextCases)
    func originalTexts(wrong: Case) throws {
        let error = try wrong.outcome()
        #expect(error.hasPrefix(wrong.error))
        // The original text, which is not compared, follows the path.
        #expect(error.utf8.count > wrong.error.utf8.count + 10)
    }

    @Test("Integral doubles decode as integers up to 2⁵³, and integers decode as doubles and floats")
    func numbers() throws {
        #expect(try decoded([Int].self, "[1.0,-9007199254740992.0,-0.0]") == [1, -9_007_199_254_740_992, 0])
        #expect(try decoded([UInt8].self, "[2.0e2]") == [200])
        #expect(try decoded([Double].self, "[1]") == [1])
        #expect(try decoded([Float].self, "[1]") == [1])
        #expect(try decoded(Level.self, "9.0") == .high)
    }

    struct Broken: Error, CustomStringConvertible {
        let description: String
    }

    /// A type whose decoding throws the error that the decoded string names.
    struct ThrowingString: Decodable {
        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            let withoutPath = DecodingError.Context(codingPath: [], debugDescription: "has no coding path")
            switch try container.decode(String.self) {
            case "own": throw Broken(description: "is broken")
            case "bridge": throw BridgeError(at: JSONPointer(["inner"]), "is broken")
            case "corrupted": throw DecodingError.dataCorruptedError(in: container, debugDescription: "is not wanted")
            case "pathless": throw DecodingError.dataCorrupted(withoutPath)
            case "mismatch": throw DecodingError.typeMismatch(Int.self, withoutPath)
            case "key": throw DecodingError.keyNotFound(AnyKey("k"), withoutPath)
            case "silent":
                throw DecodingError.dataCorrupted(.init(codingPath: container.codingPath, debugDescription: ""))
            default: break
            }
        }
    }

    @Test(
        "An error from the code of a type keeps its text and gets the path of the value",
        arguments: [
            ("own", "at /list/1: is broken"), ("bridge", "at /list/1/inner: is broken"),
            ("corrupted", "at /list/1: is not wanted"),
            ("pathless", "at /list/1: has no coding path"), ("mismatch", "at /list/1: has no coding path"),
            ("key", #"at /list/1: is missing the member "k""#),
            ("silent", "at /list/1: was refused for an unknown reason"),
        ])
    func ownErrors(name: String, error: String) throws {
        #expect(try decodingOutcome([String: [ThrowingString]].self, #"{"list":["fine","\#(name)"]}"#) == error)
    }

    @Test("The path of a caught error does not appear in the next error")
    func caughtErrors() throws {
        struct Lenient: Decodable {
            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                // The container stays at an element that cannot be decoded, so these three calls decode element 0.
                do { _ = try container.decode(ThrowingString.self) } catch is Broken {}
                do { _ = try container.decode(Int.self) } catch is DecodingError {}
                _ = try container.decode(String.self)
                _ = try container.decode(ThrowingString.self)
            }
        }
        #expect(try decodingOutcome([Lenient].self, #"[["own","own"]]"#) == "at /0/1: is broken")
    }

    @Test("An array with too few elements is an error that names the missing element")
    func tooFewElements() throws {
        struct Pair: Decodable {
            init(from decoder: any Decoder) throws {
                var container = try decoder.unkeyedContainer()
                _ = try container.decode(Int.self)
                _ = try container.decode(Int.self)
            }
        }
        #expect(try decodingOutcome([String: Pair].self, #"{"a":[1]}"#) == "at /a: is missing the element 1")
        #expect(try decodingOutcome(Range<Int>.self, "[]") == "is missing the element 0")
    }

    @Test("Two names that are the same key of a dictionary are refused, so that no value is lost")
    func equalKeys() throws {
        let twoNames = "{\"é\":1,\"e\u{301}\":2}"
        let error = "at /0: contains a member twice"
        #expect(try decodingOutcome([[String: Int]].self, "[\(twoNames)]") == error)
        #expect(try decodingOutcome([[Int: Int]].self, #"[{"1":1,"01":2}]"#) == error)
        #expect(try decodingOutcome([[Theme: Int]].self, #"[["dark",1,"dark",2]]"#) == error)
        // The names in a JSONValue are compared by their bytes, so both members are kept.
        #expect(try decoded([String: JSONValue].self, "{\"é\":\(twoNames)}") == ["é": JSONValue(parsing: twoNames)])
    }

    @Test("A coding key finds only the member whose name has the same bytes")
    func names() throws {
        struct Holder: Decodable {
            var é: Int?
            var keyCount: Int

            enum CodingKeys: CodingKey { case é }

            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: CodingKeys.self)
                keyCount = container.allKeys.count
                é = try container.decodeIfPresent(Int.self, forKey: .é)
            }
        }
        let holder = try decoded(Holder.self, "{\"\u{e9}\":1,\"e\u{301}\":2}")
        #expect(holder.keyCount == 1)
        // This file may contain the letter as one or as two Unicode scalars.
        #expect(holder.é == ("é".utf8.count == 2 ? 1 : 2))
    }
}
