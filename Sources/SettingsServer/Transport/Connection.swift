import HTTPWire
import Platform

/// One connection: what it has sent that could not be taken yet, what it is owed, what it has not read.
///
/// Confined to its loop's queue; the loop's table owns it. Every method is handed the loop's `LoopContext` and ends a turn
/// with `proceed`. An idle connection holds no buffers.
final class Connection {
    enum Phase {
        case open
        /// All is said; what the peer still sends is thrown away, so that it sees the answer and not a reset.
        case lingering
        case closed
    }

    enum Deadline {
        case idle, head, body, unread, linger
    }

    let socket: Socket
    let peer: SocketAddress
    let slot: UInt32
    let generation: UInt32

    var phase = Phase.open
    /// What epoll was told to report.
    var interest: Epoll.Events = .readable
    /// The peer has shut down its sending side, and everything before that has been read.
    var inputEnded = false
    /// As `inputEnded`, but there may be something left to read.
    var peerEnded = false
    /// False once the connection is to close: the last request has been taken.
    var takesRequests = true
    var isUnsettled = false
    /// The peer may be too far behind with a stream: to be seen once the kernel has been offered what there is.
    var mayLag = false
    /// The handler looks at a request of this connection: see `LoopContext.offered`.
    var isOffering = false
    var backlog: Backlog?

    /// Requests taken and not answered, or answered and waiting for those before: oldest first.
    var owed: [OwedAnswer] = []
    /// The number of the next request.
    var nextNumber: UInt32 = 0
    /// Rendered answers that found no room in the send buffer, from `unsentStart` on.
    var unsent: [UInt8] = []
    var unsentStart = 0

    var deadlineKind = Deadline.idle
    /// When it has waited too long; `DeadlineWheel.never` while it may wait.
    var deadline = DeadlineWheel.never
    var filedTick = DeadlineWheel.never
    /// As `filedTick`, for what the handler wants to be reminded of.
    var filedAlarm = DeadlineWheel.never
    /// What a body had come to when its deadline was last moved; what has been thrown away, while lingering.
    var progressMark = 0

    init(_ socket: consuming Socket, _ peer: SocketAddress, slot: UInt32, generation: UInt32) {
        self.socket = socket
        self.peer = peer
        self.slot = slot
        self.generation = generation
    }

    var name: UInt64 { UInt64(generation) << 32 | UInt64(slot) }

    func ticket(_ number: UInt32) -> Ticket {
        Ticket(slot: slot, generation: generation, number: number)
    }

    /// True if a further request may be taken now.
    func hasRoom(_ context: LoopContext) -> Bool {
        phase == .open && takesRequests && unsent.isEmpty && owed.count < context.limits.owedAnswers
    }

    /// Epoll has reported something.
    func ready(_ events: Epoll.Events, _ context: LoopContext) {
        guard phase == .open else { return linger(context) }
        // Over a Unix domain socket a peer that closes has hung up before what it sent last has been read.
        let hasMore = events.contains(.readable) && !inputEnded
        guard !events.contains(.failed), !events.contains(.hungUp) || hasMore else { return close(context) }
        if events.contains(.readable) {
            receive(context)
        } else if events.contains(.peerEnded) {
            notePeerEnded(context)
        }
        proceed(context)
    }

    /// Goes on as far as possible: sends answers that are ready, takes requests that lie here; closes if all is done, or
    /// else settles what to wait for, and how long.
    func proceed(_ context: LoopContext) {
        // Before anything is rendered: what could not be sent may have room, which epoll tells only while something
        // waits.
        if !unsent.isEmpty { flush(context) }
        repeat {
            renderReady(context)
            if !context.output.isEmpty { flush(context) }
            guard phase == .open else { return }
        } while takeBacklog(context)
        guard !isDone(context) else { return finish(context) }
        guard !lags(context) else {
            socket.resetOnClose()
            return close(context)
        }
        awaitBody(context)
        guard phase == .open else { return }
        noteDrained(context)
        renewInterest(context)
        renewDeadline(context)
    }

    /// Whether all is answered and sent, and nothing further can or may come.
    private func isDone(_ context: LoopContext) -> Bool {
        guard unsent.isEmpty, owed.isEmpty else { return false }
        guard takesRequests, let backlog else { return !takesRequests || inputEnded || context.isStopping }
        return backlog.waiting == .bytes && (inputEnded || context.isStopping && !backlog.parser.hasBegun)
    }

    private func finish(_ context: LoopContext) {
        guard !inputEnded else { return close(context) }
        socket.endSending()
        phase = .lingering
        backlog = nil
        deadlineKind = .linger
        progressMark = 0
        setDeadline(context.now &+ context.limits.lingerTime, context)
        renewInterest(context)
    }

    private func linger(_ context: LoopContext) {
        guard phase == .lingering else { return }
        switch socket.receive(into: context.readBuffer) {
        case .nothing: return
        case .bytes(let count):
            progressMark += count
            if progressMark > context.limits.lingerBytes { close(context) }
        case .end, .failed: close(context)
        }
    }

    /// The loop is stopping. A request that has come in meanwhile is still answered.
    func stop(_ context: LoopContext) {
        guard isIdle else { return }
        receive(context)
        if isIdle, context.output.isEmpty { close(context) } else { proceed(context) }
    }

    private var isIdle: Bool {
        phase == .open && owed.isEmpty && unsent.isEmpty && !(backlog?.parser.hasBegun ?? false)
    }

    /// At once, whatever is owed: the handler hears of answers that are wanted no more.
    func close(_ context: LoopContext) {
        guard phase != .closed else { return }
        phase = .closed
        backlog = nil
        unsent = []
        deadline = DeadlineWheel.never
        context.emptyOutput()
        context.connections.remove(self)
        context.doomed.append(self)
        callOff(from: 0, context)
    }

    /// The owed answers from that position on are wanted no more; no further requests will be taken.
    func callOff(from position: Int, _ context: LoopContext) {
        let firstNumber = nextNumber &- UInt32(owed.count)
        let dropped = owed[position...]
        owed.removeSubrange(position...)
        nextNumber = firstNumber &+ UInt32(position)
        for (offset, answer) in dropped.enumerated() where !answer.isComplete {
            context.handler.closed(ticket(nextNumber &+ UInt32(offset)))
        }
    }

    /// Tells the handler, once, for each answer that is owed.
    func notePeerEnded(_ context: LoopContext) {
        guard !peerEnded else { return }
        peerEnded = true
        let firstNumber = nextNumber &- UInt32(owed.count)
        for (offset, answer) in owed.enumerated() where !answer.isComplete {
            context.handler.peerHalfClosed(ticket(firstNumber &+ UInt32(offset)))
        }
    }

    private func renewInterest(_ context: LoopContext) {
        var wanted: Epoll.Events = unsent.isEmpty ? [] : .writable
        if phase == .lingering {
            wanted = .readable
        } else if !inputEnded {
            if hasRoom(context), backlog.map({ $0.waiting == .bytes }) ?? true {
                wanted.insert(.readable)
            } else if !peerEnded {
                wanted.insert(.peerEnded)
            }
        }
        guard wanted != interest else { return }
        interest = wanted
        context.epoll.change(socket.descriptor, wanted, name: name)
    }
}
