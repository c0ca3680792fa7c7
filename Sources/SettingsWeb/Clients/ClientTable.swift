internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// The clients of all suites. A value without locks and clocks: every method gets the time as a parameter. Each method
/// that records a report takes constant time, apart from clients that expire or are dropped.
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
        fileprivate(set) var client: SuiteClient?
        fileprivate(set) var suite: Int32
        fileprivate(set) var presence: ClientPresence
        /// Increases with each new client of the table.
        fileprivate(set) var number: UInt32
        var links = InlineArray<2, ClientList.Links>(repeating: ClientList.Links())
    }

    private struct SuiteClients: Sendable {
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
    /// The maximum number of clients that expire in one call that records a report.
    private static let expiriesPerReport = 256

    /// The nanoseconds after which a client that is not seen is gone.
    var forgetTime: UInt64
    /// The number of clients that were dropped because of the limits.
    private(set) var droppedCount = 0
    private(set) var rolloutTimes = RolloutTimes()
    private let limits: Limits
    /// The history to which all stored revisions belong.
    private var epoch: Epoch?
    private var slots: [Slot] = []
    private var unusedSlots: [Int32] = []
    private var suites: [SuiteClients?] = []
    private var unusedSuites: [Int32] = []
    private var suiteIndexes: [SuiteName: Int32] = [:]
    private var lists = ClientLists()
    private var lastVersion: UInt64 = 0
    private var lastNumber: UInt32 = 0

    init(forgetTime: UInt64, limits: Limits = Limits()) {
        (self.forgetTime, self.limits) = (forgetTime, limits)
    }

    /// The number of clients.
    var count: Int { lists.count }
    var suiteNames: [SuiteName] { Array(suiteIndexes.keys) }
}

/// Identifies a client for the watch that reports for it. The number distinguishes the client from a later client in the
/// same slot.
struct ClientID: Sendable {
    fileprivate let slot: Int32
    fileprivate let number: UInt32
}

/// A client with its presence at the time of the call that returned it.
struct ListedClient: Sendable {
    let client: SuiteClient
    let presence: ClientPresence
}

/// The error for a report with a name that belongs to another credential.
struct ClientNameConflict: Error {
    let name: ClientName
    let suite: SuiteName
    /// The earliest time at which the name is free.
    let end: Timestamp
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
        expire(at: now, atMost: Self.expiriesPerReport)
        for name in names { try checkName(of: sighting, in: name, at: now) }
        return names.map { record(sighting, of: $0, startsWatch: startsWatch, on: state, at: now) }
    }

    private func checkName(
        of sighting: ClientSighting, in suite: SuiteName, at now: Time
    ) throws(ClientNameConflict) {
        guard let caller = sighting.caller, let index = slotIndex(of: sighting.name, in: suite),
            let client = slots[Int(index)].client, let owner = client.caller, !owner.hasSameBytes(as: caller)
        else { return }
        let start = slots[Int(index)].presence == .waiting ? now.monotonic : client.lastSeen
        guard start + forgetTime > now.monotonic else { return }
        let remaining = Int64((start + forgetTime - now.monotonic) / 1_000_000)
        throw ClientNameConflict(
            name: sighting.name, suite: suite, end: Timestamp(milliseconds: now.wall.milliseconds + remaining))
    }

    private mutating func record(
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
        if slots[index].client?.watchCount == 0 { move(id.slot, to: .idle) }
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
        forEachIndex(of: index, .waiting) { table, client in table.slots[Int(client)].client?.forgetReports() }
        changeVersion(of: index)
        suites[index]?.progress = nil
        for presence in [ClientPresence.gone, .idle] {
            forEachIndex(of: index, presence) { table, client in table.remove(client, at: now) }
        }
    }

    /// Moves clients that were not seen for `forgetTime` to the gone clients, and removes gone clients after a day.
    mutating func expire(at now: Time, atMost maximum: Int = .max) {
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
    private func expired(_ presence: ClientPresence, after time: UInt64, at now: Time) -> Int32? {
        let index = lists[presence].first
        guard index != ClientList.none, let client = slots[Int(index)].client,
            client.lastSeen + time <= now.monotonic
        else { return nil }
        return index
    }
}

/// Adding and removing clients.
extension ClientTable {
    private func slotIndex(of client: ClientName, in suite: SuiteName) -> Int32? {
        suiteIndexes[suite].flatMap { suites[Int($0)]?.slots[client] }
    }

    /// Returns the slot of the client that reports. Adds the client if it is new, or if its name belonged to another
    /// credential.
    private mutating func slotIndex(
        for sighting: ClientSighting, of name: SuiteName, on state: State, at now: Time
    ) -> Int32 {
        if let index = slotIndex(of: sighting.name, in: name) {
            guard let owner = slots[Int(index)].client?.caller, let caller = sighting.caller,
                !owner.hasSameBytes(as: caller)
            else { return index }
            remove(index, at: now)
        }
        if let lists = suiteIndexes[name].flatMap({ suites[Int($0)]?.lists }), lists.count >= limits.clientsPerSuite {
            drop(lists.oldest, at: now)
        }
        if count >= limits.clients { drop(lists.oldest, at: now) }
        let suite = suiteIndex(of: name, on: state)
        let client = SuiteClient(
            sighting.name, sighting.caller, from: sighting.peer, since: now.wall, seen: now.monotonic)
        lastNumber &+= 1
        let slot = Slot(client: client, suite: suite, presence: .idle, number: lastNumber)
        let index = unusedSlots.popLast() ?? Int32(slots.count)
        if Int(index) == slots.count { slots.append(slot) } else { slots[Int(index)] = slot }
        suites[Int(suite)]?.slots[sighting.name] = index
        link(index)
        suites[Int(suite)]?.wholeSuiteCount += 1
        changeVersion(of: Int(suite))
        return index
    }

