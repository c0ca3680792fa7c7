import Foundation
import SettingsModel
import Synchronization
import TestSupport
import Testing

@testable import SettingsClient
@testable import SettingsClientCompatibility

/// Untyped access: settings by the name of the key, such as `defaults["color"]`, without a declared key.
@Suite(.ownThread)
struct UntypedTests {
    @Test("Values of all supported types can be assigned, read and removed", arguments: BackendKind.allCases)
    func assignment(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        defaults["color"] = "red"
        #expect(defaults["color"].string == "red")
        defaults["color"] = nil
        #expect(defaults["color"].string == nil && !defaults.hasKey("color"))
        defaults["count"] = 3
        defaults["ratio"] = 3.14
        defaults["on"] = true
        defaults["list"] = ["a", 1, true]
        defaults["names"] = ["a", "b"]
        defaults["map"] = ["a": 1, "b": ["c"]]
        #expect(defaults["count"].int == 3 && defaults["ratio"].double == 3.14 && defaults["on"].bool == true)
        #expect(defaults["list"].array == ["a", 1, true] && defaults["names"].array == ["a", "b"])
        #expect(defaults["map"].dictionary == ["a": 1, "b": ["c"]])
        let text = "variable"
        let date = Date(timeIntervalSinceReferenceDate: 0.5)
        let data = Data([1, 2])
        let url = try #require(URL(string: "https://example.com"))
        defaults["text"] = text
        defaults["date"] = date
        defaults["data"] = data
        defaults["url"] = url
        #expect(defaults["text"].string == text && defaults["date"].date == date)
        #expect(defaults["data"].data == data && defaults["url"].url == url)
        let nothing: String? = nil
        defaults["text"] = nothing
        #expect(defaults["text"].value == nil)
        let count: Int? = defaults["count"]
        let missing: Int? = defaults["color"]
        let otherKind: [Int]? = defaults["count"]
        let json: JSONValue? = defaults["map"]
        #expect(count == 3 && missing == nil && otherKind == nil && json?["a"] == 1)
        #expect(fixture.drainIssues() == [])
    }

    @Test("Typed and untyped access reach the same setting", arguments: BackendKind.allCases)
    func typed(_ kind: BackendKind) throws {
        let defaults = try kind.fixture().adapter()
        defaults["launchCount"] = 7
        #expect(defaults.launchCount == 7)
        defaults.theme = .dark
        #expect(defaults["theme"].string == "dark")
        #expect(defaults["theme"].value == "dark")
    }

    /// A stored value, and the results of reading it as each type. Nil if no conversion is possible.
    struct Row: Sendable, CustomTestStringConvertible {
        let value: JSONValue
        let int: Int?
        let double: Double?
        let bool: Bool?
        let string: String?
        var testDescription: String { value.description }
    }

    static let rows = [
        Row(value: 3, int: 3, double: 3, bool: true, string: "3"),
        Row(value: 0, int: 0, double: 0, bool: false, string: "0"),
        Row(value: 3.14, int: 3, double: 3.14, bool: true, string: "3.14"),
        Row(value: -3.99, int: -3, double: -3.99, bool: true, string: "-3.99"),
        Row(value: 2.0, int: 2, double: 2, bool: true, string: "2"),
        Row(value: 1e300, int: nil, double: 1e300, bool: true, string: "1e+300"),
        Row(value: true, int: 1, double: 1, bool: true, string: "1"),
        Row(value: false, int: 0, double: 0, bool: false, string: "0"),
        Row(value: "12", int: 12, double: 12, bool: nil, string: "12"),
        Row(value: "3.9", int: 3, double: 3.9, bool: nil, string: "3.9"),
        Row(value: "Yes", int: nil, double: nil, bool: true, string: "Yes"),
        Row(value: "n", int: nil, double: nil, bool: false, string: "n"),
        Row(value: "1", int: 1, double: 1, bool: true, string: "1"),
        Row(value: "red", int: nil, double: nil, bool: nil, string: "red"),
        Row(value: "12 pears", int: nil, double: nil, bool: nil, string: "12 pears"),
        Row(value: .null, int: nil, double: nil, bool: nil, string: nil),
        Row(value: [1], int: nil, double: nil, bool: nil, string: nil),
        Row(value: ["a": 1], int: nil, double: nil, bool: nil, string: nil),
    ]

    @Test("A stored value is converted to the requested type if the conversion is possible", arguments: rows)
    func conversions(_ row: Row) throws {
        let defaults = try BackendKind.memory.fixture().adapter()
        defaults["x"] = row.value
        #expect(defaults["x"].int == row.int && defaults["x"].intValue == row.int ?? 0)
        #expect(defaults["x"].double == row.double && defaults["x"].doubleValue == row.double ?? 0)
        #expect(defaults["x"].bool == row.bool && defaults["x"].boolValue == row.bool ?? false)
        #expect(defaults["x"].string == row.string && defaults["x"].stringValue == row.string ?? "")
        #expect(defaults["x"].array == row.value.array && defaults["x"].arrayValue == row.value.array ?? [])
        #expect(defaults["x"].dictionaryValue.keys.sorted() == row.value.object.map { Array($0.names) } ?? [])
    }

