import Foundation
import SettingsClient
import SettingsClientCompatibility
import TestSupport
import Testing

/// A class that is stored as an archive.
final class Bookmark: NSObject, NSSecureCoding, DefaultsSerializable {
    static var supportsSecureCoding: Bool { true }
    let title: String
    let page: Int

    init(_ title: String, page: Int) {
        self.title = title
        self.page = page
    }

    init?(coder: NSCoder) {
        guard let title = coder.decodeObject(of: NSString.self, forKey: "title") else { return nil }
        self.title = String(describing: title)
        page = coder.decodeInteger(forKey: "page")
    }

    func encode(with coder: NSCoder) {
        coder.encode(NSString(string: title), forKey: "title")
        coder.encode(page, forKey: "page")
    }

    override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? Bookmark else { return false }
        return other.title == title && other.page == page
    }

    override var hash: Int { page }
}

/// A type with its own bridge: a color is stored as text.
struct Color: DefaultsSerializable, Equatable {
    var red, green, blue: UInt8

    struct Bridge: DefaultsBridge {
        func encode(_ color: Color) throws(BridgeError) -> JSONValue {
            .string([color.red, color.green, color.blue].map { String($0) }.joined(separator: " "))
        }

        func decode(_ json: JSONValue) throws(BridgeError) -> Color {
            let parts = try String.defaultsBridge.decode(json).split(separator: " ").compactMap { UInt8($0) }
            guard parts.count == 3 else { throw BridgeError("must be red, green and blue") }
            return Color(red: parts[0], green: parts[1], blue: parts[2])
        }

        var schema: WireSchema { .string(pattern: "^[0-9]+ [0-9]+ [0-9]+$") }
    }

    static var defaultsBridge: Bridge { Bridge() }
}

enum Level: Int, DefaultsSerializable {
    case low = 1
    case high = 9
}

@Suite(.ownThread)
struct ValueTableTests {
    /// A type with two values. The first value is the default of the key, and the second value is stored.
    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let check: @Sendable (BackendKind) async throws -> Void

        init<Value: DefaultsSerializable & Equatable>(_ first: Value, _ second: Value) {
            testDescription = "\(Value.self)"
            check = { kind in try await ValueTableTests.check(first, second, kind) }
        }
    }

    static let rows: [Row] = [
        Row("", "é\u{1F600}"), Row(0, -7), Row(0.5, 1e300), Row(false, true), Row(Data(), Data([0, 255])),
        Row(Date(timeIntervalSinceReferenceDate: 0), Date(timeIntervalSinceReferenceDate: 0.1)),
        Row(URL(fileURLWithPath: "/a"), URL(fileURLWithPath: "/b c")),
        Row([:] as [String: JSONValue], ["a": [1, 2.5, .null], "b": ["c": "d"]]), Row(Theme.light, .dark),
        Row(Level.low, .high), Row(Account(name: "a"), Account(name: "b", ports: [1, 2])),
        Row(Color(red: 1, green: 2, blue: 3), Color(red: 0, green: 0, blue: 255)),
        Row(Bookmark("a", page: 1), Bookmark("b", page: 2)),
    ]

    @Test(
        "A value of each type is stored, read by another program, and removed",
        arguments: [BackendKind.memoryWithFiles, .unixSocket], Self.rows)
    func table(_ kind: BackendKind, _ row: Row) async throws {
        try await row.check(kind)
    }

    private static func check<Value: DefaultsSerializable & Equatable>(
        _ first: Value, _ second: Value, _ kind: BackendKind
    ) async throws {
        try await check(DefaultsKey("value", defaultValue: first), unset: first, set: second, kind)
        try await check(DefaultsKey<Value?>("optional"), unset: nil, set: second, kind)
        try await check(DefaultsKey<Value?>("fallback", defaultValue: first), unset: first, set: second, kind)
        try await check(
            DefaultsKey<[Value]>("array", defaultValue: [first]), unset: [first], set: [second, first], kind)
        try await check(DefaultsKey<[Value?]?>("optionals"), unset: nil, set: [nil, second], kind)
        try await check(DefaultsKey<[String: Value]>("map", defaultValue: [:]), unset: [:], set: ["": second], kind)
    }

    /// The suite has the schema of the key, so that the server also checks the written value.
    private static func check<Value: DefaultsSerializable & Equatable>(
        _ key: DefaultsKey<Value>, unset: Value, set: Value, _ kind: BackendKind
    ) async throws {
        let fixture = try kind.fixture(schema: try Schema(keys: [key]))
        let (one, two) = (fixture.adapter(), fixture.adapter())
        #expect(one[key: key] == unset && !one.isSet(key: key))
        one[key: key] = set
        #expect(one[key: key] == set && one.isSet(key: key))
        #expect(two[key: key] == set && two.isSet(key: key))
        two.remove(key: key)
        #expect(two[key: key] == unset && !two.isSet(key: key))
        try await one.synchronize()
        #expect(one[key: key] == unset && !one.isSet(key: key))
        #expect(fixture.drainIssues() == [])
    }
}
