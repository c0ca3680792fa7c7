internal import HTTPWire
internal import Platform

/// The state that the connections of an event loop share: buffers, a parser for requests in the read buffer, the time,
/// and the queues of connections. A transfer is a partly received request or a partly sent answer.
///
/// Owned by the event loop.
package final class LoopContext {
    /// The maximum number of bytes that one read returns.
    package static let readSize = 64 * 1024
    /// The loop releases the memory of an emptied output buffer if its capacity in bytes exceeds this number.
    private static let maximumEmptyOutputCapacity = 1024 * 1024
    /// The nanoseconds after which the loop tries again to admit large request bodies that wait for memory.
    private static let admissionInterval: UInt64 = 5_000_000
    /// The nanoseconds between two checks of the rates of all transfers.
    private static let rateCheckInterval: UInt64 = 250_000_000

    let loop: EventLoop
    let handler: any RequestHandler
    /// A copy of the handler's `additionalFields`.
    var additionalFields: [FieldBlock]
    private(set) var limits: TransportLimits
    let budget: MemoryBudget
    let uploads: UploadQueue
    let epoll: Epoll
    let readBuffer: UnsafeMutableRawBufferPointer
    /// The rendered answers of the connection that the loop processes at present; empty between connections.
    var output: [UInt8] = []
    /// Parses requests in the read buffer. Reset between requests.
    var parser: MessageParser
    private(set) var date = HTTPDate(unixSeconds: 0)
    private var dateSecond = 0
    /// The time of `EventLoop.clock` at the beginning of the iteration, in nanoseconds.
    private(set) var now: UInt64
    var connections = ConnectionTable()
    /// The deadlines of connections. The loop handles a deadline at most a quarter of a second late.
    var deadlines: DeadlineWheel
    /// The alarms of answers: calls of the handler at set times. An alarm is at most 20 ms late. The wheel covers 61 s,
    /// so most alarms are inserted only once.
    var alarms: DeadlineWheel
    private(set) var iteration = 0
    /// The format of the answer to the request that the handler's `handle` is processing. Nil while `handle` does not
    /// run, and after the connection has made a `PendingAnswer`, which then has the format.
    var currentFormat: AnswerFormat?
    /// Sends small answers of many connections. Empty between uses, and stored here so that its memory is reused.
    var parallelSend = ParallelSend()
    /// The clients of the connections that have closed in this iteration. The loop counts these connections until the
    /// end of the iteration.
    var closedClients: [ClientCounts.Client] = []
    // The following queues contain identifiers instead of references, so that a closed connection and its descriptor
    // are released at once. The loop ignores the identifier of a closed connection.
    /// Streams of which all bytes are sent. The loop calls the handler's `drained` in the next iteration.
    var drainedStreams = Deque<Ticket>()
    /// Connections whose pending work is processed at the end of the iteration: answers to send, and received requests
    /// that had to wait.
    var scheduled: [UInt64] = []
    /// Connections that have used up their time in an iteration. A later iteration processes their next requests.
    var postponed = Deque<UInt64>()
    /// Connections with unread bytes whose peers have shut down their sending side. The loop reads them after all other
    /// connections, because most of these peers have disconnected, and the loop serves clients that still wait for an
    /// answer first.
    var deferredReads = Deque<UInt64>()
    /// The maximum length of `deferredReads`. The loop closes the oldest connection of a longer queue.
    private static let maximumDeferredReads = 512
    /// The number of connections whose large bodies wait for memory in `uploads`.
    var waitingUploadCount = 0
    /// The number of connections with a `Backlog`: with requests that are incomplete or must wait.
    var backlogCount = 0
    /// After this time of `EventLoop.clock`, a connection processes at most one short request in the iteration. If it
    /// has received more, it is added to `postponed`. With 0, this limit always applies. With `max`, it never applies:
    /// only a connection that has used up its own time is postponed.
    var postponingStart: UInt64 = .max
    /// The number of `OutputQueue` objects, each of which contains the unsent bytes of one connection or stream.
    var outputQueueCount = 0
    /// The time at which the loop closes all remaining connections; nil before the loop begins to stop.
    var stopDeadline: UInt64?
    private var lastRateCheck: UInt64

    init(
        _ loop: EventLoop, _ handler: any RequestHandler, _ limits: TransportLimits, _ budget: MemoryBudget,
        _ uploads: UploadQueue, _ epoll: Epoll, now: UInt64
    ) {
        self.loop = loop
        self.handler = handler
        additionalFields = handler.additionalFields
        self.limits = limits
        self.budget = budget
        self.uploads = uploads
        self.epoll = epoll
        self.now = now
        lastRateCheck = now
        readBuffer = .allocate(byteCount: Self.readSize, alignment: 64)
        parser = MessageParser(limits: limits.request)
        deadlines = DeadlineWheel(now: now, tickLength: 250_000_000, tickCount: 512)
        alarms = DeadlineWheel(now: now, tickLength: 15_000_000, tickCount: 4096)
        output.reserveCapacity(Self.readSize)
    }

    deinit {
        readBuffer.deallocate()
    }

    var isStopping: Bool { stopDeadline != nil }

    /// Replaces the limits. Called between two requests. A request that is partly received keeps its size limits.
    func update(_ limits: TransportLimits) {
        self.limits = limits
        parser = MessageParser(limits: limits.request)
    }

    /// Returns the milliseconds from `now` that the loop may wait for events; nil if there is no limit.
    func timeToWait(now: UInt64) -> Int? {
        guard drainedStreams.isEmpty, postponed.isEmpty, deferredReads.isEmpty, scheduled.isEmpty else { return 0 }
        var time = min(deadlines.wakeTime, alarms.wakeTime, stopDeadline ?? DeadlineWheel.never)
        if waitingUploadCount > 0 { time = min(time, self.now &+ Self.admissionInterval) }
        if hasTransfers { time = min(time, lastRateCheck &+ Self.rateCheckInterval) }
        guard time != DeadlineWheel.never else { return nil }
        // Round up, because a wait that ends before the time would need a second wait.
        return time > now ? Int(clamping: (time - now) / 1_000_000 + 1) : 0
    }

    func beginIteration(_ now: UInt64) {
        self.now = now
        iteration &+= 1
        let second = WallClock.coarseSeconds
        guard second != dateSecond else { return }
        dateSecond = second
        date = HTTPDate(unixSeconds: dateSecond)
    }

    /// The bytes that a connection may send in one loop iteration. The more connections send, the fewer bytes each
    /// connection may send, so that an iteration takes about ten milliseconds.
    var bytesPerIteration: Int { max(16, 128 - outputQueueCount) * 1024 }

    /// Schedules the connection, so that its pending work is processed at the end of the iteration.
    func schedule(_ connection: Connection) {
        guard !connection.isScheduled else { return }
        connection.isScheduled = true
        scheduled.append(connection.identifier)
    }

    func deferRead(of connection: Connection) {
        guard !connection.isReadDeferred else { return }
        connection.isReadDeferred = true
        deferredReads.append(connection.identifier)
        guard deferredReads.count > Self.maximumDeferredReads, let oldest = deferredReads.popFirst() else { return }
        connections.find(oldest)?.close(self)
    }

    /// Continues to read the large bodies that the `UploadQueue` admits now.
    func resumeAdmittedUploads() {
        while waitingUploadCount > 0, let (connection, upload) = uploads.admitNext(on: loop.index) {
            connections.find(connection.identifier)?.resume(upload, self)
        }
    }

    /// True if a connection may have a partly received request or a partly sent answer.
    private var hasTransfers: Bool { outputQueueCount > 0 || backlogCount > 0 }

    /// While memory is short, ends the transfers that use memory and are slower than `MinimumRate`. If only the memory
    /// for large request bodies is short, ends only slow requests.
    func endSlowTransfersIfMemoryIsShort() {
        guard hasTransfers, now &- lastRateCheck >= Self.rateCheckInterval else { return }
        lastRateCheck = now
        let memoryIsShort = budget.isShort
        guard memoryIsShort || uploads.hasWaitingBodies else { return }
        for connection in connections.all where connection.isSlow(at: now, onlyUploads: !memoryIsShort) {
            connection.endSlowTransfer(self)
        }
    }

    func emptyOutput() {
        if output.capacity > Self.maximumEmptyOutputCapacity {
            output = []
            output.reserveCapacity(Self.readSize)
        } else {
            output.removeAll(keepingCapacity: true)
        }
    }
}

