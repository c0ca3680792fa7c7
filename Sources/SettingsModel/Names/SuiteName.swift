/// The name of a suite: 1 to 128 of `A-Z a-z 0-9 . _ -`, not starting with a dot.
///
/// These are letters that need no escaping in a path, a file name or a shell.
public struct SuiteName: Hashable, Sendable {
    /// How many bytes a name may have.
    public static let maximumLength = 128

    private let bytes: UTF8Text

    /// Takes a text that is such a name, and refuses any other with the reason.
    public init(_ text: String) throws(NameError) {
        guard !text.isEmpty else { throw NameError(subject: .suite, reason: .empty) }
        guard text.utf8.first != UInt8(ascii: ".") else { throw NameError(subject: .suite, reason: .startsWithDot) }
        for (index, scalar) in text.unicodeScalars.enumerated() where !Self.isAllowed(scalar) {
            throw NameError(subject: .suite, reason: .character(scalar, place: index + 1))
        }
        guard text.utf8.count <= Self.maximumLength else {
            throw NameError(subject: .suite, reason: .tooLong(bytes: text.utf8.count))
        }
        bytes = UTF8Text(text)
    }

    /// The name as it was given.
    public var text: String {
        bytes.string
    }

    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "A"..."Z", "a"..."z", "0"..."9", ".", "_", "-": true
        default: false
        }
    }
}

extension SuiteName: Comparable, CustomStringConvertible {
    /// Whether the bytes of one name come before those of the other.
    public static func < (left: SuiteName, right: SuiteName) -> Bool {
        left.bytes < right.bytes
    }

    /// The name itself.
    public var description: String {
        text
    }
}

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

/// Why a text is not the name of a suite or a key.
public struct NameError: Error, Hashable, Sendable {
    /// What the name was to be of.
    public enum Subject: Hashable, Sendable {
        /// A suite.
        case suite
        /// A key.
        case key
    }

    /// The rule that the text breaks.
    public enum Reason: Hashable, Sendable {
        /// There is nothing in it.
        case empty
        /// It has this many bytes, more than a name may have.
        case tooLong(bytes: Int)
        /// It starts with a dot, as no suite may.
        case startsWithDot
        /// It is `.` or `..`, which would be lost from a path.
        case dots
        /// It holds a character that no name may hold; places count Unicode scalars from 1.
        case character(Unicode.Scalar, place: Int)
    }

    /// What the name was to be of.
    public let subject: Subject
    /// What is wrong with it.
    public let reason: Reason
}

extension NameError: CustomStringConvertible {
    /// The reason as a sentence, as `a suite name may not start with '.'`.
    public var description: String {
        let name = subject == .suite ? "a suite name" : "a key"
        return switch (reason, subject) {
        case (.empty, _):
            "\(name) may not be empty"
        case (.tooLong(let bytes), .suite):
            "\(name) has at most \(SuiteName.maximumLength) bytes, but this has \(bytes)"
        case (.tooLong(let bytes), .key):
            "\(name) has at most \(KeyName.maximumLength) bytes, but this has \(bytes)"
        case (.startsWithDot, _):
            "\(name) may not start with '.'"
        case (.dots, _):
            "\(name) may not be '.' or '..'"
        case (.character(let scalar, let place), .suite):
            "\(name) consists of A-Z a-z 0-9 . _ -, but character \(place) is \(Self.phrase(for: scalar))"
        case (.character(let scalar, let place), .key):
            "\(name) may not hold control characters, but character \(place) is \(Self.phrase(for: scalar))"
        }
    }

    private static func phrase(for scalar: Unicode.Scalar) -> String {
        KeyName.isControl(scalar) ? scalar.codePointText : "'\(scalar)'"
    }
}
