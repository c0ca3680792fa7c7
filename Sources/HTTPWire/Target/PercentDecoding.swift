/// Percent-encoding of RFC 3986, read strictly: `%XX` is a byte, all others are themselves, `+` too.
package enum PercentDecoding {
    /// The text that a range of the bytes encodes.
    package static func text(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(PercentDecodingError) -> String {
        var index = range.lowerBound
        while index < range.upperBound, bytes[index] != UInt8(ascii: "%") { index += 1 }
        // Most segments have nothing encoded: they are checked and copied once.
        if index == range.upperBound { return try validated(bytes.extracting(range)) }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(range.count)
        decoded.append(copying: bytes.extracting(range.lowerBound..<index))
        while index < range.upperBound {
            let byte = bytes[index]
            if byte != UInt8(ascii: "%") {
                decoded.append(byte)
                index += 1
            } else if range.upperBound - index >= 3, let high = bytes[index + 1].hexadecimalValue,
                let low = bytes[index + 2].hexadecimalValue
            {
                decoded.append(high << 4 | low)
                index += 3
            } else {
                throw .malformedEscape
            }
        }
        return try validated(decoded.span)
    }

    private static func validated(_ bytes: Span<UInt8>) throws(PercentDecodingError) -> String {
        do {
            return String(copying: try UTF8Span(validating: bytes))
        } catch {
            throw .invalidUTF8
        }
    }
}
