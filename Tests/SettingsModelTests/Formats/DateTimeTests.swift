import TestSupport
import Testing

@testable import SettingsModel

struct DateTimeTests {
    static let dates: [FormatCase] = [
        .good("an ordinary day", "2026-11-20"),
        .good("the first supported day", "0000-01-01"),
        .good("the last supported day", "9999-12-31"),
        .good("a leap day", "2024-02-29"),
        .good("a leap day in a year divisible by 400", "2000-02-29"),
        .good("a leap day in the year 0", "0000-02-29"),
        .bad("a leap day in a common year", "2023-02-29"),
        .bad("a leap day in a century year", "1900-02-29"),
        .bad("30 February in a leap year", "2024-02-30"),
        .bad("31 November", "2026-11-31"),
        .bad("day 0", "2026-11-00"),
        .bad("month 0", "2026-00-20"),
        .bad("month 13", "2026-13-20"),
        .bad("an empty text", ""),
        .bad("a missing digit", "2026-11-2"),
        .bad("a digit too many", "2026-11-200"),
        .bad("five digits for the year", "12026-11-20"),
        .bad("a sign", "-2026-11-20"),
        .bad("slashes", "2026/11/20"),
        .bad("Arabic-Indic digits", "٢٠٢٦-11-20"),
        .bad("full-width digits", "２０２６-11-20"),
        .bad("a space at the end", "2026-11-20 "),
        .bad("a time after the date", "2026-11-20T10:00:00Z"),
    ]

    static let times: [FormatCase] = [
        .good("UTC", "10:00:00Z"),
        .good("UTC in lower case", "10:00:00z"),
        .good("the last second of a day", "23:59:59Z"),
        .good("a long fraction", "10:00:00.00000000000000000000000000000001Z"),
        .good("an offset", "10:00:00+05:45"),
        .good("the largest offset", "10:00:00-23:59"),
        .good("an unknown offset", "10:00:00-00:00"),
        .good("a leap second", "23:59:60Z"),
        .good("a leap second with a fraction", "23:59:60.999Z"),
        .good("a leap second in a time zone east of UTC", "05:44:60+05:45"),
        .good("a leap second in a time zone west of UTC", "18:59:60-05:00"),
        .bad("a leap second at noon", "12:00:60Z"),
        .bad("a leap second at local midnight", "23:59:60+05:45"),
        .bad("second 61", "23:59:61Z"),
        .bad("hour 24", "24:00:00Z"),
        .bad("minute 60", "10:60:00Z"),
        .bad("no offset", "10:00:00"),
        .bad("no seconds", "10:00Z"),
        .bad("a point without digits", "10:00:00.Z"),
        .bad("a comma instead of a point", "10:00:00,5Z"),
        .bad("offset hour 24", "10:00:00+24:00"),
        .bad("offset minute 60", "10:00:00+01:60"),
        .bad("an offset without colon", "10:00:00+0100"),
        .bad("an offset of hours only", "10:00:00+01"),
        .bad("the character U+2212 as minus sign", "10:00:00−01:00"),
        .bad("Devanagari digits", "१०:00:00Z"),
        .bad("single digits", "1:0:0Z"),
        .bad("an empty text", ""),
        .bad("a newline at the end", "10:00:00Z\n"),
    ]

    /// The format has no list of leap seconds, so it accepts the second 60 on each day at 23:59 UTC.
    static let dateTimes: [FormatCase] = [
        .good("UTC", "2026-11-20T10:00:00Z"),
        .good("lower-case letters", "2026-11-20t10:00:00z"),
        .good("milliseconds and an offset", "2026-11-20T10:00:00.123+01:00"),
        .good("a leap second", "2016-12-31T23:59:60Z"),
        .good("a leap second on a day that had none", "2026-11-20T23:59:60Z"),
        .good("a leap second in a time zone where the next day has begun", "2017-01-01T08:59:60+09:00"),
        .bad("a leap second in the wrong minute", "2016-12-31T23:58:60Z"),
        .bad("midnight as hour 24", "2026-11-20T24:00:00Z"),
        .bad("a day that does not exist", "2026-02-29T10:00:00Z"),
        .bad("a space in between", "2026-11-20 10:00:00Z"),
        .bad("a date alone", "2026-11-20"),
        .bad("a date and a T", "2026-11-20T"),
        .bad("a time alone", "10:00:00Z"),
        .bad("no offset", "2026-11-20T10:00:00"),
        .bad("two offsets", "2026-11-20T10:00:00Z+01:00"),
        .bad("Persian digits", "۲۰۲۶-11-20T10:00:00Z"),
        .bad("a zero byte at the end", "2026-11-20T10:00:00Z\0"),
        .bad("an empty text", ""),
    ]

    @Test("A date follows RFC 3339", arguments: dates)
    func date(_ testCase: FormatCase) {
        testCase.check(by: .date)
    }

    @Test("A time follows RFC 3339", arguments: times)
    func time(_ testCase: FormatCase) {
        testCase.check(by: .time)
    }

    @Test("A date-time follows RFC 3339", arguments: dateTimes)
    func dateTime(_ testCase: FormatCase) {
        testCase.check(by: .dateTime)
    }
}

@Suite(.ownThread)
struct CivilDateTests {
    @Test("Each day from the year -2 to 10001 follows the previous day")
    func everyDay() throws {
        var previous = CivilDate(daysSince2001: -731_300)
        for day in -731_299...2_922_200 {
            let date = CivilDate(daysSince2001: day)
            let isNextDay = date.year == previous.year && date.month == previous.month && date.day == previous.day + 1
            if !isNextDay {
                let isNextMonth = date.year == previous.year && date.month == previous.month + 1 && date.day == 1
                let isNextYear =
                    date.year == previous.year + 1 && date.month == 1 && date.day == 1
                    && previous.month == 12
                try #require(isNextMonth || isNextYear, "day \(day)")
                try #require(CivilDate(year: previous.year, month: previous.month, day: previous.day + 1) == nil)
                try #require(date.daysSince2001 == day)
            }
            previous = date
        }
    }

    @Test("Known dates have their known day numbers")
    func knownDays() throws {
        #expect(try #require(CivilDate(year: 2001, month: 1, day: 1)).daysSince2001 == 0)
        #expect(try #require(CivilDate(year: 2000, month: 2, day: 29)).daysSince2001 == -307)
        #expect(try #require(CivilDate(year: 1970, month: 1, day: 1)).daysSince2001 == -11_323)
        #expect(try #require(CivilDate(year: 0, month: 1, day: 1)).daysSince2001 == -730_851)
        #expect(try #require(CivilDate(year: 9999, month: 12, day: 31)).daysSince2001 == 2_921_573)
    }
}
