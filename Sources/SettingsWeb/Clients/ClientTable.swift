internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// The clients of all suites. A value without locks and clocks: every method gets the time as a parameter. Each method
/// that records a report takes constant time, apart from clients that expire or are dropped. The methods in
/// `ClientSlots.swift` add and remove clients. ``ClientRegistry`` owns the table.
struct ClientTable: Sendable {
    struct Limits: Sendable {
        var clientsPerSuite = 10_000
        var clients = 100_000
    }

    /// The time of a call, by both clocks.
    struct Time: Sendable {
        /// The nanoseconds of the monotonic clock.
        let monotonic: UInt64
        let wall: Timestamp
    }

    /// An element of the table. A removed client leaves an unused slot, which a later client reuses.
    struct Slot: Sendable {
        var client: SuiteClient?
        var suite: Int32
        var presence: ClientPresence
        /// Increases with each new client of the table.
        var number: UInt32
        var links = InlineArray<2, ClientList.Links>(repeating: ClientList.Links())
    }

    struct SuiteClients: Sendable {
        let name: SuiteName
        var slots: [ClientName: Int32] = [:]
        var lists = ClientLists()
        /// Changes with each report that may change which clients have applied a state.
        var version: UInt64
        /// The revision up to which the commits were searched for a drop of the suite.
        var searchedRevision: Revision
        /// The subjects of the clients, with the number of clients that have the subject.
        var subjects: [WatchSubject: (subject: ClientSubject, count: Int)] = [:]
        /// The number of clients that are not gone and watch the whole suite.
        var wholeSuiteCount = 0
        var progress: RolloutProgress?
    }

    /// The nanoseconds for which a client is listed after it is gone: a day.
    static let listingTime: UInt64 = 86_400_000_000_000
    /// The maximum nanoseconds for which ended watches are collected.
    private static let collectionTime: UInt64 = 1_000_000_000
    /// The maximum number of clients that expire in one call that records a report.
    private static let expiriesPerReport = 256

    /// The nanoseconds after which a client that is not seen is gone.
    var forgetTime: UInt64
    /// The number of clients that were dropped because of the limits.
    var droppedCount = 0
    var rolloutTimes = RolloutTimes()
    let limits: Limits
    /// The history to which all stored revisions belong.
    var epoch: Epoch?
    var slots: [Slot] = []
    var unusedSlots: [Int32] = []
    var suites: [SuiteClients?] = []
    var unusedSuites: [Int32] = []
    var suiteIndexes: [SuiteName: Int32] = [:]
    var lists = ClientLists()
    /// The clients whose watches have ended, in the order of the ends. They are still in the list `waiting`, because most
    /// of them watch again at once. If each end moved its client, waking 9,000 watchers that report would take 51 ms
    /// instead of 46 ms.
    private var endedWatches: [(id: ClientID, time: UInt64)] = []
    var lastVersion: UInt64 = 0
    var lastNumber: UInt32 = 0

    init(forgetTime: UInt64, limits: Limits = Limits()) {
        (self.forgetTime, self.limits) = (forgetTime, limits)
    }

    /// The number of clients.
    var count: Int { lists.count }
    var suiteNames: [SuiteName] { Array(suiteIndexes.keys) }
}

/// Methods that record reports.
extension ClientTable {
    /// Records a report in each of the suites, or in none of them if the name belongs to another credential.
    ///
    /// - Parameter startsWatch: true if the client is seen until `endWatch` is called with the result.
    mutating func record(
        _ sighting: ClientSighting, of names: [SuiteName], startsWatch: Bool, on state: State, at now: Time
    ) throws(ClientNameConflict) -> [ClientID] {
        adopt(state)
        if !startsWatch { moveEndedWatches() }
        expire(at: now, atMost: Self.expiriesPerReport)
        for name in names { try checkName(of: sighting, in: name, at: now) }
        return names.map { record(sighting, of: $0, startsWatch: startsWatch, on: state, at: now) }
    }

