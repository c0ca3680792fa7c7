import TestSupport
import Testing

@testable import SettingsModel

/// Random operations on an object, held against a plain array of pairs.
@Suite("JSON objects against a model")
struct JSONObjectModelTests {
    private typealias Pair = (name: String, value: JSONValue)

    /// So many names that objects grow well beyond where the index begins and where it first grows.
    private static let names = ["", "\u{E9}", "e\u{301}", "\u{1F600}"] + (0..<80).map { "name \($0)" }

    @Test("Every operation does what it does to a list of pairs")
    func operations() {
        for var generator in FuzzBudget.generators(share: 0.01) {
            var object = JSONObject()
            var model: [Pair] = []
            for step in 0..<200 {
                // Growing and shrinking in turn takes the size across the threshold both ways.
                let isGrowing = (step / 50).isMultiple(of: 2)
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
        case 2..<12:
            let isNew = object.append(JSONObject.Member(name: name, value: value))
            if isNew != (position == nil) { return "append that answered \(isNew)" }
            if position == nil { model.append((name, value)) }
            return "append \(name.debugDescription)"
        case 12..<30 where !isGrowing, 12..<16:
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

    @Test("The index finds each name and no other, at every size across its threshold and growth")
    func index() {
        let members = (0..<300).map { JSONObject.Member(name: "name \($0)", value: .null) }
        var kept: [JSONObject.Member] = []
        var index = JSONNameIndex(kept)
        for member in members {
            kept.append(member)
            index.insertLast(of: kept)
        }
        let rebuilt = JSONNameIndex(members)
        for (position, member) in members.enumerated() {
            #expect(index.position(of: member.name, in: members) == position)
            #expect(rebuilt.position(of: member.name, in: members) == position)
        }
        #expect(index.position(of: "name 300", in: members) == nil)
        #expect(rebuilt.position(of: "", in: members) == nil)
    }
}
