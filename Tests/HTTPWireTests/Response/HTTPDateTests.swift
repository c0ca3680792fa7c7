import Foundation
import HTTPWire
import TestSupport
import Testing

struct HTTPDateTests {
    @Test(
        "A second has its date",
        arguments: [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (-1, "Thu, 01 Jan 1970 00:00:00 GMT"), (.min, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951_782_399, "Mon, 28 Feb 2000 23:59:59 GMT"), (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (951_868_800, "Wed, 01 Mar 2000 00:00:00 GMT"), (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
            (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"), (.max, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ])
    func date(_ seconds: Int, _ expected: String) {
        #expect(HTTPDate(unixSeconds: seconds).text == expected)
    }

    @Test("Any second has the date that Foundation gives it")
    func againstFoundation() {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        for var generator in FuzzBudget.generators(share: 0.1) {
            let seconds = generator.below(253_402_300_800)
            let expected = formatter.string(from: Date(timeIntervalSince1970: Double(seconds)))
            guard HTTPDate(unixSeconds: seconds).text == expected else {
                Issue.record("seed \(generator.seed): \(HTTPDate(unixSeconds: seconds).text), not \(expected)")
                return
            }
        }
    }
}
