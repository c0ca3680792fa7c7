/// The host and port that a request names, in a target or in the field `Host`.
struct Authority {
    var host: Range<Int>
    var port: Range<Int>?

    /// Nil if this is no `host` or `host:port`. An empty one is none of the business of this type.
    ///
    /// A host is what RFC 3986 admits except percent-encoding, which no name in use has, and user names.
    init?(_ bytes: Span<UInt8>, _ range: Range<Int>) {
        var index = range.lowerBound
        let end = range.upperBound
        guard index < end else { return nil }
        if bytes[index] == UInt8(ascii: "[") {
            index += 1
            while index < end, ByteSet.addressInBrackets.contains(bytes[index]) { index += 1 }
            guard index < end, bytes[index] == UInt8(ascii: "]"), index > range.lowerBound + 1 else { return nil }
            index += 1
        } else {
            while index < end, ByteSet.hostName.contains(bytes[index]) { index += 1 }
            guard index > range.lowerBound else { return nil }
        }
        host = range.lowerBound..<index
        guard index < end else { return }
        guard bytes[index] == UInt8(ascii: ":") else { return nil }
        index += 1
        let digits = index..<end
        var number = 0
        while index < end {
            let byte = bytes[index]
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            number = number * 10 + Int(byte - UInt8(ascii: "0"))
            guard number <= 65_535 else { return nil }
            index += 1
        }
        port = digits
    }
}