    func checkName(
        of sighting: ClientSighting, in suite: SuiteName, at now: Time
    ) throws(ClientNameConflict) {
        guard let caller = sighting.caller, let index = slotIndex(of: sighting.name, in: suite),
            let client = slots[Int(index)].client, let owner = client.caller, !owner.hasSameBytes(as: caller)
        else { return }
        let start = client.watchCount > 0 ? now.monotonic : client.lastSeen
        guard start + forgetTime > now.monotonic else { return }
        let remaining = Int64((start + forgetTime - now.monotonic) / 1_000_000)
        throw ClientNameConflict(
            name: sighting.name, suite: suite, end: Timestamp(milliseconds: now.wall.milliseconds + remaining))
    }

    mutating func record(
        _ sighting: ClientSighting, of name: SuiteName, startsWatch: Bool, on state: State, at now: Time
    ) -> ClientID {
        removeClients(ofDropped: name, on: state, at: now)
        beginProgress(of: name, on: state, at: now)
        let index = slotIndex(for: sighting, of: name, on: state, at: now)
        setSubject(of: index, to: sighting, of: name)
        let suite = Int(slots[Int(index)].suite)
        let target = suites[suite]?.progress?.target
        let hadTarget = target.map { slots[Int(index)].client?.hasApplied($0) ?? false } ?? true
        slots[Int(index)].client?.peer = sighting.peer
        slots[Int(index)].client?.lastSeen = now.monotonic
        if startsWatch { slots[Int(index)].client?.watchCount += 1 }
        if slots[Int(index)].client?.apply(sighting.report, at: state.baseCursor) ?? false { changeVersion(of: suite) }
        if let target, !hadTarget, let client = slots[Int(index)].client, client.hasApplied(target),
            isMeasured(index, in: suite)
        {
            suites[suite]?.progress?.addApplied(at: now.wall, to: &rolloutTimes)
        }
        move(index, to: slots[Int(index)].client?.watchCount ?? 0 > 0 ? .waiting : .idle)
        return ClientID(slot: index, number: slots[Int(index)].number)
    }

    /// Ends a watch. The client is seen now for the last time, unless another watch waits.
    mutating func endWatch(_ id: ClientID, at now: UInt64) {
        let index = Int(id.slot)
        guard slots[index].number == id.number, slots[index].client != nil else { return }
        slots[index].client?.lastSeen = now
        slots[index].client?.watchCount -= 1
        if slots[index].client?.watchCount == 0 { endedWatches.append((id, now)) }
    }

    /// Moves the clients whose watches have ended to the list `idle`, unless they watch again. Must be called before
    /// other clients are appended to the list, which is ordered by `lastSeen`.
    mutating func moveEndedWatches() {
        guard !endedWatches.isEmpty else { return }
        for (id, time) in endedWatches {
            let slot = slots[Int(id.slot)]
            guard slot.number == id.number, let client = slot.client, client.watchCount == 0, client.lastSeen == time
            else { continue }
            move(id.slot, to: .idle)
        }
        endedWatches = []
    }

    /// Forgets all reported states if the state belongs to another history.
    mutating func adopt(_ state: State) {
        let present = state.baseCursor.epoch
        guard epoch != present else { return }
        epoch = present
        for index in slots.indices { slots[index].client?.forgetReports() }
        for index in suites.indices where suites[index] != nil {
            changeVersion(of: index)
            suites[index]?.progress = nil
        }
    }

    /// Removes the clients of a suite that was dropped, even if the suite was created again. Clients whose watches wait
    /// for the new suite remain, without their reports.
    mutating func removeClients(ofDropped name: SuiteName, on state: State, at now: Time) {
        guard let index = suiteIndexes[name].map(Int.init), let searched = suites[index]?.searchedRevision else {
            return
        }
        suites[index]?.searchedRevision = max(searched, state.revision)
        guard state.lastDropRevision > searched else { return }
        let isDropped =
            !state.hasSuite(name)
            || state.history.commits(of: name, after: searched).contains { $0.commit.drops(name) }
        guard isDropped else { return }
        moveEndedWatches()
        forEachIndex(of: index, .waiting) { table, client in table.slots[Int(client)].client?.forgetReports() }
        changeVersion(of: index)
        suites[index]?.progress = nil
        for presence in [ClientPresence.gone, .idle] {
            forEachIndex(of: index, presence) { table, client in table.remove(client, at: now) }
        }
    }

