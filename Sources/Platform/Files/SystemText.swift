/// Conversion of texts from the system that may contain bytes that are not UTF-8: arguments, environment variables,
/// names of files.
///
/// A Swift string cannot contain a byte that is not UTF-8. In its place, the string contains an *escape*: U+0000 and
/// two hexadecimal digits. The conversion is reversible, because a text from the system never contains U+0000: the byte
/// 0 ends a string of the C library. ``FileSystem`` and ``FileContents`` accept paths with escapes.
extension String {
    /// Makes a text from the bytes of the system, with escapes for the bytes that are not UTF-8.
    init(escapingInvalidBytesOf bytes: some Sequence<UInt8>) {
        self = ""
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            do throws(UTF8.ValidationError) {
                self += String(copying: try UTF8Span(validating: rest.span))
                rest = []
            } catch {
                let invalid = error.byteOffsets
                self += String(decoding: rest.prefix(invalid.lowerBound), as: UTF8.self)
                rest = rest.dropFirst(invalid.lowerBound)
                // An invalid byte is at least 0x80, so it has two hexadecimal digits.
                for byte in rest.prefix(invalid.count) { self += "\0" + String(byte, radix: 16) }
                rest = rest.dropFirst(invalid.count)
            }
        }
    }

    /// Makes a text from a string of the C library, with escapes for the bytes that are not UTF-8.
    init(escapingInvalidBytesOf text: UnsafePointer<CChar>) {
        self = String(validatingCString: text) ?? ""
        guard isEmpty else { return }
        var bytes: [UInt8] = []
        var next = text
        while next.pointee != 0 {
            bytes.append(UInt8(bitPattern: next.pointee))
            next += 1
        }
        self.init(escapingInvalidBytesOf: bytes)
    }

    /// True if the text escapes a byte that is not UTF-8.
    package var hasEscapedBytes: Bool { utf8.contains(0) }

    /// The text for people, which shows an escaped byte as `\xff`.
    package var withVisibleBytes: String { hasEscapedBytes ? replacing("\0", with: "\\x") : self }

    /// The text as a string for the C library: the bytes of the text, with the original byte in place of each escape,
    /// and a zero byte at the end.
    var systemBytes: [CChar] {
        guard hasEscapedBytes else { return Array(utf8CString) }
        var bytes: [CChar] = []
        var rest = utf8[...]
        while let unit = rest.popFirst() {
            let digits = rest.prefix(2)
            if unit == 0, digits.count == 2, let byte = UInt8(Substring(digits), radix: 16), byte >= 0x80 {
                bytes.append(CChar(bitPattern: byte))
                rest.removeFirst(2)
            } else {
                bytes.append(CChar(bitPattern: unit))
            }
        }
        return bytes + [0]
    }
}
