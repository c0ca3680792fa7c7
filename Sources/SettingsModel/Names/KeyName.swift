/// The name of a key: 1 to 256 bytes of UTF-8 without control characters, not `.` or `..`.
///
/// Two names are one if their bytes are: two Unicode forms of a letter make two names. `.` and `..` are out because
/// clients and proxies resolve them in a path before anybody sees them.
public struct KeyName: Hashable, Sendable {
    /// How many bytes a name may have.
    public static let maximumLength = 256

    private let bytes: UTF8Text

    /// Takes a text that is such a name, and refuses any other with the reason.
    public init(_ text: String) throws(NameError) {
        guard !text.isEmpty else { throw NameError(subject: .key, reason: .empty) }
        guard text.utf8.count <= Self.maximumLength else {
            throw NameError(subject: .key, reason: .tooLong(bytes: text.utf8.count))
        }
        if !Self.isPlain(text) {
            for (index, scalar) in text.unicodeScalars.enumerated() where Self.isControl(scalar) {
                throw NameError(subject: .key, reason: .character(scalar, place: index + 1))
            }
        }
        guard !text.hasSameBytes(as: "."), !text.hasSameBytes(as: "..") else {
            throw NameError(subject: .key, reason: .dots)
        }
        bytes = UTF8Text(text)
    }

    /// The name as it was given.
    public var text: String {
        bytes.string
    }

    /// Whether the text is nothing but printable ASCII, as most names are: that is seen without taking it apart.
    private static func isPlain(_ text: String) -> Bool {
        let bytes = text.utf8Span.span
        for index in 0..<bytes.count where bytes[index] &- 0x20 >= 0x5F { return false }
        return true
    }

    /// Whether Unicode calls this a control character: those of ASCII and U+0080 to U+009F.
    static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
    }
}

extension KeyName: Comparable, CustomStringConvertible {
    /// Whether the bytes of one name come before those of the other.
    public static func < (left: KeyName, right: KeyName) -> Bool {
        left.bytes < right.bytes
    }

    /// The name itself.
    public var description: String {
        text
    }
}
