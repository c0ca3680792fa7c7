extension RequestHead {
    /// The values of all lines of a field, in their order, without the blanks around them.
    ///
    /// The head keeps the first only, since hardly any field comes twice: the others are looked for again in its bytes,
    /// whose form was checked.
    package func values(of name: FieldName, in bytes: Span<UInt8>) -> [Range<Int>] {
        guard let first = field(name) else { return [] }
        var values = [first]
        guard isRepeated(name) else { return values }
        var start = first.upperBound
        while start < length {
            // Past the end of a line, which only a line feed can be here.
            while start < length, bytes[start] != .lineFeed { start += 1 }
            start += 1
            var colon = start
            while colon < length, ByteSet.token.contains(bytes[colon]) { colon += 1 }
            guard colon < length, bytes[colon] == UInt8(ascii: ":"), FieldName(bytes, start..<colon) == name else {
                continue
            }
            var end = colon + 1
            while end < length, bytes[end] != .carriageReturn { end += 1 }
            values.append(bytes.trimmed((colon + 1)..<end))
        }
        return values
    }
}
