internal import SettingsModel

/// The replica as a value: what may happen to it, without locks and without telling anybody.
struct ReplicaState: Sendable {
    private(set) var cursor: Cursor?
    private(set) var entries: [KeyName: ReplicaEntry] = [:]
    /// The schema in force, as far as it was told.
    private(set) var schema: SchemaPlace?
    /// What changed for readers since this was last emptied, in order.
    var news: [ReplicaNews] = []
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
            replace(by: [:], at: state.cursor, isSameHistory: isSameHistory)
            return note(schema: .zero)
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
        note(schema: contents.schemaRevision)
    }

    /// Has all keys looked at anew if the schema is another.
    private mutating func note(schema revision: Revision) {
        guard let place = cursor.map({ SchemaPlace(epoch: $0.epoch, revision: revision) }), place != schema else {
            return
        }
        schema = place
        for entry in entries.values { entry.cell?.advance() }
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
        guard observed.cursor.revision > cursor.revision else { return }
        moveOn(to: observed.cursor, isSameHistory: true)
        note(schema: observed.schemaRevision)
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
            entry.confirm(
                VisibleSetting(value: change.new, source: change.source, revision: change.revision),
                asOf: change.revision)
        }
    }

    /// Takes in what a read of one setting told of it, or a refusal: that rests on the newest there is.
    mutating func learn(_ setting: SettingState, fromRefusal isNewest: Bool) {
        let known = cursor?.revision ?? .zero
        let told = VisibleSetting(value: setting.value, source: setting.source, revision: setting.revision)
        update(setting.key) { entry in
            if setting.revision > max(known, entry.asOf) {
                entry.confirm(told, asOf: setting.revision)
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
                    entry.confirm(
                        VisibleSetting(value: change.new, source: change.source, revision: change.revision),
                        asOf: change.revision)
                } else if summary.revision > max(known, entry.asOf) {
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

    /// Has readers of these keys look again, as other values lie under what is stored.
    mutating func register(_ values: [KeyName: JSONValue]) {
        for (key, value) in values {
            entries[key]?.cell?.advance()
            news.append(.registered(ObservedSetting(key: key, visible: visible(key), registered: value)))
        }
    }

    /// Notes the place at which somebody begins to observe, and what there is: of these keys, or of all.
    mutating func begin(_ observer: UInt64, _ keys: [KeyName]?, registered: [KeyName: JSONValue]) {
        let keys = keys ?? Set(entries.keys).union(registered.keys).sorted()
        let found = keys.map { ObservedSetting(key: $0, visible: visible($0), registered: registered[$0]) }
        news.append(.began(observer, found))
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
            news.append(.changed(ReplicaChange(key: key, old: old, new: new)))
        } else if old.revision != new.revision {
            // What guards a change in place is kept with the decoded value.
            entry.cell?.advance()
        }
    }
}

/// A schema by the commit that set it, or that took the last one away; zero if there never was one.
struct SchemaPlace: Hashable, Sendable {
    let epoch: Epoch
    let revision: Revision
}

extension ObservedChanges {
    /// The schema of the one suite that is observed.
    fileprivate var schemaRevision: Revision {
        switch scope {
        case .one(let schema, _): schema.revision
        case .several(let schemas, _, _): schemas.first?.revision ?? .zero
        }
    }
}
