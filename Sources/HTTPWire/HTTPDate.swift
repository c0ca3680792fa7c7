/// A time with the precision of a second, formatted as the field `Date` requires: `Sun, 06 Nov 1994 08:49:37 GMT`.
///
/// The field is formatted once and then copied into every response of the same second.
package struct HTTPDate: Sendable, BitwiseCopyable {
    /// The whole field line, `Date: …` with CR LF.
    let line: InlineArray<37, UInt8>

    /// Formats a Unix time. Clamps it to the years 1970 to 9999, because the format has four digits for the year.
    /// 253,402,300,799 is the last second of the year 9999.
    package init(unixSeconds: Int) {
        let seconds = max(0, min(unixSeconds, 253_402_300_799))
        let (days, secondOfDay) = seconds.quotientAndRemainder(dividingBy: 86_400)
        let (year, month, day) = Self.gregorianDate(days)
        var line = LineWriter()
        line.write("Date: ")
        // 1 January 1970 was a Thursday, the weekday with the index 4.
        line.write(Self.weekdays[(days + 4) % 7])
        line.write(", ")
        line.write(day, digits: 2)
        line.write(" ")
        line.write(Self.months[month - 1])
        line.write(" ")
        line.write(year, digits: 4)
        line.write(" ")
        line.write(secondOfDay / 3_600, digits: 2)
        line.write(":")
        line.write(secondOfDay / 60 % 60, digits: 2)
        line.write(":")
        line.write(secondOfDay % 60, digits: 2)
        line.write(" GMT\r\n")
        self.line = line.bytes
    }

    /// The value of the field: the line without `Date: ` and CR LF.
    package var text: String {
        line.span.text(in: 6..<35)
    }

    private static let weekdays: [StaticString] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months: [StaticString] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Converts the number of days since 1 January 1970 to a date of the Gregorian calendar.
    ///
    /// The algorithm is `civil_from_days` by Howard Hinnant. It uses periods of 400 years (146,097 days) and years that
    /// begin on 1 March, which makes a leap day the last day of its year. 1 March of the year 0 is day -719,468.
    private static func gregorianDate(_ days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let (era, dayOfEra) = shifted.quotientAndRemainder(dividingBy: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    private struct LineWriter {
        var bytes = InlineArray<37, UInt8>(repeating: 0)
        private var count = 0

        mutating func write(_ text: StaticString) {
            text.withUTF8Buffer { buffer in
                for byte in buffer {
                    bytes[count] = byte
                    count += 1
                }
            }
        }

        mutating func write(_ number: Int, digits: Int) {
            var quotient = number
            for index in stride(from: count + digits - 1, through: count, by: -1) {
                bytes[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: quotient % 10)
                quotient /= 10
            }
            count += digits
        }
    }
}
