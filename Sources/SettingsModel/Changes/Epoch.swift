/// The short random name of one history: revisions of two epochs have nothing to do with each other.
public struct Epoch: Hashable, Sendable, CustomStringConvertible {
    /// How many letters an epoch may have.
    public static let maximumLength = 32

    /// 1 to 32 of `a-z 0-9`.
    public let text: String

    /// Takes a text that is such a name; nil for any other.
    public init?(_ text: some StringProtocol) {
        guard (1...Self.maximumLength).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAllowed) else {
            return nil
        }
        self.text = String(text)
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
