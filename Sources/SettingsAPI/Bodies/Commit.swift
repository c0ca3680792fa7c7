package import SettingsModel

/// A record of everything that one write did, in one or several suites. The journal keeps it, the state applies it.
///
/// Applying it needs nothing but the state that its predecessor left.
package struct Commit: Equatable, Sendable {
    package var revision: Revision
    package var time: Timestamp
    /// The changes of suites as a whole, in this order and before the changes of keys.
    package var suiteChanges: [SuiteChange]
    /// The changes of keys, each key at most once.
    package var changes: [Change]
    package var origin: CommitOrigin?
    package var requestKey: RequestKey?
    /// A digest of the request, to tell a repeat from another request under the same key.
    package var requestDigest: String?
    /// The answer to a write that changed nothing. Such a commit is kept for its request key alone: a repeat must not do
    /// later what changed nothing before.
    package var answer: Answer?
    /// The changes of the pending actions, each action at most once.
    package var pending: [PendingEvent] = []

    /// The answer to a write. Indirect, as hardly any commit has one and each would have the room for it.
    package indirect enum Answer: Equatable, Sendable {
        case setting(SettingState)
        case summary(WriteSummary)
    }
}

extension Commit {
    /// By the memberwise initialiser, as one of a change is; the label `by` keeps it apart from that.
    package init(
        revision: Revision, time: Timestamp, suiteChanges: [SuiteChange] = [], changes: [Change] = [],
        by origin: CommitOrigin? = nil, requestKey: RequestKey? = nil, requestDigest: String? = nil,
        answer: Answer? = nil, pending: [PendingEvent] = []
    ) {
        self.init(
            revision: revision, time: time, suiteChanges: suiteChanges, changes: changes, origin: origin,
            requestKey: requestKey, requestDigest: requestDigest, answer: answer, pending: pending)
    }
}

extension Commit: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        let revision: Revision = try reader.required("revision")
        let time: Timestamp = try reader.required("time")
        let origin = try CommitOrigin.read(reader)
        self.init(
            revision: revision, time: time, suiteChanges: try reader.list("suites"),
            changes: try reader.optional("changes") { json throws(BodyError) in
                try json.list { json throws(BodyError) in
                    try Change(json: json, ofCommit: revision, at: time, by: origin)
                }
            } ?? [],
            origin: origin, requestKey: try reader.optional("requestKey"),
            requestDigest: try reader.optional("requestDigest"), answer: try reader.optional("answer"),
            pending: try reader.list("pending"))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writeMembers(to: &writer, as: .ofCommit)
    }

    /// Writes the form of a line of a journal.
    package func writeForJournal(to writer: inout JSONWriter) {
        writer.beginObject()
        // A schema that is set changes what is known of the values before.
        writeMembers(to: &writer, as: suiteChanges.isEmpty ? .ofJournal : .ofCommit)
        writer.endObject()
    }

    private func writeMembers(to writer: inout JSONWriter, as form: Change.Form) {
        writer.member("revision", revision)
        writer.member("time", time)
        writer.members(of: origin)
        writer.member("requestKey", requestKey)
        writer.member("requestDigest", requestDigest)
        writer.member("suites", unlessEmpty: suiteChanges)
        if !changes.isEmpty { writer.member("changes", changes, as: form) }
        writer.member("answer", answer)
        writer.member("pending", unlessEmpty: pending)
    }
}

extension Commit.Answer: JSONReadable, JSONWritable {
    package init(json: JSONValue) throws(BodyError) {
        self = json["key"] == nil ? .summary(try WriteSummary(json: json)) : .setting(try SettingState(json: json))
    }

    package func write(to writer: inout JSONWriter) {
        switch self {
        case .setting(let setting): setting.write(to: &writer)
        case .summary(let summary): summary.write(to: &writer)
        }
    }
}

/// A caller's name for a write, so that sending it twice does it once: 1 to 64 printable bytes of ASCII.
public struct RequestKey: Hashable, Sendable, CustomStringConvertible {
    /// The longest key in bytes.
    public static let maximumLength = 64

    /// The key as it was given.
    public let text: String

    /// Makes a key; nil for any other text. A space is printable.
    public init?(_ text: some StringProtocol) {
        let text = String(text)
        let bytes = text.utf8Span.span
        guard (1...Self.maximumLength).contains(bytes.count) else { return nil }
        for index in 0..<bytes.count where !(0x20...0x7E).contains(bytes[index]) { return nil }
        self.text = text
    }

    /// Makes a new key of 128 random bits.
    public static func unique() -> RequestKey {
        while true {
            let halves = [UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max)]
            if let key = RequestKey(halves.map { String($0, radix: 36) }.joined(separator: "-")) { return key }
        }
    }

    /// The key itself.
    public var description: String {
        text
    }
}

extension RequestKey: JSONText {
    package static let expectedText = "1 to \(maximumLength) printable bytes of ASCII"
}
