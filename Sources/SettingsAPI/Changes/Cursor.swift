public import SettingsModel

/// A place in the history of a daemon, as `7f3a.40`: which history, and after which commit.
public struct Cursor: Hashable, Sendable {
    /// The history.
    public let epoch: Epoch
    /// The last commit before this place.
    public let revision: Revision

    /// The place after a commit.
    public init(epoch: Epoch, revision: Revision) {
        self.epoch = epoch
        self.revision = revision
    }

    /// Reads `<epoch>.<revision>`; nil if the text is anything else.
    public init?(_ text: some StringProtocol) {
        let text = String(text)
        let bytes = text.utf8Span.span
        var dot = 0
        while dot < bytes.count, bytes[dot] != UInt8(ascii: ".") { dot += 1 }
        guard dot < bytes.count, let epoch = Epoch(utf8: bytes.extracting(0..<dot)),
            let revision = Revision(utf8: bytes.extracting((dot + 1)..<bytes.count))
        else { return nil }
        self.init(epoch: epoch, revision: revision)
    }
}

extension Cursor: CustomStringConvertible {
    /// The text form, `<epoch>.<revision>`.
    public var description: String {
        "\(epoch).\(revision)"
    }
}

extension Cursor: JSONReadable, JSONWritable {
    /// Reads a string in the text form.
    public init(json: JSONValue) throws(BodyError) {
        guard let cursor = Cursor(try BodyValue.string(json)) else {
            throw BodyError("expected a cursor such as 7f3a.40, found another string")
        }
        self = cursor
    }

    /// Writes the text form as a string.
    public func write(to writer: inout JSONWriter) {
        writer.write(string: description)
    }
}
