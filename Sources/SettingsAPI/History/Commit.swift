public import SettingsModel

/// All that one write did, in one or several suites: what the journal keeps and what is applied to the state.
///
/// It is complete: applying it needs nothing but the state that its predecessor left.
public struct Commit: Hashable, Sendable {
    /// The number of the commit.
    public var revision: Revision
    /// When it was made.
    public var time: Timestamp
    /// What happened to suites as a whole, in this order and before the changes of keys.
    public var suiteChanges: [SuiteChange]
    /// What happened to keys, each at most once.
    public var changes: [Change]
    /// Who made it, where access control knows.
    public var author: String?
    /// What its caller named it by, to be able to ask again.
    public var requestKey: RequestKey?
    /// A digest of the request that the key was used for, to tell a repeat from another request.
    public var requestDigest: String?
    /// What a write was answered that changed nothing. Such a commit is kept for its request key alone: a repeat must not do
    /// later what was nothing before.
    public var answer: Answer?

    /// What a write is answered. Indirect, since hardly any commit has one, and each would have the room for it.
    public indirect enum Answer: Hashable, Sendable {
        /// One setting as it is after the write.
        case setting(SettingState)
        /// What changed.
        case summary(WriteSummary)
    }

    /// A commit.
    public init(
        revision: Revision, time: Timestamp, suiteChanges: [SuiteChange] = [], changes: [Change] = [],
        author: String? = nil, requestKey: RequestKey? = nil, requestDigest: String? = nil, answer: Answer? = nil
    ) {
        self.revision = revision
        self.time = time
        self.suiteChanges = suiteChanges
        self.changes = changes
        self.author = author
        self.requestKey = requestKey
        self.requestDigest = requestDigest
        self.answer = answer
    }
}

extension Commit: JSONReadable, JSONWritable {
    /// Reads the form of the journal; ignores members it does not know.
    public init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        let revision: Revision = try reader.required("revision")
        let time: Timestamp = try reader.required("time")
        self.init(
            revision: revision, time: time, suiteChanges: try reader.list("suites"),
            changes: try reader.optional("changes") { json throws(BodyError) in
                try BodyValue.list(json) { json throws(BodyError) in
                    try Change(json: json, ofCommit: revision, at: time)
                }
            } ?? [],
            author: try reader.optional("author"), requestKey: try reader.optional("requestKey"),
            requestDigest: try reader.optional("requestDigest"), answer: try reader.optional("answer"))
    }

    /// Writes the form of the journal, everything in it. Revision and time of the changes are those of the commit.
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("revision", revision)
        writer.member("time", time)
        writer.member("author", author)
        writer.member("requestKey", requestKey)
        writer.member("requestDigest", requestDigest)
        writer.member("suites", unlessEmpty: suiteChanges)
        if !changes.isEmpty { writer.member("changes", changes, as: .ofJournal) }
        writer.member("answer", answer)
        writer.endObject()
    }
}

extension Commit.Answer: JSONReadable, JSONWritable {
    /// Reads an answer: that of a single setting has a key.
    public init(json: JSONValue) throws(BodyError) {
        self = json["key"] == nil ? .summary(try WriteSummary(json: json)) : .setting(try SettingState(json: json))
    }

    /// Writes the answer as a caller gets it.
    public func write(to writer: inout JSONWriter) {
        switch self {
        case .setting(let setting): setting.write(to: &writer)
        case .summary(let summary): summary.write(to: &writer)
        }
    }
}

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
