/// The short random name of one history: revisions of two epochs have nothing to do with each other.
public struct Epoch: Hashable, Sendable, CustomStringConvertible {
    /// How many letters an epoch may have.
    public static let maximumLength = 32

    /// 1 to 32 of `a-z 0-9`.
    public let text: String

    /// Takes a text that is such a name; nil for any other.
    public init?(_ text: some StringProtocol) {
        let text = String(text)
        self.init(utf8: text.utf8Span.span)
    }

    init?(utf8 bytes: Span<UInt8>) {
        guard (1...Self.maximumLength).contains(bytes.count) else { return nil }
        for index in 0..<bytes.count where !Self.isAllowed(bytes[index]) { return nil }
        text = bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    /// The name itself.
    public var description: String {
        text
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: false
        }
    }
}
