internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// The commits that clients of a suite have not applied. A commit concerns a client if it matches the subject of the
/// client: the keys that the client watches or may read. Comparing commits with subjects may take long, so a comparison
/// is made in the background unless it is cheap.
struct ClientComparison {
    /// The revision and the time of a commit.
    typealias Position = (revision: Revision, time: Timestamp)

    private let state: State
    private let suite: Suite
    private let oldestAvailable: Revision
    /// The commits of the suite after the lowest revision that a client has applied.
    private var positions: [Position] = []
    /// For each subject, the commits that match. A subject is missing if comparing all subjects would take too long.
    private var matching: [ObjectIdentifier: [Position]] = [:]

    /// The limit for comparing commits with all subjects.
    private static let maximumCost = Cost(microseconds: 1_000_000)

    init(_ clients: [ListedClient], in suite: Suite, on state: State) {
        (self.suite, self.state) = (suite, state)
        oldestAvailable = state.oldestAvailable(of: suite.id)
        var starts: [ObjectIdentifier: (subject: ClientSubject, start: Revision)] = [:]
        var start = state.revision
        for listed in clients {
            guard let applied = listed.client.applied, applied >= oldestAvailable else { continue }
            start = min(start, applied)
            guard let subject = listed.client.subject else { continue }
            let former = starts[ObjectIdentifier(subject)]?.start ?? applied
            starts[ObjectIdentifier(subject)] = (subject, min(applied, former))
        }
        let commits = state.history.commits(of: suite.id, after: start)
        positions = commits.map { ($0.revision, $0.commit.time) }
        var meter = CostMeter(within: Self.maximumCost)
        for (id, wanted) in starts where !meter.isExceeded {
            var found: [Position] = []
            for index in Self.index(after: wanted.start, in: positions)..<commits.count {
                meter.add(.commitComparison + commits[index].commit.changes.count * .changeComparison)
                if wanted.subject.subject.matches(commits[index].commit) { found.append(positions[index]) }
            }
            matching[id] = found
        }
    }

    /// Returns the index of the first commit after a revision.
    private static func index(after revision: Revision, in positions: [Position]) -> Int {
        var (low, high) = (0, positions.count)
        while low < high {
            let middle = (low + high) / 2
            if positions[middle].revision > revision { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// Returns the commits that a client has not applied; nil if they are not known, because the history does not have
    /// all of them.
    func missingCommits(of client: SuiteClient) -> ArraySlice<Position>? {
        guard let applied = client.applied else { return nil }
        if applied >= suite.revision { return [] }
        guard applied >= oldestAvailable else { return nil }
        guard let subject = client.subject else { return positions[Self.index(after: applied, in: positions)...] }
        return matching[ObjectIdentifier(subject)].map { $0[Self.index(after: applied, in: $0)...] }
    }

    /// True unless a client has applied a target revision.
    func lacks(_ target: Revision, _ client: SuiteClient) -> Bool {
        guard let missing = missingCommits(of: client) else { return !client.hasApplied(target) }
        return missing.first.map { $0.revision <= target } ?? false
    }

    func status(of listed: ListedClient) -> ClientDescription.Status {
        if listed.presence == .gone { return .gone }
        if listed.client.failure != nil { return .failed }
        return missingCommits(of: listed.client)?.isEmpty ?? false ? .current : .behind
    }

    func description(of listed: ListedClient, at now: ClientTable.Time) -> ClientDescription {
        let client = listed.client
        let unseen = listed.presence == .waiting ? 0 : Int64(now.monotonic &- client.lastSeen) / 1_000_000
        var description = ClientDescription(
            name: client.name, status: status(of: listed), since: client.since,
            lastSeen: Timestamp(milliseconds: now.wall.milliseconds - max(0, unseen)))
        switch client.peer {
        case .address(let address): description.address = address.description
        case .user(let name): description.user = name
        case .unknown: break
        }
        description.caller = client.caller
        description.applied = client.applied.map { Cursor(epoch: state.epoch, revision: $0) }
        if let missing = missingCommits(of: client) {
            description.missingCommits = Int64(missing.count)
            description.secondsBehind = missing.first.map { first in
                max(0, now.wall.milliseconds - first.time.milliseconds) / 1000
            }
        }
        description.failure = client.failure.map { failure in
            ClientFailure(cursor: Cursor(epoch: state.epoch, revision: failure.revision), reason: failure.reason)
        }
        return description
    }
}

extension Service {
    /// The cost of one client in a listing.
    private static let listedClient = Cost(microseconds: 4, bytes: 1024)

    /// Lists the clients of a suite, by name; only the clients that have not applied `target`, unless it is nil.
    func listing(of name: SuiteName, behind target: Cursor?, on state: State) -> Rendering {
        let cost = clients.count(of: name) * Self.listedClient + comparisonCost(of: state.history.count)
        return Rendering(cost: cost) {
            guard let suite = state.suite(name) else {
                return Response(state.unknownSuite(name, for: nil), cursor: state.cursor)
            }
            let listed = self.clients.read(name, on: state) { $0.clients(of: name) }
            let comparison = ClientComparison(listed, in: suite, on: state)
            let shown = listed.filter { listed in target.map { comparison.lacks($0.revision, listed.client) } ?? true }
            let now = self.clients.now
            let descriptions = shown.map { comparison.description(of: $0, at: now) }
                .sorted { $0.name.text.precedesInBytes($1.name.text) }
            let listing = ClientListing(suite: name, cursor: state.cursor, clients: descriptions)
            return Response(json: listing.jsonBytes(), cursor: state.cursor)
        }
    }

    /// Describes one client.
    func description(of listed: ListedClient, in name: SuiteName, on state: State) -> Rendering {
        let applied = listed.client.applied?.number ?? state.revision.number
        let commits = min(Int(clamping: state.revision.number - applied), state.history.count)
        return Rendering(cost: Self.listedClient + comparisonCost(of: commits)) {
            guard let suite = state.suite(name) else {
                return Response(state.unknownSuite(name, for: nil), cursor: state.cursor)
            }
            let comparison = ClientComparison([listed], in: suite, on: state)
            let description = comparison.description(of: listed, at: self.clients.now)
            return Response(json: description.jsonBytes(), cursor: state.cursor)
        }
    }

    private func comparisonCost(of commits: Int) -> Cost {
        Cost(microseconds: Double(commits) * 0.25, bytes: commits * 24)
    }

    /// Counts the clients of each suite by their status.
    func clientCounts(on state: State) -> [(suite: SuiteName, counts: [ClientDescription.Status: Int])] {
        clients.suiteNames.sorted().compactMap { name in
            let listed = clients.read(name, on: state) { $0.clients(of: name) }
            guard !listed.isEmpty, let suite = state.suite(name) else { return nil }
            let comparison = ClientComparison(listed, in: suite, on: state)
            return (name, listed.reduce(into: [:]) { $0[comparison.status(of: $1), default: 0] += 1 })
        }
    }
}
