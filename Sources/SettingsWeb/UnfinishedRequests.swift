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
    /// An answer that another part of the daemon gives: a reload, the figures of all event loops, the state of the
    /// cluster.
    case serviceCall
    /// A request that must not be answered before the daemon has published a revision.
    indirect case revisionWait(RevisionWait)
    /// A long poll, or a GET with `wait`.
    case watcher(Watcher)
    /// An event stream.
    case stream(Watcher)
    /// A backup that is being sent.
    case backup(BackupTransfer)

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
/// Queues, indexes and work in the background hold identifiers only, and find the request here. A request that is
/// answered at once is never in the table. Owned by the event loop.
///
/// The table is an array with a place for one request of each connection, because most connections have at most one
/// unfinished request.
struct UnfinishedRequests {
    /// The data that all kinds of requests have.
    struct Entry {
        fileprivate let id: Ticket
        /// Nil without access control.
        let caller: Caller?
        /// The copy of the head for the logs; nil if the request will not be logged.
        var logCopy: LoggedRequest?
        var request: UnfinishedRequest
        var timing: RequestTiming
        /// False if the connection has closed and the request waits for the result of a write, which is audited.
        var isConnected = true

        fileprivate init(_ id: Ticket, _ request: UnfinishedRequest, from current: CurrentRequest) {
            self.id = id
            self.request = request
            caller = current.caller
            timing = current.timing
            timing.waitsForEvent = timing.waitsForEvent || request.waitsForEvent
        }

        /// True if proxies must not store the response, because it may contain secrets.
        var forbidsStorage: Bool { caller?.grants.mayReadSecrets ?? false }

        fileprivate mutating func apply<Result>(_ change: (inout Entry) -> Result) -> Result { change(&self) }
    }

    /// An empty array with room for more entries than this releases its memory.
    private static let keptCapacity = 1024

    /// One request of each connection, by the slot of the connection.
    private var slots: [Entry?] = []
    private var usedSlots = 0
    /// Further requests of a connection, and requests of a connection whose slot holds a write of an earlier
    /// connection.
    private var others: [Ticket: Entry] = [:]

    /// The identifiers of all requests.
    var ids: [Ticket] { slots.compactMap { $0?.id } + others.keys }

    private func isInSlot(_ id: Ticket) -> Bool {
        let slot = Int(id.slot)
        return slot < slots.count && slots[slot]?.id == id
    }

    func entry(_ id: Ticket) -> Entry? {
        if isInSlot(id) { return slots[Int(id.slot)] }
        return others.isEmpty ? nil : others[id]
    }

    subscript(id: Ticket) -> UnfinishedRequest? {
        if isInSlot(id) { return slots[Int(id.slot)]?.request }
        return others.isEmpty ? nil : others[id]?.request
    }

    /// Returns the watcher or the stream with an identifier.
    func watcher(_ id: Ticket) -> Watcher? {
        switch self[id] {
        case .watcher(let watcher), .stream(let watcher): watcher
        default: nil
        }
    }

    /// Counts the requests that meet a condition.
    func count(where condition: (UnfinishedRequest) -> Bool) -> Int {
        slots.count { $0.map { condition($0.request) } ?? false } + others.values.count { condition($0.request) }
    }

    /// Adds the request that the handler is processing, or replaces the entry of this request.
    mutating func insert(_ id: Ticket, _ request: UnfinishedRequest, from current: CurrentRequest) {
        let (slot, entry) = (Int(id.slot), Entry(id, request, from: current))
        while slots.count <= slot { slots.append(nil) }
        switch slots[slot]?.id {
        case id?: slots[slot] = entry
        case nil where others.isEmpty || others[id] == nil:
            slots[slot] = entry
            usedSlots += 1
        default: others[id] = entry
        }
    }

    /// Changes an entry. Returns nil if there is none.
    @discardableResult
    mutating func update<Result>(_ id: Ticket, _ change: (inout Entry) -> Result) -> Result? {
        isInSlot(id) ? slots[Int(id.slot)]?.apply(change) : others[id]?.apply(change)
    }

    mutating func remove(_ id: Ticket) -> Entry? {
        guard isInSlot(id) else { return others.isEmpty ? nil : others.removeValue(forKey: id) }
        usedSlots -= 1
        return slots[Int(id.slot)].take()
    }

    /// Releases the memory of a large array that is empty.
    ///
    /// The handler calls this method when a connection closes, and not after each answer: the next write on a
    /// connection with a high slot would allocate the array again.
    mutating func releaseUnusedMemory() {
        if usedSlots == 0, slots.capacity > Self.keptCapacity { slots = [] }
    }
}
