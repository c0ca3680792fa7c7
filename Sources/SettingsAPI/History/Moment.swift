package import SettingsModel

/// A time in the past: after a commit, or an instant.
public enum Moment: Hashable, Sendable {
    /// After this commit.
    case revision(Revision)
    /// After the last commit whose time is not later than the instant.
    case instant(Timestamp)

    /// Parses a revision, or an instant in the form of RFC 3339. Returns nil for any other text.
    package init?(_ text: String) {
        if let revision = Revision(text) {
            self = .revision(revision)
        } else if let instant = Timestamp(dateTime: text) {
            self = .instant(instant)
        } else {
            return nil
        }
    }

    /// The text form, which parses to the same moment.
    package var text: String {
        switch self {
        case .revision(let revision): revision.description
        case .instant(let instant): instant.description
        }
    }
}

extension Moment: JSONReadable, JSONWritable {
    package init(json: JSONValue) throws(BodyError) {
        if case .string(let text) = json, let instant = Timestamp(dateTime: text) {
            self = .instant(instant)
        } else if case .integer = json {
            self = .revision(try Revision(json: json))
        } else {
            throw BodyError("must be a revision, or an instant such as \"2026-11-20T10:00:00Z\"")
        }
    }

    package func write(to writer: inout JSONWriter) {
        switch self {
        case .revision(let revision): revision.write(to: &writer)
        case .instant(let instant): instant.write(to: &writer)
        }
    }
}

extension Timestamp {
    /// Parses any `date-time` of RFC 3339. Truncates it to milliseconds.
    package init?(dateTime text: String) {
        guard let parsed = DateTimeSyntax(text) else { return nil }
        let digits = parsed.time.fraction.prefix(3).map { Int64($0 - UInt8(ascii: "0")) }
        let milliseconds = zip(digits, [100, 10, 1]).reduce(0) { $0 + $1.0 * $1.1 }
        self.init(
            milliseconds: (Int64(parsed.secondsSince2001) + Int64(86_400 * Self.daysFrom1970To2001)) * 1000
                + milliseconds
        )
    }
}
