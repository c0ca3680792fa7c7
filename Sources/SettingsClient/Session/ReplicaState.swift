internal import SettingsAPI
internal import SettingsModel

/// The local copy of a suite, with the program's pending writes applied. A state machine without I/O and locks.
struct ReplicaState: Sendable {
    /// The cursor up to which the replica contains all changes. Nil if the suite is not loaded.
    private(set) var cursor: Cursor?
    private(set) var entries: [KeyName: ReplicaEntry] = [:]
    /// The last commit that set or removed the schema. The revision is zero if the suite never had a schema. Nil if the
    /// suite is not loaded.
    private(set) var schemaCursor: Cursor?
    /// Increases with each change of the confirmed state, which the cache file contains. The method `record` does not
    /// increase the version, because the replica also gets a newer setting as a change or in a state, which increases
    /// the version.
    private(set) var version = 0
    /// The registered defaults. A stored value overrides the registered default.
    private(set) var registered: [KeyName: JSONValue] = [:]
    /// The events that the session has not delivered, in order.
    var events: [ReplicaEvent] = []
    /// The cells (``KeyCell``) of changed keys that the session has not announced to Observation.
    var changedCells: [KeyCell] = []
    /// The keys with pending writes that the daemon has acknowledged.
    private var acknowledgedKeys: Set<KeyName> = []
    /// The request keys of the pending writes that remove all keys.
    private var removalsOfAll: [RequestKey] = []

    func visible(_ key: KeyName) -> ReplicaSetting {
        entries[key]?.visible ?? .unset
    }

    /// Returns a snapshot of a key for observers.
    func observed(_ key: KeyName) -> ObservedSetting {
        ObservedSetting(key: key, visible: visible(key), registered: registered[key])
    }

    /// Returns true if the key can be read before the suite is loaded, because the program has written it, or because
    /// an answer of the daemon contained it.
    func isKnown(_ key: KeyName) -> Bool {
        guard let entry = entries[key] else { return !removalsOfAll.isEmpty }
        return !entry.pending.isEmpty || entry.confirmedRevision != .zero
    }

    /// Returns the cell that readers of the key share.
    mutating func cell(for key: KeyName) -> KeyCell {
        if let cell = entries[key]?.cell { return cell }
        let (cell, emptyEntry) = (KeyCell(key), newEntry)
        entries[key, default: emptyEntry].cell = cell
        return cell
    }

    var cells: [KeyCell] { entries.values.compactMap(\.cell) }

    /// Removes the entries without information. An entry whose cell is in use stays.
    mutating func forgetUnusedEntries() {
        for (key, entry) in entries where entry.isEmpty { entries[key] = nil }
    }

    /// An entry without a value, with the pending writes that remove all keys.
    private var newEntry: ReplicaEntry {
        ReplicaEntry(pending: PendingWrites(removing: removalsOfAll))
    }

    /// Replaces the contents of the replica by a state, unless the replica is as new or newer. Epochs have no order, so
    /// a state of another history replaces the contents only if it has the flag `isReset`. If the settings are in a
    /// daemon and not in memory, only a state that the ``RemoteFollower`` delivers has this flag.
    mutating func adopt(_ state: ObservedState) {
        let isSameHistory = cursor.map { $0.epoch == state.cursor.epoch } ?? true
        if isSameHistory, let cursor, state.cursor.revision <= cursor.revision { return }
        guard isSameHistory || state.isReset else { return }
        guard let contents = state.suites.first else {
            replace(by: [:], at: state.cursor, isSameHistory: isSameHistory)
            return setSchema(to: .zero)
        }
        // Without a schema there are no defaults, so all values are stored.
        let source: Source? = contents.schemaRevision == .zero ? .stored : nil
        var settings: [KeyName: ReplicaSetting] = [:]
        for entry in contents.values {
            settings[entry.key] = ReplicaSetting(value: entry.value, source: source, revision: nil)
        }
        for conflict in contents.invalid {
            guard let key = conflict.key else { continue }
            settings[key] = ReplicaSetting(value: nil, source: .invalid, revision: nil)
        }
        // The state contains the names, but not the values, of secrets that this program may not read.
        for key in contents.secrets where settings[key] == nil {
            settings[key] = ReplicaSetting(value: nil, source: nil, revision: nil)
        }
        replace(by: settings, at: state.cursor, isSameHistory: isSameHistory)
        setSchema(to: contents.schemaRevision)
    }

