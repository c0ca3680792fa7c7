/// JSON pointers in their string representation, RFC 6901 section 3.
///
/// The form for URI fragments, with a leading `#`, is another one and is refused.
enum JSONPointerSyntax {
    static func accepts(_ bytes: Substring.UTF8View) -> Bool {
        guard bytes.isEmpty || bytes.first == UInt8(ascii: "/") else { return false }
        var isEscape = false
        for byte in bytes {
            if isEscape {
                guard byte == UInt8(ascii: "0") || byte == UInt8(ascii: "1") else { return false }
                isEscape = false
            } else {
                isEscape = byte == UInt8(ascii: "~")
            }
        }
        return !isEscape
    }
}
