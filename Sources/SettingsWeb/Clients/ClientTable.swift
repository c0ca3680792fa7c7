internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// The clients of all suites. A value without locks and clocks: every method gets the time as a parameter.
///
/// A client is present if a watch of the client waits, or if it was seen within `forgetTime`. Otherwise it is gone. A
/// gone client is listed for a day.
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

    /// An object for each client makes the table smaller, because a dictionary has up to three times as much space for
    /// values as it uses.
    private final class Box: Sendable {
        let client: SuiteClient

        init(_ client: SuiteClient) { self.client = client }
    }

    private struct SuiteClients: Sendable {
        var clients: [ClientName: Box] = [:]
        /// Changes when an applied state, a failure or the set of clients changes.
        var version: UInt64 = 0
        var progress: RolloutProgress?
        var oldest = OldestClients()
    }

    /// The nanoseconds for which a client is listed after it is gone: a day.
    static let listingTime: UInt64 = 86_400_000_000_000

    /// The nanoseconds after which a client that is not seen is gone.
    var forgetTime: UInt64
    /// The number of clients of all suites.
    private(set) var count = 0
    /// The number of clients that were dropped because of the limits.
    private(set) var droppedCount = 0
    private(set) var rolloutTimes = RolloutTimes()
    private let limits: Limits
    /// The history to which all stored revisions belong.
    private var epoch: Epoch?
    private var suites: [SuiteName: SuiteClients] = [:]
    private var oldest = OldestClients()
    /// The clients that report to other daemons.
    private var peers = PeerClients()
    private var peersVersion: UInt64 = 0
    private(set) var lastVersion: UInt64 = 0
    private var lastNumber: UInt32 = 0

    init(forgetTime: UInt64, limits: Limits = Limits()) {
        (self.forgetTime, self.limits) = (forgetTime, limits)
    }
}

/// A client, and whether it was present at the time of the call that returned it.
struct ListedClient: Sendable {
    var client: SuiteClient
    let isPresent: Bool
    /// The daemon that the client reports to; nil for this daemon.
    var daemon: String?
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
    /// - Parameter startsWatch: true if the client is seen until `endWatch` of the result is called.
    mutating func record(
        _ sighting: ClientSighting, of names: [SuiteName], startsWatch: Bool, on state: State, at now: Time
    ) throws(ClientNameConflict) -> [ClientPresence] {
        adopt(state)
        for name in names { try checkName(of: sighting, in: name, at: now) }
        return names.map { record(sighting, of: $0, startsWatch: startsWatch, on: state, at: now) }
    }

    private func checkName(
        of sighting: ClientSighting, in suite: SuiteName, at now: Time
    ) throws(ClientNameConflict) {
        let own = suites[suite]?.clients[sighting.name].flatMap { box in
            box.client.isPresent(at: now.monotonic, forgetTime: forgetTime) ? box.client : nil
        }
        let other = peers.suites[suite]?[sighting.name].flatMap { $0.isPresent ? $0.client : nil }
        guard let client = own ?? other, !client.belongs(to: sighting.caller) else { return }
        let end = (client.presence.isWaiting ? now.monotonic : client.presence.lastSeen) + forgetTime
        let remaining = Int64((max(end, now.monotonic) - now.monotonic) / 1_000_000)
        throw ClientNameConflict(
            name: sighting.name, suite: suite, end: Timestamp(milliseconds: now.wall.milliseconds + remaining))
    }

    private mutating func record(
        _ sighting: ClientSighting, of suite: SuiteName, startsWatch: Bool, on state: State, at now: Time
    ) -> ClientPresence {
        beginProgress(of: suite, on: state, at: now)
        let isNew = addIfNew(sighting, to: suite, at: now)
        // With the indices, the names are not hashed again.
        guard let suiteIndex = suites.index(forKey: suite),
            let index = suites.values[suiteIndex].clients.index(forKey: sighting.name)
        else { preconditionFailure("the client was added above") }
        var client = suites.values[suiteIndex].clients.values[index].client
        let wasPresent = !isNew && client.isPresent(at: now.monotonic, forgetTime: forgetTime)
        client.see(sighting, in: suite, startsWatch: startsWatch, at: now.monotonic)
        let lacksTarget = suites.values[suiteIndex].progress?.isMissing(client) ?? false
        let isChanged = client.apply(sighting.report, at: state.baseCursor)
        suites.values[suiteIndex].clients.values[index] = Box(client)
        if lacksTarget { suites.values[suiteIndex].progress?.add(client, at: now.wall, to: &rolloutTimes) }
        if isChanged || !wasPresent {
            lastVersion += 1
            suites.values[suiteIndex].version = lastVersion
        }
        return client.presence
    }