    private mutating func suiteIndex(of name: SuiteName, on state: State) -> Int32 {
        if let index = suiteIndexes[name] { return index }
        lastVersion += 1
        let suite = SuiteClients(name: name, version: lastVersion, searchedRevision: state.revision)
        let index = unusedSuites.popLast() ?? Int32(suites.count)
        if Int(index) == suites.count { suites.append(suite) } else { suites[Int(index)] = suite }
        suiteIndexes[name] = index
        return index
    }

    /// Removes a client because of the limits.
    private mutating func drop(_ index: Int32, at now: Time) {
        droppedCount += 1
        remove(index, at: now)
    }

    private mutating func remove(_ index: Int32, at now: Time) {
        guard let client = slots[Int(index)].client else { return }
        let suite = Int(slots[Int(index)].suite)
        removeFromProgress(index, at: now)
        setSubject(of: index, to: nil)
        unlink(index)
        if slots[Int(index)].presence != .gone { suites[suite]?.wholeSuiteCount -= 1 }
        slots[Int(index)].client = nil
        unusedSlots.append(index)
        changeVersion(of: suite)
        suites[suite]?.slots[client.name] = nil
        guard let remaining = suites[suite], remaining.slots.isEmpty else { return }
        suiteIndexes[remaining.name] = nil
        suites[suite] = nil
        unusedSuites.append(Int32(suite))
    }

    /// Moves a client to the end of a list.
    private mutating func move(_ index: Int32, to presence: ClientPresence) {
        let former = slots[Int(index)].presence
        unlink(index)
        slots[Int(index)].presence = presence
        link(index)
        guard (former == .gone) != (presence == .gone) else { return }
        let suite = Int(slots[Int(index)].suite)
        changeVersion(of: suite)
        if slots[Int(index)].client?.subject == nil {
            suites[suite]?.wholeSuiteCount += presence == .gone ? -1 : 1
        }
    }

    private mutating func link(_ index: Int32) {
        let presence = slots[Int(index)].presence
        lists[presence].append(index, in: &slots, .all)
        suites[Int(slots[Int(index)].suite)]?.lists[presence].append(index, in: &slots, .suite)
    }

    private mutating func unlink(_ index: Int32) {
        let presence = slots[Int(index)].presence
        lists[presence].remove(index, in: &slots, .all)
        suites[Int(slots[Int(index)].suite)]?.lists[presence].remove(index, in: &slots, .suite)
    }

    private mutating func changeVersion(of suite: Int) {
        lastVersion += 1
        suites[suite]?.version = lastVersion
    }

    /// Stores the keys that the client watches. A report without a watch keeps the keys of the last watch. A new client
    /// without a watch has the keys that its caller may read.
    private mutating func setSubject(of index: Int32, to sighting: ClientSighting, of name: SuiteName) {
        if sighting.filter == nil, slots[Int(index)].client?.subject != nil { return }
        setSubject(
            of: index, to: ClientSubject.part(of: name, sighting.filter ?? .everything, for: sighting.readLimits))
    }

    private mutating func setSubject(of index: Int32, to part: WatchSubject?) {
        let (former, suite) = (slots[Int(index)].client?.subject, Int(slots[Int(index)].suite))
        guard former?.subject != part else { return }
        if let former, let entry = suites[suite]?.subjects[former.subject] {
            suites[suite]?.subjects[former.subject] = entry.count > 1 ? (entry.subject, entry.count - 1) : nil
        }
        var shared: ClientSubject?
        if let part {
            let entry = suites[suite]?.subjects[part] ?? (ClientSubject(part), 0)
            suites[suite]?.subjects[part] = (entry.subject, entry.count + 1)
            shared = entry.subject
        }
        slots[Int(index)].client?.subject = shared
        changeVersion(of: suite)
        if slots[Int(index)].presence != .gone, (former == nil) != (shared == nil) {
            suites[suite]?.wholeSuiteCount += shared == nil ? 1 : -1
        }
    }
}

/// The measurement of the time that clients take to apply a commit.
extension ClientTable {
    /// Begins to measure the last commit of a suite with the first report after the commit.
    private mutating func beginProgress(of name: SuiteName, on state: State, at now: Time) {
        guard let index = suiteIndexes[name].map(Int.init), let suite = suites[index],
            let target = state.suite(name)?.revision, suite.progress?.target != target
        else { return }
        let committed = state.history.commit(target)?.commit.time
        suites[index]?.progress = committed.map { committed in
            RolloutProgress(
                of: target, committed: committed, begun: lastNumber, clientCount: suite.wholeSuiteCount)
        }
    }

    private func isMeasured(_ index: Int32, in suite: Int) -> Bool {
        let slot = slots[Int(index)]
        return slot.client?.subject == nil && suites[suite]?.progress.map { slot.number <= $0.begun } ?? false
    }

    /// Ends the measurement of a client that is gone before it has applied the last commit.
    private mutating func removeFromProgress(_ index: Int32, at now: Time) {
        let suite = Int(slots[Int(index)].suite)
        guard slots[Int(index)].presence != .gone, isMeasured(index, in: suite), let client = slots[Int(index)].client,
            let target = suites[suite]?.progress?.target, !client.hasApplied(target)
        else { return }
        suites[suite]?.progress?.removeMissing(at: now.wall, to: &rolloutTimes)
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
    private mutating func forEachIndex(
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
