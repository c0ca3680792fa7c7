/// The fields in bytes whose form was checked: the ranges of each name and of its value without the blanks around it.
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
    /// The values of all lines of a field, in their order, without the blanks around them.
    ///
    /// The head keeps the first only, since hardly any field comes twice: the others are looked for again in its bytes.
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

    /// The value of the first line of a field that is not in ``FieldName``; nil if there is none. Looks at all lines.
    package func value(ofFieldNamed name: StaticString, in bytes: Span<UInt8>) -> Range<Int>? {
        var start = 0
        while start < length, bytes[start] != .lineFeed { start += 1 }
        var lines = FieldLines(min(start + 1, length)..<length)
        while let line = lines.next(in: bytes) {
            if line.name.count == name.utf8CodeUnitCount, FieldName.isSame(bytes, line.name, name) { return line.value }
        }
        return nil
    }
}

/// The elements of a value that is a list with commas, such as that of `Connection` or `If-None-Match`.
///
/// Commas between quotation marks divide nothing. Empty elements are passed over, as RFC 9110 asks of recipients.
package struct ListElements: Sendable {
    private var rest: Range<Int>

    /// Goes through the list in this range of the bytes.
    package init(_ range: Range<Int>) {
        rest = range
    }

    /// The next element without the blanks around it; nil if there is none.
    package mutating func next(in bytes: Span<UInt8>) -> Range<Int>? {
        while !rest.isEmpty {
            let start = rest.lowerBound
            var end = start
            var isQuoted = false
            while end < rest.upperBound {
                let byte = bytes[end]
                if byte == UInt8(ascii: "\"") {
                    isQuoted.toggle()
                } else if byte == UInt8(ascii: "\\"), isQuoted, end + 1 < rest.upperBound {
                    end += 1
                } else if byte == UInt8(ascii: ","), !isQuoted {
                    break
                }
                end += 1
            }
            rest = min(end + 1, rest.upperBound)..<rest.upperBound
            let element = bytes.trimmed(start..<end)
            if !element.isEmpty { return element }
        }
        return nil
    }
}
