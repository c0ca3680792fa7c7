/// An RFC 3339 `date-time`, as written.
struct DateTimeSyntax {
    let date: CivilDate
    let time: ClockTime

    init?(_ bytes: Substring.UTF8View) {
        guard let timestamp = ByteCursor.readAll(of: bytes, as: DateTimeSyntax.init(reading:)) else { return nil }
        self = timestamp
    }

    private init?(reading cursor: inout ByteCursor) {
        guard let date = CivilDate(reading: &cursor), cursor.take(ignoringCase: "t"),
            let time = ClockTime(reading: &cursor)
        else { return nil }
        self.date = date
        self.time = time
    }

    /// Whole seconds since 2001-01-01T00:00:00Z, the fraction left out; a leap second counts as the second after it.
    var secondsSince2001: Int {
        date.daysSince2001 * 86_400 + (time.hour * 60 + time.minute - time.offset) * 60 + time.second
    }
}

extension CivilDate {
    /// Reads a `full-date` of RFC 3339.
    init?(reading cursor: inout ByteCursor) {
        guard let year = cursor.takeNumber(digits: 4), cursor.take("-"),
            let month = cursor.takeNumber(digits: 2), cursor.take("-"),
            let day = cursor.takeNumber(digits: 2)
        else { return nil }
        self.init(year: year, month: month, day: day)
    }
}

/// An RFC 3339 `full-time`: a time of day together with its distance from UTC.
struct ClockTime {
    let hour: Int
    let minute: Int
    /// 60 in a leap second.
    let second: Int
    /// The digits after the decimal point, as many as were written.
    let fraction: Substring.UTF8View
    /// Minutes ahead of UTC.
    let offset: Int

    /// Reads a `full-time`.
    ///
    /// Second 60 exists only where UTC shows 23:59. Which days had one is not asked: the list grows, and a `time` names
    /// no day.
    init?(reading cursor: inout ByteCursor) {
        guard let hour = cursor.takeNumber(digits: 2), hour < 24, cursor.take(":"),
            let minute = cursor.takeNumber(digits: 2), minute < 60, cursor.take(":"),
            let second = cursor.takeNumber(digits: 2), second <= 60,
            let fraction = Self.takeFraction(&cursor), let offset = Self.takeOffset(&cursor)
        else { return nil }
        let minuteOfDay = (hour * 60 + minute - offset).flooringDivision(by: 1_440).remainder
        guard second < 60 || minuteOfDay == 1_439 else { return nil }
        self.hour = hour
        self.minute = minute
        self.second = second
        self.fraction = fraction
        self.offset = offset
    }

    /// Empty without a decimal point; nil if no digit follows one.
    private static func takeFraction(_ cursor: inout ByteCursor) -> Substring.UTF8View? {
        guard cursor.take(".") else { return cursor.rest.prefix(0) }
        let digits = cursor.take(while: ASCII.isDigit)
        return digits.isEmpty ? nil : digits
    }

    private static func takeOffset(_ cursor: inout ByteCursor) -> Int? {
        if cursor.take(ignoringCase: "z") { return 0 }
        let isBehind = cursor.take("-")
        guard isBehind || cursor.take("+"),
            let hours = cursor.takeNumber(digits: 2), hours < 24, cursor.take(":"),
            let minutes = cursor.takeNumber(digits: 2), minutes < 60
        else { return nil }
        return isBehind ? -(hours * 60 + minutes) : hours * 60 + minutes
    }
}
