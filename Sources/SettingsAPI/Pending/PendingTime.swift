package import SettingsModel

/// The time of a deadline as a client sends it: a duration or an instant.
package enum PendingTime: Hashable, Sendable {
    /// Milliseconds after the time of the commit of the request.
    case after(milliseconds: Int64)
    case at(Timestamp)

    /// The default for the longest time from a commit to a deadline that the commit sets: 400 days in milliseconds.
    package static let maximumDistance: Int64 = 400 * 86_400_000

    /// The text form that a client may send, for error messages.
    package static let expectedText =
        "a duration such as 90s, 15m, 2h or 7d, or an instant such as 2026-11-20T10:00:00Z"

    /// Reads a duration or an instant of RFC 3339; nil for any other text.
    package init?(_ text: String) {
        if let milliseconds = Self.milliseconds(ofDuration: text) {
            self = .after(milliseconds: milliseconds)
        } else if let instant = Timestamp(dateTime: text) {
            self = .at(instant)
        } else {
            return nil
        }
    }

    /// Reads a duration: decimal digits without leading zeros, then `s`, `m`, `h` or `d`. Without a unit, the number is
    /// in seconds. Returns nil for any other text, and for a duration that exceeds the range of the result.
    package static func milliseconds(ofDuration text: String) -> Int64? {
        let bytes = text.utf8Span.span
        guard !bytes.isEmpty else { return nil }
        let unit: Int64? =
            switch bytes[bytes.count - 1] {
            case UInt8(ascii: "s"): 1000
            case UInt8(ascii: "m"): 60_000
            case UInt8(ascii: "h"): 3_600_000
            case UInt8(ascii: "d"): 86_400_000
            default: nil
            }
        let digits = bytes.extracting(0..<(unit == nil ? bytes.count : bytes.count - 1))
        // A revision has the same syntax: decimal digits without leading zeros.
        guard let number = Revision(utf8: digits)?.number else { return nil }
        let (milliseconds, overflows) = number.multipliedReportingOverflow(by: unit ?? 1000)
        return overflows ? nil : milliseconds
    }

    /// Returns the instant of the deadline, if the duration begins at `start`.
    package func instant(from start: Timestamp) -> Timestamp {
        switch self {
        case .after(let milliseconds):
            // The daemon refuses a longer duration than `maximumDistance`. The bound only prevents an overflow of the
            // sum.
            Timestamp(milliseconds: start.milliseconds + min(milliseconds, 2 * Self.maximumDistance))
        case .at(let instant): instant
        }
    }

    /// The form in which a client sends the time: a duration in seconds, or an instant.
    package var text: String {
        switch self {
        case .after(let milliseconds): "\(milliseconds / 1000)s"
        case .at(let instant): instant.description
        }
    }

    /// The time as text, which is equal for all spellings of one time. Digests of requests depend on this text, so its
    /// form must not change.
    package var canonicalText: String {
        switch self {
        case .after(let milliseconds): "after \(milliseconds)"
        case .at(let instant): "at \(instant)"
        }
    }
}

extension PendingTime {
    /// Returns a duration as text for people, such as `2m` or `90s`: in the largest unit that gives an integer. If no
    /// unit gives an integer, rounds to seconds.
    package static func text(ofMilliseconds milliseconds: Int64) -> String {
        for (unit, name) in [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m")] as [(Int64, String)]
        where milliseconds > 0 && milliseconds % unit == 0 {
            return "\(milliseconds / unit)\(name)"
        }
        return "\((milliseconds + 500) / 1000)s"
    }
}

extension PendingTime: JSONReadable {
    package init(json: JSONValue) throws(BodyError) {
        if case .integer(let seconds) = json, let time = PendingTime(String(seconds)) {
            self = time
        } else if case .string(let text) = json, let time = PendingTime(text) {
            self = time
        } else {
            throw BodyError("expected \(Self.expectedText)")
        }
    }
}
