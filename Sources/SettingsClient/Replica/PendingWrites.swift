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
    /// Set once it was acknowledged without saying what is there: it is shown until the replica is at this place.
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
        case .store(let value):
            return VisibleSetting(value: value, source: value == nil ? .unset : .stored, revision: nil)
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

    /// What a reader sees of the last of them; nil if there is none.
    var seen: VisibleSetting? { writes.last?.seen }

    /// Whether some wait for the replica to come to a place.
    var hasSettled: Bool { settledCount > 0 }

    /// Whether what is seen is the same whatever the daemon says.
    var covers: Bool {
        writes.reversed().contains { if case .store = $0.effect { true } else { false } }
    }

    mutating func append(_ ticket: RequestKey, _ effect: PendingWrite.Effect, over confirmed: VisibleSetting) {
        let seen = effect.seen(over: writes.last?.seen ?? confirmed)
        writes.append(PendingWrite(ticket: ticket, effect: effect, seen: seen))
    }

    /// Ends a write that does so many things to the key.
    mutating func remove(_ ticket: RequestKey, count: Int) {
        for _ in 0..<count { _ = removeOne(ticket) }
    }

    /// Takes back one thing that a write does to the key: what was done after it was done to something else.
    mutating func takeBack(_ ticket: RequestKey, over confirmed: VisibleSetting) {
        if let index = removeOne(ticket) { refresh(from: index, over: confirmed) }
    }

    /// Returns where the write was that is behind it now.
    private mutating func removeOne(_ ticket: RequestKey) -> Int? {
        guard let index = writes.firstIndex(where: { $0.ticket == ticket }) else { return nil }
        if writes[index].settledAt != nil { settledCount -= 1 }
        guard index == writes.startIndex else {
            writes.remove(at: index)
            return index
        }
        writes.removeFirst()
        return writes.startIndex
    }

    /// Has a write wait for the replica to be at a place.
    mutating func settle(_ ticket: RequestKey, at place: Revision) {
        for index in writes.indices where writes[index].ticket == ticket && writes[index].settledAt == nil {
            writes[index].settledAt = place
            settledCount += 1
        }
    }

    /// Ends those that waited for this place; nil for those that waited for any.
    mutating func removeSettled(upTo place: Revision?) {
        guard hasSettled else { return }
        writes.removeAll { write in
            guard let settled = write.settledAt else { return false }
            return place.map { settled <= $0 } ?? true
        }
        settledCount = writes.count { $0.settledAt != nil }
    }

    /// Takes into account that only now it is known what is below all of them.
    ///
    /// Later news of that are left out of account: they may tell of these very writes, before their answers come.
    mutating func refresh(over confirmed: VisibleSetting) {
        refresh(from: writes.startIndex, over: confirmed)
    }

    /// What is seen of a write depends on nothing but itself and what is seen below: from where that stays, all does.
    private mutating func refresh(from first: Int, over confirmed: VisibleSetting) {
        for index in writes[first...].indices {
            let below = index == writes.startIndex ? confirmed : writes[index - 1].seen
            let seen = writes[index].effect.seen(over: below)
            if seen == writes[index].seen { return }
            writes[index].seen = seen
        }
    }
}
