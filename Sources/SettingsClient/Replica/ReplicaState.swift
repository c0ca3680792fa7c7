internal import SettingsModel

/// The replica as a value: what may happen to it, without locks and without telling anybody.
struct ReplicaState: Sendable {
    private(set) var cursor: Cursor?
    private(set) var entries: [KeyName: ReplicaEntry] = [:]
    /// What changed for readers since this was last emptied, in order.
    var news: [ReplicaChange] = []
    /// Keys with writes that wait for the replica to come to a place.
    private var settled: Set<KeyName> = []
    /// Writes under way that remove every key there is.
    private var resets: [RequestKey] = []

    func visible(_ key: KeyName) -> VisibleSetting {
        entries[key]?.visible ?? .unset
    }

    /// Whether the program's own writes say what is there, whatever the daemon says.
    func isCovered(_ key: KeyName) -> Bool {
        entries[key]?.pending.covers ?? !resets.isEmpty
    }

    /// The cell that readers of the key share.
    mutating func cell(for key: KeyName) -> KeyCell {
        if let cell = entries[key]?.cell { return cell }
        let (cell, fresh) = (KeyCell(key), newEntry)
        entries[key, default: fresh].cell = cell
        return cell
    }

    /// What begins with nothing: what removes everything removes that, too.
    private var newEntry: ReplicaEntry {
        ReplicaEntry(pending: PendingWrites(removing: resets))
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
        let isFirst = cursor == nil
        for key in keys {
            update(key) { entry in
                // An own write that was acknowledged may be ahead of a state that was made before it.
                guard !isSameHistory || entry.asOf <= place.revision else { return }
                entry.confirmed = told[key] ?? .unset
                entry.asOf = .zero
                if isFirst { entry.pending.refresh(over: entry.confirmed) }
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
        for key in settled {
            update(key) { entry in
                entry.pending.removeSettled(upTo: isSameHistory ? place.revision : nil)
            }
            if !(entries[key]?.pending.hasSettled ?? false) { settled.remove(key) }
        }
    }

    /// Takes a change in, unless what is known is as new.
    private mutating func apply(_ change: Change) {
        let known = cursor?.revision ?? .zero
        update(change.key) { $0.take(change, after: known) }
    }

    /// Takes in what a read of one setting told of it, or a refusal: that rests on the newest there is.
    mutating func learn(_ setting: Setting, fromRefusal isNewest: Bool) {
        let known = cursor?.revision ?? .zero
        let told = VisibleSetting(value: setting.value, source: setting.source, revision: setting.revision)
        update(setting.key) { entry in
            if setting.revision > max(known, entry.asOf) {
                entry.confirm(told, at: setting.revision)
            } else if isNewest || entry.confirmed.revision == nil, entry.confirmed.value == told.value {
                entry.confirmed = told
            }
        }
    }

    /// Shows a write that is about to be sent.
    mutating func begin(_ ticket: RequestKey, _ operations: [Transaction.Operation]) {
        for operation in operations {
            update(operation.key) { entry in
                entry.pending.append(ticket, PendingWrite.Effect(operation.action), over: entry.confirmed)
            }
        }
    }

    /// Ends a write that was acknowledged.
    mutating func settle(_ ticket: RequestKey, _ operations: [Transaction.Operation], _ summary: WriteSummary) {
        settle(ticket, Dictionary(operations.map { ($0.key, 1) }, uniquingKeysWith: +), summary)
    }

    /// Ends a write that does so many things to each key.
    private mutating func settle(_ ticket: RequestKey, _ counts: [KeyName: Int], _ summary: WriteSummary) {
        let known = cursor?.revision ?? .zero
        let changes = Dictionary(summary.changes.map { ($0.key, $0) }, uniquingKeysWith: { $1 })
        for (key, count) in counts {
            let isAhead = changes[key] == nil && summary.revision > known
            update(key) { entry in
                if isAhead {
                    // It was so already, but that has not been told here yet.
                    entry.pending.settle(ticket, at: summary.revision)
                } else {
                    entry.pending.remove(ticket, count: count)
                }
                if let change = changes[key] { entry.take(change, after: known) }
            }
            if isAhead { settled.insert(key) }
        }
        for change in summary.changes where counts[change.key] == nil { apply(change) }
    }

    /// Takes back a write that was refused.
    mutating func abandon(_ ticket: RequestKey, _ operations: [Transaction.Operation]) {
        for operation in operations {
            update(operation.key) { $0.pending.takeBack(ticket, over: $0.confirmed) }
        }
    }

    /// Takes the changes of a write in that was not shown before.
    mutating func apply(_ summary: WriteSummary) {
        for change in summary.changes { apply(change) }
    }

    /// Shows a removal of all that there is.
    mutating func beginReset(_ ticket: RequestKey) {
        resets.append(ticket)
        for key in entries.keys { update(key) { $0.pending.append(ticket, .store(nil), over: $0.confirmed) } }
    }

    /// Ends a removal of all that there is; without a summary it was refused.
    mutating func endReset(_ ticket: RequestKey, _ summary: WriteSummary?) {
        resets.removeAll { $0 == ticket }
        if let summary {
            settle(ticket, entries.mapValues { _ in 1 }, summary)
        } else {
            for key in entries.keys { update(key) { $0.pending.takeBack(ticket, over: $0.confirmed) } }
        }
    }

    /// Has readers of these keys look again.
    func touch(_ keys: some Sequence<KeyName>) {
        for key in keys { entries[key]?.cell?.advance() }
    }

    /// Changes an entry, and notes if readers see a difference.
    private mutating func update(_ key: KeyName, _ body: (inout ReplicaEntry) -> Void) {
        let old = visible(key)
        let fresh = newEntry
        // In its place: the writes under way may be many, and are not copied.
        let (new, cell, isEmpty) = Self.change(&entries[key, default: fresh], body)
        if isEmpty { entries[key] = nil }
        if !old.looksLike(new) {
            cell?.advance()
            news.append(ReplicaChange(key: key, old: old, new: new))
        } else if old.revision != new.revision {
            // What guards a change in place is kept with the decoded value.
            cell?.advance()
        }
    }

    private static func change(
        _ entry: inout ReplicaEntry, _ body: (inout ReplicaEntry) -> Void
    ) -> (VisibleSetting, KeyCell?, isEmpty: Bool) {
        body(&entry)
        return (entry.visible, entry.cell, entry.isEmpty)
    }
}
