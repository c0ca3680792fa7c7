internal import SettingsModel

/// The replica as a value: what may happen to it, without locks and without telling anybody.
struct ReplicaState: Sendable {
    private(set) var cursor: Cursor?
    private(set) var entries: [KeyName: ReplicaEntry] = [:]
    /// What changed for readers since this was last emptied, in order.
    var news: [ReplicaChange] = []
    private var lastTicket: UInt64 = 0

    func visible(_ key: KeyName) -> VisibleSetting {
        entries[key]?.visible ?? .unset
    }

    /// The cell that readers of the key share.
    mutating func cell(for key: KeyName) -> KeyCell {
        if let cell = entries[key]?.cell { return cell }
        let cell = KeyCell(key)
        entries[key, default: ReplicaEntry()].cell = cell
        return cell
    }

    /// Takes a state in, unless it is older than what is known. Which of two histories is the older one nobody can tell, so
    /// only whoever follows leads from one to the other: by a state to begin anew with.
    mutating func adopt(_ state: ObservedState) {
        let isSameHistory = cursor.map { $0.epoch == state.cursor.epoch } ?? true
        if isSameHistory, let cursor, state.cursor.revision <= cursor.revision { return }
        guard isSameHistory || state.isReset else { return }
        guard let contents = state.suites.first else {
            return replace(by: [:], at: state.cursor, isSameHistory: isSameHistory)
        }
        // Without a schema there are no defaults, so everything is stored.
        let source: Source? = contents.schemaRevision == .zero ? .stored : nil
        var told: [KeyName: VisibleSetting] = [:]
        for entry in contents.values {
            told[entry.key] = VisibleSetting(value: entry.value, source: source, revision: nil)
        }
        for conflict in contents.invalid {
            told[conflict.key] = VisibleSetting(value: nil, source: .invalid, revision: nil)
        }
        for key in contents.secrets where told[key] == nil {
            told[key] = VisibleSetting(value: nil, source: nil, revision: nil)
        }
        replace(by: told, at: state.cursor, isSameHistory: isSameHistory)
    }

    private mutating func replace(by told: [KeyName: VisibleSetting], at place: Cursor, isSameHistory: Bool) {
        let keys = Set(entries.keys).union(told.keys)
        for key in keys {
            update(key) { entry in
                // An own write that was acknowledged may be ahead of a state that was made before it.
                guard !isSameHistory || entry.asOf <= place.revision else { return }
                entry.confirmed = told[key] ?? .unset
                entry.asOf = .zero
            }
        }
        moveOn(to: place, isSameHistory: isSameHistory)
    }

    /// Takes in what was told by following.
    mutating func apply(_ observed: ObservedChanges) {
        guard let cursor, cursor.epoch == observed.cursor.epoch else { return }
        for change in observed.changes { apply(change) }
        if observed.cursor.revision > cursor.revision { moveOn(to: observed.cursor, isSameHistory: true) }
    }

    private mutating func moveOn(to place: Cursor, isSameHistory: Bool) {
        cursor = place
        for (key, entry) in entries where entry.pending.contains(where: { $0.settledAt != nil }) {
            update(key) { entry in
                entry.pending.removeAll { $0.settledAt.map { !isSameHistory || $0 <= place.revision } ?? false }
            }
        }
    }

    /// Takes a change in, unless what is known is as new.
    private mutating func apply(_ change: Change) {
        let known = cursor?.revision ?? .zero
        update(change.key) { entry in
            guard change.revision > max(known, entry.asOf) else { return }
            entry.confirmed = VisibleSetting(value: change.new, source: change.source, revision: change.revision)
            entry.asOf = change.revision
        }
    }

    /// Takes in what a read of one setting told of it, or a refusal: that rests on the newest there is.
    mutating func learn(_ setting: Setting, fromRefusal isNewest: Bool) {
        let known = cursor?.revision ?? .zero
        let told = VisibleSetting(value: setting.value, source: setting.source, revision: setting.revision)
        update(setting.key) { entry in
            if setting.revision > max(known, entry.asOf) {
                entry.confirmed = told
                entry.asOf = setting.revision
            } else if isNewest || entry.confirmed.revision == nil, entry.confirmed.value == told.value {
                entry.confirmed = told
            }
        }
    }

    /// Shows a write that is about to be sent, and gives it a ticket.
    mutating func begin(_ operations: [Transaction.Operation]) -> UInt64 {
        lastTicket += 1
        let ticket = lastTicket
        for operation in operations {
            let value: JSONValue?
            switch operation.action {
            case .set(let json): value = json
            case .delete: value = nil
            case .change(let change):
                guard let result = visible(operation.key).value.flatMap({ try? change.applied(to: $0) }) else {
                    continue
                }
                value = result
            }
            update(operation.key) { $0.pending.append(PendingWrite(ticket: ticket, value: value)) }
        }
        return ticket
    }

    /// Ends a write that was acknowledged.
    mutating func settle(_ ticket: UInt64, _ operations: [Transaction.Operation], _ summary: WriteSummary) {
        let known = cursor?.revision ?? .zero
        let changes = Dictionary(summary.changes.map { ($0.key, $0) }, uniquingKeysWith: { $1 })
        for key in Set(operations.map(\.key)) {
            update(key) { entry in
                if let change = changes[key] {
                    entry.pending.removeAll { $0.ticket == ticket }
                    guard change.revision > max(known, entry.asOf) else { return }
                    entry.confirmed = VisibleSetting(
                        value: change.new, source: change.source, revision: change.revision)
                    entry.asOf = change.revision
                } else if summary.revision > known {
                    // It was so already, but that has not been told here yet.
                    for index in entry.pending.indices where entry.pending[index].ticket == ticket {
                        entry.pending[index].settledAt = summary.revision
                    }
                } else {
                    entry.pending.removeAll { $0.ticket == ticket }
                }
            }
            changes[key].map { apply($0) }
        }
    }

    /// Takes the changes of a write in that was not shown before.
    mutating func apply(_ summary: WriteSummary) {
        for change in summary.changes { apply(change) }
    }

    /// Takes back a write that was refused.
    mutating func abandon(_ ticket: UInt64, _ operations: [Transaction.Operation]) {
        for key in Set(operations.map(\.key)) {
            update(key) { $0.pending.removeAll { $0.ticket == ticket } }
        }
    }

    /// Has readers of these keys look again.
    func touch(_ keys: some Sequence<KeyName>) {
        for key in keys { entries[key]?.cell?.advance() }
    }

    /// Changes an entry, and notes if readers see a difference.
    private mutating func update(_ key: KeyName, _ body: (inout ReplicaEntry) -> Void) {
        var entry = entries[key] ?? ReplicaEntry()
        let old = entry.visible
        body(&entry)
        let new = entry.visible
        entries[key] = entry.isEmpty ? nil : entry
        if !old.looksLike(new) {
            entry.cell?.advance()
            news.append(ReplicaChange(key: key, old: old, new: new))
        } else if old.revision != new.revision {
            // What guards a change in place is kept with the decoded value.
            entry.cell?.advance()
        }
    }
}
