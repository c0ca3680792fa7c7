/// UUIDs in the hexadecimal form of RFC 4122, of any version and variant.
enum UUIDSyntax {
    static func accepts(_ bytes: Substring.UTF8View) -> Bool {
        var cursor = ByteCursor(bytes)
        for (position, length) in [8, 4, 4, 4, 12].enumerated() {
            if position > 0, !cursor.take("-") { return false }
            guard cursor.take(while: ASCII.isHexDigit).count == length else { return false }
        }
        return cursor.isAtEnd
    }
}
