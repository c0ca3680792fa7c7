internal import HTTPServer
internal import SettingsEngine

/// The work or the event that an unfinished request waits for.
///
/// `RequestEvents.swift` defines what each kind of request does when its connection closes, its deadline passes, the
/// credential of its caller is revoked, or the daemon stops.
enum UnfinishedRequest {
    /// A write that a scheduler prepares, or that the store decides and makes durable.
    case write(UnansweredWrite)
    /// An answer that a scheduler computes. All requests with the same key get the same answer.
    indirect case backgroundWork(BackgroundAnswers.Key)
    /// An answer that another part of the daemon gives: a reload, the figures of all event loops, the state of the cluster.
    case serviceCall
    /// A request that must not be answered before the daemon has published a revision.
    indirect case revisionWait(RevisionWait)
    /// A long poll, or a GET with `wait`.
    case watcher(Watcher)
    /// An event stream.
    case stream(Watcher)
    /// A backup that is being sent.
    case backup(SentBackup)

    /// True if the request waits for an event outside of the daemon. Its duration says nothing about the daemon.
    var waitsForEvent: Bool {
        switch self {
        case .write, .backgroundWork, .serviceCall: false
        case .revisionWait, .watcher, .stream, .backup: true
        }
    }
}

/// The requests of one event loop that are not answered yet, by their identifiers.
///
/// Queues, indexes and work in the background hold identifiers only, and find the request here. A request that is answered
/// at once is never in the table. Owned by the event loop.
struct UnfinishedRequests {
    /// The data that all kinds of requests have.
    struct Entry {
        /// Nil without access control.
        let caller: Caller?
        /// The copy of the head for the logs; nil if the request will not be logged.
        var logCopy: LoggedRequest?
        var request: UnfinishedRequest
        var timing: RequestTiming
        /// False if the connection has closed and the request waits for the result of a write, which is audited.
        var isConnected = true

        fileprivate init(_ current: CurrentRequest, _ request: UnfinishedRequest) {
            caller = current.caller
            timing = current.timing
            timing.waitsForEvent = timing.waitsForEvent || request.waitsForEvent
            self.request = request
        }

        /// True if proxies must not store the response, because it may contain secrets.
        var forbidsStorage: Bool { caller?.grants.mayReadSecrets ?? false }
    }

    /// A table with more room than this many entries releases its memory when it becomes empty.
    private static let keptCapacity = 1024

    private var entries: [Ticket: Entry] = [:]

    /// The identifiers of all requests.
    var ids: [Ticket] { Array(entries.keys) }

    func entry(_ id: Ticket) -> Entry? { entries[id] }

    subscript(id: Ticket) -> UnfinishedRequest? { entries[id]?.request }

    func contains(_ id: Ticket) -> Bool { entries.index(forKey: id) != nil }

    /// Returns the watcher or the stream with an identifier.
    func watcher(_ id: Ticket) -> Watcher? {
        switch entries[id]?.request {
        case .watcher(let watcher), .stream(let watcher): watcher
        default: nil
        }
    }

    /// Counts the requests that meet a condition.
    func count(where condition: (UnfinishedRequest) -> Bool) -> Int {
        entries.values.count { condition($0.request) }
    }

    /// Adds the request that the handler is processing.
    mutating func insert(_ id: Ticket, _ request: UnfinishedRequest, from current: CurrentRequest) {
        entries[id] = Entry(current, request)
    }

    /// Changes an entry. Returns nil if there is none.
    @discardableResult
    mutating func update<Result>(_ id: Ticket, _ change: (inout Entry) -> Result) -> Result? {
        guard let index = entries.index(forKey: id) else { return nil }
        return change(&entries.values[index])
    }

    mutating func remove(_ id: Ticket) -> Entry? {
        let entry = entries.removeValue(forKey: id)
        if entries.isEmpty, entries.capacity > Self.keptCapacity { entries = [:] }
        return entry
    }
}
