import TestSupport
import Testing

@testable import SettingsModel

/// An object with more than 16 members has an index of its names, so the tests use objects with and without an index.
struct JSONObjectTests {
    private struct Refusal: Error, Equatable {}

    /// Returns an object whose members are m0, m1 and so on, with the numbers as values.
    private static func numbered(_ count: Int) -> JSONObject {
        var object = JSONObject()
        for number in 0..<count { object["m\(number)"] = .integer(Int64(number)) }
        return object
    }

    @Test("A new object is empty")
    func empty() {
        let object = JSONObject()
        #expect(object.isEmpty)
        #expect(object.members.isEmpty)
        #expect(object["a"] == nil)
        #expect(object == [:])
        #expect(Array(object.names) == [])
    }

    @Test(
        "If a literal has two members with one name, the object has the last value at the position of the first member")
    func literal() {
        let object: JSONObject = ["a": 1, "b": 2, "a": 3]
        #expect(JSONValue.object(object).text() == #"{"a":3,"b":2}"#)
        #expect((["a": 1, "b": 2, "a": 3] as JSONValue).text() == #"{"a":3,"b":2}"#)
    }

    @Test("An object cannot be made from members with a duplicate name", arguments: [2, 16, 17, 100])
    func duplicateMembers(count: Int) {
        var members = Self.numbered(count).members
        #expect(JSONObject(members)?.count == count)
        members.append(.init(name: "m0", value: .null))
        #expect(JSONObject(members) == nil)
    }

    @Test
    func `A member can be null, and assigning nil removes the member`() {
        var object: JSONObject = ["a": .null]
        #expect(object["a"] == .some(.null))
        object["a"] = .some(.null)
        #expect(object.count == 1)
        object["a"] = nil
        #expect(object.isEmpty)
    }

    @Test("A copy and its original change independently", arguments: [3, 16, 17, 100])
    func valueSemantics(count: Int) {
        let original = Self.numbered(count)
        var copy = original
        copy["m1"] = "changed"
        copy["m0"] = nil
        copy["new"] = true
        var emptied = original
        emptied.removeAll { _ in true }
        #expect(original.count == count)
        for number in 0..<count { #expect(original["m\(number)"] == .integer(Int64(number))) }
        #expect(original["new"] == nil)
        #expect(copy["m0"] == nil)
        #expect(copy["m1"] == "changed")
        #expect(copy["new"] == true)
        #expect(emptied["m1"] == nil)
    }

    @Test
    func `An error of the mapping closure is rethrown`() {
        #expect(throws: Refusal()) {
            try Self.numbered(3).mapValues { value throws(Refusal) in
                if value == 1 { throw Refusal() }
                return value
            }
        }
    }

    @Test(arguments: [6, 40])
    func `An error of the removal closure leaves the object unchanged`(count: Int) {
        var object = Self.numbered(count)
        #expect(throws: Refusal()) {
            try object.removeAll { member in
                if member.name == "m4" { throw Refusal() }
                return member.name == "m0" || member.name == "m2"
            }
        }
        #expect(Array(object.names) == Array(Self.numbered(count).names))
        for number in 0..<count { #expect(object["m\(number)"] == .integer(Int64(number))) }
    }

    @Test("An object is a sequence of its members, which can be sorted by bytes")
    func sequence() {
        let object: JSONObject = [
            "b": 1, "": 2, "B": 3, "\u{E9}": 4, "a\u{0}": 5, "a": 6, "\u{10000}": 7, "\u{FFFF}": 8,
        ]
        #expect(object.map(\.value) == [1, 2, 3, 4, 5, 6, 7, 8])
        #expect(object.sortedMembers.map(\.value) == [2, 3, 6, 5, 1, 4, 8, 7])
    }
}

/// Tests that compare random operations on an object with the same operations on an array of pairs.
@Suite(.ownThread)
struct JSONObjectModelTests {
    private typealias Pair = (name: String, value: JSONValue)

    /// With this number of names, an object grows beyond the size at which it gets an index, and beyond the first
    /// growth of the index.
    private static let names = ["", "\u{E9}", "e\u{301}", "\u{1F600}"] + (0..<200).map { "name \($0)" }

    @Test("Every operation on an object has the same result as on a list of pairs")
    func operations() {
        // By default, the test runs `roundsFactor` times 1,000 rounds. Each round has its own random generator.
        for var generator in FuzzBudget.generators(roundsFactor: 0.01) {
            var object = JSONObject()
            var model: [Pair] = []
            for step in 0..<600 {
                // The object grows and shrinks alternately, so that it crosses the threshold of the index in both
                // directions.
                let isGrowing = (step / 150).isMultiple(of: 2)
                let operation = Self.apply(&generator, isGrowing: isGrowing, to: &object, and: &model)
                if let broken = Self.brokenInvariant(of: object, model) {
                    Issue.record("seed \(generator.seed), step \(step), \(operation): \(broken)")
                    return
                }
            }
        }
    }

    private static func apply(
        _ generator: inout SeededGenerator, isGrowing: Bool, to object: inout JSONObject, and model: inout [Pair]
    ) -> String {
        let name = generator.pick(names)
        let value = JSONValue.integer(Int64(generator.below(1_000)))
        let position = model.firstIndex { Array($0.name.utf8) == Array(name.utf8) }
        switch generator.below(40) {
        case 0:
            let digit = Int64(generator.below(10))
            object.removeAll { ($0.value.integer ?? 0) % 10 == digit }
            model.removeAll { ($0.value.integer ?? 0) % 10 == digit }
            return "removeAll"
        case 1:
            object = object.mapValues { .integer(($0.integer ?? 0) + 1) }
            model = model.map { ($0.name, .integer(($0.value.integer ?? 0) + 1)) }
            return "mapValues"
        case 2..<38 where !isGrowing && !model.isEmpty:
            let name = generator.pick(model).name
            object[name] = nil
            model.removeAll { Array($0.name.utf8) == Array(name.utf8) }
            return "remove \(name.debugDescription)"
        case 2..<12:
            let isNew = object.append(JSONObject.Member(name: name, value: value))
            if isNew != (position == nil) { return "append that returned \(isNew)" }
            if position == nil { model.append((name, value)) }
            return "append \(name.debugDescription)"
        case 12..<16:
            object[name] = nil
            if let position { model.remove(at: position) }
            return "remove \(name.debugDescription)"
        default:
            object[name] = value
            if let position { model[position].value = value } else { model.append((name, value)) }
            return "set \(name.debugDescription)"
        }
    }

    private static func brokenInvariant(of object: JSONObject, _ model: [Pair]) -> String? {
        guard object.count == model.count, object.isEmpty == model.isEmpty else {
            return "\(object.count) members instead of \(model.count)"
        }
        for (position, pair) in model.enumerated() {
            let member = object.members[position]
            guard UTF8Text(member.name) == UTF8Text(pair.name), member.value == pair.value else {
                return "\(member) instead of \(pair) at \(position)"
            }
        }
        let positions = Dictionary(uniqueKeysWithValues: model.enumerated().map { (UTF8Text($1.name), $0) })
        for name in names {
            let position = positions[UTF8Text(name)]
            guard object.position(of: name) == position, object[name] == position.map({ model[$0].value }) else {
                return "\(name.debugDescription) is not found at \(String(describing: position))"
            }
        }
        guard JSONObject(model.map { JSONObject.Member(name: $0.name, value: $0.value) }) == object else {
            return "not equal to an object of the same members"
        }
        return nil
    }
}
