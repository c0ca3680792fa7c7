import Glibc
import HTTPWire
import Platform

/// What the connections of a loop share while it is their turn: buffers, the parser for requests that lie whole in the read
/// buffer, the clock's time. Confined to the loop's queue like they are.
final class LoopContext {
    static let readSize = 64 * 1024
    /// An output buffer that one large answer has grown is not kept.
    private static let keptOutput = 1024 * 1024

    unowned let loop: EventLoop
    let handler: any RequestHandler
    let moreFields: [FieldBlock]
    let limits: TransportLimits
    let epoll: Epoll
    let readBuffer: UnsafeMutableRawBufferPointer
    /// Answers of the connection whose turn it is; empty between turns.
    var output: [UInt8] = []
    /// Between requests, whenever it is not in use.
    var parser: RequestParser
    private(set) var date = HTTPDate(unixSeconds: 0)
    private var dateSecond = 0
    /// Monotonic, in nanoseconds; renewed with each batch.
    private(set) var now: UInt64
    var connections = ConnectionTable()
    /// Of connections, which may be late by a quarter of a second.
    var wheel: DeadlineWheel
    /// Of handlers, which are told within 20 ms, the timer's leeway included. The ring spans what most of them ask
    /// for, so that few are looked at before their time.
    var alarms: DeadlineWheel
    /// Counts the batches.
    private(set) var batch = 0
    /// Of the answer to the request that the handler looks at; nil once that is among those owed.
    var offered: AnswerForm?
    /// Connections with answers to send, and perhaps requests to offer again, at the end of the batch.
    var unsettled: [Connection] = []
    /// Empty between uses, but for its memory.
    var jointSending = JointSending()
    /// Closed connections, kept until the batch ends, so that no descriptor is used again within it.
    var doomed: [Connection] = []
    /// Streams whose handlers are to hear in the next batch that all is sent.
    var drained: [Ticket] = []
    var isStopping = false

    init(_ loop: EventLoop, _ handler: any RequestHandler, _ limits: TransportLimits, _ epoll: Epoll, now: UInt64) {
        self.loop = loop
        self.handler = handler
        moreFields = handler.moreFields
        self.limits = limits
        self.epoll = epoll
        self.now = now
        readBuffer = .allocate(byteCount: Self.readSize, alignment: 64)
        parser = RequestParser(limits: limits.request)
        wheel = DeadlineWheel(now: now, tick: 250_000_000, size: 512)
        alarms = DeadlineWheel(now: now, tick: 15_000_000, size: 4096)
        output.reserveCapacity(Self.readSize)
    }

    deinit {
        readBuffer.deallocate()
    }

    /// A batch begins.
    func renewTime(_ now: UInt64) {
        self.now = now
        batch &+= 1
        var time = timespec()
        clock_gettime(CLOCK_REALTIME_COARSE, &time)
        guard time.tv_sec != dateSecond else { return }
        dateSecond = time.tv_sec
        date = HTTPDate(unixSeconds: dateSecond)
    }

    func settleLater(_ connection: Connection) {
        guard !connection.isUnsettled else { return }
        connection.isUnsettled = true
        unsettled.append(connection)
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
