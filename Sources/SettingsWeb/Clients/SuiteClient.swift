internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// A client of a suite: a program that reports, under a name of its own, which state of the suite it has applied. This
/// value is the memory of the daemon of one client. `ClientKey` and `ClientCounts` mean something else: the caller or
/// the address that limits count.
struct SuiteClient: Sendable {
    /// The last failure that the client has reported. It is an object, because most clients have no failure.
    final class Failure: Sendable {
        /// The state that the client could not apply.
        let revision: Revision
        let reason: String?

        init(at revision: Revision, reason: String?) {
            (self.revision, self.reason) = (revision, reason)
        }
    }

    let name: ClientName
    /// The name of the caller according to the credential; nil without access control.
    let caller: String?
    /// The time of the first report.
    let since: Timestamp
    /// The address or the Unix user of the last report.
    var peer: ClientPeer
    /// The newest state of the present history that the client has applied; nil if it has reported none.
    private(set) var applied: Revision?
    /// Its revision is after `applied`.
    private(set) var failure: Failure?
    /// The keys that the client watches or may read; nil for all keys of the suite.
    var subject: ClientSubject?
    /// The number of waiting watches that report for this client.
    var watchCount: UInt32 = 0
    /// The time of the last report or of the end of the last watch, in nanoseconds of the monotonic clock.
    var lastSeen: UInt64

    init(_ name: ClientName, _ caller: String?, from peer: ClientPeer, since: Timestamp, seen now: UInt64) {
        (self.name, self.caller, self.peer, self.since, lastSeen) = (name, caller, peer, since, now)
    }

    /// Applies a report. `published` is the cursor (epoch and revision) of the published state, without a digest.
    ///
    /// - Returns: true if the report changes the applied state or the failure.
    mutating func apply(_ report: ClientReport, at published: Cursor) -> Bool {
        let (formerRevision, formerFailure) = (applied, failure)
        // Nil for a cursor of another history. A client may have a later revision than this daemon, from another daemon.
        func revision(of cursor: Cursor) -> Revision? {
            published.epoch.isBase(of: cursor.epoch) ? min(cursor.revision, published.revision) : nil
        }
        if let failed = report.failed {
            failure = revision(of: failed).map { Failure(at: $0, reason: report.reason) }
            if failure == nil { applied = nil }
        }
        if let cursor = report.applied { applied = revision(of: cursor) }
        if let applied, let failure, applied >= failure.revision { self.failure = nil }
        return applied != formerRevision || failure !== formerFailure
    }

    /// Forgets the reported states, because their history or their suite no longer exists.
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

/// The keys that clients watch or may read. Clients with equal subjects share the object, which saves memory and lets
/// the daemon compare a commit once for all of them.
final class ClientSubject: Sendable {
    /// The maximum memory of the names and prefixes of a subject. A client that watches more names counts as a client
    /// that watches the whole suite.
    private static let maximumBytes = 1024
    private static let bytesPerName = 16

    let subject: WatchSubject

    init(_ subject: WatchSubject) { self.subject = subject }

    /// Returns the part of a suite that a client watches; nil for the whole suite, and for a part with too many names.
    static func part(of suite: SuiteName, _ filter: KeyFilter, for readLimits: Grants?) -> WatchSubject? {
        let limits = readLimits?.canReadAll(of: suite) ?? true ? nil : readLimits
        guard limits != nil || !filter.isEverything else { return nil }
        let bytes =
            filter.keys.reduce(0) { $0 + $1.text.utf8.count + bytesPerName }
            + filter.prefixes.reduce(0) { $0 + $1.string.utf8.count + bytesPerName }
        return bytes <= maximumBytes ? WatchSubject(suite, filter, for: limits) : nil
    }
}

/// A report with its sender, for one or several suites.
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

/// Identifies a client for the watch that reports for it. The number distinguishes the client from a later client in the
/// same slot.
struct ClientID: Sendable {
    let slot: Int32
    let number: UInt32
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
