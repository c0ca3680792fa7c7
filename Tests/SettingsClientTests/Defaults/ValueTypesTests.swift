import Foundation
import SettingsClient
import TestSupport
import Testing

/// The types of values. `BackendKind` is the kind of server that stores the suite: memory, or a daemon.
@Suite(.ownThread)
struct ValueTypesTests {
    /// Stores each value as a value, as an optional, as an optional with a default, in an array and in a dictionary.
    /// Expects that a second adapter reads equal values.
    private func expectStored<Value: DefaultsSerializable & Equatable>(
        _ values: Value..., in kind: BackendKind, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let fixture = try kind.fixture()
        let writer = fixture.adapter()
        let reader = fixture.adapter()
        let first = try #require(values.first)
        let last = try #require(values.last)
        let plain = DefaultsKey<Value>("plain", defaultValue: first)
        let optional = DefaultsKey<Value?>("optional")
        let fallback = DefaultsKey<Value?>("fallback", defaultValue: first)
        let array = DefaultsKey<[Value]>("array", defaultValue: [])
        let named = DefaultsKey<[String: [Value?]]>("named", defaultValue: [:])
        #expect(writer[key: plain] == first && writer[key: optional] == nil, sourceLocation: sourceLocation)
        #expect(writer[key: fallback] == first, sourceLocation: sourceLocation)
        for value in values {
            writer[key: plain] = value
            writer[key: optional] = value
            writer[key: fallback] = value
            writer[key: array].append(value)
            writer[key: named]["x", default: []].append(value)
            writer[key: named]["x"]?.append(nil)
        }
        try await reader.synchronize()
        for adapter in [writer, reader] {
            #expect(adapter[key: plain] == last, sourceLocation: sourceLocation)
            #expect(adapter[key: optional] == last, sourceLocation: sourceLocation)
            #expect(adapter[key: fallback] == last, sourceLocation: sourceLocation)
            #expect(adapter[key: array] == values, sourceLocation: sourceLocation)
            #expect(adapter[key: named] == ["x": values.flatMap { [$0, nil] }], sourceLocation: sourceLocation)
        }
        writer[key: optional] = nil
        writer[key: fallback] = nil
        #expect(writer[key: optional] == nil && writer[key: fallback] == first, sourceLocation: sourceLocation)
        #expect(fixture.drainIssues() == [], sourceLocation: sourceLocation)
    }

    @Test("Numbers, text and Booleans read back equal", arguments: BackendKind.allCases)
    func scalars(_ kind: BackendKind) async throws {
        try await expectStored("", "a", "e\u{301}", "\u{E9}", in: kind)
        try await expectStored(0, Int.min, Int.max, in: kind)
        try await expectStored(0.1, -0.0, 1, Double.leastNonzeroMagnitude, in: kind)
        try await expectStored(Float(0.1), 3, in: kind)
        try await expectStored(true, false, in: kind)
        try await expectStored(Int8.min, .max, in: kind)
        try await expectStored(Int16.min, .max, in: kind)
        try await expectStored(Int32.min, .max, in: kind)
        try await expectStored(Int64.min, .max, in: kind)
        try await expectStored(UInt8.min, .max, in: kind)
        try await expectStored(UInt16.min, .max, in: kind)
        try await expectStored(UInt32.min, .max, in: kind)
        try await expectStored(UInt64.min, .max, in: kind)
        try await expectStored(UInt.min, .max, in: kind)
    }

    @Test("Data, dates, URLs, UUIDs and decimals read back equal", arguments: BackendKind.allCases)
    func foundation(_ kind: BackendKind) async throws {
        try await expectStored(Data(), Data([0, 255]), in: kind)
        try await expectStored(Date(timeIntervalSinceReferenceDate: 0.1), .distantPast, .distantFuture, in: kind)
        try await expectStored(try #require(URL(string: "https://example.com/a?b#c")), in: kind)
        try await expectStored(UUID(), UUID(), in: kind)
        try await expectStored(Decimal(string: "3.14159265358979323846") ?? 0, Decimal(-1), in: kind)
    }

    @Test("Containers and types of the program read back equal", arguments: BackendKind.allCases)
    func containers(_ kind: BackendKind) async throws {
        try await expectStored(["b": 1, "a": .null] as [String: JSONValue], [:], in: kind)
        try await expectStored(Set([3, 1, 2]), [], in: kind)
        try await expectStored(0..<10, 5..<5, in: kind)
        try await expectStored(0.5...1.5, in: kind)
        try await expectStored([[1], []], [], in: kind)
        try await expectStored(Theme.light, .dark, in: kind)
        try await expectStored(Permissions.read, [.read, .write], in: kind)
        try await expectStored(Account(name: "a", ports: [1]), in: kind)
    }

    @Test("Numbers that are not finite are kept if the key allows them, else refused", arguments: BackendKind.allCases)
    func nonFinite(_ kind: BackendKind) throws {
        let fixture = try kind.fixture()
        let defaults = fixture.adapter()
        let key = DefaultsKey<Double>("d", defaultValue: .infinity, nonFinite: true)
        defaults[key: key] = -.infinity
        #expect(defaults[key: key] == -.infinity)
        defaults[key: key] = .nan
        #expect(defaults[key: key].isNaN)
        #expect(fixture.drainIssues() == [])
        defaults[\.ratio] = .nan
        #expect(defaults[\.ratio] == 3.14)
        #expect(fixture.drainIssues().map(\.key) == ["ratio"])
    }
}
