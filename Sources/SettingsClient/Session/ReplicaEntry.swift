internal import SettingsAPI
internal import SettingsModel

/// A setting as the program sees it, its own writes included.
struct VisibleSetting: Equatable, Sendable {
    /// The effective value; nil if there is none.
    var value: JSONValue?
    /// The source; nil if it is not known: the value is stored or a default of the schema.
    var source: Source?
    /// The last commit that changed it; nil if it is not known, or if a write of the program's own is on its way.
    var revision: Revision?

    static let unset = VisibleSetting(value: nil, source: .unset, revision: nil)

    /// True if a reader sees no difference.
    func looksLike(_ other: VisibleSetting) -> Bool {
        value == other.value && source == other.source
    }
}

/// A key at one moment in the layers that can change: not the command line and the key's own default.
struct ObservedSetting: Equatable, Sendable {
    let key: KeyName
    var visible: VisibleSetting
    /// The registered default.
    var registered: JSONValue?

    /// True if the source matters and is not known: a registered default lies over one of the schema and under a stored value.
    var lacksSource: Bool {
        registered != nil && visible.source == nil
    }
}

/// An event for listeners. They get events in the order in which readers could see them.
enum ReplicaNews: Equatable, Sendable {
    /// A key has another value or another registered default.
    case changed(ObservedSetting)
    /// The observer of this number begins, with these settings.
    case began(UInt64, [ObservedSetting])
}

/// An entry of the replica: one key.
struct ReplicaEntry: Sendable {
    /// The last state that the daemon told.
    var confirmed = VisibleSetting.unset
    /// The revision of that state, where it is ahead of the replica's.
    var asOf = Revision.zero
    /// Writes on their way, the latest last.
    var pending = PendingWrites()
    /// Retained by readers and writers of the key, so that nothing stays of a name that is used once.
    weak var cell: KeyCell?

    /// The setting as the program sees it: its latest write, else what is confirmed.
    var visible: VisibleSetting {
        pending.seen ?? confirmed
    }

    /// Takes a change in if it is newer than the entry.
    mutating func take(_ change: Change, after known: Revision) {
        guard change.revision > max(known, asOf) else { return }
        confirm(
            VisibleSetting(value: change.new, source: change.source, revision: change.revision), at: change.revision)
    }

    /// Takes over the state at a revision ahead of the replica's. Writes that were acknowledged up to there do not hide it.
    mutating func confirm(_ setting: VisibleSetting, at place: Revision) {
        confirmed = setting
        asOf = place
        pending.removeSettled(upTo: place)
    }

    /// True if nothing would be lost with the entry.
    var isEmpty: Bool {
        cell == nil && pending.isEmpty && confirmed.value == nil && confirmed.source == .unset
    }
}

/// A write of the program's own to one key that the daemon has not confirmed, or whose change the replica lacks.
struct PendingWrite: Sendable {
    /// The request key. All operations of one transaction share it.
    let ticket: RequestKey
    let action: Transaction.Operation.Action
    /// The value that the program computed. It is shown if the value that the operation applies to is not known.
    let expected: JSONValue?
    /// The setting with this write and all before it.
    fileprivate(set) var seen: VisibleSetting
    /// Set once it was acknowledged: it is shown until the key is known as of this revision, and as long as one before it
    /// is on its way.
    fileprivate(set) var settledAt: Revision?
}

extension PendingWrite {
    /// Returns the setting after the action. An operation that is not possible leaves the setting as it is.
    fileprivate static func setting(
        after action: Transaction.Operation.Action, expected: JSONValue?, over below: VisibleSetting
    ) -> VisibleSetting {
        switch action {
        case .set(let value):
            return VisibleSetting(value: value, source: .stored, revision: nil)
        case .delete:
            // A default is still there after a removal.
            guard below.source == .default else { return .unset }
            return VisibleSetting(value: below.value, source: .default, revision: nil)
        case .change(let operation):
            let result = below.value.map { try? operation.applied(to: $0) } ?? expected
            return result.map { VisibleSetting(value: $0, source: .stored, revision: nil) } ?? below
        }
    }
}