    /// Adds the client that reports, unless the suite has it. Returns false if the suite has it.
    private mutating func addIfNew(_ sighting: ClientSighting, to suite: SuiteName, at now: Time) -> Bool {
        if let former = suites[suite]?.clients[sighting.name]?.client {
            guard !former.belongs(to: sighting.caller) else { return false }
        } else {
            makeRoom(in: suite)
            count += 1
        }
        lastNumber &+= 1
        let client = SuiteClient(sighting, number: lastNumber, at: now)
        suites[suite, default: SuiteClients()].clients[sighting.name] = Box(client)
        return true
    }

    /// Forgets all reported states if the state belongs to another history.
    mutating func adopt(_ state: State) {
        let present = state.baseCursor.epoch
        guard epoch != present else { return }
        epoch = present
        for suite in suites.keys {
            let clients = suites[suite]?.clients.mapValues { box in
                var client = box.client
                client.forgetReports()
                return Box(client)
            }
            suites[suite]?.clients = clients ?? [:]
            suites[suite]?.progress = nil
            changeVersion(of: suite)
        }
    }

    /// Removes the clients of a suite that were gone for a day.
    mutating func removeExpired(of suite: SuiteName, at now: UInt64) {
        let maximumAge = forgetTime + Self.listingTime
        let expired = suites[suite]?.clients.values.filter {
            !$0.client.isPresent(at: now, forgetTime: maximumAge)
        }
        for box in expired ?? [] { remove(box.client.name, of: suite) }
    }

    private mutating func remove(_ name: ClientName, of suite: SuiteName) {
        guard suites[suite]?.clients.removeValue(forKey: name) != nil else { return }
        count -= 1
        changeVersion(of: suite)
        if suites[suite]?.clients.isEmpty ?? false { suites[suite] = nil }
    }

    private mutating func changeVersion(of suite: SuiteName) {
        lastVersion += 1
        suites[suite]?.version = lastVersion
    }

    /// Begins to measure how long clients take to apply the last commit, at the first report after the commit.
    private mutating func beginProgress(of name: SuiteName, on state: State, at now: Time) {
        guard let target = state.suite(name)?.revision, let index = suites.index(forKey: name),
            suites.values[index].progress?.target != target,
            suites.values[index].progress?.mayBeReplaced(at: now.wall, clientCount: suites.values[index].clients.count)
                ?? true
        else { return }
        let suite = suites.values[index]
        suites[name]?.progress = state.history.commit(target).map { retained in
            var progress = RolloutProgress(
                of: target, committed: retained.commit.time, start: now.wall, lastClient: lastNumber)
            for box in suite.clients.values
            where box.client.isPresent(at: now.monotonic, forgetTime: forgetTime) && progress.isMissing(box.client) {
                progress.addClient()
            }
            return progress
        }
    }
}

/// The clients to drop next: the clients that the daemon saw longest ago. A search visits all clients, so one search
/// finds up to 100 candidates. A client with a waiting watch is dropped last.
private struct OldestClients: Sendable {
    struct Candidate: Sendable {
        let suite: SuiteName
        let name: ClientName
        let number: UInt32
        let isWaiting: Bool
        let lastSeen: UInt64

        func isOlder(than other: Candidate) -> Bool {
            isWaiting == other.isWaiting ? lastSeen < other.lastSeen : other.isWaiting
        }
    }

    private static let maximumCount = 100

    /// Sorted; the oldest client is the last.
    var candidates: [Candidate] = []

    mutating func add(_ candidate: Candidate) {
        if candidates.count == Self.maximumCount {
            guard let newest = candidates.first, candidate.isOlder(than: newest) else { return }
            candidates.removeFirst()
        }
        let index = candidates.firstIndex { !candidate.isOlder(than: $0) } ?? candidates.count
        candidates.insert(candidate, at: index)
    }

