/// An iterator over field lines that the parser has already checked. It returns the range of each name, and the range
/// of the value without surrounding spaces and tabs.
struct FieldLines {
    private var position: Int
    private let end: Int

    init(_ range: Range<Int>) {
        (position, end) = (range.lowerBound, range.upperBound)
    }

    mutating func next(in bytes: Span<UInt8>) -> (name: Range<Int>, value: Range<Int>)? {
        var colon = position
        while colon < end, bytes[colon] != UInt8(ascii: ":") { colon += 1 }
        guard colon < end else { return nil }
        var lineEnd = colon + 1
        while lineEnd < end, bytes[lineEnd] != .carriageReturn { lineEnd += 1 }
        defer { position = lineEnd + 2 }
        return (position..<colon, bytes.trimmed(colon + 1..<lineEnd))
    }
}

extension MessageHead {
    /// Returns the values of all lines of a field, in their order, without surrounding spaces and tabs.
    ///
    /// The head stores only the range of the first value, so this function searches the head for the other lines.
    package func values(of name: FieldName, in bytes: Span<UInt8>) -> [Range<Int>] {
        guard let first = field(name) else { return [] }
        var values = [first]
        guard isRepeated(name) else { return values }
        var start = first.upperBound
        while start < length, bytes[start] != .lineFeed { start += 1 }
        var lines = FieldLines(min(start + 1, length)..<length)
        while let line = lines.next(in: bytes) {
            if FieldName(bytes, line.name) == name { values.append(line.value) }
        }
        return values
    }
}

/// An iterator over the elements of a comma-separated field value, as in `If-None-Match: "1", "2"`.
///
/// A comma inside a quoted string is not a separator. The iterator skips empty elements, as RFC 9110 (5.6.1) requires.
package struct ListElements: Sendable {
    private var remaining: Range<Int>

    package init(_ range: Range<Int>) {
        remaining = range
    }

    /// Returns the next element without surrounding spaces and tabs, or nil at the end of the list.
    package mutating func next(in bytes: Span<UInt8>) -> Range<Int>? {
        while !remaining.isEmpty {
            let start = remaining.lowerBound
            var end = start
            var isQuoted = false
            while end < remaining.upperBound {
                let byte = bytes[end]
                if byte == UInt8(ascii: "\"") {
                    isQuoted.toggle()
                } else if byte == UInt8(ascii: "\\"), isQuoted, end + 1 < remaining.upperBound {
                    end += 1
                } else if byte == UInt8(ascii: ","), !isQuoted {
                    break
                }
                end += 1
            }
            remaining = min(end + 1, remaining.upperBound)..<remaining.upperBound
            let element = bytes.trimmed(start..<end)
            if !element.isEmpty { return element }
        }
        return nil
    }
}
