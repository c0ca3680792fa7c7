/// The parts of an RFC 3339 `date-time`, as the text contains them, without a conversion to UTC.
package struct DateTimeSyntax {
    package let date: CivilDate
    package let time: ClockTime

    package init?(_ text: String) {
        var cursor = ByteCursor(text)
        guard let date = CivilDate(reading: &cursor), cursor.consume(ignoringCase: "t"),
            let time = ClockTime(reading: &cursor), cursor.isAtEnd
        else { return nil }
        self.date = date
        self.time = time
    }

    /// Whole seconds since 2001-01-01T00:00:00Z. A leap second has the same number as the second after it.
    package var secondsSince2001: Int {
        date.daysSince2001 * 86_400 + (time.hour * 60 + time.minute - time.offset) * 60 + time.second
    }
}

extension CivilDate {
    /// Reads a `full-date` of RFC 3339.
    init?(reading cursor: inout ByteCursor) {
        guard let year = cursor.consumeNumber(digits: 4), cursor.consume("-"),
            let month = cursor.consumeNumber(digits: 2), cursor.consume("-"),
            let day = cursor.consumeNumber(digits: 2)
        else { return nil }
        self.init(year: year, month: month, day: day)
    }
}

/// A time of day with its offset from UTC: the `full-time` of RFC 3339.
package struct ClockTime {
    let hour: Int
    let minute: Int
    /// The second; 60 in a leap second.
    let second: Int
    /// All digits after the decimal point.
    package let fraction: ArraySlice<UInt8>
    /// The offset from UTC in minutes; positive east of Greenwich.
    let offset: Int

    /// Reads a `full-time`. Accepts the second 60 whenever it is 23:59 in UTC, because future leap seconds are unknown
    /// and a `time` has no date.
    init?(reading cursor: inout ByteCursor) {
        guard let hour = cursor.consumeNumber(digits: 2), hour < 24, cursor.consume(":"),
            let minute = cursor.consumeNumber(digits: 2), minute < 60, cursor.consume(":"),
            let second = cursor.consumeNumber(digits: 2), second <= 60,
            let fraction = Self.consumeFraction(&cursor), let offset = Self.consumeOffset(&cursor)
        else { return nil }
        let minuteOfDay = (hour * 60 + minute - offset).flooringDivision(by: 1_440).remainder
        guard second < 60 || minuteOfDay == 1_439 else { return nil }
        self.hour = hour
        self.minute = minute
        self.second = second
        self.fraction = fraction
        self.offset = offset
    }

    /// Reads the digits after a decimal point. Returns no digits if there is no point, and nil if there is a point
    /// without digits.
    private static func consumeFraction(_ cursor: inout ByteCursor) -> ArraySlice<UInt8>? {
        guard cursor.consume(".") else { return [] }
        let digits = cursor.consume(while: .digits)
        return digits.isEmpty ? nil : digits
    }

    private static func consumeOffset(_ cursor: inout ByteCursor) -> Int? {
        if cursor.consume(ignoringCase: "z") { return 0 }
        let isBehind = cursor.consume("-")
        guard isBehind || cursor.consume("+"),
            let hours = cursor.consumeNumber(digits: 2), hours < 24, cursor.consume(":"),
            let minutes = cursor.consumeNumber(digits: 2), minutes < 60
        else { return nil }
        return isBehind ? -(hours * 60 + minutes) : hours * 60 + minutes
    }
}

/// A day of the proleptic Gregorian calendar.
package struct CivilDate: Equatable {
    package let year: Int
    package let month: Int
    package let day: Int

    /// Returns nil if the calendar does not have the day.
    package init?(year: Int, month: Int, day: Int) {
        guard 1...12 ~= month, day >= 1, day <= Self.daysInMonth(month, year: year) else { return nil }
        self.year = year
        self.month = month
        self.day = day
    }

    /// Makes the date that is `days` days after 2001-01-01.
    ///
    /// The computation begins each year on 1 March. The leap day is then the last day of a year, and one formula gives
    /// the lengths of the months: from March on, they repeat the pattern 31 30 31 30 31, which is 153 days in five
    /// months.
    package init(daysSince2001 days: Int) {
        let (era, dayOfEra) = (days + Self.daysFromYear0To2001).flooringDivision(by: Self.daysInEra)
        // The quotients are the leap days before `dayOfEra`. Without them, each year has 365 days.
        let yearOfEra =
            (dayOfEra - dayOfEra / (Self.daysIn4Years - 1) + dayOfEra / Self.daysInCentury
                - dayOfEra / (Self.daysInEra - 1)) / 365
        let dayOfYear = dayOfEra - Self.daysBefore(yearOfEra: yearOfEra)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - Self.daysBefore(monthFromMarch: monthFromMarch) + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
    }

    /// The number of days after 2001-01-01; negative before it.
    package var daysSince2001: Int {
        let (era, yearOfEra) = (month <= 2 ? year - 1 : year).flooringDivision(by: 400)
        let monthFromMarch = month <= 2 ? month + 9 : month - 3
        return era * Self.daysInEra + Self.daysBefore(yearOfEra: yearOfEra)
            + Self.daysBefore(monthFromMarch: monthFromMarch) + (day - 1) - Self.daysFromYear0To2001
    }

    private static let daysIn4Years = 1_461
    private static let daysInCentury = 36_524
    /// The number of days in 400 years, after which the calendar repeats.
    private static let daysInEra = 146_097
    /// The number of days from 1 March of the year 0, the first day of a 400-year period, to 2001-01-01.
    private static let daysFromYear0To2001 = 730_791

    private static func daysBefore(yearOfEra: Int) -> Int {
        yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100
    }

    private static func daysBefore(monthFromMarch: Int) -> Int {
        (153 * monthFromMarch + 2) / 5
    }

    private static func daysInMonth(_ month: Int, year: Int) -> Int {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func isLeap(_ year: Int) -> Bool {
        year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
    }
}

extension Int {
    /// Returns the quotient, rounded down, and the remainder, which is never negative. The divisor must be positive.
    package func flooringDivision(by divisor: Int) -> (quotient: Int, remainder: Int) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
