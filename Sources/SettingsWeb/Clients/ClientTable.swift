internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// The clients of all suites. Has no locks and no clocks: a method that depends on the time gets it as a parameter.
///
/// A client is present if a watch of the client waits, or if the client reported or ended a watch within `forgetTime`.
/// Otherwise the client is gone. A gone client is listed for a day, unless the table drops it earlier to stay within
/// its limits.
struct ClientTable: Sendable {
    struct Limits: Sendable {
        var clientsPerSuite = 10_000
        var clients = 100_000
    }

    /// The time of a call, by both clocks.
    struct Time: Sendable {
        /// In nanoseconds.
        let monotonic: UInt64
        let wall: Timestamp
    }

    /// A dictionary reserves up to three times as much memory for values as it uses. With an object for each client,
    /// the unused part has only pointers.
    private final class Box: Sendable {
        let client: SuiteClient

        init(_ client: SuiteClient) { self.client = client }
    }

    private struct SuiteClients: Sendable {
        var clients: [ClientName: Box] = [:]
        /// See ``ClientTable/version(of:)``.
        var version: UInt64 = 0
        /// The measurement of the last measured commit; nil if no commit is measured.
        var progress: RolloutProgress?
        var dropCandidates = DropCandidates()
    }

    /// The nanoseconds for which a client is listed after it is gone: a day.
    static let listingTime: UInt64 = 86_400_000_000_000

    /// A client is gone when this many nanoseconds have passed since its last report and the end of its last watch.
    var forgetTime: UInt64
    /// The number of clients of all suites.
    private(set) var count = 0
    /// The number of clients that were dropped because of the limits.
    private(set) var droppedCount = 0
    private(set) var rolloutTimes = RolloutTimes()
    private let limits: Limits
    /// The epoch to which the revisions in `suites` belong.
    private var epoch: Epoch?
    /// The clients that report to this daemon.
    private var suites: [SuiteName: SuiteClients] = [:]
    /// The candidates among the clients of all suites.
    private var dropCandidates = DropCandidates()
    /// The clients that report to other daemons.
    private var peers = PeerClients()
    /// The version that the last ``setPeers(_:)`` assigned.
    private var peersVersion: UInt64 = 0
    /// The last version that was assigned to a suite or to `peers`.
    private var lastVersion: UInt64 = 0
    /// The last version that was assigned to a suite. It changes whenever a client that reports to this daemon changes.
    private(set) var ownVersion: UInt64 = 0
    /// The number of the client that was added last: see ``SuiteClient/number``.
    private var lastNumber: UInt32 = 0

    init(forgetTime: UInt64, limits: Limits = Limits()) {
        (self.forgetTime, self.limits) = (forgetTime, limits)
    }
}

/// A client with the properties that a listing adds.
struct ListedClient: Sendable {
    var client: SuiteClient
    /// True if the client was present at the time of the call that returned this value.
    let isPresent: Bool
    /// The identifier of the daemon that the client reports to; nil for this daemon.
    var daemon: String?
}

/// The error for a report under a name that a present client with another credential uses.
struct ClientNameConflict: Error {
    let name: ClientName
    let suite: SuiteName
    /// The earliest time at which the other client is gone, so that the name is free.
    let end: Timestamp
}

/// Methods that record reports.
extension ClientTable {
    /// Records a report for each of the suites. If a present client with another credential uses the name in one of the
    /// suites, throws and records nothing.
    ///
    /// - Parameter startsWatch: true if a watch sends the report. The client then stays present at least until the
    ///   calling code calls `endWatch` of each element of the result.
    mutating func record(
        _ received: ReceivedReport, of names: [SuiteName], startsWatch: Bool, on state: State, at now: Time
    ) throws(ClientNameConflict) -> [ClientPresence] {
        adoptEpoch(of: state)
        for name in names { try checkName(of: received, in: name, at: now) }
        return names.map { record(received, of: $0, startsWatch: startsWatch, on: state, at: now) }
    }

