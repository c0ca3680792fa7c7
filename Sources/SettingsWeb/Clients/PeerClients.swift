internal import Platform
internal import SettingsAPI
package import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// Some clients of a suite: one line of JSON in a record. A record is a text with which a daemon tells the other
/// daemons with the same history which clients report to it.
struct SharedClients: Sendable {
    var suite: SuiteName
    /// The epoch to which the revisions belong.
    var epoch: Epoch
    var clients: [ListedClient]
}

extension SharedClients: JSONBody {
    init(_ reader: ObjectReader) throws(BodyError) {
        let epoch: String = try reader.required("epoch")
        guard let epoch = Epoch(epoch) else { throw BodyError("must have a valid epoch") }
        (suite, self.epoch, clients) = (try reader.required("suite"), epoch, try reader.required("clients"))
    }

    func writeMembers(to writer: inout JSONWriter) {
        writer.member("suite", suite)
        writer.member("epoch", epoch.text)
        writer.member("clients", clients)
    }
}

extension ListedClient: JSONBody {
    init(_ reader: ObjectReader) throws(BodyError) {
        let address: String? = try reader.optional("address")
        let user: String? = try reader.optional("user")
        let failed: Revision? = try reader.optional("failed")
        let reason: String? = try reader.optional("reason")
        // `PeerClients.add` replaces the time 0 by the time at which this daemon read the last announcement.
        let client = SuiteClient(
            try reader.required("name"), caller: try reader.optional("caller"),
            from: address.flatMap { IPAddress($0) }.map { .address($0) } ?? user.map { .user($0) } ?? .unknown,
            since: try reader.required("since"), applied: try reader.optional("applied"),
            failure: failed.map { SuiteClient.Failure(at: $0, reason: reason) }, seen: 0)
        self.init(client: client, isPresent: try !reader.flag("gone"))
        if try reader.flag("waiting") { client.presence.recordContact(startsWatch: true, at: 0) }
    }

    func writeMembers(to writer: inout JSONWriter) {
        writer.member("name", client.name)
        writer.member("caller", client.caller)
        switch client.peer {
        case .address(let address): writer.member("address", address.description)
        case .user(let name): writer.member("user", name)
        case .unknown: break
        }
        writer.member("since", client.since)
        writer.member("applied", client.applied)
        writer.member("failed", client.failure?.revision)
        writer.member("reason", client.failure?.reason)
        if !isPresent { writer.member("gone", true) }
        if client.presence.isWaiting { writer.member("waiting", true) }
    }
}

/// The clients of the other daemons with the same history.
struct PeerClients: Sendable {
    /// Another daemon whose clients are known.
    struct Source: Sendable {
        let daemon: String
        /// The time at which this daemon read the last announcement of the other daemon, in nanoseconds of the
        /// monotonic clock. Every second, each daemon announces in etcd how many records it has.
        let time: UInt64
    }

    private(set) var sources: [Source] = []
    private(set) var suites: [SuiteName: [ClientName: ListedClient]] = [:]

    /// Adds the clients of a daemon. Several daemons may have a client with the same name, because a client may change
    /// from one daemon to another. Then ``ListedClient/isReplaced(by:)`` says which client is kept.
    ///
    /// - Parameter epoch: the present epoch of this daemon. Revisions of other epochs are forgotten.
    mutating func add(_ records: [[UInt8]], from source: Source, epoch: Epoch) {
        sources.append(source)
        for record in records {
            for line in record.split(separator: UInt8(ascii: "\n")) {
                // A daemon of a later version may write lines that this version cannot read.
                guard let json = try? JSONValue(parsing: Array(line)), let shared = try? SharedClients(json: json)
                else {
                    continue
                }
                for var listed in shared.clients {
                    if shared.epoch != epoch { listed.client.forgetReports() }
                    listed.client.presence.recordContact(startsWatch: false, at: source.time)
                    listed.daemon = source.daemon
                    let other = suites[shared.suite]?[listed.client.name]
                    if let other, !other.isReplaced(by: listed) { continue }
                    suites[shared.suite, default: [:]][listed.client.name] = listed
                }
            }
        }
    }
}

