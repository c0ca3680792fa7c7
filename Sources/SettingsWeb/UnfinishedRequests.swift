internal import HTTPServer
internal import SettingsEngine

/// The work or the event that an unfinished request, which is a request without an answer yet, waits for.
///
/// `RequestEvents.swift` defines what each kind of request does when its connection closes, its deadline passes, the
/// credential of its caller is revoked, or the daemon stops.
enum UnfinishedRequest {
    /// A write that a `WorkScheduler` prepares in the background, or that the store checks and makes durable.
    case write(UnansweredWrite)
    /// An answer that a `WorkScheduler` computes in the background. All requests with the same key get the same answer.
    indirect case backgroundWork(BackgroundAnswers.Key)
    /// An answer from another part of the daemon: a reload, the metrics of all loops, or the state of the cluster. Also
    /// a placeholder for a request that was a `revisionWait`, while the handler serves the request after the wait.
    case serverOperation
    /// A request that must not be answered before the daemon has published a revision (the number of a commit).
    indirect case revisionWait(RevisionWait)
    /// A long poll, which is a GET of `…/observe`, or a GET of a setting or a suite with the parameter `wait`.
    case watcher(Watcher)
    /// An event stream.
    case stream(Watcher)
    /// A request that waits until clients have applied a state.
    case convergence(ConvergenceWait)
    case backup(BackupTransfer)

    /// True if the request waits for a client or for other commits, so that its duration does not measure the daemon.
    var waitsForEvent: Bool {
        switch self {
        case .write, .backgroundWork, .serverOperation: false
        case .revisionWait, .watcher, .stream, .convergence, .backup: true
        }
    }
}

/// The requests of one event loop that are not answered yet, by their tickets, which identify requests.
///
/// Queues, indexes and background work contain only tickets, and look up the request here. A request that is answered
/// at once is never in the table. The table is an array with one request for each connection, because most connections
/// have at most one unfinished request. Owned by the event loop.
struct UnfinishedRequests {
    /// An unfinished request, with the data that all kinds of requests have.
    struct Entry {
        fileprivate let id: Ticket
        /// The sender of the request; nil without access control.
        let caller: Caller?
        /// The copy of the head for the logs; nil if the request will not be logged.
        var logCopy: LoggedRequest?
        var request: UnfinishedRequest
        var timing: RequestTiming
        /// False if the connection has closed, and the request is a write that still takes effect. This write stays in
        /// the table until it is completed and audited. A close removes any other request from the table.
        var isConnected = true

        fileprivate init(_ id: Ticket, _ request: UnfinishedRequest, from current: CurrentRequest) {
            (self.id, self.request) = (id, request)
            (caller, timing) = (current.caller, current.timing)
            timing.waitsForEvent = timing.waitsForEvent || request.waitsForEvent
        }

        /// True if caches must not store the response: see ``CurrentRequest/forbidsCaching``.
        var forbidsCaching: Bool { caller?.grants.mayReadSecrets ?? false }

        fileprivate mutating func apply<Result>(_ change: (inout Entry) -> Result) -> Result { change(&self) }
    }

    /// If the array is empty and has a larger capacity, ``releaseUnusedMemory()`` releases its memory.
    private static let retainedCapacity = 1024

    /// One request of each connection, by the slot of the connection: a small number that later connections reuse.
    private var slots: [Entry?] = []
    private var usedSlots = 0
    /// Requests whose slot is occupied by an earlier request of the connection, or by a write of a closed connection.
    private var overflow: [Ticket: Entry] = [:]

    var ids: [Ticket] { slots.compactMap { $0?.id } + overflow.keys }

    private func isInSlot(_ id: Ticket) -> Bool {
        let slot = Int(id.slot)
        return slot < slots.count && slots[slot]?.id == id
    }

    func entry(_ id: Ticket) -> Entry? {
        if isInSlot(id) { return slots[Int(id.slot)] }
        return overflow.isEmpty ? nil : overflow[id]
    }

    subscript(id: Ticket) -> UnfinishedRequest? {
        if isInSlot(id) { return slots[Int(id.slot)]?.request }
        return overflow.isEmpty ? nil : overflow[id]?.request
    }

    /// Returns the watcher of a long poll, a GET with `wait` or an event stream; nil for any other request.
    func watcher(_ id: Ticket) -> Watcher? {
        switch self[id] {
        case .watcher(let watcher), .stream(let watcher): watcher
        default: nil
        }
    }

    func count(where condition: (UnfinishedRequest) -> Bool) -> Int {
        slots.count { $0.map { condition($0.request) } ?? false } + overflow.values.count { condition($0.request) }
    }

    /// Adds the request that the handler is processing, or replaces the entry of this request.
    mutating func insert(_ id: Ticket, _ request: UnfinishedRequest, from current: CurrentRequest) {
        let (slot, entry) = (Int(id.slot), Entry(id, request, from: current))
        while slots.count <= slot { slots.append(nil) }
        switch slots[slot]?.id {
        case id?: slots[slot] = entry
        // If the request already has an entry in `overflow`, that entry is replaced, although the slot is free.
        case nil where overflow.isEmpty || overflow[id] == nil:
            slots[slot] = entry
            usedSlots += 1
        default: overflow[id] = entry
        }
    }

    /// Changes an entry. Returns nil if there is no entry with the ticket.
    @discardableResult
    mutating func update<Result>(_ id: Ticket, _ change: (inout Entry) -> Result) -> Result? {
        isInSlot(id) ? slots[Int(id.slot)]?.apply(change) : overflow[id]?.apply(change)
    }

    mutating func remove(_ id: Ticket) -> Entry? {
        guard isInSlot(id) else { return overflow.isEmpty ? nil : overflow.removeValue(forKey: id) }
        usedSlots -= 1
        return slots[Int(id.slot)].take()
    }

    /// Releases the memory of a large array that is empty.
    ///
    /// The handler calls this method when a connection closes, and not after each answer: the next write on a
    /// connection with a high slot would allocate the array again.
    mutating func releaseUnusedMemory() {
        if usedSlots == 0, slots.capacity > Self.retainedCapacity { slots = [] }
    }
}