    private func checkName(
        of received: ReceivedReport, in suite: SuiteName, at now: Time
    ) throws(ClientNameConflict) {
        let own = suites[suite]?.clients[received.name].flatMap { box in
            box.client.isPresent(at: now.monotonic, forgetTime: forgetTime) ? box.client : nil
        }
        let other = peers.suites[suite]?[received.name].flatMap { $0.isPresent ? $0.client : nil }
        guard let client = own ?? other, !client.belongs(to: received.caller) else { return }
        let end = (client.presence.isWaiting ? now.monotonic : client.presence.lastSeen) + forgetTime
        let remaining = Int64((max(end, now.monotonic) - now.monotonic) / 1_000_000)
        throw ClientNameConflict(
            name: received.name, suite: suite, end: Timestamp(milliseconds: now.wall.milliseconds + remaining))
    }

    private mutating func record(
        _ received: ReceivedReport, of suite: SuiteName, startsWatch: Bool, on state: State, at now: Time
    ) -> ClientPresence {
        beginMeasurementIfDue(of: suite, on: state, at: now)
        let isNew = addIfNew(received, to: suite, at: now)
        // The indices avoid further hashing of the names.
        guard let suiteIndex = suites.index(forKey: suite),
            let index = suites.values[suiteIndex].clients.index(forKey: received.name)
        else { preconditionFailure("the client was added above") }
        var client = suites.values[suiteIndex].clients.values[index].client
        let wasPresent = !isNew && client.isPresent(at: now.monotonic, forgetTime: forgetTime)
        client.recordContact(received, in: suite, startsWatch: startsWatch, at: now.monotonic)
        let isChanged = client.apply(received.report, at: state.baseCursor)
        suites.values[suiteIndex].clients.values[index] = Box(client)
        suites.values[suiteIndex].progress?.recordReport(of: client, at: now.wall, in: &rolloutTimes)
        if isChanged || !wasPresent {
            let version = nextOwnVersion()
            suites.values[suiteIndex].version = version
        }
        return client.presence
    }

    /// Adds the client that reports, and returns true. A gone client of another credential with the same name is
    /// replaced. Returns false if the suite already has the client.
    private mutating func addIfNew(_ received: ReceivedReport, to suite: SuiteName, at now: Time) -> Bool {
        if let former = suites[suite]?.clients[received.name]?.client {
            guard !former.belongs(to: received.caller) else { return false }
        } else {
            makeRoom(in: suite)
            count += 1
        }
        lastNumber &+= 1
        let client = SuiteClient(received, number: lastNumber, at: now)
        suites[suite, default: SuiteClients()].clients[received.name] = Box(client)
        return true
    }

    /// Forgets the states that clients have reported to this daemon, if `state` belongs to another epoch.
    mutating func adoptEpoch(of state: State) {
        // The cursors of a caller with restricted grants contain a digest of the grants. `baseCursor` contains none.
        let newEpoch = state.baseCursor.epoch
        guard epoch != newEpoch else { return }
        epoch = newEpoch
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

    /// Removes the clients of a suite that have been gone for a day.
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
        let version = nextOwnVersion()
        suites[suite]?.version = version
    }

    private mutating func nextOwnVersion() -> UInt64 {
        lastVersion += 1
        ownVersion = lastVersion
        return lastVersion
    }

    /// Begins to measure how long the clients of a suite take to apply its last commit, if the commit is not measured
    /// yet, and the measurement of an earlier commit may be replaced. Called before each report is recorded.
    private mutating func beginMeasurementIfDue(of name: SuiteName, on state: State, at now: Time) {
        guard let target = state.suite(name)?.revision, let index = suites.index(forKey: name),
            suites.values[index].progress?.target != target,
            suites.values[index].progress?.mayBeReplaced(at: now.wall, clientCount: suites.values[index].clients.count)
                ?? true
        else { return }
        let suite = suites.values[index]
        suites[name]?.progress = state.history.commit(target).map { retained in
            var progress = RolloutProgress(of: target, committed: retained.commit.time, start: now.wall)
            for box in suite.clients.values where box.client.isPresent(at: now.monotonic, forgetTime: forgetTime) {
                progress.addClient(box.client)
            }
            return progress
        }
    }
}

/// The clients to drop next when there are too many clients: the clients that were seen longest ago. A client with a
/// waiting watch is dropped only if all clients have a waiting watch.
///
/// A search for candidates visits all clients. Therefore one search finds up to 100 candidates, for 100 drops.
private struct DropCandidates: Sendable {
    struct Candidate: Sendable {
        let suite: SuiteName
        let name: ClientName
        let number: UInt32
        let isWaiting: Bool
        let lastSeen: UInt64

