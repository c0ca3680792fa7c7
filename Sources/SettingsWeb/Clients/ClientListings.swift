internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// Compares the applied revisions of clients with the commits of a suite. A commit concerns a client if the commit
/// matches the subject of the client: the keys that the client watches and may read. All commits of the suite concern a
/// client whose `subject` is nil.
struct ClientComparison {
    /// The commits that concern a client and that the client has not applied.
    struct MissingCommits {
        let count: Int
        let first: RetainedCommit?
    }

    private let state: State
    private let suite: Suite
    /// The commits of the suite after the lowest applied revision of the clients. Applied revisions after which the
    /// history lacks a commit of the suite do not count.
    private let commits: [RetainedCommit]
    /// Counts the cost of the comparisons, up to a limit of a second.
    private var meter = CostMeter(within: Cost(microseconds: 1_000_000))

    init(_ clients: [ListedClient], in suite: Suite, on state: State) {
        (self.suite, self.state) = (suite, state)
        let oldestAvailable = state.oldestAvailable(of: suite.id)
        let start = clients.compactMap(\.client.applied).filter { $0 >= oldestAvailable }.min() ?? state.revision
        commits = state.history.commits(of: suite.id, after: start)
    }

    /// Returns the commits that a client has not applied. Returns nil if they are not known: the client has reported no
    /// state, the history lacks a commit, or the estimated cost of the comparisons so far is more than a second.
    mutating func missingCommits(of client: SuiteClient) -> MissingCommits? {
        guard let applied = client.applied else { return nil }
        if applied >= suite.revision { return MissingCommits(count: 0, first: nil) }
        guard applied >= state.oldestAvailable(of: suite.id), !meter.isExceeded else { return nil }
        let later = commits[index(after: applied)...]
        guard let subject = client.subject?.watchSubject else {
            return MissingCommits(count: later.count, first: later.first)
        }
        var missing = (count: 0, first: RetainedCommit?.none)
        for retained in later {
            meter.add(.commitComparison + retained.commit.changes.count * .changeComparison)
            guard subject.matches(retained.commit) else { continue }
            missing = (missing.count + 1, missing.first ?? retained)
        }
        return MissingCommits(count: missing.count, first: missing.first)
    }

    /// Returns the index of the first commit after a revision: a binary search.
    private func index(after revision: Revision) -> Int {
        var (low, high) = (0, commits.count)
        while low < high {
            let middle = (low + high) / 2
            if commits[middle].revision > revision { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// True if the client has not applied a commit up to the target that concerns the client. If the commits are not
    /// known, true if the applied revision is before the target.
    mutating func lacksCommits(upTo target: Revision, _ client: SuiteClient) -> Bool {
        guard let missing = missingCommits(of: client) else { return !client.hasApplied(target) }
        return missing.first.map { $0.revision <= target } ?? false
    }

    mutating func status(of listed: ListedClient) -> ClientDescription.Status {
        if !listed.isPresent { return .gone }
        if listed.client.failure != nil { return .failed }
        return missingCommits(of: listed.client)?.count == 0 ? .current : .behind
    }

    mutating func description(of listed: ListedClient, at now: ClientTable.Time) -> ClientDescription {
        let client = listed.client
        // A report on another thread may have arrived after `now` was read, so the time may be later than `now`.
        let lastSeen = client.presence.isWaiting ? now.monotonic : min(client.presence.lastSeen, now.monotonic)
        let millisecondsUnseen = Int64((now.monotonic - lastSeen) / 1_000_000)
        var description = ClientDescription(
            name: client.name, status: status(of: listed), since: client.since,
            lastSeen: Timestamp(milliseconds: now.wall.milliseconds - millisecondsUnseen))
        switch client.peer {
        case .address(let address): description.address = address.description
        case .user(let name): description.user = name
        case .unknown: break
        }
        (description.caller, description.daemon) = (client.caller, listed.daemon)
        description.applied = client.applied.map { Cursor(epoch: state.epoch, revision: $0) }
        if let missing = missingCommits(of: client) {
            description.missingCommits = Int64(missing.count)
            description.secondsBehind = missing.first.map { first in
                max(0, now.wall.milliseconds - first.commit.time.milliseconds) / 1000
            }
        }
        description.failure = client.failure.map { failure in
            ClientFailure(cursor: Cursor(epoch: state.epoch, revision: failure.revision), reason: failure.reason)
        }
        return description
    }
}

extension Service {
    /// The cost of a client in a listing, without the comparison with commits.
    private static let listedClientCost = Cost(microseconds: 4, bytes: 1024)

    /// Lists the clients of a suite, sorted by name.
    ///
    /// - Parameter target: list only the clients that lack a commit up to this cursor, as
    ///   ``ClientComparison/lacksCommits(upTo:_:)`` decides; nil to list all clients.
    func listing(of name: SuiteName, behind target: Cursor?, on state: State) -> Rendering {
        // Each client may have its own subject, which must be compared with each commit.
        let cost = clients.count(of: name) * (Self.listedClientCost + comparisonCost(of: state.history.count))
        return Rendering(cost: cost) {
            guard let suite = state.suite(name) else {
                return Response(state.unknownSuite(name, for: nil), cursor: state.cursor)
            }
            let listed = self.clients.read(name, on: state) { $0.clients(of: name, at: $1) }
            var comparison = ClientComparison(listed, in: suite, on: state)
            let shown = listed.filter { listed in
                target.map { comparison.lacksCommits(upTo: $0.revision, listed.client) } ?? true
            }
            let now = self.clients.now
            let descriptions = shown.map { comparison.description(of: $0, at: now) }
                .sorted { $0.name.text.precedesInBytes($1.name.text) }
            var listing = ClientListing(suite: name, cursor: state.cursor, clients: descriptions)
            // The other daemons whose clients are listed, too.
            listing.sources = self.clients.sources
            return Response(json: listing.jsonBytes(), cursor: state.cursor)
        }
    }

    func description(of listed: ListedClient, in name: SuiteName, on state: State) -> Rendering {
        let applied = listed.client.applied?.number ?? state.revision.number
        let commits = min(Int(clamping: state.revision.number - applied), state.history.count)
        return Rendering(cost: Self.listedClientCost + comparisonCost(of: commits)) {
            guard let suite = state.suite(name) else {
                return Response(state.unknownSuite(name, for: nil), cursor: state.cursor)
            }
            var comparison = ClientComparison([listed], in: suite, on: state)
            let description = comparison.description(of: listed, at: self.clients.now)
            return Response(json: description.jsonBytes(), cursor: state.cursor)
        }
    }

    /// The estimated cost of comparing a client with commits.
    private func comparisonCost(of commits: Int) -> Cost {
        Cost(microseconds: Double(commits) * 0.25)
    }

    /// Counts the clients that report to this daemon, by suite and by status, for the metrics.
    func clientCounts(on state: State) -> [(suite: SuiteName, counts: [ClientDescription.Status: Int])] {
        clients.suiteNames.sorted().compactMap { name in
            let listed = clients.read(name, on: state) { $0.ownClients(of: name, at: $1) }
            guard !listed.isEmpty, let suite = state.suite(name) else { return nil }
            var comparison = ClientComparison(listed, in: suite, on: state)
            return (name, listed.reduce(into: [:]) { $0[comparison.status(of: $1), default: 0] += 1 })
        }
    }
}
