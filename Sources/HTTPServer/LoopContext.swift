internal import HTTPWire
internal import Platform

/// The state that the connections of an event loop share: buffers, a parser for requests that are complete in the read buffer,
/// the time, and the queues of connections. Owned by the event loop.
package final class LoopContext {
    package static let readSize = 64 * 1024
    /// An output buffer that one large answer has grown is not kept.
    private static let keptOutput = 1024 * 1024
    /// The nanoseconds after which the loop tries again to admit bodies that wait for memory.
    private static let admissionInterval: UInt64 = 5_000_000
    /// The nanoseconds between two checks of the rates of all transfers.
    private static let rateCheckInterval: UInt64 = 250_000_000

    let loop: EventLoop
    let handler: any RequestHandler
    var moreFields: [FieldBlock]
    private(set) var limits: TransportLimits
    let budget: MemoryBudget
    let uploads: UploadQueue
    let epoll: Epoll
    let readBuffer: UnsafeMutableRawBufferPointer
    /// The answers of the connection that is processed; empty between connections.
    var output: [UInt8] = []
    /// Reset between requests.
    var parser: MessageParser
    private(set) var date = HTTPDate(unixSeconds: 0)
    private var dateSecond = 0
    /// Monotonic, in nanoseconds; renewed with each batch.
    private(set) var now: UInt64
    var connections = ConnectionTable()
    /// Deadlines of connections, which may be late by a quarter of a second.
    var deadlines: DeadlineWheel
    /// Alarms of handlers, which are at most 20 ms late. The ring is longer than most alarms, so that few alarms are checked
    /// before their time.
    var alarms: DeadlineWheel
    /// Counts the batches.
    private(set) var batch = 0
    /// The form of the answer to the request that the handler is processing; nil once a connection owes the answer.
    var offered: AnswerForm?
    /// Empty between uses. Its memory is kept.
    var jointSending = JointSending()
    /// The clients of the connections that have closed in this loop iteration, and that are still counted.
    var closed: [ClientCounts.Client] = []
    // The following queues hold identifiers, so that a closed connection is released at once, with its descriptor. A queue
    // skips the identifier of a closed connection.
    /// Streams whose handlers are called in the next batch because all is sent.
    var drained = Deque<Ticket>()
    /// Connections with answers to send, and perhaps requests to offer again, at the end of the batch.
    var unsettled: [UInt64] = []
    /// Connections with requests that are processed in a later loop iteration.
    var postponed = Deque<UInt64>()
    /// Connections with input to read whose peers have shut down their sending side. The loop reads them after all other
    /// connections: most of these peers have disconnected, and other clients must not wait for their requests.
    var ended = Deque<UInt64>()
    /// The maximum length of `ended`. The loop closes the oldest connection of a longer queue.
    private static let mostEnded = 512
    /// The number of connections whose large bodies wait for memory in `uploads`.
    var waitingUploads = 0
    /// The number of connections with requests that are not received in full or not handled yet.
    var backlogs = 0
    /// The time from which the loop postpones connections that send large or many requests, so that other connections are
    /// served first.
    var longRequestsEnd: UInt64 = .max
    /// The queues of bytes that connections are to send.
    var outputQueues = 0
    /// When all connections are closed; nil before the loop begins to stop.
    var stopDeadline: UInt64?
    /// When the loop last checked the rates of all transfers.
    private var ratesChecked: UInt64

    init(
        _ loop: EventLoop, _ handler: any RequestHandler, _ limits: TransportLimits, _ budget: MemoryBudget,
        _ uploads: UploadQueue, _ epoll: Epoll, now: UInt64
    ) {
        self.loop = loop
        self.handler = handler
        moreFields = handler.moreFields
        self.limits = limits
        self.budget = budget
        self.uploads = uploads
        self.epoll = epoll
        self.now = now
        ratesChecked = now
        readBuffer = .allocate(byteCount: Self.readSize, alignment: 64)
        parser = MessageParser(limits: limits.request)
        deadlines = DeadlineWheel(now: now, tick: 250_000_000, size: 512)
        alarms = DeadlineWheel(now: now, tick: 15_000_000, size: 4096)
        output.reserveCapacity(Self.readSize)
    }

    deinit {
        readBuffer.deallocate()
    }

    var isStopping: Bool { stopDeadline != nil }

    /// Sets other limits, between two requests. A request whose head has begun keeps the limits of its size.
    func renew(_ limits: TransportLimits) {
        self.limits = limits
        parser = MessageParser(limits: limits.request)
    }

    /// The milliseconds that the loop may wait for events; nil if there is no limit.
    ///
    /// - Parameter now: the time at the end of the loop iteration.
    func timeToWait(now: UInt64) -> Int? {
        guard drained.isEmpty, postponed.isEmpty, ended.isEmpty, unsettled.isEmpty else { return 0 }
        var time = min(deadlines.wakeTime, alarms.wakeTime, stopDeadline ?? DeadlineWheel.never)
        if waitingUploads > 0 { time = min(time, self.now &+ Self.admissionInterval) }
        if hasTransfers { time = min(time, ratesChecked &+ Self.rateCheckInterval) }
        guard time != DeadlineWheel.never else { return nil }
        // Rounded up, as a wait that ends too early is repeated.
        return time > now ? Int(clamping: (time - now) / 1_000_000 + 1) : 0
    }

    /// Begins a loop iteration.
    func renewTime(_ now: UInt64) {
        self.now = now
        batch &+= 1
        let second = WallClock.coarseSeconds
        guard second != dateSecond else { return }
        dateSecond = second
        date = HTTPDate(unixSeconds: dateSecond)
    }

    /// The bytes that a connection may send in one loop iteration. The more connections send, the fewer bytes each connection
    /// may send, so that an iteration takes about ten milliseconds.
    var bytesPerIteration: Int { max(16, 128 - outputQueues) * 1024 }

    func settleLater(_ connection: Connection) {
        guard !connection.isUnsettled else { return }
        connection.isUnsettled = true
        unsettled.append(connection.name)
    }

    /// Has a connection read after all others.
    func readLast(_ connection: Connection) {
        guard !connection.isLast else { return }
        connection.isLast = true
        ended.append(connection.name)
        if ended.count > Self.mostEnded, let oldest = ended.popFirst() { connections.find(oldest)?.close(self) }
    }

    /// Continues to read the bodies that are admitted now.
    func resumeAdmittedUploads() {
        while waitingUploads > 0, let (connection, upload) = uploads.admitNext(on: loop.index) {
            connections.find(connection.name)?.resume(upload, self)
        }
    }

    /// True if a connection may be sending or receiving something that did not fit into one call.
    private var hasTransfers: Bool { outputQueues > 0 || backlogs > 0 }

    /// While memory is short, closes the connections that hold memory and whose transfers are slower than `MinimumRate`. While only bodies wait for
    /// memory, closes the slow uploads.
    func closeSlowTransfers() {
        guard hasTransfers, now &- ratesChecked >= Self.rateCheckInterval else { return }
        ratesChecked = now
        let memoryIsShort = budget.isShort
        guard memoryIsShort || uploads.hasWaiting else { return }
        for connection in connections.all where connection.isSlow(at: now, onlyUploads: !memoryIsShort) {
            connection.endSlowTransfer(self)
        }
    }

    func emptyOutput() {
        if output.capacity > Self.keptOutput {
            output = []
            output.reserveCapacity(Self.readSize)
        } else {
            output.removeAll(keepingCapacity: true)
        }
    }
}

/// A table of the connections of one loop, each in a slot of its own. A slot that is used again gets another generation, so
/// that events and tickets of the connection before find nothing.
struct ConnectionTable {
    private var slots: [Connection?] = []
    private var generations: [UInt32] = []
    private var free: [UInt32] = []

    private(set) var count = 0

    mutating func insert(_ socket: consuming Socket, _ accepted: AcceptedSocket) -> Connection {
        let slot: UInt32
        if let reused = free.popLast() {
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
        free.append(connection.slot)
        count -= 1
    }

    func find(slot: UInt32, generation: UInt32) -> Connection? {
        let slot = Int(slot)
        guard slot < slots.count, generations[slot] == generation else { return nil }
        return slots[slot]
    }

    /// Finds a connection by its name in epoll and in the wheels.
    func find(_ name: UInt64) -> Connection? {
        find(slot: UInt32(truncatingIfNeeded: name), generation: UInt32(truncatingIfNeeded: name >> 32))
    }

    /// All connections as of now.
    var all: [Connection] { slots.compactMap(\.self) }
}
