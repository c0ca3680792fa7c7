package import SettingsModel

/// A change of a pending action by a commit, with the action after the change.
package enum PendingEvent: Equatable, Sendable {
    case created(PendingAction)
    /// The action has another deadline, or the daemon has carried out its scheduled write, and the action now reverts
    /// the commit of this write.
    case moved(PendingAction)
    case ended(PendingAction, PendingEnd)

    /// Makes the event that ends an action. The event does not repeat a scheduled write.
    package init(
        endOf action: PendingAction, _ outcome: PendingEnd.Outcome, kept: [KeptSetting] = [],
        refusal: PendingEnd.Refusal? = nil
    ) {
        var action = action
        action.write = nil
        self = .ended(action, PendingEnd(outcome: outcome, kept: kept, refusal: refusal))
    }

    package var action: PendingAction {
        switch self {
        case .created(let action), .moved(let action), .ended(let action, _): action
        }
    }

    package var end: PendingEnd? { if case .ended(_, let end) = self { end } else { nil } }

    private enum Word: String, BodyWord {
        case created, moved, ended
    }

    private var word: Word {
        switch self {
        case .created: .created
        case .moved: .moved
        case .ended: .ended
        }
    }

    /// The name of the event in the history: `created`, `moved`, or the outcome.
    package var name: String { end?.outcome.rawValue ?? word.rawValue }
}

extension PendingEvent: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        let action = try PendingAction(reader)
        self =
            switch try reader.required("event") as Word {
            case .created: .created(action)
            case .moved: .moved(action)
            case .ended: .ended(action, try PendingEnd(reader))
            }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("event", word.rawValue)
        action.writeMembers(to: &writer)
        end?.writeMembers(to: &writer)
    }
}

/// The end of a pending action.
package struct PendingEnd: Equatable, Sendable {
    package enum Outcome: String, CaseIterable, Sendable {
        case confirmed, reverted, cancelled
        /// The scheduled write was carried out.
        case carriedOut = "carried_out"
        /// The scheduled write was refused when it was due.
        case refused
        /// A client undid the commit that the action would have reverted.
        case undone
        /// The suite was dropped.
        case dropped
    }

    /// The refusal of a scheduled write.
    package struct Refusal: Equatable, Sendable {
        package let code: String
        package let status: Int64
        package let detail: String

        package init(code: String, status: Int64, detail: String) {
            (self.code, self.status, self.detail) = (code, status, detail)
        }
    }

    package let outcome: Outcome
    /// The settings and schemas that the revert did not restore.
    package var kept: [KeptSetting]
    package let refusal: Refusal?
}

extension PendingEnd.Outcome: BodyWord {}

extension PendingEnd: JSONBody {
    package init(_ reader: ObjectReader) throws(BodyError) {
        outcome = try reader.required("outcome")
        kept = try reader.list("kept")
        refusal = try reader.optional("problem")
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("outcome", outcome.rawValue)
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
