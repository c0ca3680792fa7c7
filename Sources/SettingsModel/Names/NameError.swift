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