    /// Records the revision of the commit that set or removed the schema. If the schema has changed, invalidates the
    /// cached values of all keys.
    private mutating func setSchema(to revision: Revision) {
        guard let newSchema = cursor.map({ Cursor(epoch: $0.epoch, revision: revision) }), newSchema != schemaCursor
        else {
            return
        }
        let isFirst = schemaCursor == nil
        schemaCursor = newSchema
        invalidateAllKeys()
        // The former schema may have prevented the move of the value of a renamed key to its new name. The next read of
        // the key tries the move again, so the readers of all keys get an announcement.
        if !isFirst { changedCells += cells }
    }

    private mutating func replace(by settings: [KeyName: ReplicaSetting], at newCursor: Cursor, isSameHistory: Bool) {
        let keys = Set(entries.keys).union(settings.keys)
        let isFirst = cursor == nil
        for key in keys {
            update(key) { entry in
                // The confirmed setting may be from an answer that is newer than the state.
                guard !isSameHistory || entry.confirmedRevision <= newCursor.revision else { return }
                entry.confirmed = settings[key] ?? .unset
                entry.confirmedRevision = .zero
                // The effects of writes before the first state were computed without the confirmed value.
                if isFirst { entry.pending.refresh(over: entry.confirmed) }
            }
        }
        advance(to: newCursor, isSameHistory: isSameHistory)
    }

    mutating func apply(_ observed: ObservedChanges) {
        guard let cursor, cursor.epoch == observed.cursor.epoch else { return }
        for change in observed.changes { apply(change) }
        guard observed.cursor.revision > cursor.revision else { return }
        advance(to: observed.cursor, isSameHistory: true)
        setSchema(to: observed.schemaRevision)
    }

    /// Moves the replica to a newer cursor, and removes the acknowledged writes that the replica now contains.
    private mutating func advance(to newCursor: Cursor, isSameHistory: Bool) {
        cursor = newCursor
        version += 1
        for key in acknowledgedKeys {
            update(key) { entry in
                entry.pending.removeAcknowledged(upTo: isSameHistory ? newCursor.revision : nil)
            }
            if !(entries[key]?.pending.hasAcknowledged ?? false) { acknowledgedKeys.remove(key) }
        }
    }

    /// Applies a change if it is newer than its entry.
    private mutating func apply(_ change: Change) {
        let replicaRevision = cursor?.revision ?? .zero
        version += 1
        update(change.key) { $0.update(with: change, after: replicaRevision) }
    }

    /// Records a setting from the answer to a read or from a refusal. If the replica has the same value at the same or
    /// a later revision, records only the source and the revision.
    ///
    /// - Parameter replacesKnownRevision: what to do if the value is the same and not newer. True: always record the
    ///   source and the revision. False: record them only if the replica does not know the revision of this setting.
    mutating func record(_ setting: SettingState, replacesKnownRevision: Bool) {
        let replicaRevision = cursor?.revision ?? .zero
        let confirmed = ReplicaSetting(value: setting.value, source: setting.source, revision: setting.revision)
        update(setting.key) { entry in
            if setting.revision > max(replicaRevision, entry.confirmedRevision) {
                entry.confirm(confirmed, at: setting.revision)
            } else if replacesKnownRevision || entry.confirmed.revision == nil,
                entry.confirmed.value == confirmed.value
            {
                entry.confirmed = confirmed
            }
        }
    }

