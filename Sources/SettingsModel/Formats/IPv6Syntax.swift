/// IPv6 addresses in text, without brackets and without a zone.
enum IPv6Syntax {
    /// The two standards that disagree on small things.
    enum Dialect {
        /// RFC 4291 section 2.2, and the same language in RFC 3986: `::` stands for one group or more.
        case plain
        /// RFC 5321 section 4.1.3: `::` stands for two groups or more, and the octets of an embedded IPv4 address may
        /// have leading zeros.
        case mail
    }

    static func accepts(_ bytes: Substring.UTF8View, dialect: Dialect = .plain) -> Bool {
        var cursor = ByteCursor(bytes)
        var groups = 0
        var isElided = false
        if cursor.take(":") {
            guard cursor.take(":") else { return false }
            isElided = true
        }
        while !(isElided && cursor.isAtEnd) {
            let start = cursor
            let digits = cursor.take(while: ASCII.isHexDigit)
            if cursor.take(".") {
                guard IPv4Syntax.accepts(start.rest, allowingLeadingZeros: dialect == .mail) else { return false }
                groups += 2
                break
            }
            guard 1...4 ~= digits.count, groups < 8 else { return false }
            groups += 1
            if cursor.isAtEnd { break }
            guard cursor.take(":") else { return false }
            if cursor.take(":") {
                guard !isElided else { return false }
                isElided = true
            } else if cursor.isAtEnd {
                return false
            }
        }
        return isElided ? groups <= (dialect == .mail ? 6 : 7) : groups == 8
    }
}
