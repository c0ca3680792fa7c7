/// A second in the form of the field `Date`: `Sun, 06 Nov 1994 08:49:37 GMT`.
///
/// Rendered once, together with the field's name, and then copied into every response of that second.
package struct HTTPDate: Sendable, BitwiseCopyable {
    /// `Date: …` with its CR LF.
    let line: InlineArray<37, UInt8>

    /// The date; a time before 1970 or after 9999 is taken as the nearest one within, as the form has four digits.
    package init(unixSeconds: Int) {
        let seconds = max(0, min(unixSeconds, 253_402_300_799))
        let (days, rest) = seconds.quotientAndRemainder(dividingBy: 86_400)
        let (year, month, day) = Self.civil(days)
        var line = LineWriter()
        line.write("Date: ")
        line.write(Self.weekdays[(days + 4) % 7])
        line.write(", ")
        line.write(day, digits: 2)
        line.write(" ")
        line.write(Self.months[month - 1])
        line.write(" ")
        line.write(year, digits: 4)
        line.write(" ")
        line.write(rest / 3_600, digits: 2)
        line.write(":")
        line.write(rest / 60 % 60, digits: 2)
        line.write(":")
        line.write(rest % 60, digits: 2)
        line.write(" GMT\r\n")
        self.line = line.bytes
    }

    /// The text without the name of the field.
    package var text: String {
        line.span.text(in: 6..<35)
    }

    private static let weekdays: [StaticString] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months: [StaticString] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// The date of a number of days after 1 January 1970, in the Gregorian calendar: counted in eras of 400 years that
    /// begin in March, so that the day that leap years add is the last of its year.
    private static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let (era, dayOfEra) = shifted.quotientAndRemainder(dividingBy: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    /// Fills the line from left to right.
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
            var rest = number
            for index in stride(from: count + digits - 1, through: count, by: -1) {
                bytes[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            }
            count += digits
        }
    }
}
