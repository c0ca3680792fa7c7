internal import SettingsModel

/// The short random name of one continuous history. Revisions of different epochs cannot be compared.
public struct Epoch: Hashable, Sendable, CustomStringConvertible {
    /// The maximum length in characters.
    public static let maximumLength = 32

    /// The name: 1 to 32 characters `a-z 0-9`.
    public let text: String

    /// Makes an epoch. Returns nil if the text is not valid.
    public init?(_ text: some StringProtocol) {
        let text = String(text)
        self.init(utf8: text.utf8Span.span)
    }

    init?(utf8 bytes: Span<UInt8>) {
        guard (1...Self.maximumLength).contains(bytes.count) else { return nil }
        for index in 0..<bytes.count where !Self.isAllowed(bytes[index]) { return nil }
        text = bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns a random epoch for a new history.
    package static func random() -> Epoch {
        let letters = Array("0123456789abcdefghijklmnopqrstuvwxyz")
        while true {
            if let epoch = Epoch(String((0..<8).compactMap { _ in letters.randomElement() })) { return epoch }
        }
    }

    /// The number of characters of a digest of grants.
    package static let digestLength = 7

    /// Returns the epoch followed by a digest of grants: the epoch in the cursors of a caller with these grants.
    package func appending(digest: String) -> Epoch {
        Epoch(unchecked: text + digest)
    }

    /// True if the other epoch is this epoch, with or without a digest of grants.
    package func isBase(of other: Epoch) -> Bool {
        let extraLength = other.text.utf8.count - text.utf8.count
        return (extraLength == 0 || extraLength == Self.digestLength) && other.text.utf8.starts(with: text.utf8)
    }

    private init(unchecked text: String) {
        self.text = text
    }

    /// The text of the epoch.
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

/// A position in the history of a daemon, such as `7f3a.40`: an epoch and the revision of a commit.
public struct Cursor: Hashable, Sendable, CustomStringConvertible {
    /// The history.
    public let epoch: Epoch
    /// The last commit before the position.
    public let revision: Revision

    /// Makes the cursor after a commit.
    public init(epoch: Epoch, revision: Revision) {
        self.epoch = epoch
        self.revision = revision
    }

    /// The text form, `<epoch>.<revision>`.
    public var description: String {
        "\(epoch).\(revision)"
    }

    /// Parses `<epoch>.<revision>`. Returns nil for any other text.
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

extension Cursor: JSONText {
    package static let expectedText = "a cursor such as 7f3a.40"
}

extension JSONWriter {
    mutating func members(revisionAndCursor cursor: Cursor) {
        member("revision", cursor.revision)
        member("cursor", cursor)
    }
}

/// The position from which a watcher resumes: the value of `since`.
public enum ResumePoint: Equatable, Sendable, CustomStringConvertible {
    /// A cursor. The daemon checks that the epoch of the cursor is the epoch of its history.
    case cursor(Cursor)
    /// A revision without an epoch. The daemon cannot check that the revision belongs to its history.
    case revision(Revision)

    /// Parses a cursor or a revision. Returns nil for any other text.
    package init?(_ text: String) {
        if let cursor = Cursor(text) {
            self = .cursor(cursor)
        } else if let revision = Revision(text) {
            self = .revision(revision)
        } else {
            return nil
        }
    }

    /// The last commit that the watcher knows.
    public var revision: Revision {
        switch self {
        case .cursor(let cursor): cursor.revision
        case .revision(let revision): revision
        }
    }

    /// The text form, which parses to the same value.
    public var description: String {
        switch self {
        case .cursor(let cursor): cursor.description
        case .revision(let revision): revision.description
        }
    }
}
