internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// The times at which the daemon sees a client: at a report, and while a watch of the client waits. A class with atomic
/// properties, so that an event loop can record the end of a watch without the lock of ``ClientTable``. Thread-safe.
final class ClientPresence: Sendable {
    /// The number of waiting watches that report for the client.
    private let watchCount = Atomic(0)
    /// The time of the last report or of the last end of a watch, in nanoseconds of the monotonic clock.
    private let lastSeenTime: Atomic<UInt64>

    init(seen time: UInt64) { lastSeenTime = Atomic(time) }

    var lastSeen: UInt64 { lastSeenTime.load(ordering: .relaxed) }
    /// True if a watch of the client waits. The client is then present, whatever `lastSeen` is.
    /// A reader that then reads `lastSeen` also sees the time that ``endWatch(at:)`` has stored before.
    var isWaiting: Bool { watchCount.load(ordering: .acquiring) > 0 }

    func recordContact(startsWatch: Bool, at now: UInt64) {
        lastSeenTime.store(now, ordering: .relaxed)
        if startsWatch { watchCount.add(1, ordering: .relaxed) }
    }

    func endWatch(at now: UInt64) {
        // The time is stored first. Otherwise, between the two steps, the client would have no watch and the time of a
        // report long ago, and would seem to be gone.
        lastSeenTime.store(now, ordering: .relaxed)
        watchCount.subtract(1, ordering: .releasing)
    }
}

/// A client of a suite: a program that reports, under a name of its own, which state of the suite it has applied.
///
/// In `ClientKey` and `ClientCounts`, a client is something else: the caller, the Unix user or the address that limits
/// count.
struct SuiteClient: Sendable {
    /// A failure that the client has reported. A class, so that a client without a failure stores only a null pointer.
    final class Failure: Sendable {
        /// The revision of the state that the client could not apply.
        let revision: Revision
        let reason: String?

        init(at revision: Revision, reason: String?) {
            (self.revision, self.reason) = (revision, reason)
        }
    }

    // There may be 100,000 clients. The order of the properties avoids padding.
    let name: ClientName
    /// The name of the caller according to the credential; nil without access control.
    private(set) var caller: String?
    /// The time of the first report.
    let since: Timestamp
    /// The address or the Unix user of the last report.
    private(set) var peer: ClientPeer
    /// Distinguishes the client from an earlier client with the same name. Later clients have greater numbers.
    let number: UInt32
    /// The revision that the client has reported last as applied; nil if it has reported no revision of the present
    /// epoch.
    private(set) var applied: Revision?
    /// The last reported failure; nil if there is no failure, or if the failed revision is not after `applied`.
    private(set) var failure: Failure?
    /// The keys that the client watches and may read; nil for all keys of the suite.
    private(set) var subject: ClientSubject?
    let presence: ClientPresence

    init(_ received: ReceivedReport, number: UInt32, at now: ClientTable.Time) {
        (name, caller, peer) = (received.name, received.caller, received.peer)
        (self.number, since, presence) = (number, now.wall, ClientPresence(seen: now.monotonic))
    }

    /// Makes a client that reports to another daemon. Only the numbers of clients of this daemon are used.
    init(
        _ name: ClientName, caller: String?, from peer: ClientPeer, since: Timestamp, applied: Revision?,
        failure: Failure?, seen time: UInt64
    ) {
        (self.name, self.caller, self.peer, self.since) = (name, caller, peer, since)
        (self.applied, self.failure, number, presence) = (applied, failure, 0, ClientPresence(seen: time))
    }

    /// True if a caller may report under the name of this client. Without access control at the present report or at
    /// the former reports, there is no caller to compare, and the result is true.
    func belongs(to sender: String?) -> Bool {
        guard let caller, let sender else { return true }
        return caller.hasSameBytes(as: sender)
    }

    /// True if a watch of the client waits, or if the client reported or ended a watch within `forgetTime` nanoseconds.
    func isPresent(at now: UInt64, forgetTime: UInt64) -> Bool {
        presence.isWaiting || presence.lastSeen + forgetTime > now
    }

