package import SettingsModel

/// A pending or ended action, as answers describe it. A setting, and the answer to a write that does not end the
/// action, contain only the members up to ``until``.
package struct PendingDescription: Equatable, Sendable {
    package var id: PendingID
    /// `confirm`: a revert, unless a client confirms the change. `until`: a revert at a fixed time. `effective`: a
    /// scheduled write.
    package var kind: PendingAction.Kind
    /// True if the action is a scheduled write; false if it reverts a commit.
    package var isWrite: Bool
    /// Nil for an ended action.
    package var deadline: Timestamp?
    /// The commit that the action reverts.
    package var commit: Revision?
    /// The instant at which the commit of a scheduled write is to be reverted.
    package var until: Timestamp?

    /// The time at which the action was created.
    package var created: Timestamp?
    package var origin: CommitOrigin?
    /// The suites, keys and prefixes that the action changes. In JSON, the member is `suites`.
    package var scopes: [PendingScope] = []
    /// The operations of a scheduled write in JSON, without the secrets that the reader may not see.
    package var operations: [JSONValue] = []
    /// The conditions of a scheduled transaction in JSON.
    package var conditions: [JSONValue] = []

    /// The outcome; nil for a pending action.
    package var end: PendingEnd?
    /// The commit that ended the action, its time, and its caller.
    package var endCommit: Revision?
    package var endTime: Timestamp?
    package var endedBy: String?

    /// Describes an action as the answer to a write does.
    package init(_ action: PendingAction) {
        (id, kind, deadline, commit, until) =
            (action.id, action.kind, action.deadline, action.commit, action.until)
        isWrite = action.commit == nil
    }
}

extension PendingDescription: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        id = try reader.required("id")
        kind = try reader.required("kind")
        deadline = try reader.optional("deadline")
        isWrite = try reader.required("action") as String == Self.writeAction
        commit = try reader.optional("commit")
        until = try reader.optional("until")
        created = try reader.optional("created")
        origin = try .read(reader)
        scopes = try reader.list("suites")
        operations = try reader.list("operations")
        conditions = try reader.list("if")
        guard reader.has("outcome") else { return }
        end = try PendingEnd(reader)
        endCommit = try reader.optional("endCommit")
        endTime = try reader.optional("ended")
        endedBy = try reader.optional("endedBy")
    }

    private static let writeAction = "write"

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("kind", kind.rawValue)
        writer.member("deadline", deadline)
        writer.member("action", isWrite ? Self.writeAction : "revert")
        writer.member("commit", commit)
        writer.member("until", until)
        writer.member("created", created)
        writer.members(byAndNote: origin)
        writer.member("suites", unlessEmpty: scopes)
        writer.member("operations", unlessEmpty: operations)
        writer.member("if", unlessEmpty: conditions)
        end?.writeMembers(to: &writer)
        writer.member("ended", endTime)
        writer.member("endedBy", endedBy)
        writer.member("endCommit", endCommit)
    }
}

/// The pending actions that a caller may see, ordered by deadline.
package struct PendingListing: Equatable, Sendable, JSONBody {
    package var pending: [PendingDescription]
    package var revision: Revision

    package init(_ pending: [PendingDescription], revision: Revision) {
        self.pending = pending
        self.revision = revision
    }

    package init(_ reader: ObjectReader) throws(BodyError) {
        self.init(try reader.required("pending"), revision: try reader.required("revision"))
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("pending", pending)
        writer.member("revision", revision)
    }
}

/// A request about one pending action.
package enum PendingRequest: Equatable, Sendable {
    /// Keeps the change of the commit.
    case confirm
    /// Reverts the commit now.
    case revert
    /// Drops a scheduled write.
    case cancel
    /// Sets another deadline.
    case extend(PendingTime)
}

extension PendingRequest: JSONReadable, JSONWritable {
    private enum Word: String, BodyWord {
        case confirm, revert, cancel, extend
    }

    package init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json, only: ["do", "deadline"])
        let word: Word = try reader.required("do")
        if word != .extend { try reader.allow(only: ["do"]) }
        self =
            switch word {
            case .confirm: .confirm
            case .revert: .revert
            case .cancel: .cancel
            case .extend: .extend(try reader.required("deadline"))
            }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        switch self {
        case .confirm: writer.member("do", Word.confirm.rawValue)
        case .revert: writer.member("do", Word.revert.rawValue)
        case .cancel: writer.member("do", Word.cancel.rawValue)
        case .extend(let time):
            writer.member("do", Word.extend.rawValue)
            writer.member("deadline", time.text)
        }
        writer.endObject()
    }
}

/// An event of a pending action in the history of a suite.
package struct PendingHistoryEvent: Equatable, Sendable, JSONBody {
    package let id: PendingID
    /// `created`, `moved` (the action got another deadline), or the outcome of an ended action, such as `confirmed`.
    package let event: String
    package let kind: PendingAction.Kind
    /// Nil for an ended action.
    package let deadline: Timestamp?

    package init(_ event: PendingEvent) {
        (id, self.event, kind) = (event.action.id, event.name, event.action.kind)
        deadline = event.end == nil ? event.action.deadline : nil
    }

    package init(_ reader: ObjectReader) throws(BodyError) {
        id = try reader.required("id")
        event = try reader.required("event")
        kind = try reader.required("kind")
        deadline = try reader.optional("deadline")
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("event", event)
        writer.member("kind", kind.rawValue)
        writer.member("deadline", deadline)
    }
}
