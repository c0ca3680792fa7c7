internal import SettingsAPI
internal import SettingsModel

/// A setting in the replica: the setting that the daemon has confirmed, or this setting with the program's pending
/// writes applied (the *visible* setting, which the program reads).
struct ReplicaSetting: Equatable, Sendable {
    /// The effective value. Nil if there is no value.
    var value: JSONValue?
    /// The source. Nil if it is unknown whether the value is stored or a default of the schema.
    var source: Source?
    /// The last commit that changed the setting. Nil if it is unknown, or if the value is from a pending write.
    var revision: Revision?

    static let unset = ReplicaSetting(value: nil, source: .unset, revision: nil)

    /// Returns true if both settings have the same value and source. Only their revisions may differ.
    func isSameForReaders(_ other: ReplicaSetting) -> Bool {
        value == other.value && source == other.source
    }
}

/// A snapshot of a key for observers. It contains neither the value on the command line nor the default of the key,
/// because these two values cannot change.
struct ObservedSetting: Equatable, Sendable {
    let key: KeyName
    var visible: ReplicaSetting
    /// The registered default.
    var registered: JSONValue?

    /// True if the effective value depends on the source, and the source is unknown. A registered default overrides a
    /// default of the schema, and a stored value overrides a registered default.
    var needsSource: Bool {
        registered != nil && visible.source == nil
    }
}

/// An event for the listeners of a session. Listeners get events in the order in which the replica changed.
enum ReplicaEvent: Equatable, Sendable {
    /// A key has another value or another registered default.
    case changed(ObservedSetting)
    /// The observer with this number begins with these settings.
    case began(UInt64, [ObservedSetting])
    /// All events of a state have been delivered. The session now waits for the handlers of the state (see
    /// ``ApplyingState``).
    case endOfState
}

/// An entry of the replica: one key.
struct ReplicaEntry: Sendable {
    /// The last setting that the daemon has sent.
    var confirmed = ReplicaSetting.unset
    /// The revision of the confirmed setting if it is from a commit or from an answer about this key. The setting may
    /// then be newer than the cursor of the replica. Zero if the setting is from a state of the whole suite.
    var confirmedRevision = Revision.zero
    /// The program's writes to the key that the confirmed setting does not contain.
    var pending = PendingWrites()
    /// The version of cached values and the tracker for Observation. Users of the key retain the cell. The entry does
    /// not retain the cell, so that the entry can be removed when the key is no longer used.
    weak var cell: KeyCell?

    /// The setting as the program reads it: the confirmed setting with the program's pending writes applied.
    var visible: ReplicaSetting {
        pending.visible ?? confirmed
    }

    /// Applies a change if it is newer than the entry.
    ///
    /// - Parameter replicaRevision: the revision up to which the replica contains all changes.
    mutating func update(with change: Change, after replicaRevision: Revision) {
        guard change.revision > max(replicaRevision, confirmedRevision) else { return }
        confirm(
            ReplicaSetting(value: change.new, source: change.source, revision: change.revision), at: change.revision)
    }

    /// Replaces the confirmed setting by a newer setting. Removes the pending writes that the new setting contains.
    mutating func confirm(_ setting: ReplicaSetting, at revision: Revision) {
        confirmed = setting
        confirmedRevision = revision
        pending.removeAcknowledged(upTo: revision)
    }

    /// True if the entry contains no information, so that it can be removed.
    var isEmpty: Bool {
        cell == nil && pending.isEmpty && confirmed.value == nil && confirmed.source == .unset
    }
}

/// An operation of the program on one key that the confirmed setting does not contain.
struct PendingWrite: Sendable {
    /// The request key of the write. All operations of one transaction share it.
    let requestKey: RequestKey
    let action: Transaction.Operation.Action
    /// The value that the program has computed. If the client does not know the value before the operation, readers get
    /// this value as the result of the operation.
    let expected: JSONValue?
    /// The setting after this operation and all operations before it.
    fileprivate(set) var visible: ReplicaSetting
    /// The revision at which the daemon has acknowledged the write. Nil before the acknowledgement. The write stays
    /// pending until the confirmed setting has this revision, and until all earlier writes to the key are acknowledged.
    fileprivate(set) var acknowledgedAt: Revision?
}

extension PendingWrite {
    /// Returns the setting after an operation on the setting `previous`. An operation that fails does not change the
    /// setting.
    fileprivate static func setting(
        after action: Transaction.Operation.Action, expected: JSONValue?, over previous: ReplicaSetting
    ) -> ReplicaSetting {
        switch action {
        case .set(let value):
            return ReplicaSetting(value: value, source: .stored, revision: nil)
        case .delete:
            // The default of the schema stays after a removal.
            guard previous.source == .default else { return .unset }
            return ReplicaSetting(value: previous.value, source: .default, revision: nil)
        case .change(let operation):
            let result = previous.value.map { try? operation.applied(to: $0) } ?? expected
            return result.map { ReplicaSetting(value: $0, source: .stored, revision: nil) } ?? previous
        }
    }
}