    /// Removes waiting clients, because a client that does not wait at the time of a later drop is dropped first. If
    /// all clients wait, keeps only the candidate of the first drop.
    mutating func keepFirstDrops() {
        guard let first = candidates.last else { return }
        if first.isWaiting { candidates = [first] } else { candidates.removeAll(where: \.isWaiting) }
    }
}

/// The limits of the number of clients.
extension ClientTable {
    /// Drops clients so that the suite may get another client.
    private mutating func makeRoom(in suite: SuiteName) {
        if let clients = suites[suite]?.clients, clients.count >= limits.clientsPerSuite {
            var oldest = suites[suite]?.oldest ?? OldestClients()
            dropOldest(&oldest, among: [suite])
            suites[suite]?.oldest = oldest
        }
        if count >= limits.clients {
            var oldest = oldest
            dropOldest(&oldest, among: Array(suites.keys))
            self.oldest = oldest
        }
    }

    /// Drops the client of the suites that was seen longest ago.
    private mutating func dropOldest(_ oldest: inout OldestClients, among names: [SuiteName]) {
        while true {
            if oldest.candidates.isEmpty {
                for suite in names {
                    suites[suite]?.clients.values.forEach { oldest.add(candidate($0.client, of: suite)) }
                }
                oldest.keepFirstDrops()
            }
            guard let candidate = oldest.candidates.popLast() else { return }
            // A client that was seen after the search is no longer among the oldest clients.
            guard let client = suites[candidate.suite]?.clients[candidate.name]?.client,
                client.number == candidate.number,
                client.presence.isWaiting == candidate.isWaiting, client.presence.lastSeen == candidate.lastSeen
            else { continue }
            droppedCount += 1
            return remove(candidate.name, of: candidate.suite)
        }
    }

    private func candidate(_ client: SuiteClient, of suite: SuiteName) -> OldestClients.Candidate {
        OldestClients.Candidate(
            suite: suite, name: client.name, number: client.number, isWaiting: client.presence.isWaiting,
            lastSeen: client.presence.lastSeen)
    }
}

/// Methods that read the clients of a suite. If a client with the same name reports to this daemon and to another
/// daemon, they return the present client.
extension ClientTable {
    /// The suites with clients that report to this daemon.
    var suiteNames: [SuiteName] { Array(suites.keys) }
    var sources: [PeerClients.Source] { peers.sources }

    /// A number that changes when an applied state, a failure or the set of clients changes.
    func version(of suite: SuiteName) -> UInt64 { max(suites[suite]?.version ?? 0, peersVersion) }

    func count(of suite: SuiteName) -> Int {
        (suites[suite]?.clients.count ?? 0) + (peers.suites[suite]?.count ?? 0)
    }

    func forEachPresent(in suite: SuiteName, at now: UInt64, _ body: (borrowing SuiteClient) -> Void) {
        if peers.suites[suite] == nil, let clients = suites[suite]?.clients {
            for box in clients.values where box.client.isPresent(at: now, forgetTime: forgetTime) { body(box.client) }
        } else {
            for listed in clients(of: suite, at: now) where listed.isPresent { body(listed.client) }
        }
    }

    /// Returns all clients of a suite, in any order.
    func clients(of suite: SuiteName, at now: UInt64) -> [ListedClient] {
        let own = ownClients(of: suite, at: now)
        guard var clients = peers.suites[suite] else { return own }
        for listed in own where clients[listed.client.name]?.isReplaced(by: listed) ?? true {
            clients[listed.client.name] = listed
        }
        return Array(clients.values)
    }

    /// Returns the clients of a suite that report to this daemon.
    func ownClients(of suite: SuiteName, at now: UInt64) -> [ListedClient] {
        suites[suite]?.clients.values.map {
            ListedClient(client: $0.client, isPresent: $0.client.isPresent(at: now, forgetTime: forgetTime))
        } ?? []
    }

    /// Returns a client that has just reported to this daemon.
    func ownClient(_ name: ClientName, of suite: SuiteName) -> ListedClient? {
        suites[suite]?.clients[name].map { ListedClient(client: $0.client, isPresent: true) }
    }

    /// Replaces the clients that report to other daemons.
    mutating func setPeers(_ peers: PeerClients) {
        self.peers = peers
        lastVersion += 1
        peersVersion = lastVersion
    }
}
