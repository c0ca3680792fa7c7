import SettingsAPI
import SettingsHTTP

extension PendingDescription {
    /// The lines that a command prints after a write that made this action: what the daemon will do, and the commands
    /// for the action.
    func announcement(_ arguments: Arguments) -> [String] {
        let connectionOptions = arguments.quotedOptions(["server", "token-file"])
        let time = deadline?.short ?? ""
        // The number of spaces before the effect depends on the length of the name, so that the effects form a column.
        func command(_ name: String, _ effect: String) -> String {
            "  settings \(name) \(id)\(connectionOptions)\(String(repeating: " ", count: 11 - name.count))\(effect)"
        }
        let keep = command("confirm", "keeps the change")
        switch kind {
        case .confirm:
            let revert = command("revert", "reverts the change now")
            return ["pending \(id): the daemon reverts the change at \(time) unless it is confirmed", keep, revert]
        case .until:
            return ["pending \(id): the daemon reverts the change at \(time)", keep]
        case .effective:
            let end = until.map { ", and reverts it at \($0.short)" } ?? ""
            return [
                "pending \(id): the daemon makes the change at \(time)\(end)", command("cancel", "drops the change"),
            ]
        }
    }

    /// A line with the outcome of an action that has ended, and a line for each setting that a revert did not change.
    /// Empty if the action has not ended.
    var outcomeLines: [String] {
        guard let end else { return [] }
        let caller = endedBy.map { " by \($0)" } ?? ""
        let sentence =
            switch end.outcome {
            case .confirmed: "the change was confirmed\(caller)"
            case .reverted: "the change was reverted\(caller)"
            case .cancelled: "the scheduled change was dropped\(caller)"
            case .carriedOut: "the scheduled change was made"
            case .refused: "the scheduled change was refused: \(end.refusal?.detail ?? "")"
            case .undone: "the change was undone\(caller)"
            case .dropped: "the suite was dropped\(caller)"
            }
        return ["\(id): \(Terminal.escaped(sentence)) at revision \(endCommit ?? .zero)"]
            + end.kept.map(\.line)
    }
}

extension KeptSetting {
    /// The line that says why a revert did not restore the setting.
    var line: String {
        let subject = key.map { " \($0)" } ?? ": the schema"
        return "left as it is: \(suite)\(Terminal.escaped(subject)): \(Terminal.escaped(reason))"
    }
}

extension PendingAction.Kind {
    /// The task of the daemon at the deadline of the action.
    fileprivate var effect: String {
        switch self {
        case .confirm: "revert unless confirmed"
        case .until: "revert"
        case .effective: "write"
        }
    }
}

extension PendingHistoryEvent {
    /// The line of the event in the history: what the daemon does at the deadline, or how the action ended.
    var line: String {
        guard let deadline else { return "pending \(id) ended: \(event.replacing("_", with: " "))" }
        return "pending \(id): \(kind.effect) at \(deadline.short)"
    }
}

/// A pending action in a list.
struct PendingRow: ListRow {
    let action: PendingDescription
    let now: Timestamp

    static let columns = ["id", "deadline", "left", "action", "subject", "by", "note"]

    private var timeLeft: Duration {
        .milliseconds(max(0, (action.deadline?.milliseconds ?? 0) - now.milliseconds))
    }

    var cells: [Table.Cell] {
        [
            Table.Cell("\(action.id)", .strong), Table.Cell(action.deadline?.short ?? ""),
            Table.Cell("in \(timeLeft.short)"), Table.Cell(effect), Table.Cell(subject),
            Table.Cell(action.origin?.by ?? "", .faint),
            Table.Cell(action.origin?.note ?? "", .faint),
        ]
    }

    var fields: [String] {
        [
            "\(action.id)", action.deadline?.description ?? "", "\(timeLeft.components.seconds)", effect, subject,
            action.origin?.by ?? "", action.origin?.note ?? "",
        ]
    }

    func json(showsSecrets: Bool) -> JSONValue { action.jsonValue }

    /// The task of the daemon at the deadline and, for a write with an end, the time at which the daemon reverts the
    /// write.
    private var effect: String { action.kind.effect + (action.until.map { " until \($0.short)" } ?? "") }

    /// The settings that the action concerns.
    private var subject: String {
        action.scopes.map { scope in
            let keys = scope.keys?.map(\.text).joined(separator: ", ") ?? scope.prefix.map { "\($0)*" } ?? ""
            let schema = scope.concernsSchema ? "schema" : ""
            return [scope.suite.text, keys, schema].filter { !$0.isEmpty }.joined(separator: " ")
        }.joined(separator: "; ")
    }
}

extension Duration {
    /// The time span for a person, with its two largest units: `1h 30m`.
    var short: String {
        var seconds = max(0, components.seconds)
        var words: [String] = []
        for (unit, name) in [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")] as [(Int64, String)] {
            if seconds >= unit { words.append("\(seconds / unit)\(name)") }
            seconds %= unit
        }
        return words.isEmpty ? "0s" : words.prefix(2).joined(separator: " ")
    }
}