/// The program's pending writes to one key, in order. There may be many during an outage, so the removal of the first
/// write takes constant time.
struct PendingWrites: Sendable {
    private var writes: ArraySlice<PendingWrite> = []
    private var acknowledgedCount = 0

    init() {}

    /// Creates the pending writes of a key for which the program has made only these removals of all keys.
    init(removing requestKeys: [RequestKey]) {
        for requestKey in requestKeys { append(requestKey, .delete, expected: nil, over: .unset) }
    }

    var isEmpty: Bool { writes.isEmpty }
    var count: Int { writes.count }

    /// The setting after all writes. Nil if there are no writes.
    var visible: ReplicaSetting? { writes.last?.visible }

    /// True if the daemon has acknowledged a write in the list.
    var hasAcknowledged: Bool { acknowledgedCount > 0 }

    mutating func append(
        _ requestKey: RequestKey, _ action: Transaction.Operation.Action, expected: JSONValue?,
        over confirmed: ReplicaSetting
    ) {
        let visible = PendingWrite.setting(after: action, expected: expected, over: writes.last?.visible ?? confirmed)
        writes.append(PendingWrite(requestKey: requestKey, action: action, expected: expected, visible: visible))
    }

    /// Removes the first operation of a refused write, and applies the later operations again. Called once for each
    /// operation of the write.
    mutating func rollBack(_ requestKey: RequestKey, over confirmed: ReplicaSetting, knownUpTo revision: Revision) {
        guard let index = writes.firstIndex(where: { $0.requestKey == requestKey }) else { return }
        let next = remove(at: index)
        removeAcknowledged(upTo: revision)
        refresh(from: max(next, writes.startIndex), over: confirmed)
    }

    mutating func acknowledge(_ requestKey: RequestKey, at revision: Revision) {
        guard var index = writes.firstIndex(where: { $0.requestKey == requestKey && $0.acknowledgedAt == nil }) else {
            return
        }
        // The operations of one write follow each other. Only the last operation determines the visible setting.
        while index + 1 < writes.endIndex, writes[index + 1].requestKey == requestKey { index = remove(at: index) }
        writes[index].acknowledgedAt = revision
        acknowledgedCount += 1
        // To limit the memory, the list keeps only one of two adjacent acknowledged writes: the write with the higher
        // revision.
        if index + 1 < writes.endIndex, let laterWriteRevision = writes[index + 1].acknowledgedAt {
            if laterWriteRevision < revision { _ = remove(at: index + 1) } else { index = remove(at: index) }
        }
        if index > writes.startIndex, let earlierWriteRevision = writes[index - 1].acknowledgedAt,
            let remainingRevision = writes[index].acknowledgedAt
        {
            _ = remove(at: earlierWriteRevision <= remainingRevision ? index - 1 : index)
        }
    }

    /// Removes the writes that were acknowledged up to a revision. Nil removes all acknowledged writes.
    ///
    /// If `revision` is not nil, an acknowledged write stays while an earlier write has no answer. Without the
    /// acknowledged write, the earlier write would be the last in the list, and readers would get its value, although
    /// the acknowledged write may have replaced this value.
    mutating func removeAcknowledged(upTo revision: Revision?) {
        guard hasAcknowledged else { return }
        guard let revision else {
            writes.removeAll { $0.acknowledgedAt != nil }
            acknowledgedCount = 0
            return
        }
        while let acknowledged = writes.first?.acknowledgedAt, acknowledged <= revision {
            _ = remove(at: writes.startIndex)
        }
    }

    /// Removes a write and returns the index of the next write.
    private mutating func remove(at index: Int) -> Int {
        if writes[index].acknowledgedAt != nil { acknowledgedCount -= 1 }
        guard index == writes.startIndex else {
            writes.remove(at: index)
            return index
        }
        writes.removeFirst()
        // An empty slice still retains its storage.
        if writes.isEmpty { writes = [] }
        return writes.startIndex
    }

    /// Applies all writes again. Called when the suite is loaded for the first time. Not called for a later state,
    /// because a later state may already contain writes whose answers have not arrived.
    mutating func refresh(over confirmed: ReplicaSetting) {
        refresh(from: writes.startIndex, over: confirmed)
    }

    /// Applies the writes again from an index on. Stops at the first write whose result is unchanged, because the
    /// results of all later writes are then unchanged, too.
    private mutating func refresh(from first: Int, over confirmed: ReplicaSetting) {
        guard first < writes.endIndex else { return }
        for index in writes[first...].indices {
            let previous = index == writes.startIndex ? confirmed : writes[index - 1].visible
            let visible = PendingWrite.setting(
                after: writes[index].action, expected: writes[index].expected, over: previous)
            if visible == writes[index].visible { return }
            writes[index].visible = visible
        }
    }
}