    /// Records who has sent a report, and when. ``apply(_:at:)`` records the states in the report.
    mutating func recordContact(_ received: ReceivedReport, in suite: SuiteName, startsWatch: Bool, at now: UInt64) {
        peer = received.peer
        // The client may have no caller yet, if access control was off at its first report.
        if let sender = received.caller { caller = sender }
        presence.recordContact(startsWatch: startsWatch, at: now)
        // A report without a watch has no filter, and does not change the keys of the last watch. If there was no
        // watch, the client counts as a client of all keys that the caller may read.
        guard received.filter != nil || subject == nil else { return }
        subject = ClientSubject(suite, received.filter ?? .everything, for: received.restrictedGrants)
    }

    /// Records the states in a report. Returns true if the applied revision or the failure changes.
    ///
    /// - Parameter published: the cursor of the published state, without a digest of grants. (In the cursors of a
    ///   caller with restricted grants, a digest of the grants follows the epoch.)
    mutating func apply(_ report: ClientReport, at published: Cursor) -> Bool {
        let (formerRevision, formerFailure) = (applied, failure)
        /// Returns nil for a cursor of another epoch.
        func revision(of cursor: Cursor) -> Revision? {
            published.epoch.isBase(of: cursor.epoch) ? cursor.revision : nil
        }
        if let failed = report.failed {
            failure = revision(of: failed).map { Failure(at: $0, reason: report.reason) }
            // The client is at a state of another epoch, so it has applied nothing of the present epoch.
            if failure == nil { applied = nil }
        }
        if let cursor = report.applied {
            let reported = revision(of: cursor)
            if let reported, let failure, reported >= failure.revision { self.failure = nil }
            // Another daemon may have sent the client a revision that this daemon has not read yet. A revision after
            // the published revision counts as the published revision. Without this limit, a client that reports a
            // wrong revision, such as the highest number, would count as current after each later commit.
            applied = reported.map { min($0, published.revision) }
        }
        if let applied, let failure, applied >= failure.revision { self.failure = nil }
        return applied != formerRevision || failure?.revision != formerFailure?.revision
            || failure?.reason != formerFailure?.reason
    }

    mutating func setApplied(_ revision: Revision) { applied = revision }

    /// Forgets the applied revision and the failure, because they belong to a former epoch.
    mutating func forgetReports() { (applied, failure) = (nil, nil) }

    /// True if the client has applied the revision or a later revision.
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

/// The part of a suite that a client watches and may read. A class, so that a client of the whole suite stores only a
/// null pointer.
final class ClientSubject: Sendable {
    /// The maximum size of the keys and prefixes, so that the memory of a client is limited. A client that watches more
    /// keys counts as a client of the whole suite.
    private static let maximumBytes = 1024
    /// The memory that a key or a prefix needs in addition to its bytes.
    private static let bytesPerName = 16

    let watchSubject: WatchSubject

    /// Returns nil for the whole suite, and if the keys and prefixes have more than the maximum size.
    init?(_ suite: SuiteName, _ filter: KeyFilter, for restrictedGrants: Grants?) {
        // Nil if the caller may read every key of the suite, even if it may not read every other suite.
        let suiteGrants = restrictedGrants?.canReadAll(of: suite) ?? true ? nil : restrictedGrants
        let names = filter.keys.map(\.text.utf8.count) + filter.prefixes.map(\.string.utf8.count)
        guard suiteGrants != nil || !filter.isEverything,
            names.reduce(0, { $0 + $1 + Self.bytesPerName }) <= Self.maximumBytes
        else { return nil }
        watchSubject = WatchSubject(suite, filter, for: suiteGrants)
    }
}

/// A report that the daemon has received, with its sender.
struct ReceivedReport: Sendable {
    let name: ClientName
    let report: ClientReport
    let caller: String?
    let peer: ClientPeer
    /// The grants of the caller; nil if the caller may read everything.
    let restrictedGrants: Grants?
    /// The keys that the watch names; nil for a report without a watch.
    let filter: KeyFilter?
}
