import Foundation
import TestSupport
import Testing

@testable import SettingsKeys

/// Generates random parts of values, with extreme values more often than a uniform choice would.
struct RandomParts {
    var generator: SeededGenerator

    mutating func integer<Integer: FixedWidthInteger>(_ type: Integer.Type = Integer.self) -> Integer {
        let edges: [Integer] = [.min, .max, 0, 1]
        return Bool.random(using: &generator)
            ? Integer.random(in: .min ... .max, using: &generator) : edges[Int.random(in: 0..<4, using: &generator)]
    }

    mutating func double() -> Double {
        let value = Double(bitPattern: generator.next())
        return value.isFinite ? value : -0.0
    }

    mutating func text() -> String {
        let letters = ["a", "é", "e\u{301}", "/", "~", "\"", "\\", "\u{0}", "\u{7F}", "😀", "0", ""]
        return (0..<Int.random(in: 0..<6, using: &generator)).map { _ in letters.randomElement(using: &generator) ?? ""
        }
        .joined()
    }

    mutating func maybe<Part>(_ part: (inout RandomParts) -> Part) -> Part? {
        Bool.random(using: &generator) ? part(&self) : nil
    }

    mutating func list<Part>(_ part: (inout RandomParts) -> Part) -> [Part] {
        (0..<Int.random(in: 0..<4, using: &generator)).map { _ in part(&self) }
    }

    mutating func map<Key: Hashable, Part>(
        _ key: (inout RandomParts) -> Key, _ part: (inout RandomParts) -> Part
    ) -> [Key: Part] {
        Dictionary(list { (key(&$0), part(&$0)) }) { first, _ in first }
    }

    mutating func point() -> Point {
        Point(x: integer(), y: integer())
    }

    mutating func shape(depth: Int = 0) -> Shape {
        // From depth 4 on, case 0, the only shape with inner shapes, is excluded.
        switch Int.random(in: depth > 3 ? 1..<5 : 0..<5, using: &generator) {
        case 0: .group(shape(depth: depth + 1), shape(depth: depth + 1))
        case 1: .circle(radius: double())
        case 2: .polygon(list { $0.point() }, closed: .random(using: &generator))
        case 3: .label(text())
        default: .nothing
        }
    }

    mutating func json(depth: Int = 0) -> JSONValue {
        // From depth 4 on, arrays and objects (cases 0 and 1) are excluded.
        switch Int.random(in: depth > 3 ? 2..<7 : 0..<7, using: &generator) {
        case 0: return .array(list { $0.json(depth: depth + 1) })
        case 1:
            var members = JSONObject()
            for _ in 0..<3 { members[text()] = json(depth: depth + 1) }
            return .object(members)
        case 2: return .null
        case 3: return .bool(.random(using: &generator))
        case 4: return .integer(integer())
        case 5: return .double(double())
        default: return .string(text())
        }
    }

    mutating func account() -> Account {
        Account(
            name: text(), port: integer(), ratio: double(), scale: Float(bitPattern: integer()).finiteOrZero,
            isActive: .random(using: &generator), theme: Theme.allCases.randomElement(using: &generator) ?? .dark,
            level: maybe { _ in .low }, note: maybe { $0.text() }, tags: list { $0.text() },
            places: map({ $0.text() }, { $0.point() }), counts: map({ $0.integer() }, { $0.integer() }),
            shapes: list { $0.shape() }, grid: list { $0.list { $0.maybe { $0.integer() } } },
            seen: Set(list { $0.text() }),
            nested: list { $0.map({ $0.text() }, { $0.list { _ in .light } }) }, big: integer(), raw: json())
    }
}

extension Float {
    /// The number, or zero if it is not finite.
    fileprivate var finiteOrZero: Float {
        isFinite ? self : 0
    }
}

/// Tests of the coder with random values of the types in `Specimens.swift`.
@Suite(.ownThread)
struct CodablePropertyTests {
    @Test(
        "Random values are equal after a round trip and encode to the same JSON again",
        arguments: 1...300 as ClosedRange<UInt64>)
    func roundTrip(seed: UInt64) throws {
        var parts = RandomParts(generator: SeededGenerator(seed: seed))
        let account = parts.account()
        let json = try encoded(account)
        let back = try decoded(Account.self, json.text())
        #expect(back == account)
        #expect(try encoded(back).text() == json.text())
    }

    @Test(
        "JSON with replaced or removed members decodes to a value or throws, and never traps",
        arguments: 1...300 as ClosedRange<UInt64>)
    func changedMembers(seed: UInt64) throws {
        var parts = RandomParts(generator: SeededGenerator(seed: seed))
        guard var members = try encoded(parts.account()).object else { return }
        // Replaces or removes about one member of six.
        for member in members where Int.random(in: 0..<6, using: &parts.generator) == 0 {
            members[member.name] = parts.maybe { $0.json() }
        }
        let json = JSONValue.object(members)
        do {
            let account = try ValueDecoder.decode(Account.self, from: json, allowsNonFinite: false)
            #expect(try afterRoundTrip(account) == account)
        } catch let error as BridgeError {
            #expect(!error.reason.isEmpty)
            let isInside = json[error.pointer] != nil
            #expect(isInside, "The pointer of the error does not exist in the JSON: \(error)")
        }
    }

    @Test(
        "Random values of the type `Shape` have the same JSON as with the coders of Foundation",
        arguments: 1...100 as ClosedRange<UInt64>)
    func likeFoundation(seed: UInt64) throws {
        var parts = RandomParts(generator: SeededGenerator(seed: seed))
        let shapes = parts.list { $0.shape() }
        let foundationJSON = try JSONValue(parsing: Array(JSONEncoder().encode(shapes)))
        #expect(try encoded(shapes).isMathematicallyEqual(to: foundationJSON))
        #expect(try ValueDecoder.decode([Shape].self, from: foundationJSON, allowsNonFinite: false) == shapes)
    }
}