    /// Adds a pending write. Readers see its effect at once.
    ///
    /// - Parameter expected: the value that the program computed for the one key that the write changes in place.
    mutating func beginWrite(
        _ requestKey: RequestKey, _ operations: [Transaction.Operation], expected: JSONValue? = nil
    ) {
        for operation in operations {
            update(operation.key) { entry in
                entry.pending.append(requestKey, operation.action, expected: expected, over: entry.confirmed)
            }
        }
    }

    mutating func acknowledge(_ requestKey: RequestKey, _ operations: [Transaction.Operation], _ summary: WriteSummary)
    {
        acknowledge(requestKey, Set(operations.map(\.key)), summary)
    }

    /// Records the acknowledgement of a write to these keys. The write stays pending until the replica has the revision
    /// of the write.
    private mutating func acknowledge(
        _ requestKey: RequestKey, _ keys: some Collection<KeyName>, _ summary: WriteSummary
    ) {
        let replicaRevision = cursor?.revision ?? .zero
        var changes = Dictionary(summary.changes.map { ($0.key, $0) }, uniquingKeysWith: { $1 })
        if !changes.isEmpty { version += 1 }
        for key in keys {
            let change = changes.removeValue(forKey: key)
            update(key) { entry in
                entry.pending.acknowledge(requestKey, at: summary.revision)
                if let change { entry.update(with: change, after: replicaRevision) }
                entry.pending.removeAcknowledged(upTo: max(replicaRevision, entry.confirmedRevision))
            }
            if entries[key]?.pending.hasAcknowledged ?? false { acknowledgedKeys.insert(key) }
        }
        for change in summary.changes where changes[change.key] != nil { apply(change) }
    }

    /// Removes a write that was refused.
    mutating func rollBack(_ requestKey: RequestKey, _ operations: [Transaction.Operation]) {
        for operation in operations { rollBack(requestKey, operation.key) }
    }

    /// Returns true if the value of a key is unknown after a removal of `keys` (nil: of all keys).
    ///
    /// The value is unknown if the key has a value in the replica that is not known to be a default, but the daemon did
    /// not change the key. The value may be a default of the schema, which the removal does not change, or another
    /// program may have removed the value before.
    func leavesValuesUnknown(_ summary: WriteSummary, removalOf keys: [KeyName]?) -> Bool {
        let replicaRevision = cursor?.revision ?? .zero
        guard summary.revision > replicaRevision else { return false }
        let changed = Set(summary.changes.map(\.key))
        return (keys ?? Array(entries.keys)).contains { key in
            guard let entry = entries[key], !changed.contains(key), summary.revision > entry.confirmedRevision else {
                return false
            }
            return entry.confirmed.value != nil && entry.confirmed.source != .default
        }
    }

    mutating func beginRemovalOfAll(_ requestKey: RequestKey) {
        removalsOfAll.append(requestKey)
        for key in entries.keys {
            update(key) { $0.pending.append(requestKey, .delete, expected: nil, over: $0.confirmed) }
        }
    }

    /// Ends a write that removes all keys.
    ///
    /// - Parameter summary: the answer of the daemon, or nil if the daemon has refused the write.
    mutating func endRemovalOfAll(_ requestKey: RequestKey, _ summary: WriteSummary?) {
        removalsOfAll.removeAll { $0 == requestKey }
        if let summary {
            acknowledge(requestKey, entries.keys, summary)
        } else {
            for key in entries.keys { rollBack(requestKey, key) }
        }
    }

    private mutating func rollBack(_ requestKey: RequestKey, _ key: KeyName) {
        let replicaRevision = cursor?.revision ?? .zero
        update(key) { entry in
            entry.pending.rollBack(
                requestKey, over: entry.confirmed, knownUpTo: max(replicaRevision, entry.confirmedRevision))
        }
    }

