internal import SettingsAPI
internal import SettingsModel

/// A local copy of a suite with the program's own writes over it. Without I/O and locks.
struct ReplicaState: Sendable {
    private(set) var cursor: Cursor?
    private(set) var entries: [KeyName: ReplicaEntry] = [:]
    /// The commit that set the schema in force, or removed the last one; of revision zero if there never was one. Nil if
    /// it is not known.
    private(set) var schema: Cursor?
    /// Grows with each confirmed change.
    private(set) var version = 0
    /// The registered defaults, which lie under what is stored.
    private(set) var registered: [KeyName: JSONValue] = [:]
    /// The events since this was last emptied, in order.
    var news: [ReplicaNews] = []
    /// The cells of the keys whose effective value has changed since this was last emptied.
    var changedCells: [KeyCell] = []
    /// Keys with writes that were acknowledged and are still shown.
    private var settled: Set<KeyName> = []
    /// Writes on their way that remove every key.
    private var resets: [RequestKey] = []

    func visible(_ key: KeyName) -> VisibleSetting {
        entries[key]?.visible ?? .unset
    }

    func observed(_ key: KeyName) -> ObservedSetting {
        ObservedSetting(key: key, visible: visible(key), registered: registered[key])
    }

    /// True if a reader gets a value before the suite is loaded: the program has written the key, or an answer has told it.
    func isKnown(_ key: KeyName) -> Bool {
        guard let entry = entries[key] else { return !resets.isEmpty }
        return !entry.pending.isEmpty || entry.asOf != .zero
    }

    /// Returns the cell that readers of the key share.
    mutating func cell(for key: KeyName) -> KeyCell {
        if let cell = entries[key]?.cell { return cell }
        let (cell, fresh) = (KeyCell(key), newEntry)
        entries[key, default: fresh].cell = cell
        return cell
    }

    /// The cells of all keys that have readers.
    var cells: [KeyCell] { entries.values.compactMap(\.cell) }

    /// Removes the entries that are empty and whose cells are not in use.
    mutating func forgetUnusedEntries() {
        for (key, entry) in entries where entry.isEmpty { entries[key] = nil }
    }

    /// An entry without a value, over which the writes that remove everything lie.
    private var newEntry: ReplicaEntry {
        ReplicaEntry(pending: PendingWrites(removing: resets))
    }

