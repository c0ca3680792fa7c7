import SettingsModel
import Testing

@testable import SettingsKeys

/// Tests of the errors of encoding `Codable` types. `Script` (`CodingSupport.swift`) is a value that a closure encodes,
/// and `encodingOutcome` returns the description of the error; without an error, `encoded: ` and the JSON.
struct CodableEncodingErrorTests {
    /// Encoding calls that cause an error, and the description of the error. If a closure uses one encoder incorrectly,
    /// for example for two kinds of values, the error is reported even if the closure ignores it with `try?`. A closure
    /// can catch the error of a part of the value.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let error: String
        let run: @Sendable (any Encoder) throws -> Void

        init(_ name: String, _ error: String, _ run: @escaping @Sendable (any Encoder) throws -> Void) {
            testDescription = name
            self.error = error
            self.run = run
        }
    }

    struct Broken: Error, CustomStringConvertible {
        let description: String
    }

    static let cases = [
        Case("an array after an object", "is encoded both as an object and as an array") { encoder in
            _ = encoder.container(keyedBy: AnyKey.self)
            _ = encoder.unkeyedContainer()
        },
        Case("an object after an array, with members", "is encoded both as an array and as an object") { encoder in
            _ = encoder.unkeyedContainer()
            var container = encoder.container(keyedBy: AnyKey.self)
            try? container.encode(1, forKey: "a")
        },
        Case("an object after a single value", "is encoded both as a single value and as an object") { encoder in
            var single = encoder.singleValueContainer()
            try single.encode(1)
            _ = encoder.container(keyedBy: AnyKey.self)
        },
        Case("a single value after an object", "is encoded both as an object and as a single value") { encoder in
            _ = encoder.container(keyedBy: AnyKey.self)
            var single = encoder.singleValueContainer()
            try single.encode(1)
        },
        Case("two single values", "is encoded as a single value twice") { encoder in
            var single = encoder.singleValueContainer()
            try single.encode(1)
            try? single.encode(2)
        },
        Case("two kinds of nested container", "at /n: is encoded both as an object and as an array") { encoder in
            var container = encoder.container(keyedBy: AnyKey.self)
            _ = container.nestedContainer(keyedBy: AnyKey.self, forKey: "n")
            _ = container.nestedUnkeyedContainer(forKey: "n")
        },
        Case("two kinds in an element", "at /1: is encoded both as an array and as an object") { encoder in
            var container = encoder.unkeyedContainer()
            try container.encode(1)
            let parent = container.superEncoder()
            _ = parent.unkeyedContainer()
            _ = parent.container(keyedBy: AnyKey.self)
        },
        Case("every call after the first error throws", "is encoded both as an object and as an array") { encoder in
            var keyed = encoder.container(keyedBy: AnyKey.self)
            var unkeyed = encoder.unkeyedContainer()
            var nested = unkeyed.nestedUnkeyedContainer()
            var object = keyed.nestedContainer(keyedBy: AnyKey.self, forKey: "a")
            #expect(throws: EncodingError.self) { try unkeyed.encode(1) }
            #expect(throws: EncodingError.self) { try nested.encode(Point(x: 1, y: 1)) }
            #expect(throws: EncodingError.self) { try keyed.encodeNil(forKey: "a") }
            #expect(throws: EncodingError.self) { try object.encode(true, forKey: "a") }
        },
        Case("an error that the type throws", "at /a/0: is broken") { encoder in
            var container = encoder.container(keyedBy: AnyKey.self)
            try container.encode([Script { _ in throw Broken(description: "is broken") }], forKey: "a")
        },
        Case("an EncodingError that the type throws", "at /a/b: is not wanted") { encoder in
            var container = encoder.container(keyedBy: AnyKey.self)
            let script = Script { encoder in
                let path: [any CodingKey] = encoder.codingPath + [AnyKey("b")]
                throw EncodingError.invalidValue(1, .init(codingPath: path, debugDescription: "is not wanted"))
            }
            try container.encode(script, forKey: "a")
        },
        Case("an EncodingError without a coding path", "at /0: is not wanted") { encoder in
            var container = encoder.unkeyedContainer()
            try container.encode(
                Script { _ in
                    throw EncodingError.invalidValue(1, .init(codingPath: [], debugDescription: "is not wanted"))
                })
        },
        Case("an EncodingError without a description but with an underlying error", "at /0: is broken") { encoder in
            var container = encoder.unkeyedContainer()
            try container.encode(
                Script {
                    let cause = Broken(description: "is broken")
                    throw EncodingError.invalidValue(
                        1, .init(codingPath: $0.codingPath, debugDescription: "", underlyingError: cause))
                })
        },
        Case("a BridgeError that the type throws", "at /0/x: is broken") { encoder in
            var container = encoder.unkeyedContainer()
            try container.encode(Script { _ in throw BridgeError(at: JSONPointer(["x"]), "is broken") })
        },
        Case(
            "a number that is not finite in a single value",
            "at /0: must be a finite number (got inf); to store such numbers, give the key nonFinite: true"
        ) { encoder in
            var container = encoder.unkeyedContainer()
            try container.encode(
                Script {
                    var single = $0.singleValueContainer()
                    try single.encode(Double.infinity)
                })
        },
        Case("the second of two errors, after the first was caught", "at /1: is broken") { encoder in
            var container = encoder.unkeyedContainer()
            let script = Script { _ in throw Broken(description: "is broken") }
            try? container.encode(script)
            try container.encode(1)
            try container.encode(script)
        },
        Case("a name with a slash and a tilde", "at /a~1b~0/0: is broken") { encoder in
            var container = encoder.container(keyedBy: AnyKey.self)
            try container.encode([Script { _ in throw Broken(description: "is broken") }], forKey: "a/b~")
        },
    ]

    @Test("If the code of a type encodes incorrectly or throws, the error has the path", arguments: cases)
    func errors(mistake: Case) {
        #expect(encodingOutcome(of: Script(run: mistake.run)) == mistake.error)
    }

    @Test("Two keys of a dictionary with the same name are refused, so that no value is lost")
    func equalNames() {
        /// All values have the same coding key.
        struct Blurred: Hashable, Codable, CodingKeyRepresentable {
            var value: Int
            var codingKey: any CodingKey { AnyKey("same") }

            init(value: Int) {
                self.value = value
            }

            init?(codingKey: some CodingKey) {
                value = 0
            }
        }
        let dictionary = [Blurred(value: 1): "a", Blurred(value: 2): "b"]
        #expect(encodingOutcome(of: ["d": dictionary]) == "at /d: contains a key twice")
        #expect(encodingOutcome(of: [Blurred(value: 1): "a"]) == #"encoded: {"same":"a"}"#)
    }

    @Test("A type can catch the error of a part and encode the part differently")
    func caught() throws {
        let script = Script { encoder in
            var container = encoder.unkeyedContainer()
            do { try container.encode(Double.nan) } catch is EncodingError { try container.encode("none") }
            let twoKinds = Script { encoder in
                _ = encoder.unkeyedContainer()
                _ = encoder.container(keyedBy: AnyKey.self)
            }
            do { try container.encode(twoKinds) } catch is EncodingError { try container.encode("neither") }
            do {
                try container.encode(Script { _ in throw Broken(description: "is broken") })
            } catch is Broken {
                try container.encode("mended")
            }
        }
        #expect(try encoded(script) == ["none", "neither", "mended"])
    }
}
