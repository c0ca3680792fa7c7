import SettingsModel
import Testing

@Suite("JSON objects")
struct JSONObjectTests {
    private struct Refusal: Error, Equatable {}

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

    @Test("The last of two members with one name in a literal holds, at the place of the first")
    func literal() {
        let object: JSONObject = ["a": 1, "b": 2, "a": 3]
        #expect(JSONValue.object(object).text() == #"{"a":3,"b":2}"#)
        #expect((["a": 1, "b": 2, "a": 3] as JSONValue).text() == #"{"a":3,"b":2}"#)
    }

    @Test("Members with one name twice are no object", arguments: [2, 16, 17, 100])
    func duplicateMembers(count: Int) {
        var members = Self.numbered(count).members
        #expect(JSONObject(members)?.count == count)
        members.append(.init(name: "m0", value: .null))
        #expect(JSONObject(members) == nil)
    }

    @Test("A name that is taken is not appended", arguments: [1, 16, 17, 100])
    func appendTaken(count: Int) {
        var object = Self.numbered(count)
        let addedTaken = object.append(.init(name: "m0", value: "other"))
        #expect(!addedTaken)
        #expect(object == Self.numbered(count))
        let addedNew = object.append(.init(name: "new", value: "other"))
        #expect(addedNew)
        #expect(object.members.last?.name == "new")
    }

    @Test("A known name keeps its place, a removed and set one goes last")
    func places() {
        var object: JSONObject = ["a": 1, "b": 2, "c": 3]
        object["b"] = 20
        #expect(Array(object.names) == ["a", "b", "c"])
        object["a"] = nil
        object["a"] = 10
        #expect(Array(object.names) == ["b", "c", "a"])
    }

    @Test("A member may be null; assigning nil removes it")
    func nullAndNil() {
        var object: JSONObject = ["a": .null]
        #expect(object["a"] == .some(.null))
        object["a"] = .some(.null)
        #expect(object.count == 1)
        object["a"] = nil
        #expect(object.isEmpty)
    }

    @Test("A copy does not notice changes of the original, nor the other way round", arguments: [3, 16, 17, 100])
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

    @Test("Values are mapped in place of the old ones, in order", arguments: [3, 40])
    func mapValues(count: Int) {
        let mapped = Self.numbered(count).mapValues { .array([$0]) }
        #expect(Array(mapped.names) == Array(Self.numbered(count).names))
        for number in 0..<count { #expect(mapped["m\(number)"] == [.integer(Int64(number))]) }
    }

    @Test("An error while values are mapped comes out as it is")
    func mapValuesThrows() {
        #expect(throws: Refusal()) {
            try Self.numbered(3).mapValues { value throws(Refusal) in
                if value == 1 { throw Refusal() }
                return value
            }
        }
    }

    @Test("Removing picks by name and value and keeps the order", arguments: [6, 40])
    func removeAll(count: Int) {
        var object = Self.numbered(count)
        object.removeAll { ($0.value.integer ?? 0) % 2 == 0 || $0.name == "m1" }
        #expect(object.map(\.name) == (2..<count).filter { $0 % 2 == 1 }.map { "m\($0)" })
        #expect(object["m2"] == nil)
        #expect(object["m3"] == 3)
    }

    @Test("An error while members are removed leaves the object as it was", arguments: [6, 40])
    func removeAllThrows(count: Int) {
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

    @Test("A sequence of its members, sorted by bytes on demand")
    func sequence() {
        let object: JSONObject = [
            "b": 1, "": 2, "B": 3, "\u{E9}": 4, "a\u{0}": 5, "a": 6, "\u{10000}": 7, "\u{FFFF}": 8,
        ]
        #expect(object.map(\.value) == [1, 2, 3, 4, 5, 6, 7, 8])
        #expect(object.underestimatedCount == 8)
        #expect(object.sortedMembers.map(\.value) == [2, 3, 6, 5, 1, 4, 8, 7])
    }
}
