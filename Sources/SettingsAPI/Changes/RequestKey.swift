public import SettingsModel

/// What a caller names a write by, so that sending it twice does it once: 1 to 64 printable bytes of ASCII.
public struct RequestKey: Hashable, Sendable, CustomStringConvertible {
    /// How many bytes a key may have.
    public static let maximumLength = 64

    /// The key as it was given.
    public let text: String

    /// Takes a text that is such a key; nil for any other. A space is printable.
    public init?(_ text: some StringProtocol) {
        let text = String(text)
        let bytes = text.utf8Span.span
        guard (1...Self.maximumLength).contains(bytes.count) else { return nil }
        for index in 0..<bytes.count where !(0x20...0x7E).contains(bytes[index]) { return nil }
        self.text = text
    }

    /// The key itself.
    public var description: String {
        text
    }
}

extension RequestKey: JSONReadable, JSONWritable {
    /// Reads a string that is such a key.
    public init(json: JSONValue) throws(BodyError) {
        guard let key = RequestKey(try BodyValue.string(json)) else {
            throw BodyError("expected 1 to \(Self.maximumLength) printable bytes of ASCII, found another string")
        }
        self = key
    }

    /// Writes the key as a string.
    public func write(to writer: inout JSONWriter) {
        writer.write(string: text)
    }
}

extension RequestKey {
    /// Makes a new key of 128 random bits.
    public static func unique() -> RequestKey {
        while true {
            let text =
                String(UInt64.random(in: 0 ... .max), radix: 36) + "-"
                + String(UInt64.random(in: 0 ... .max), radix: 36)
            if let key = RequestKey(text) { return key }
        }
    }
}