/// The program's own writes to one key that are on their way, in order. They may be many while the daemon is away, so
/// removing the first takes constant time.
struct PendingWrites: Sendable {
    private var writes: ArraySlice<PendingWrite> = []
    private var settledCount = 0

    init() {}

    /// Makes writes that each remove the key.
    init(removing tickets: [RequestKey]) {
        for ticket in tickets { append(ticket, .delete, expected: nil, over: .unset) }
    }

    var isEmpty: Bool { writes.isEmpty }
    var count: Int { writes.count }

    /// The setting with all of them; nil if there is none.
    var seen: VisibleSetting? { writes.last?.seen }

    /// True if some were acknowledged and are still shown.
    var hasSettled: Bool { settledCount > 0 }

    mutating func append(
        _ ticket: RequestKey, _ action: Transaction.Operation.Action, expected: JSONValue?,
        over confirmed: VisibleSetting
    ) {
        let seen = PendingWrite.setting(after: action, expected: expected, over: writes.last?.seen ?? confirmed)
        writes.append(PendingWrite(ticket: ticket, action: action, expected: expected, seen: seen))
    }

    /// Takes back one operation of a write. Later ones then have another base.
    mutating func takeBack(_ ticket: RequestKey, over confirmed: VisibleSetting, knownUpTo place: Revision) {
        guard let index = writes.firstIndex(where: { $0.ticket == ticket }) else { return }
        let next = remove(at: index)
        removeSettled(upTo: place)
        refresh(from: max(next, writes.startIndex), over: confirmed)
    }

    /// Notes that a write was acknowledged, at a revision.
    mutating func settle(_ ticket: RequestKey, at place: Revision) {
        guard var index = writes.firstIndex(where: { $0.ticket == ticket && $0.settledAt == nil }) else { return }
        // The operations of one write stand together, and only the last is seen.
        while index + 1 < writes.endIndex, writes[index + 1].ticket == ticket { index = remove(at: index) }
        writes[index].settledAt = place
        settledCount += 1
        // Of two acknowledged neighbours only the one of the later revision counts, so they never become many.
        if index + 1 < writes.endIndex, let above = writes[index + 1].settledAt {
            if above < place { _ = remove(at: index + 1) } else { index = remove(at: index) }
        }
        if index > writes.startIndex, let below = writes[index - 1].settledAt, let own = writes[index].settledAt {
            _ = remove(at: below <= own ? index - 1 : index)
        }
    }

    /// Removes those that were acknowledged up to a revision; with nil, all that were acknowledged.
    ///
    /// One behind others stays while those are on their way: they may have been done before it, and would be seen again.
    mutating func removeSettled(upTo place: Revision?) {
        guard hasSettled else { return }
        guard let place else {
            writes.removeAll { $0.settledAt != nil }
            settledCount = 0
            return
        }
        while let settled = writes.first?.settledAt, settled <= place { _ = remove(at: writes.startIndex) }
    }

    /// Removes a write and returns the index of the next.
    private mutating func remove(at index: Int) -> Int {
        if writes[index].settledAt != nil { settledCount -= 1 }
        guard index == writes.startIndex else {
            writes.remove(at: index)
            return index
        }
        writes.removeFirst()
        // Release the storage.
        if writes.isEmpty { writes = [] }
        return writes.startIndex
    }

    /// Applies all of them to the first confirmed setting. Later ones are not applied to: they may be of these very writes,
    /// before their answers come.
    mutating func refresh(over confirmed: VisibleSetting) {
        refresh(from: writes.startIndex, over: confirmed)
    }

    /// Applies the writes again from an index on, until one makes no difference: those behind it then make none either.
    private mutating func refresh(from first: Int, over confirmed: VisibleSetting) {
        guard first < writes.endIndex else { return }
        for index in writes[first...].indices {
            let below = index == writes.startIndex ? confirmed : writes[index - 1].seen
            let seen = PendingWrite.setting(
                after: writes[index].action, expected: writes[index].expected, over: below)
            if seen == writes[index].seen { return }
            writes[index].seen = seen
        }
    }
}
