import Foundation
import Testing

@testable import SettingsKeys

/// Tests of the JSON that encoding calls produce. `Script` (`CodingSupport.swift`) is a value that a closure encodes,
/// and `AnyKey` is a coding key of any name.
struct CodableShapeTests {
    /// The encoding calls of a closure, and the compact JSON text that they produce.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let text: String
        let run: @Sendable (any Encoder) throws -> Void

        init(_ name: String, _ text: String, _ run: @escaping @Sendable (any Encoder) throws -> Void) {
            testDescription = name
            self.text = text
            self.run = run
        }
    }

    static let cases = [
        Case("without a call, the value is an empty object", "{}") { _ in },
        Case("an empty keyed container", "{}") { _ = $0.container(keyedBy: AnyKey.self) },
        Case("an empty unkeyed container", "[]") { _ = $0.unkeyedContainer() },
        Case("a single value container that stays empty", "{}") { _ = $0.singleValueContainer() },
        Case("nil", "null") { encoder in
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        },
        Case("members in the order of their calls", #"{"b":1,"a":null,"c":[]}"#) { encoder in
            var container = encoder.container(keyedBy: AnyKey.self)
            try container.encode(1, forKey: "b")
            try container.encodeNil(forKey: "a")
            try container.encodeIfPresent(Int?.none, forKey: "gone")
            try container.encode([Int](), forKey: "c")
        },
        Case("two containers of one encoder are one object", #"{"a":1,"b":2}"#) { encoder in
            var first = encoder.container(keyedBy: AnyKey.self)
            var second = encoder.container(keyedBy: KeyB.self)
            try first.encode(1, forKey: "a")
            try second.encode(2, forKey: .b)
        },
        Case("two unkeyed containers of one encoder are one array", "[1,2,3]") { encoder in
            var first = encoder.unkeyedContainer()
            try first.encode(1)
            var second = encoder.unkeyedContainer()
            try second.encode(2)
            try first.encode(3)
        },
        Case("the last of two values with one name", #"{"a":"new","b":1}"#) { encoder in
            var container = encoder.container(keyedBy: AnyKey.self)
            try container.encode(0, forKey: "a")
            try container.encode(1, forKey: "b")
            try container.encode("new", forKey: "a")
        },
        Case("names that differ only in their bytes", "{\"é\":1,\"e\u{301}\":2}") { encoder in
            var container = encoder.container(keyedBy: AnyKey.self)
            try container.encode(1, forKey: "é")
            try container.encode(2, forKey: "e\u{301}")
        },
        Case("nested containers filled in any order", #"{"n":{"x":1,"y":[true,{}]},"m":0}"#) { encoder in
            var container = encoder.container(keyedBy: AnyKey.self)
            var nested = container.nestedContainer(keyedBy: AnyKey.self, forKey: "n")
            try container.encode(0, forKey: "m")
            try nested.encode(1, forKey: "x")
            var list = nested.nestedUnkeyedContainer(forKey: "y")
            try list.encode(true)
            _ = list.nestedContainer(keyedBy: AnyKey.self)
        },
        Case("a nested container that is requested twice keeps its members", #"{"n":{"x":1,"y":2}}"#) { encoder in
            var container = encoder.container(keyedBy: AnyKey.self)
            var first = container.nestedContainer(keyedBy: AnyKey.self, forKey: "n")
            try first.encode(1, forKey: "x")
            var second = container.nestedContainer(keyedBy: AnyKey.self, forKey: "n")
            try second.encode(2, forKey: "y")
        },
        Case("a value that replaces a nested container", #"{"n":5}"#) { encoder in
            var container = encoder.container(keyedBy: AnyKey.self)
            var nested = container.nestedContainer(keyedBy: AnyKey.self, forKey: "n")
            try nested.encode(1, forKey: "x")
            try container.encode(5, forKey: "n")
        },
        Case("a nested container that replaces a value", #"{"n":[]}"#) { encoder in
            var container = encoder.container(keyedBy: AnyKey.self)
            try container.encode(5, forKey: "n")
            _ = container.nestedUnkeyedContainer(forKey: "n")
        },
        Case("elements before and after nested containers", #"[1,[2],{"a":3},null,4]"#) { encoder in
            var container = encoder.unkeyedContainer()
            try container.encode(1)
            var list = container.nestedUnkeyedContainer()
            var object = container.nestedContainer(keyedBy: AnyKey.self)
            try container.encodeNil()
            try container.encode(4)
            try list.encode(2)
            try object.encode(3, forKey: "a")
            #expect(container.count == 5)
        },
        Case(
            "encoders for superclasses, also with other keys than super",
            #"{"super":{"x":1,"y":2},"base":[1],"empty":{}}"#
        ) {
            encoder in
            var container = encoder.container(keyedBy: AnyKey.self)
            try Point(x: 1, y: 2).encode(to: container.superEncoder())
            try [1].encode(to: container.superEncoder(forKey: "base"))
            _ = container.superEncoder(forKey: "empty")
        },
        Case("encoders for superclasses in an array", #"[{"x":1,"y":2},7]"#) { encoder in
            var container = encoder.unkeyedContainer()
            let parent = container.superEncoder()
            try container.encode(7)
            try Point(x: 1, y: 2).encode(to: parent)
        },
        Case("an object in a single value container", #"{"x":1,"y":2}"#) { encoder in
            var container = encoder.singleValueContainer()
            try container.encode(Point(x: 1, y: 2))
        },
    ]

    @Test("Each sequence of encoding calls produces its JSON", arguments: cases)
    func shapes(shape: Case) throws {
        #expect(try encoded(Script(run: shape.run)).text() == shape.text)
        #expect(try encoded([Script(run: shape.run)]).text() == "[\(shape.text)]")
    }

    @Test("Encoders and containers have the coding path of their position, and no user info")
    func codingPaths() throws {
        let script = Script { encoder in
            let joined = { (path: [any CodingKey]) in path.map(\.stringValue).joined(separator: "/") }
            var container = encoder.container(keyedBy: AnyKey.self)
            var list = container.nestedUnkeyedContainer(forKey: "list")
            try list.encode(joined(list.codingPath))
            let script = Script { encoder in
                #expect(encoder.userInfo.isEmpty)
                var single = encoder.singleValueContainer()
                try single.encode(joined(encoder.codingPath))
            }
            try list.encode(script)
            try container.encode(script, forKey: "one")
            try container.encode(joined(container.codingPath), forKey: "root")
        }
        #expect(try encoded(script) == ["list": ["list", "list/1"], "one": "one", "root": ""])
    }

    @Test("A struct has the same JSON as with the coders of Foundation")
    func likeFoundation() throws {
        struct Plain: Codable {
            var text = "a\u{1F600}"
            var number = -7
            var fraction = 2.5
            var yes = true
            var missing: Int?
            var points = [Point(x: 1, y: 2)]
            var byName = ["a": [1, 2]]
            var byNumber = [7: "seven"]
            var byTheme = [Theme.dark: 1]
            var shapes: [Shape] = [.circle(radius: 0.5), .nothing, .group(.label("x"), .nothing)]
            var theme = Theme.highContrast
            var optionals: [Int?] = [1, nil]
            var range = 1...4
            var empty: [String: Int] = [:]
            var animal = Dog(name: "Rex", tricks: ["sit", "roll"])
        }
        let foundationJSON = try JSONValue(parsing: Array(JSONEncoder().encode(Plain())))
        let bridgeJSON = try encoded(Plain())
        #expect(bridgeJSON.isMathematicallyEqual(to: foundationJSON))
        let back = try ValueDecoder.decode(Plain.self, from: foundationJSON, allowsNonFinite: false)
        #expect(try encoded(back) == bridgeJSON)
        #expect(try encoded(JSONDecoder().decode(Plain.self, from: Data(bridgeJSON.bytes()))) == bridgeJSON)
    }
}

private enum KeyB: String, CodingKey {
    case b
}