/// A table of the connections of one event loop. Each connection has a slot. A reused slot gets a new generation, so
/// that identifiers and tickets of a closed connection do not find a later connection.
struct ConnectionTable {
    private var slots: [Connection?] = []
    private var generations: [UInt32] = []
    private var freeSlots: [UInt32] = []

    private(set) var count = 0

    mutating func insert(_ socket: consuming Socket, _ accepted: AcceptedSocket) -> Connection {
        let slot: UInt32
        if let reused = freeSlots.popLast() {
            slot = reused
        } else {
            slot = UInt32(slots.count)
            slots.append(nil)
            generations.append(0)
        }
        let connection = Connection(socket, accepted, slot: slot, generation: generations[Int(slot)])
        slots[Int(slot)] = connection
        count += 1
        return connection
    }

    mutating func remove(_ connection: Connection) {
        let slot = Int(connection.slot)
        guard slots[slot] === connection else { return }
        slots[slot] = nil
        generations[slot] &+= 1
        freeSlots.append(connection.slot)
        count -= 1
    }

    func find(slot: UInt32, generation: UInt32) -> Connection? {
        let slot = Int(slot)
        guard slot < slots.count, generations[slot] == generation else { return nil }
        return slots[slot]
    }

    /// Finds a connection by `Connection.identifier`. Returns nil if the connection is closed.
    func find(_ identifier: UInt64) -> Connection? {
        find(slot: UInt32(truncatingIfNeeded: identifier), generation: UInt32(truncatingIfNeeded: identifier >> 32))
    }

    /// A copy of the list of all connections.
    var all: [Connection] { slots.compactMap(\.self) }
}