    /// Registers defaults, and invalidates the cached values of their keys.
    mutating func register(_ values: [KeyName: JSONValue]) {
        for (key, value) in values {
            registered[key] = value
            if let cell = entries[key]?.cell { recordChange(cell) }
            events.append(.changed(observed(key)))
        }
    }

    /// Adds the event ``ReplicaEvent/began(_:_:)`` of an observer, with the settings of `keys` (nil: of all keys).
    ///
    /// - Parameter isLate: true if the observer has waited for the load of the suite. The observer then begins with the
    ///   confirmed settings, and the pending writes follow as changes, because the program may have made the writes
    ///   after it created the observer.
    mutating func beginObserving(_ observer: UInt64, _ keys: [KeyName]?, isLate: Bool = false) {
        let keys = keys ?? Array(Set(entries.keys).union(registered.keys))
        guard isLate else { return events.append(.began(observer, keys.map(observed))) }
        let confirmed = keys.map { key in
            ObservedSetting(key: key, visible: entries[key]?.confirmed ?? .unset, registered: registered[key])
        }
        events.append(.began(observer, confirmed))
        for setting in confirmed where !setting.visible.isSameForReaders(visible(setting.key)) {
            events.append(.changed(observed(setting.key)))
        }
    }

    /// Invalidates the cached values of all keys, so that the next reads compare their keys with the schema again.
    func invalidateAllKeys() {
        for entry in entries.values { entry.cell?.invalidate() }
    }

    /// Invalidates the cached value of a key, and records that the change must be announced.
    private mutating func recordChange(_ cell: KeyCell) {
        cell.invalidate()
        changedCells.append(cell)
    }

    /// Changes an entry. If the visible setting changes, adds an event and records the change of the cell.
    private mutating func update(_ key: KeyName, _ body: (inout ReplicaEntry) -> Void) {
        let old = visible(key)
        let emptyEntry = newEntry
        // The entry is changed in place, because a copy of many pending writes takes long.
        let (new, cell, isEmpty) = Self.change(&entries[key, default: emptyEntry], body)
        if isEmpty { entries[key] = nil }
        if !old.isSameForReaders(new) {
            if let cell { recordChange(cell) }
            events.append(.changed(ObservedSetting(key: key, visible: new, registered: registered[key])))
        }
    }

    private static func change(
        _ entry: inout ReplicaEntry, _ body: (inout ReplicaEntry) -> Void
    ) -> (ReplicaSetting, KeyCell?, isEmpty: Bool) {
        body(&entry)
        return (entry.visible, entry.cell, entry.isEmpty)
    }
}

extension ReplicaState {
    /// Returns the confirmed state for the cache file. Returns nil if the suite is not loaded.
    func confirmed(of suite: SuiteName) -> ObservedState? {
        guard let cursor, let schemaCursor else { return nil }
        var values: [SuiteContents.Entry] = []
        var invalid: [SchemaConflict] = []
        var secrets: [KeyName] = []
        for (key, entry) in entries.sorted(by: { $0.key < $1.key }) {
            if let value = entry.confirmed.value {
                values.append(SuiteContents.Entry(key: key, value: value))
            } else if entry.confirmed.source == .invalid {
                invalid.append(SchemaConflict(key: key, stored: nil, errors: []))
            } else if entry.confirmed.source != .unset {
                // The value is a secret that this program may not read.
                secrets.append(key)
            }
        }
        let contents = SuiteContents(
            suite: suite, schemaRevision: schemaCursor.revision, values: values, invalid: invalid, secrets: secrets)
        return ObservedState(.one(contents), cursor: cursor)
    }
}

extension ObservedChanges {
    /// The revision of the commit that set or removed the schema of the observed suite.
    fileprivate var schemaRevision: Revision {
        switch scope {
        case .one(let schema, _): schema.revision
        case .several(let schemas, _, _): schemas.first?.revision ?? .zero
        }
    }
}