        func isDropped(before other: Candidate) -> Bool {
            isWaiting == other.isWaiting ? lastSeen < other.lastSeen : other.isWaiting
        }
    }

    private static let maximumCount = 100

    /// In the reverse order of the drops: the last element is dropped first.
    var candidates: [Candidate] = []

    mutating func add(_ candidate: Candidate) {
        if candidates.count == Self.maximumCount {
            guard let droppedLast = candidates.first, candidate.isDropped(before: droppedLast) else { return }
            candidates.removeFirst()
        }
        let index = candidates.firstIndex { !candidate.isDropped(before: $0) } ?? candidates.count
        candidates.insert(candidate, at: index)
    }

    /// Removes the candidates with a waiting watch, because at a later drop, another client may have no waiting watch
    /// and must be dropped first. If all candidates have a waiting watch, keeps only the candidate for the next drop.
    mutating func removeWaitingCandidates() {
        guard let droppedNext = candidates.last else { return }
        if droppedNext.isWaiting { candidates = [droppedNext] } else { candidates.removeAll(where: \.isWaiting) }
    }
}

/// The limits of the number of clients.
extension ClientTable {
    /// Drops clients so that another client of the suite fits into the limits.
    private mutating func makeRoom(in suite: SuiteName) {
        if let clients = suites[suite]?.clients, clients.count >= limits.clientsPerSuite {
            var candidates = suites[suite]?.dropCandidates ?? DropCandidates()
            dropClient(from: &candidates, of: [suite])
            suites[suite]?.dropCandidates = candidates
        }
        if count >= limits.clients {
            var candidates = dropCandidates
            dropClient(from: &candidates, of: Array(suites.keys))
            dropCandidates = candidates
        }
    }

    /// Drops the first of the candidates that is still valid. Searches the suites if there is no candidate.
    private mutating func dropClient(from dropCandidates: inout DropCandidates, of names: [SuiteName]) {
        while true {
            if dropCandidates.candidates.isEmpty {
                for suite in names {
                    suites[suite]?.clients.values.forEach { dropCandidates.add(candidate($0.client, of: suite)) }
                }
                dropCandidates.removeWaitingCandidates()
            }
            guard let candidate = dropCandidates.candidates.popLast() else { return }
            // A client that was seen after the search may not be one of the clients that were seen longest ago.
            guard let client = suites[candidate.suite]?.clients[candidate.name]?.client,
                client.number == candidate.number,
                client.presence.isWaiting == candidate.isWaiting, client.presence.lastSeen == candidate.lastSeen
            else { continue }
            droppedCount += 1
            return remove(candidate.name, of: candidate.suite)
        }
    }

    private func candidate(_ client: SuiteClient, of suite: SuiteName) -> DropCandidates.Candidate {
        DropCandidates.Candidate(
            suite: suite, name: client.name, number: client.number, isWaiting: client.presence.isWaiting,
            lastSeen: client.presence.lastSeen)
    }
}

/// Methods that read the clients. If clients with the same name report to this daemon and to another daemon,
/// ``ListedClient/isReplaced(by:)`` says which of the clients a listing has.
extension ClientTable {
    /// The suites with clients that report to this daemon.
    var suiteNames: [SuiteName] { Array(suites.keys) }
    var sources: [PeerClients.Source] { peers.sources }

    /// A number that changes when an applied state or a failure changes, when a client is added or removed, when a gone
    /// client reports again, and when the clients of the other daemons are replaced. It does not change when clients
    /// become gone, because that depends on the time only.
    func version(of suite: SuiteName) -> UInt64 { max(suites[suite]?.version ?? 0, peersVersion) }

    /// The number of clients of a suite. Counts a client that reports to this daemon and to another daemon twice.
    func count(of suite: SuiteName) -> Int {
        (suites[suite]?.clients.count ?? 0) + (peers.suites[suite]?.count ?? 0)
    }

    func forEachPresent(in suite: SuiteName, at now: UInt64, _ body: (borrowing SuiteClient) -> Void) {
        // Without clients of other daemons, this loop makes no array.
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

    /// Returns a client that has just reported to this daemon, and therefore is present.
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
