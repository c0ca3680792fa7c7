internal import SettingsHTTP
internal import SettingsModel

/// What an outbox is about at the moment. It starts no threads and sends nothing.
struct OutboxState: Sendable {
    /// Why nothing is tried for a while.
    enum Pause: Hashable, Sendable {
        /// Nobody was there.
        case away
        /// Somebody is there who takes nothing.
        case stalled
    }

    var store: OutboxStore
    /// How many at the end have not been told of yet.
    var untold = 0
    /// Why the first of them waits.
    var reason = ""
    /// Nil while what waits is sent.
    private(set) var pause: Pause?
    /// Whether an attempt is planned or under way.
    private(set) var isPlanned = false
    /// The attempt that was planned last; an earlier one whose time comes does nothing.
    private(set) var plan = 0
    /// How many have ended.
    private(set) var endedNumber = 0
    private var backOff = BackOff()
    private var isStallTold = false
    /// What of others cannot be used, as far as it was told.
    private var troubles: Set<OutboxFolder.Trouble> = []
    /// Writes whose setters have not returned yet, and what became of those that have ended.
    private var awaited: [RequestKey: Result<WriteSummary, BackendError>?] = [:]
    /// Whether setters wait for what they write to be sent: not after one waited in vain, until nothing is left.
    private var isPatient = true

    init(_ store: OutboxStore) {
        self.store = store
    }

    /// What is to be sent now; nil if that is nothing, so that nothing is planned any more.
    mutating func next() -> KeptWrite? {
        // What is being told of just now plans the next step afterwards.
        guard store.count > untold, let first = store.first else {
            isPlanned = false
            return nil
        }
        return first
    }

    /// Whether something is to be planned, as something may be sent.
    var needsPlan: Bool { !isPlanned && store.count > untold }

    /// The number of the last that waits, as they are counted when they end.
    var lastNumber: Int { endedNumber + store.count }

    /// Plans an attempt; its number.
    mutating func planNext(_ pause: Pause? = nil) -> Int {
        self.pause = pause
        isPlanned = true
        plan += 1
        return plan
    }

    /// An attempt was in vain: how long to pause, and whether there is something to tell of that. Nil if all was sent
    /// meanwhile: nothing is left that could be tried later.
    mutating func fail(
        _ reason: String, atLeast asked: Duration, isAnswer: Bool, using generator: inout some RandomNumberGenerator
    ) -> (pause: Duration, stall: String?)? {
        guard !store.isEmpty else { return nil }
        self.reason = reason
        let pause = backOff.next(notBefore: asked, using: &generator)
        guard isAnswer, !isStallTold else { return (pause, nil) }
        isStallTold = true
        let what =
            store.count == 1
            ? "a write waits, as it is not taken" : "\(store.count) writes wait, as the first is not taken"
        return (pause, "\(what): \(reason)")
    }

    /// The first write has ended. False if none is left.
    mutating func endFirst() -> Bool {
        store.endFirst()
        endedNumber += 1
        backOff.reset()
        pause = nil
        isStallTold = false
        guard store.isEmpty else { return true }
        isPatient = true
        isPlanned = false
        return false
    }

    /// The troubles that were not told before.
    mutating func new(_ troubles: [OutboxFolder.Trouble]) -> [OutboxFolder.Trouble] {
        troubles.filter { self.troubles.insert($0).inserted }
    }
}

/// Setters that have not returned.
extension OutboxState {
    /// A setter waits for its write, if it is likely to be sent soon.
    mutating func await(_ requestKey: RequestKey) {
        if pause == nil, isPatient { awaited[requestKey] = .some(nil) }
    }

    /// Whether a setter waits and does not know what it waits for.
    func isAwaited(_ requestKey: RequestKey) -> Bool {
        if case .some(nil) = awaited[requestKey] { true } else { false }
    }

    /// A write has ended: whether a setter is told so.
    mutating func answer(_ requestKey: RequestKey, _ result: Result<WriteSummary, BackendError>) -> Bool {
        guard isAwaited(requestKey) else { return false }
        awaited[requestKey] = .some(result)
        return true
    }

    /// A setter does not wait any more. Nil if its write is not done yet.
    mutating func stopWaiting(for requestKey: RequestKey) -> Result<WriteSummary, BackendError>? {
        guard let result = awaited.removeValue(forKey: requestKey) else { return nil }
        if result == nil, pause == nil { isPatient = false }
        return result
    }
}
