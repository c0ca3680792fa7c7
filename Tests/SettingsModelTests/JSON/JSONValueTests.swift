import SettingsModel
import Testing

@Suite("JSON values")
struct JSONValueTests {
    @Test("A literal is the value of its kind")
    func literals() {
        let value: JSONValue = [.null, true, 1, 1.0, "text", [], [:]]
        #expect(
            value.array == [
                .null, .bool(true), .integer(1), .double(1), .string("text"), .array([]), .object(JSONObject()),
            ])
    }

    @Test("Each accessor answers for its kind only")
    func accessors() {
        let values: [JSONValue] = [.null, true, 1, 1.0, "text", [1], ["a": 1]]
        #expect(values.map(\.isNull) == [true, false, false, false, false, false, false])
        #expect(values.map(\.bool) == [nil, true, nil, nil, nil, nil, nil])
        #expect(values.map(\.integer) == [nil, nil, 1, nil, nil, nil, nil])
        #expect(values.map(\.number) == [nil, nil, 1, 1, nil, nil, nil])
        #expect(values.map(\.string) == [nil, nil, nil, nil, "text", nil, nil])
        #expect(values.map(\.array) == [nil, nil, nil, nil, nil, [1], nil])
        #expect(values.map(\.object) == [nil, nil, nil, nil, nil, nil, ["a": 1]])
        #expect(values.map { $0["a"] } == [nil, nil, nil, nil, nil, nil, 1])
    }

    @Test("An integer beyond 2⁵³ is the nearest double as a number, and itself as an integer")
    func largeIntegers() {
        #expect(JSONValue.integer(9_007_199_254_740_993).number == 9_007_199_254_740_992)
        #expect(JSONValue.integer(.max).number == 0x1p63)
        #expect(JSONValue.integer(.max).integer == .max)
    }
}