    /// Takes a state in, unless it is older than the replica. Epochs have no order, so only a reset, which the follower
    /// delivers, leads from one to another.
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
            guard let key = conflict.key else { continue }
            told[key] = VisibleSetting(value: nil, source: .invalid, revision: nil)
        }
        for key in contents.secrets where told[key] == nil {
            told[key] = VisibleSetting(value: nil, source: nil, revision: nil)
        }
        replace(by: told, at: state.cursor, isSameHistory: isSameHistory)
        note(schema: contents.schemaRevision)
    }

    /// Lets readers of all keys read again if the schema is another schema.
    private mutating func note(schema revision: Revision) {
        guard let place = cursor.map({ Cursor(epoch: $0.epoch, revision: revision) }), place != schema else {
            return
        }
        let isFirst = schema == nil
        schema = place
        touchAllKeys()
        // The value of a renamed key that the former schema refused may be moved now, at the next read.
        if !isFirst { changedCells += cells }
    }

    private mutating func replace(by told: [KeyName: VisibleSetting], at place: Cursor, isSameHistory: Bool) {
        let keys = Set(entries.keys).union(told.keys)
        let isFirst = cursor == nil
        for key in keys {
            update(key) { entry in
                // The answer to an own write may be ahead of the state.
                guard !isSameHistory || entry.asOf <= place.revision else { return }
                entry.confirmed = told[key] ?? .unset
                entry.asOf = .zero
                if isFirst { entry.pending.refresh(over: entry.confirmed) }
            }
        }
        moveOn(to: place, isSameHistory: isSameHistory)
    }

    /// Takes in changes.
    mutating func apply(_ observed: ObservedChanges) {
        guard let cursor, cursor.epoch == observed.cursor.epoch else { return }
        for change in observed.changes { apply(change) }
        guard observed.cursor.revision > cursor.revision else { return }
        moveOn(to: observed.cursor, isSameHistory: true)
        note(schema: observed.schemaRevision)
    }

    private mutating func moveOn(to place: Cursor, isSameHistory: Bool) {
        cursor = place
        version += 1
        for key in settled {
            update(key) { entry in
                entry.pending.removeSettled(upTo: isSameHistory ? place.revision : nil)
            }
            if !(entries[key]?.pending.hasSettled ?? false) { settled.remove(key) }
        }
    }

    /// Takes a change in if it is newer than its entry.
    private mutating func apply(_ change: Change) {
        let known = cursor?.revision ?? .zero
        version += 1
        update(change.key) { $0.take(change, after: known) }
    }

    /// Takes in one setting from a read or a refusal. A refusal is about the newest state.
    mutating func learn(_ setting: SettingState, fromRefusal isNewest: Bool) {
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
    ///
    /// - Parameter expected: the value that the program computed for the one key that the write changes in place.
    mutating func begin(
        _ ticket: RequestKey, _ operations: [Transaction.Operation], expected: JSONValue? = nil
    ) {
        for operation in operations {
            update(operation.key) { entry in
                entry.pending.append(ticket, operation.action, expected: expected, over: entry.confirmed)
            }
        }
    }

    /// Ends a write that was acknowledged.
    mutating func settle(_ ticket: RequestKey, _ operations: [Transaction.Operation], _ summary: WriteSummary) {
        settle(ticket, Set(operations.map(\.key)), summary)
    }

    /// Ends a write to these keys. Where it changed nothing, its effect was there already: it is shown until the replica has
    /// that, too.
    private mutating func settle(_ ticket: RequestKey, _ keys: some Collection<KeyName>, _ summary: WriteSummary) {
        let known = cursor?.revision ?? .zero
        var changes = Dictionary(summary.changes.map { ($0.key, $0) }, uniquingKeysWith: { $1 })
        if !changes.isEmpty { version += 1 }
        for key in keys {
            let change = changes.removeValue(forKey: key)
            update(key) { entry in
                entry.pending.settle(ticket, at: summary.revision)
                if let change { entry.take(change, after: known) }
                entry.pending.removeSettled(upTo: max(known, entry.asOf))
            }
            if entries[key]?.pending.hasSettled ?? false { settled.insert(key) }
        }
        for change in summary.changes where changes[change.key] != nil { apply(change) }
    }

    /// Takes back a write that was refused.
    mutating func abandon(_ ticket: RequestKey, _ operations: [Transaction.Operation]) {
        for operation in operations { takeBack(ticket, operation.key) }
    }

    /// True if a write that removed these keys, or with nil all, leaves open what is there: it changed nothing of a key that
    /// has a value here. That was a default then, or another program has removed it.
    func leavesOpen(_ summary: WriteSummary, removalOf keys: [KeyName]?) -> Bool {
        let known = cursor?.revision ?? .zero
        guard summary.revision > known else { return false }
        let changed = Set(summary.changes.map(\.key))
        return (keys ?? Array(entries.keys)).contains { key in
            guard let entry = entries[key], !changed.contains(key), summary.revision > entry.asOf else { return false }
            return entry.confirmed.value != nil && entry.confirmed.source != .default
        }
    }

    /// Shows a removal of everything.
    mutating func beginReset(_ ticket: RequestKey) {
        resets.append(ticket)
        for key in entries.keys {
            update(key) { $0.pending.append(ticket, .delete, expected: nil, over: $0.confirmed) }
        }
    }

    /// Ends a removal of everything; without a summary it was refused.
    mutating func endReset(_ ticket: RequestKey, _ summary: WriteSummary?) {
        resets.removeAll { $0 == ticket }
        if let summary {
            settle(ticket, entries.keys, summary)
        } else {
            for key in entries.keys { takeBack(ticket, key) }
        }
    }

    private mutating func takeBack(_ ticket: RequestKey, _ key: KeyName) {
        let known = cursor?.revision ?? .zero
        update(key) { entry in
            entry.pending.takeBack(ticket, over: entry.confirmed, knownUpTo: max(known, entry.asOf))
        }
    }

    /// Registers defaults, and lets readers of these keys read again.
    mutating func register(_ values: [KeyName: JSONValue]) {
        for (key, value) in values {
            registered[key] = value
            if let cell = entries[key]?.cell { noteChange(cell) }
            news.append(.changed(observed(key)))
        }
    }

    /// Adds the event that an observer begins, with the settings of these keys, or of all.
    ///
    /// - Parameter isLate: true if the observer has waited for the suite. It then begins before the program's pending writes,
    ///   because the program may have made them after the call that the observer belongs to.
    mutating func begin(_ observer: UInt64, _ keys: [KeyName]?, isLate: Bool = false) {
        let keys = keys ?? Array(Set(entries.keys).union(registered.keys))
        guard isLate else { return news.append(.began(observer, keys.map(observed))) }
        let confirmed = keys.map { key in
            ObservedSetting(key: key, visible: entries[key]?.confirmed ?? .unset, registered: registered[key])
        }
        news.append(.began(observer, confirmed))
        for setting in confirmed where !setting.visible.looksLike(visible(setting.key)) {
            news.append(.changed(observed(setting.key)))
        }
    }

    /// Lets readers of all keys read again, because another schema is known.
    func touchAllKeys() {
        for entry in entries.values { entry.cell?.invalidate() }
    }

    private mutating func noteChange(_ cell: KeyCell) {
        cell.invalidate()
        changedCells.append(cell)
    }

    /// Changes an entry, and adds an event if readers see a difference.
    private mutating func update(_ key: KeyName, _ body: (inout ReplicaEntry) -> Void) {
        let old = visible(key)
        let fresh = newEntry
        // In place: its writes may be many, and are not copied.
        let (new, cell, isEmpty) = Self.change(&entries[key, default: fresh], body)
        if isEmpty { entries[key] = nil }
        if !old.looksLike(new) {
            if let cell { noteChange(cell) }
            news.append(.changed(ObservedSetting(key: key, visible: new, registered: registered[key])))
        }
    }

    private static func change(
        _ entry: inout ReplicaEntry, _ body: (inout ReplicaEntry) -> Void
    ) -> (VisibleSetting, KeyCell?, isEmpty: Bool) {
        body(&entry)
        return (entry.visible, entry.cell, entry.isEmpty)
    }
}

extension ReplicaState {
    /// Returns the confirmed state as a new observer would get it; nil if the suite was not loaded.
    func confirmed(of suite: SuiteName) -> ObservedState? {
        guard let cursor, let schema else { return nil }
        var values: [SuiteContents.Entry] = []
        var invalid: [SchemaConflict] = []
        var secrets: [KeyName] = []
        for (key, entry) in entries.sorted(by: { $0.key < $1.key }) {
            if let value = entry.confirmed.value {
                values.append(SuiteContents.Entry(key: key, value: value))
            } else if entry.confirmed.source == .invalid {
                invalid.append(SchemaConflict(key: key, stored: nil, errors: []))
            } else if entry.confirmed.source != .unset {
                secrets.append(key)
            }
        }
        let contents = SuiteContents(
            suite: suite, schemaRevision: schema.revision, values: values, invalid: invalid, secrets: secrets)
        return ObservedState(.one(contents), cursor: cursor)
    }
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