extension ListedClient {
    /// True if a listing contains `other` instead of this client. Both clients have the same name, but report to
    /// different daemons.
    ///
    /// A client with a waiting watch has precedence over a present client without a watch, and a present client over a
    /// gone client. Otherwise, the client whose first report came later has precedence.
    func isReplaced(by other: ListedClient) -> Bool {
        precedence == other.precedence ? client.since < other.client.since : precedence < other.precedence
    }

    private var precedence: Int { !isPresent ? 0 : client.presence.isWaiting ? 2 : 1 }
}

extension ClientRegistry {
    /// The maximum size in bytes of a record with more than one line.
    private static let recordSize = 512 << 10
    /// The maximum number of clients in one line of a record. A client has less than 8 kB, even if every character of
    /// its name and of its reason is escaped. So a line has less than 800 kB, and every record is smaller than the
    /// maximum size of a request to etcd, which is 1.5 MiB.
    private static let clientsPerLine = 100

    /// The nanoseconds after which records are made again although neither a client nor the state has changed, because
    /// a client may be gone, or may have begun or ended a watch.
    private static let recordLifetime: UInt64 = 3_000_000_000

    /// Returns the records from which the other daemons learn which clients report to this daemon.
    package func records(on state: State) -> [[UInt8]] {
        // `baseCursor` is the cursor without a digest of grants.
        let (version, cursor, time) = (ownVersion, state.baseCursor, now.monotonic)
        if let cached = cachedRecords.withLock(\.self), cached.version == version, cached.cursor == cursor,
            time &- cached.time < Self.recordLifetime
        {
            return cached.records
        }
        let records = makeRecords(on: state)
        cachedRecords.withLock { $0 = (version, cursor, time, records) }
        return records
    }

    private func makeRecords(on state: State) -> [[UInt8]] {
        var (records, record) = ([[UInt8]](), [UInt8]())
        for name in suiteNames.sorted() {
            guard let suite = state.suite(name) else { continue }
            var clients = read(name, on: state) { $0.ownClients(of: name, at: $1) }
            clients.sort { $0.client.name.text.precedesInBytes($1.client.name.text) }
            var comparison = ClientComparison(clients, in: suite, on: state)
            for index in clients.indices where comparison.status(of: clients[index]) == .current {
                // The other daemons do not know which keys the client watches. Without this revision, they would list
                // the client as behind after a commit that does not concern the client.
                clients[index].client.setApplied(suite.revision)
            }
            for start in stride(from: 0, to: clients.count, by: Self.clientsPerLine) {
                let end = min(start + Self.clientsPerLine, clients.count)
                let shared = SharedClients(
                    suite: name, epoch: state.baseCursor.epoch, clients: Array(clients[start..<end]))
                let line = shared.jsonBytes()
                if !record.isEmpty, record.count + line.count > Self.recordSize {
                    records.append(record)
                    record = []
                }
                record += line + [UInt8(ascii: "\n")]
            }
        }
        return record.isEmpty ? records : records + [record]
    }

    /// Replaces the clients of the other daemons by the clients in their records.
    ///
    /// - Parameter peers: `age` is the time since this daemon read the last announcement of the other daemon.
    package func receive(_ peers: [(daemon: String, records: [[UInt8]], age: Duration)], on state: State) {
        let now = now.monotonic
        var clients = PeerClients()
        for peer in peers {
            // The age includes time in which this machine was suspended, and `now` does not, so the age may exceed
            // `now`.
            let age = UInt64(max(0, peer.age / .nanoseconds(1)))
            let source = PeerClients.Source(daemon: peer.daemon, time: now - min(now, age))
            clients.add(peer.records, from: source, epoch: state.baseCursor.epoch)
        }
        setPeerClients(clients)
    }
}