    @Test(
        "A missing or unreadable value reads as nil, and intValue and similar properties return an empty value",
        arguments: BackendKind.allCases)
    func missing(_ kind: BackendKind) throws {
        let defaults = try kind.fixture().adapter()
        let none = defaults["none"]
        #expect(none.string == nil && none.int == nil && none.double == nil && none.bool == nil)
        #expect(none.array == nil && none.dictionary == nil && none.data == nil && none.date == nil && none.url == nil)
        #expect(none.stringValue == "" && none.intValue == 0 && none.doubleValue == 0.0 && !none.boolValue)
        #expect(none.arrayValue == [] && none.dictionaryValue == [:] && none.dataValue == Data())
        defaults["none"] = "not Base64!"
        #expect(none.data == nil && none.dataValue == Data() && none.date == nil)
    }

    @Test(
        "Operators change the stored value, or start from the registered default or an empty value",
        arguments: BackendKind.allCases)
    func operators(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        defaults["count"] += 5
        defaults["count"]++
        defaults["count"] += 4
        #expect(defaults["count"].value == 10)
        defaults["ratio"] = 3.14
        defaults["ratio"] += 10
        #expect(defaults["ratio"].double == 13.14)
        defaults["fresh"]++
        #expect(defaults["fresh"].int == 1)
        defaults["color"] += "red"
        defaults["color"] += "dish"
        #expect(defaults["color"].string == "reddish")
        defaults["list"] += ["a"]
        defaults["list"] += ["b", 1]
        #expect(defaults["list"].array == ["a", "b", 1])
        defaults["color"] ?= "blue"
        defaults["new"] ?= "blue"
        defaults["json"] ?= ["a", 1]
        #expect(defaults["color"].string == "reddish" && defaults["new"].string == "blue")
        #expect(defaults["json"].array == ["a", 1])
        defaults.register(defaults: ["base": 40])
        defaults["base"] += 2
        #expect(defaults["base"].int == 42)
        #expect(fixture.drainIssues() == [])
        defaults["color"] += 1
        #expect(defaults["color"].string == "reddish")
        #expect(fixture.drainIssues().map(\.error.code) == [.invalidOperation])
    }

    @Test(
        "+= adds to the default of the schema, also after the stored value was removed", arguments: BackendKind.allCases
    )
    func schemaDefault(_ kind: BackendKind) async throws {
        let schema = try Schema([
            "type": "object", "additionalProperties": false, "properties": ["n": ["type": "integer", "default": 5]],
        ])
        let fixture = try kind.fixture(schema: schema)
        let defaults = fixture.adapter()
        defaults["n"] += 1
        #expect(defaults["n"].int == 6)
        defaults.remove("n")
        defaults["n"] += 1
        #expect(defaults["n"].int == 6)
        defaults.remove("n")
        // Now the client knows that the value is a default.
        #expect(try await !defaults.core.isStored(KeyName("n")))
        defaults["n"] += 1
        #expect(defaults["n"].int == 6)
        #expect(fixture.drainIssues() == [])
    }

    @Test("The replica drops the entries of removed keys when `KeyTable` is full", arguments: BackendKind.allCases)
    func manyNames(_ kind: BackendKind) async throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        let typed = DefaultsKey<Int>("session-0", defaultValue: 0)
        #expect(defaults[key: typed] == 0)
        for number in 0..<20 {
            let name = "session-\(number)"
            defaults[name] = 1
            defaults[name] += 1
            defaults[name] ?= 5
            #expect(defaults[name].int == 2)
            defaults.remove(name)
        }
        // Waits for the answers to these writes.
        try await defaults.synchronize()
        for number in 0...KeyTable.capacity { _ = defaults[key: DefaultsKey<Int>("name \(number)", defaultValue: 0)] }
        let names = defaults.core.session.state.withLock { $0.replica.entries.keys.map(\.text) }
        // The prefix matches `session-1` and `session-10` to `session-19`.
        #expect(!names.contains { $0.hasPrefix("session-1") })
        defaults["session-0"] = 7
        #expect(defaults[key: typed] == 7)
        #expect(fixture.drainIssues() == [])
    }

    @Test("A number that is not finite is reported and not stored", arguments: BackendKind.allCases)
    func nonFinite(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        let infinite = JSONValue.array([.double(.infinity)])
        defaults["mean"] += 0.0 / 0.0
        defaults["mean"] += [infinite]
        defaults["mean"] = infinite
        defaults["mean"] ?= infinite
        defaults["mean"] = Double.nan
        #expect(!defaults.isSet("mean"))
        let errors = fixture.drainIssues().map(\.error)
        #expect(errors.count == 5)
        for error in errors { #expect("\(error)".contains("finite")) }
    }

    @Test("An invalid key name is reported", arguments: BackendKind.allCases)
    func names(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        defaults[""] = 1
        defaults[".."] += 1
        #expect(defaults["a\u{1}"].value == nil)
        #expect(fixture.drainIssues().map(\.attempt) == [.write, .write, .read])
    }
}
