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
