/// The ISO 8601 durations that RFC 3339 appendix A describes.
///
/// The grammar is narrower than ISO 8601: whole numbers only, weeks only by themselves, and no unit skipped between the
/// first one given and the last, so `P1Y2D` is refused. Its letters may be in lower case, because ABNF literals are
/// case-insensitive (RFC 5234 section 2.3).
enum DurationSyntax {
    static func accepts(_ bytes: Substring.UTF8View) -> Bool {
        var cursor = ByteCursor(bytes)
        guard cursor.take(ignoringCase: "p") else { return false }
        if isWeeks(cursor) { return true }
        if cursor.next.map(ASCII.isDigit) == true, !takeUnits("ymd", from: &cursor) { return false }
        if cursor.take(ignoringCase: "t") {
            return takeUnits("hms", from: &cursor) && cursor.isAtEnd
        }
        return cursor.isAtEnd && bytes.count > 1
    }

    private static func isWeeks(_ start: ByteCursor) -> Bool {
        var cursor = start
        return !cursor.take(while: ASCII.isDigit).isEmpty && cursor.take(ignoringCase: "w") && cursor.isAtEnd
    }

    /// Reads at least one number with its unit, the units being neighbours in `units` and in that order.
    private static func takeUnits(_ units: String, from cursor: inout ByteCursor) -> Bool {
        var remaining = units.unicodeScalars[...]
        var isFirst = true
        while !cursor.take(while: ASCII.isDigit).isEmpty {
            guard let index = remaining.firstIndex(where: { cursor.take(ignoringCase: $0) }),
                isFirst || index == remaining.startIndex
            else { return false }
            remaining = remaining[index...].dropFirst()
            isFirst = false
        }
        return !isFirst
    }
}
