package import SettingsModel

/// Everything that one write changed, in one or several suites. If a write removes more keys of a suite than one commit
/// may change, several commits contain its changes. The journal stores commits, and `State.apply` applies them.
///
/// Applying a commit needs only the state after the previous commit.
package struct Commit: Equatable, Sendable {
    package var revision: Revision
    package var time: Timestamp
    /// The changes of suites as a whole, in order. They apply before the changes of keys.
    package var suiteChanges: [SuiteChange]
    /// The changes of keys, each key at most once.
    package var changes: [Change]
    /// The caller of the write, and the note.
    package var origin: CommitOrigin?
    package var requestKey: RequestKey?
    /// A digest of the request. It distinguishes a repeated request from another request with the same key.
    package var requestDigest: String?
    /// The answer to a write that changed nothing. The commit exists only to record its request key, so that a repeated
    /// request gets this answer and changes nothing.
    package var answer: Answer?
    /// The changes of the pending actions, each action at most once.
    package var pending: [PendingEvent] = []

    /// The answer to a write. The enum is indirect, because few commits have an answer and an inline value would
    /// enlarge every commit.
    package indirect enum Answer: Equatable, Sendable {
        case setting(SettingState)
        case summary(WriteSummary)
    }
}

extension Commit {
    /// Initialises the stored properties, with default values, for other modules. The label `by` distinguishes this
    /// initialiser from the memberwise initialiser, which is internal.
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

    /// Writes the commit as a line of a journal.
    package func writeForJournal(to writer: inout JSONWriter) {
        writer.beginObject()
        // A replay takes the replaced values from the state, so the line omits them. If the commit changes a suite as a
        // whole, for example its schema, this change can affect the values in the state, so the line contains them.
        writeMembers(to: &writer, as: suiteChanges.isEmpty ? .ofJournal : .ofCommit)
        writer.endObject()
    }

    private func writeMembers(to writer: inout JSONWriter, as form: Change.Form) {
        writer.member("revision", revision)
        writer.member("time", time)
        writer.members(byAndNote: origin)
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
        // Only a setting has the member `key`.
        self = json["key"] == nil ? .summary(try WriteSummary(json: json)) : .setting(try SettingState(json: json))
    }

    package func write(to writer: inout JSONWriter) {
        switch self {
        case .setting(let setting): setting.write(to: &writer)
        case .summary(let summary): summary.write(to: &writer)
        }
    }
}

/// The value of the field `Idempotency-Key`: 1 to 64 printable ASCII characters. If a client repeats a request with the
/// same key, the daemon makes the change only once.
public struct RequestKey: Hashable, Sendable, CustomStringConvertible {
    /// The maximum length in bytes.
    public static let maximumLength = 64

    /// The text of the key.
    public let text: String

    /// Makes a key. Returns nil if the text is not valid. A space is a printable character.
    public init?(_ text: some StringProtocol) {
        let text = String(text)
        let bytes = text.utf8Span.span
        guard (1...Self.maximumLength).contains(bytes.count) else { return nil }
        for index in 0..<bytes.count where !(0x20...0x7E).contains(bytes[index]) { return nil }
        self.text = text
    }

    /// Makes a key with 128 random bits.
    public static func unique() -> RequestKey {
        // The text has at most 27 characters, so the first attempt gives a key.
        while true {
            let halves = [UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max)]
            if let key = RequestKey(halves.map { String($0, radix: 36) }.joined(separator: "-")) { return key }
        }
    }

    /// The text of the key.
    public var description: String {
        text
    }
}

extension RequestKey: JSONText {
    package static let expectedText = "1 to \(maximumLength) printable bytes of ASCII"
}
