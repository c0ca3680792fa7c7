internal import SettingsAPI
internal import SettingsModel

/// A write of the program's own to one key that the daemon has not confirmed, or whose change has not been told yet.
struct PendingWrite: Sendable {
    /// What it does to what is there.
    enum Effect: Sendable {
        /// Stores a value; nil to remove.
        case store(JSONValue?)
        /// Changes the value, whatever it is by then.
        case change(InPlaceOperation)
    }

    /// What the write is called; all that one transaction does is one write.
    let ticket: RequestKey
    let effect: Effect
    /// What a reader sees with this write and all before it.
    fileprivate(set) var seen: VisibleSetting
    /// Set once it was acknowledged: it is shown until the key is known as of this place, and as long as one before
    /// it is under way.
    fileprivate(set) var settledAt: Revision?
}

extension PendingWrite.Effect {
    init(_ action: Transaction.Operation.Action) {
        switch action {
        case .set(let value): self = .store(value)
        case .delete: self = .store(nil)
        case .change(let operation): self = .change(operation)
        }
    }

    /// What a reader sees of what is below; no difference where a change cannot be done to it.
    fileprivate func seen(over below: VisibleSetting) -> VisibleSetting {
        switch self {
        case .store(let value?):
            return VisibleSetting(value: value, source: .stored, revision: nil)
        case .store(nil):
            // What is not stored is there still after it was removed.
            guard below.source == .default else { return .unset }
            return VisibleSetting(value: below.value, source: .default, revision: nil)
        case .change(let operation):
            guard let result = below.value.flatMap({ try? operation.applied(to: $0) }) else { return below }
            return VisibleSetting(value: result, source: .stored, revision: nil)
        }
    }
}

/// The program's own writes to one key that are under way, in order. They may be many while the daemon is away, and end
/// from the front: that costs the same however many there are.
struct PendingWrites: Sendable {
    private var writes: ArraySlice<PendingWrite> = []
    private var settledCount = 0

    init() {}

    /// These writes, each of which removes the key.
    init(removing tickets: [RequestKey]) {
        for ticket in tickets { append(ticket, .store(nil), over: .unset) }
    }

    var isEmpty: Bool { writes.isEmpty }
    var count: Int { writes.count }

    /// What a reader sees of the last of them; nil if there is none.
    var seen: VisibleSetting? { writes.last?.seen }

    /// Whether some were acknowledged, and are shown still.
    var hasSettled: Bool { settledCount > 0 }

    /// Whether what is seen is the same whatever the daemon says.
    var covers: Bool {
        writes.reversed().contains { if case .store = $0.effect { true } else { false } }
    }

    mutating func append(_ ticket: RequestKey, _ effect: PendingWrite.Effect, over confirmed: VisibleSetting) {
        let seen = effect.seen(over: writes.last?.seen ?? confirmed)
        writes.append(PendingWrite(ticket: ticket, effect: effect, seen: seen))
    }

    /// Puts a removal that was acknowledged before all others, of which nobody knows whether they were done after it.
    mutating func prependRemoval(_ ticket: RequestKey, settledAt place: Revision, over confirmed: VisibleSetting) {
        if let first = writes.first?.settledAt {
            guard first < place else { return }
            _ = remove(at: writes.startIndex)
        }
        let effect = PendingWrite.Effect.store(nil)
        let removal = PendingWrite(
            ticket: ticket, effect: effect, seen: effect.seen(over: confirmed), settledAt: place)
        writes.insert(removal, at: writes.startIndex)
        settledCount += 1
    }

    /// Takes back one thing that a write does to the key: what was done after it was done to something else.
    mutating func takeBack(_ ticket: RequestKey, over confirmed: VisibleSetting, knownUpTo place: Revision) {
        guard let index = writes.firstIndex(where: { $0.ticket == ticket }) else { return }
        let next = remove(at: index)
        removeSettled(upTo: place)
        refresh(from: max(next, writes.startIndex), over: confirmed)
    }

    /// Notes that a write was acknowledged, at a place.
    mutating func settle(_ ticket: RequestKey, at place: Revision) {
        guard var index = writes.firstIndex(where: { $0.ticket == ticket && $0.settledAt == nil }) else { return }
        // All that one write does to a key stands together, and only the last of it is seen.
        while index + 1 < writes.endIndex, writes[index + 1].ticket == ticket { index = remove(at: index) }
        writes[index].settledAt = place
        settledCount += 1
        // Of two beside each other the one that was done later says what is there, so they never become many.
        if index + 1 < writes.endIndex, let above = writes[index + 1].settledAt {
            if above < place { _ = remove(at: index + 1) } else { index = remove(at: index) }
        }
        if index > writes.startIndex, let below = writes[index - 1].settledAt, let own = writes[index].settledAt {
            _ = remove(at: below <= own ? index - 1 : index)
        }
    }

    /// Ends those that were acknowledged up to this place, at nil all that were acknowledged.
    ///
    /// One that has others before it stays while they are under way: they may have been done before it, and would be
    /// seen again.
    mutating func removeSettled(upTo place: Revision?) {
        guard hasSettled else { return }
        guard let place else {
            writes.removeAll { $0.settledAt != nil }
            settledCount = 0
            return
        }
        while let settled = writes.first?.settledAt, settled <= place { _ = remove(at: writes.startIndex) }
    }

    /// Returns where the write is that was behind it.
    private mutating func remove(at index: Int) -> Int {
        if writes[index].settledAt != nil { settledCount -= 1 }
        guard index == writes.startIndex else {
            writes.remove(at: index)
            return index
        }
        writes.removeFirst()
        // What was taken is let go of now.
        if writes.isEmpty { writes = [] }
        return writes.startIndex
    }

    /// Takes into account that only now it is known what is below all of them.
    ///
    /// Later news of that are left out of account: they may tell of these very writes, before their answers come.
    mutating func refresh(over confirmed: VisibleSetting) {
        refresh(from: writes.startIndex, over: confirmed)
    }

    /// What is seen of a write depends on nothing but itself and what is seen below: from where that stays, all does.
    private mutating func refresh(from first: Int, over confirmed: VisibleSetting) {
        guard first < writes.endIndex else { return }
        for index in writes[first...].indices {
            let below = index == writes.startIndex ? confirmed : writes[index - 1].seen
            let seen = writes[index].effect.seen(over: below)
            if seen == writes[index].seen { return }
            writes[index].seen = seen
        }
    }
}
