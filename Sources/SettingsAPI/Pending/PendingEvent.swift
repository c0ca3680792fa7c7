package import SettingsModel

/// A change of the pending actions by a commit.
package indirect enum PendingEvent: Equatable, Sendable {
    case created(PendingAction)
    /// The action has another deadline, or the daemon has carried out its scheduled write, and the action now reverts
    /// the commit of this write.
    case moved(PendingAction)
    case ended(PendingEnd)

    package var id: PendingID {
        switch self {
        case .created(let action), .moved(let action): action.id
        case .ended(let end): end.id
        }
    }
}

extension PendingEvent: JSONReadable, JSONWritable {
    private enum Word: String, BodyWord {
        case created, moved, ended
    }

    package init(json: JSONValue) throws(BodyError) {
        let reader = try ObjectReader(json)
        let word: Word = try reader.required("event")
        self =
            switch word {
            case .created: .created(try PendingAction(reader))
            case .moved: .moved(try PendingAction(reader))
            case .ended: .ended(try PendingEnd(reader))
            }
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        switch self {
        case .created(let action):
            writer.member("event", Word.created.rawValue)
            action.writeMembers(to: &writer)
        case .moved(let action):
            writer.member("event", Word.moved.rawValue)
            action.writeMembers(to: &writer)
        case .ended(let end):
            writer.member("event", Word.ended.rawValue)
            end.writeMembers(to: &writer)
        }
        writer.endObject()
    }
}

/// The end of a pending action. It repeats what an answer about the ended action contains, so that the answer needs
/// only the commit that ended the action.
package struct PendingEnd: Equatable, Sendable {
    package enum Outcome: String, CaseIterable, Sendable {
        case confirmed, reverted, cancelled
        /// The scheduled write was carried out.
        case carriedOut = "carried_out"
        /// The scheduled write was refused when it was due.
        case refused
        /// A client undid the commit.
        case undone
        /// The suite was dropped.
        case dropped
    }

    /// The refusal of a scheduled write.
    package struct Refusal: Equatable, Sendable {
        package let code: String
        package let status: Int64
        package let detail: String

        package init(_ problem: Problem) {
            code = problem.codeName
            status = Int64(problem.status)
            detail = problem.detail
        }
    }

    package let id: PendingID
    package let kind: PendingAction.Kind
    package let outcome: Outcome
    /// The revision of the commit that the action was to revert; nil for a scheduled write.
    package let commit: Revision?
    package let scopes: [PendingScope]
    package var kept: [KeptSetting]
    package var refusal: Refusal?

    package init(of action: PendingAction, _ outcome: Outcome, kept: [KeptSetting] = [], refusal: Refusal? = nil) {
        id = action.id
        kind = action.kind
        self.outcome = outcome
        commit = action.commit
        scopes = action.scopes
        self.kept = kept
        self.refusal = refusal
    }
}

extension PendingEnd.Outcome: BodyWord {}

extension PendingEnd: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        id = try reader.required("id")
        kind = try reader.required("kind")
        outcome = try reader.required("outcome")
        commit = try reader.optional("commit")
        scopes = try reader.list("suites")
        kept = try reader.list("kept")
        refusal = try reader.optional("problem")
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("kind", kind.rawValue)
        writer.member("outcome", outcome.rawValue)
        writer.member("commit", commit)
        writer.member("suites", scopes)
        writer.member("kept", unlessEmpty: kept)
        writer.member("problem", refusal)
    }
}

extension PendingEnd.Refusal: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        code = try reader.required("code")
        status = try reader.required("status")
        detail = try reader.required("detail")
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("code", code)
        writer.member("status", status)
        writer.member("detail", detail)
    }
}

extension PendingEvent {
    /// True if the action concerns this suite.
    package func concerns(_ suite: SuiteName) -> Bool {
        switch self {
        case .created(let action), .moved(let action): action.scopes.contains { $0.suite == suite }
        case .ended(let end): end.scopes.contains { $0.suite == suite }
        }
    }
}
