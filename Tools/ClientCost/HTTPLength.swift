/// The length of an HTTP message, from the field `Content-Length` of its head.
enum HTTPLength {
    private static let headEnd = Array("\r\n\r\n".utf8)
    private static let field = Array("content-length: ".utf8)

    /// Returns the length of the head and the body of the message at the beginning of `bytes`; nil while the head is
    /// incomplete.
    static func of(_ bytes: ArraySlice<UInt8>) -> Int? {
        guard let bodyStart = bytes.end(of: headEnd) else { return nil }
        guard let numberStart = bytes[..<bodyStart].end(of: field, ignoringCase: true) else {
            return bodyStart - bytes.startIndex
        }
        var length = 0
        for byte in bytes[numberStart...] {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { break }
            length = length * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return bodyStart - bytes.startIndex + length
    }
}

extension ArraySlice<UInt8> {
    /// Returns the index after the first occurrence of the bytes; nil if they do not occur.
    func end(of wanted: [UInt8], ignoringCase: Bool = false) -> Int? {
        // Upper case and lower case letters of ASCII differ only in the bit 0x20.
        let mask: UInt8 = ignoringCase ? 0x20 : 0
        var start = startIndex
        while start + wanted.count <= endIndex {
            var length = 0
            while length < wanted.count, self[start + length] | mask == wanted[length] | mask { length += 1 }
            if length == wanted.count { return start + length }
            start += 1
        }
        return nil
    }
}