    /// Moves clients that were not seen for `forgetTime` to the gone clients, and removes gone clients after a day.
    mutating func expire(at now: Time, atMost maximum: Int = .max) {
        if maximum == .max || endedWatches.first.map({ $0.time + Self.collectionTime < now.monotonic }) ?? false {
            moveEndedWatches()
        }
        var remaining = maximum
        while remaining > 0, let index = expired(.idle, after: forgetTime, at: now) {
            removeFromProgress(index, at: now)
            move(index, to: .gone)
            remaining -= 1
        }
        while remaining > 0, let index = expired(.gone, after: forgetTime + Self.listingTime, at: now) {
            remove(index, at: now)
            remaining -= 1
        }
    }

    /// Returns the client that was seen longest ago if that was at least `time` ago.
    func expired(_ presence: ClientPresence, after time: UInt64, at now: Time) -> Int32? {
        let index = lists[presence].first
        guard index != ClientList.none, let client = slots[Int(index)].client,
            client.lastSeen + time <= now.monotonic
        else { return nil }
        return index
    }
}

/// Methods that read the clients of a suite.
extension ClientTable {
    /// A number that changes with each report that may change which clients have applied a state; nil without clients.
    func version(of suite: SuiteName) -> UInt64? { suiteIndexes[suite].flatMap { suites[Int($0)]?.version } }

    func count(of suite: SuiteName) -> Int { suiteIndexes[suite].flatMap { suites[Int($0)]?.lists.count } ?? 0 }

    /// True if at least one client of the suite watches only some keys.
    func hasSubjects(in suite: SuiteName) -> Bool {
        !(suiteIndexes[suite].flatMap { suites[Int($0)]?.subjects.isEmpty } ?? true)
    }

    /// Visits the clients of a suite with the given presences.
    func forEach(in suite: SuiteName, _ presences: [ClientPresence], _ body: (borrowing SuiteClient) -> Void) {
        guard let lists = suiteIndexes[suite].flatMap({ suites[Int($0)]?.lists }) else { return }
        for presence in presences {
            var index = lists[presence].first
            while index != ClientList.none {
                if let client = slots[Int(index)].client { body(client) }
                index = slots[Int(index)].links[ClientList.Scope.suite.rawValue].next
            }
        }
    }

    /// Returns all clients of a suite, in any order.
    func clients(of suite: SuiteName) -> [ListedClient] {
        [ClientPresence.waiting, .idle, .gone].flatMap { presence in
            var clients: [ListedClient] = []
            forEach(in: suite, [presence]) { clients.append(ListedClient(client: copy $0, presence: presence)) }
            return clients
        }
    }

    /// Returns a client that was just recorded.
    func client(_ id: ClientID) -> ListedClient? {
        let slot = slots[Int(id.slot)]
        return slot.client.map { ListedClient(client: $0, presence: slot.presence) }
    }

    /// Calls the body with each client in a list of a suite. The body may remove the client.
    mutating func forEachIndex(
        of suite: Int, _ presence: ClientPresence, _ body: (inout ClientTable, Int32) -> Void
    ) {
        var index = suites[suite]?.lists[presence].first ?? ClientList.none
        while index != ClientList.none {
            let next = slots[Int(index)].links[ClientList.Scope.suite.rawValue].next
            body(&self, index)
            index = next
        }
    }
}

extension Commit {
    fileprivate func drops(_ suite: SuiteName) -> Bool {
        suiteChanges.contains { change in
            if case .dropped = change.kind { change.suite == suite } else { false }
        }
    }
}
