import Testing

@testable import SettingsModel

struct DurationTests {
    static let cases: [FormatCase] = [
        .good("all units", "P1Y2M3DT4H5M6S"),
        .good("years alone", "P3Y"),
        .good("months alone", "P3M"),
        .good("days alone", "P3D"),
        .good("weeks alone", "P3W"),
        .good("hours alone", "PT3H"),
        .good("minutes alone", "PT3M"),
        .good("seconds alone", "PT3S"),
        .good("years and months", "P1Y1M"),
        .good("months and days", "P1M1D"),
        .good("minutes and seconds", "PT1M1S"),
        .good("a date part and seconds", "P1YT1S"),
        .good("zero", "PT0S"),
        .good("leading zeros", "P007D"),
        .good("lower-case letters", "p1dt2h"),
        .bad("nothing", ""),
        .bad("a P alone", "P"),
        .bad("a T alone", "T1H"),
        .bad("P and T alone", "PT"),
        .bad("a T with nothing behind", "P1DT"),
        .bad("days skipped months", "P1Y1D"),
        .bad("seconds skipped minutes", "PT1H1S"),
        .bad("days before months", "P1D1M"),
        .bad("seconds before hours", "PT1S1H"),
        .bad("years twice", "P1Y1Y"),
        .bad("weeks with days", "P1W1D"),
        .bad("weeks with hours", "P1WT1H"),
        .bad("weeks behind years", "P1Y1W"),
        .bad("weeks behind T", "PT1W"),
        .bad("hours without T", "P1H"),
        .bad("days behind T", "PT1D"),
        .bad("a second T", "PT1HT1M"),
        .bad("a fraction", "PT1.5S"),
        .bad("a negative duration", "-P1D"),
        .bad("a unit without number", "PD"),
        .bad("a number without unit", "P1"),
        .bad("Thai digits", "P๑D"),
        .bad("the alternative form", "P0001-01-01T00:00:00"),
        .bad("a space in front", " P1D"),
        .bad("a newline behind", "P1D\n"),
    ]

    @Test(arguments: cases) func `A duration is the one of RFC 3339`(_ testCase: FormatCase) {
        testCase.check(by: .duration)
    }
}
