/// The name of a key: 1 to 256 bytes of UTF-8 without control characters, not `.` or `..`.
///
/// The two names of dots are out because clients and proxies resolve them in a path before anybody sees them.
public struct KeyName: Sendable {
    /// How many bytes a name may have.
    public static let maximumLength = 256

    /// The name as it was given.
    public let text: String

    /// Takes a text that is such a name, and refuses any other with the reason.
    public init(_ text: String) throws(NameError) {
        guard !text.isEmpty else { throw NameError(subject: .key, reason: .empty) }
        guard text.utf8.count <= Self.maximumLength else {
            throw NameError(subject: .key, reason: .tooLong(bytes: text.utf8.count))
        }
        for (index, scalar) in text.unicodeScalars.enumerated() where Self.isControl(scalar) {
            throw NameError(subject: .key, reason: .character(scalar, place: index + 1))
        }
        guard !text.hasSameBytes(as: "."), !text.hasSameBytes(as: "..") else {
            throw NameError(subject: .key, reason: .dots)
        }
        self.text = text
    }

    /// Whether Unicode calls this a control character: those of ASCII and U+0080 to U+009F.
    static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
    }
}

extension KeyName: Hashable, Comparable, CustomStringConvertible {
    /// Whether both names are the same bytes; two Unicode forms of one letter are two names.
    public static func == (left: KeyName, right: KeyName) -> Bool {
        left.text.hasSameBytes(as: right.text)
    }

    /// Whether the bytes of one name come before those of the other.
    public static func < (left: KeyName, right: KeyName) -> Bool {
        left.text.precedesInBytes(right.text)
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        text.hashBytes(into: &hasher)
    }

    /// The name itself.
    public var description: String {
        text
    }
}

extension KeyName: JSONReadable, JSONWritable {
    /// Reads a string that is such a name.
    public init(json: JSONValue) throws(BodyError) {
        let text = try BodyValue.string(json)
        do {
            try self.init(text)
        } catch {
            throw BodyError(error)
        }
    }

    /// Writes the name as a string.
    public func write(to writer: inout JSONWriter) {
        writer.write(string: text)
    }
}
