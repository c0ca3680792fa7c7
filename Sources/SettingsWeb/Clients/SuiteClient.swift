internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// When a client was seen. Watches that end in any event loop record it, without a lock. Thread-safe.
final class ClientPresence: Sendable {
    /// The number of waiting watches that report for the client.
    private let watchCount = Atomic(0)
    /// The time of the last report or of the end of the last watch, in nanoseconds of the monotonic clock.
    private let lastSeenTime: Atomic<UInt64>

    init(seen time: UInt64) { lastSeenTime = Atomic(time) }

    var lastSeen: UInt64 { lastSeenTime.load(ordering: .relaxed) }
    /// True if a watch of the client waits, so that the client is seen all the time.
    var isWaiting: Bool { watchCount.load(ordering: .relaxed) > 0 }

    func see(startsWatch: Bool, at now: UInt64) {
        lastSeenTime.store(now, ordering: .relaxed)
        if startsWatch { watchCount.add(1, ordering: .relaxed) }
    }

    func endWatch(at now: UInt64) {
        // The time comes first: otherwise, the client could seem to be gone between the two steps.
        if watchCount.load(ordering: .relaxed) == 1 { lastSeenTime.store(now, ordering: .sequentiallyConsistent) }
        watchCount.subtract(1, ordering: .sequentiallyConsistent)
    }
}

/// The last report of a client of a suite: a program that reports, under a name of its own, which state of the suite it
/// has applied. `ClientKey` and `ClientCounts` have another meaning: they identify the caller or the address for
/// limits.
struct SuiteClient: Sendable {
    /// The last failure that the client has reported. A class, so that a client without a failure stores only a null
    /// pointer.
    final class Failure: Sendable {
        /// The state that the client could not apply.
        let revision: Revision
        let reason: String?

        init(at revision: Revision, reason: String?) {
            (self.revision, self.reason) = (revision, reason)
        }
    }

    // The order of the properties avoids padding, because there may be many thousands of clients.
    let name: ClientName
    /// The name of the caller according to the credential; nil without access control.
    private(set) var caller: String?
    /// The time of the first report.
    let since: Timestamp
    /// The address or the Unix user of the last report.
    private(set) var peer: ClientPeer
    /// Distinguishes the client from an earlier client with the same name. Later clients have greater numbers.
    let number: UInt32
    /// The state of the present history that the client has reported last as applied; nil if it has reported none.
    private(set) var applied: Revision?
    /// The last failure, with a revision after `applied`; nil if there is none.
    private(set) var failure: Failure?
    /// The keys that the client watches or may read; nil for all keys of the suite.
    private(set) var subject: ClientSubject?
    let presence: ClientPresence

    init(_ sighting: ClientSighting, number: UInt32, at now: ClientTable.Time) {
        (name, caller, peer) = (sighting.name, sighting.caller, sighting.peer)
        (self.number, since, presence) = (number, now.wall, ClientPresence(seen: now.monotonic))
    }

    /// Makes a client that reports to another daemon.
    init(
        _ name: ClientName, caller: String?, from peer: ClientPeer, since: Timestamp, applied: Revision?,
        failure: Failure?, seen time: UInt64
    ) {
        (self.name, self.caller, self.peer, self.since) = (name, caller, peer, since)
        (self.applied, self.failure, number, presence) = (applied, failure, 0, ClientPresence(seen: time))
    }

    /// True if the client may be used with a credential. Without access control, every request may use every client.
    func belongs(to other: String?) -> Bool {
        guard let caller, let other else { return true }
        return caller.hasSameBytes(as: other)
    }

    /// True if a watch of the client waits, or if the daemon has seen the client within the given time, in nanoseconds.
    func isPresent(at now: UInt64, forgetTime: UInt64) -> Bool {
        presence.isWaiting || presence.lastSeen + forgetTime > now
    }

    /// Records a report, except the states in it.
    mutating func see(_ sighting: ClientSighting, in suite: SuiteName, startsWatch: Bool, at now: UInt64) {
        peer = sighting.peer
        // Nil if access control was off at the first report.
        if let present = sighting.caller { caller = present }
        presence.see(startsWatch: startsWatch, at: now)
        // A report without a watch keeps the keys of the last watch.
        guard sighting.filter != nil || subject == nil else { return }
        subject = ClientSubject(suite, sighting.filter ?? .everything, for: sighting.readLimits)
    }

    /// Applies a report. `published` is the cursor (epoch and revision) of the published state, without a digest.
    ///
    /// - Returns: true if the report changes the applied state or the failure.
    mutating func apply(_ report: ClientReport, at published: Cursor) -> Bool {
        let (formerRevision, formerFailure) = (applied, failure)
        // Nil for a cursor of another history.
        func revision(of cursor: Cursor) -> Revision? {
            published.epoch.isBase(of: cursor.epoch) ? cursor.revision : nil
        }
        if let failed = report.failed {
            failure = revision(of: failed).map { Failure(at: $0, reason: report.reason) }
            if failure == nil { applied = nil }
        }
        if let cursor = report.applied {
            let reported = revision(of: cursor)
            if let reported, let failure, reported >= failure.revision { self.failure = nil }
            // Another daemon may have sent the client a revision that this daemon has not read yet. A client cannot
            // have applied a later commit, so the commit makes the client behind.
            applied = reported.map { min($0, published.revision) }
        }
        if let applied, let failure, applied >= failure.revision { self.failure = nil }
        return applied != formerRevision || failure?.revision != formerFailure?.revision
            || failure?.reason != formerFailure?.reason
    }

    mutating func setApplied(_ revision: Revision) { applied = revision }

    /// Forgets the reported states, because their history no longer exists.
    mutating func forgetReports() { (applied, failure) = (nil, nil) }

    /// True if the client has applied a revision or a later revision.
    func hasApplied(_ revision: Revision) -> Bool { applied.map { $0 >= revision } ?? false }
}

/// The other end of the connection that a client has reported through.
enum ClientPeer: Sendable {
    case address(IPAddress)
    /// The name of the user of a Unix domain socket.
    case user(String)
    /// A Unix domain socket whose user the kernel does not report.
    case unknown
}

/// The part of a suite that a client watches or may read. A class, because most clients watch the whole
/// suite and store only a null pointer.
final class ClientSubject: Sendable {
    /// The maximum size of the keys and prefixes, so that the memory of a client is limited. A client that watches more
    /// counts as a client of the whole suite.
    private static let maximumBytes = 1024
    private static let bytesPerName = 16

    let subject: WatchSubject

    /// Returns nil for the whole suite.
    init?(_ suite: SuiteName, _ filter: KeyFilter, for readLimits: Grants?) {
        let limits = readLimits?.canReadAll(of: suite) ?? true ? nil : readLimits
        let names = filter.keys.map(\.text.utf8.count) + filter.prefixes.map(\.string.utf8.count)
        guard limits != nil || !filter.isEverything,
            names.reduce(0, { $0 + $1 + Self.bytesPerName }) <= Self.maximumBytes
        else { return nil }
        subject = WatchSubject(suite, filter, for: limits)
    }
}

/// A report, with the caller and the connection that sent it.
struct ClientSighting: Sendable {
    let name: ClientName
    let report: ClientReport
    let caller: String?
    let peer: ClientPeer
    /// The grants of a caller that may not read everything.
    let readLimits: Grants?
    /// The keys that a watch names; nil for a report without a watch.
    let filter: KeyFilter?
}
