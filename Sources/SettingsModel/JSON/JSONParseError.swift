/// Why a text is not JSON, and where.
public struct JSONParseError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The byte at which the text went wrong, from 0.
    public let offset: Int
    /// The line of that byte, from 1; a line ends with a line feed.
    public let line: Int
    /// The column of that byte, from 1, in Unicode scalars.
    public let column: Int
    /// What was expected and what was found, without the position.
    public let reason: String

    /// The reason with its place, as `line 3, column 14: expected ':' after the name, found '='`.
    public var description: String {
        "line \(line), column \(column): \(reason)"
    }

    init(at offset: Int, in bytes: Span<UInt8>, _ reason: String) {
        var line = 1
        var column = 1
        var index = 0
        // A byte that continues a scalar (0b10xxxxxx) takes no column of its own.
        while index < min(offset, bytes.count) {
            if bytes[index] == UInt8(ascii: "\n") {
                line += 1
                column = 1
            } else if bytes[index] & 0xC0 != 0x80 {
                column += 1
            }
            index += 1
        }
        self.offset = offset
        self.line = line
        self.column = column
        self.reason = reason
    }
}
