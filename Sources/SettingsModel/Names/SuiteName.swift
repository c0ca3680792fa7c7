/// The name of a suite: 1 to 128 characters `A-Z a-z 0-9 . _ -`; the first character is not a dot.
///
/// None of these characters needs escaping in a path, a file name or a shell.
public struct SuiteName: Hashable, Sendable {
    /// The maximum length in bytes.
    package static let maximumLength = 128

    private let bytes: UTF8Text

    /// Makes a name. If the text is not valid, throws an error with the reason.
    public init(_ text: String) throws(NameError) {
        guard !text.isEmpty else { throw NameError("a suite name must not be empty") }
        guard text.utf8.first != UInt8(ascii: ".") else { throw NameError("a suite name must not start with '.'") }
        if !Self.isAllowed(text) {
            for (index, scalar) in text.unicodeScalars.enumerated() where !Self.isAllowed(scalar) {
                throw NameError("a suite name must consist of A-Z a-z 0-9 . _ -", scalar, at: index)
            }
        }
        let count = text.utf8.count
        guard count <= Self.maximumLength else {
            throw NameError("a suite name must have at most \(Self.maximumLength) bytes, but this name has \(count)")
        }
        bytes = UTF8Text(text)
    }

    /// The name as text.
    public var text: String {
        bytes.string
    }

    private static func isAllowed(_ text: String) -> Bool {
        let bytes = text.utf8Span.span
        for index in bytes.indices where !isAllowed(Unicode.Scalar(bytes[index])) { return false }
        return true
    }

    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "A"..."Z", "a"..."z", "0"..."9", ".", "_", "-": true
        default: false
        }
    }
}

extension SuiteName: Comparable, CustomStringConvertible {
    /// True if the first name comes before the second name in the order of their bytes.
    public static func < (left: SuiteName, right: SuiteName) -> Bool {
        left.bytes < right.bytes
    }

    /// The name as text.
    public var description: String {
        text
    }
}

/// The name of a key: 1 to 256 bytes of UTF-8 without control characters, and not `.` or `..`.
///
/// Names are compared by their bytes, so two Unicode spellings of é are different names. `.` and `..` are not valid,
/// because clients and proxies replace them in a URL path.
public struct KeyName: Hashable, Sendable {
    /// The maximum length in bytes.
    public static let maximumLength = 256

    private let bytes: UTF8Text

    /// Makes a name. If the text is not valid, throws an error with the reason.
    public init(_ text: String) throws(NameError) {
        let count = text.utf8.count
        guard count > 0 else { throw NameError("a key must not be empty") }
        guard count <= Self.maximumLength else {
            throw NameError("a key must have at most \(Self.maximumLength) bytes, but this key has \(count)")
        }
        if !Self.isPlain(text) {
            for (index, scalar) in text.unicodeScalars.enumerated() where scalar.isControl {
                throw NameError("a key must not contain control characters", scalar, at: index)
            }
        }
        guard !text.hasSameBytes(as: "."), !text.hasSameBytes(as: "..") else {
            throw NameError("a key must not be '.' or '..'")
        }
        bytes = UTF8Text(text)
    }

    /// The name as text.
    public var text: String {
        bytes.string
    }

    /// True if the text is printable ASCII.
    private static func isPlain(_ text: String) -> Bool {
        let bytes = text.utf8Span.span
        // A control character below 0x20 wraps around to a number of at least 0xE0.
        for index in 0..<bytes.count where bytes[index] &- 0x20 >= 0x5F { return false }
        return true
    }
}

extension KeyName: Comparable, CustomStringConvertible {
    /// True if the first name comes before the second name in the order of their bytes.
    public static func < (left: KeyName, right: KeyName) -> Bool {
        left.bytes < right.bytes
    }

    /// The name as text.
    public var description: String {
        text
    }
}

/// The reason why a text is not a valid name of a suite or a key.
public struct NameError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The reason as a sentence, such as `a suite name must not start with '.'`.
    public let description: String

    fileprivate init(_ description: String) {
        self.description = description
    }

    fileprivate init(_ rule: String, _ scalar: Unicode.Scalar, at index: Int) {
        description =
            "\(rule), but character \(index + 1) is \(scalar.isControl ? scalar.codePointText : "'\(scalar)'")"
    }
}

extension Unicode.Scalar {
    /// True for ASCII control characters and for U+0080 to U+009F.
    fileprivate var isControl: Bool {
        value < 0x20 || (0x7F...0x9F).contains(value)
    }
}
