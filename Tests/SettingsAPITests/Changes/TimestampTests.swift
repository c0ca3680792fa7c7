import SettingsAPI
import SettingsModel
import Testing

struct TimestampTests {
    @Test(
        "A time is written as its text, and the text is parsed as the time",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"),
            (1, "1970-01-01T00:00:00.001Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (1_795_168_800_123, "2026-11-20T10:00:00.123Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_799_999, "2000-02-29T23:59:59.999Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
            (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
            (-62_162_035_200_001, "0000-02-29T23:59:59.999Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] as [(Int64, String)])
    func pairs(milliseconds: Int64, text: String) {
        #expect(Timestamp(milliseconds: milliseconds).description == text)
        #expect(Timestamp(text)?.milliseconds == milliseconds)
    }

    @Test(
        "Text of another form, or with a date or time of day that does not exist, is not a timestamp",
        arguments: [
            "", "2026-11-20", "2026-11-20T10:00:00Z", "2026-11-20T10:00:00.1Z", "2026-11-20T10:00:00.1234Z",
            "2026-11-20t10:00:00.123z", "2026-11-20 10:00:00.123Z", "2026-11-20T10:00:00.123+00:00",
            "2026-11-20T10:00:00,123Z", "2026-00-20T10:00:00.123Z", "2026-13-20T10:00:00.123Z",
            "2026-11-00T10:00:00.123Z", "2026-11-31T10:00:00.123Z", "2026-02-29T10:00:00.123Z",
            "2100-02-29T10:00:00.123Z", "2026-11-20T24:00:00.123Z", "2026-11-20T10:60:00.123Z",
            "2026-11-20T10:00:60.123Z", "-026-11-20T10:00:00.123Z", " 026-11-20T10:00:00.123Z",
            "2026-11-20T10:00:00.12éZ", "2026-11-20T10:00:00.123Z ",
        ])
    func noTimestamp(text: String) {
        #expect(Timestamp(text) == nil)
    }

    @Test("For each day of 800 years, the text parses to the same time and sorts after the text of the previous day")
    func everyDay() throws {
        let first = try #require(Timestamp("1599-12-31T12:34:56.789Z"))
        var previous = first.description
        // 400 years have 146,097 days.
        for day in 1...(146_097 * 2) {
            let moment = Timestamp(milliseconds: first.milliseconds + Int64(day) * 86_400_000)
            let text = moment.description
            guard Timestamp(text) == moment, previous < text else {
                Issue.record("\(text) after \(previous)")
                return
            }
            previous = text
        }
        #expect(previous == "2399-12-31T12:34:56.789Z")
    }

    @Test("A time outside of the years 0 to 9999 is clamped to this range")
    func range() {
        #expect(Timestamp(milliseconds: .max) == Timestamp("9999-12-31T23:59:59.999Z"))
        #expect(Timestamp(milliseconds: .min) == Timestamp("0000-01-01T00:00:00.000Z"))
    }

    @Test("In JSON, a time is a string")
    func body() throws {
        try expectRoundTrip("\"2026-11-20T10:00:00.123Z\"", as: Timestamp.self)
        #expect(try bodyError("1795168800123", as: Timestamp.self)?.detail == "must be a string (got an integer)")
        #expect(try bodyError("\"now\"", as: Timestamp.self) != nil)
    }
}
