internal import HTTPWire
internal import Platform

/// A connection that takes requests, owes answers to them in order, and sends what the peer reads.
///
/// Runs on its loop's queue only; the loop's table owns it. Every method gets the loop's `LoopContext` and ends a turn with
/// `proceed`. An idle connection holds no buffers. Its file is for its life and its deadlines; input, output and streams
/// have files of their own.
final class Connection {
    enum Phase {
        case open
        /// The last answer is sent. Input is read and discarded, so that the peer sees the answer and no reset.
        case lingering
        case closed
    }

    /// The reason why a connection has a deadline.
    enum Deadline {
        case idle, head, body, send, linger
    }

    // In an order that leaves no gaps: there are as many of these as connections.
    let socket: Socket
    let slot: UInt32
    let generation: UInt32
    /// The number of the next request.
    var nextNumber: UInt32 = 0
    let peer: SocketAddress
    var phase = Phase.open
    /// The reason for its deadline.
    var deadlineKind = Deadline.idle
    /// The events that epoll reports.
    private(set) var interest = usualInterest
    private static var usualInterest: Epoll.Events { .readable | .peerEnded }
    /// True if the peer has shut down its sending side, and everything before that has been read.
    var inputEnded = false
    /// As `inputEnded`, but there may be something left to read.
    var peerEnded = false
    /// False once the connection is to close: the last request has been taken.
    var takesRequests = true
    var isUnsettled = false
    /// True if its turn ended with requests left, which are taken in a later batch.
    var isPostponed = false
    /// True while it is not read, as those have their turn first whose peers are still there: see `LoopContext.ended`.
    var isLast = false
    /// True if a stream may have fallen too far behind; decided once the kernel has been offered what there is.
    var mayLag = false
    /// True while the handler looks at a request of this connection: see `LoopContext.offered`.
    var isOffering = false
    let user: PeerUser?
    /// The client that it counts for.
    let client: ClientCounts.Client
    var backlog: Backlog?
    /// The requests that were taken and not answered in full, oldest first.
    var owed: Deque<PendingAnswer> = []
    /// What found no room in the send buffer; nil while nothing waits.
    var unsent: OutputQueue?
    /// `DeadlineWheel.never` while the connection may wait.
    var deadline = DeadlineWheel.never
    private var filedTick = DeadlineWheel.never
    private var filedAlarm = DeadlineWheel.never
    /// The bytes of a body when its deadline was last moved; the bytes discarded while lingering.
    private var progressMark = 0

    init(_ socket: consuming Socket, _ accepted: AcceptedSocket, slot: UInt32, generation: UInt32) {
        self.socket = socket
        peer = accepted.peer
        user = accepted.user
        client = accepted.client
        self.slot = slot
        self.generation = generation
    }

    var name: UInt64 { UInt64(generation) << 32 | UInt64(slot) }

    func ticket(_ number: UInt32) -> Ticket {
        Ticket(slot: slot, generation: generation, number: number)
    }

    /// The number of the oldest request that is owed an answer.
    var firstNumber: UInt32 { nextNumber &- UInt32(owed.count) }

    /// True if a further request may be taken now.
    func hasRoom(_ context: LoopContext) -> Bool {
        phase == .open && takesRequests && unsent == nil && owed.count < context.limits.maxPipelinedRequests
    }

    /// Handles events that epoll has reported.
    func ready(_ events: Epoll.Events, _ context: LoopContext) {
        guard phase == .open else { return linger(context) }
        // Over a Unix domain socket a peer that closes has hung up before what it sent last has been read.
        let hasMore = events.contains(.readable) && !inputEnded
        guard !events.contains(.failed), !events.contains(.hungUp) || hasMore else { return close(context) }
        if events.contains(.readable), events.contains(.peerEnded), !inputEnded {
            context.readLast(self)
        } else if events.contains(.readable) {
            receive(context)
        } else if events.contains(.peerEnded) {
            notePeerEnded(context)
        }
        guard !awaitsAnswer(context) else { return }
        proceed(context)
    }

    /// True if the connection owes one answer, has nothing else to do until the handler gives it, and may wait for as long as
    /// that takes. A write mostly gets its answer when the turn ends, and then it proceeds.
    private func awaitsAnswer(_ context: LoopContext) -> Bool {
        guard phase == .open, owed.count == 1, !isUnsettled, unsent == nil, backlog == nil, takesRequests, !peerEnded,
            !isLast, interest == Self.usualInterest, context.output.isEmpty, context.limits.maxPipelinedRequests > 1
        else { return false }
        deadlineKind = .idle
        deadline = DeadlineWheel.never
        return true
    }

    /// Reads what a peer had sent before it ended.
    func readLast(_ context: LoopContext) {
        guard isLast else { return }
        isLast = false
        guard phase == .open else { return }
        receive(context)
        proceed(context)
    }

    /// Sends answers that are ready and takes requests from the backlog, as far as possible. Then closes if all is done,
    /// or sets what to wait for and how long.
    func proceed(_ context: LoopContext) {
        // Before anything is rendered: epoll reports room in the send buffer only while something waits for it.
        if unsent != nil { flush(context) }
        repeat {
            renderReady(context)
            if !context.output.isEmpty { flush(context) }
            guard phase == .open else { return }
        } while takeBacklog(context)
        guard !isDone(context) else { return finish(context) }
        guard !lags(context) else { return reset(context) }
        awaitBody(context)
        guard phase == .open else { return }
        noteDrained(context)
        renewInterest(context)
        renewDeadline(context)
    }

    /// True if all is answered and sent, and no further request can or may come.
    private func isDone(_ context: LoopContext) -> Bool {
        guard unsent == nil, owed.isEmpty else { return false }
        guard takesRequests, let backlog else { return !takesRequests || inputEnded || context.isStopping }
        return backlog.waiting == .bytes && (inputEnded || context.isStopping && !backlog.parser.hasBegun)
    }

    private func finish(_ context: LoopContext) {
        guard !inputEnded else { return close(context) }
        socket.endSending()
        phase = .lingering
        backlog = nil
        progressMark = 0
        setDeadline(.linger, in: context.limits.lingerTime, context)
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

    /// Begins to stop with the loop. A request that has come in meanwhile is still answered.
    func stop(_ context: LoopContext) {
        guard isIdle else { return }
        receive(context)
        if isIdle, context.output.isEmpty { close(context) } else { proceed(context) }
    }

    private var isIdle: Bool {
        guard phase == .open, owed.isEmpty, unsent == nil else { return false }
        return backlog.map { $0.waiting == .bytes && !$0.parser.hasBegun } ?? true
    }

    /// A connection that holds at most this much memory is never closed because memory is short.
    private static let smallBytes = 64 * 1024

    /// The memory of requests that are not handled yet, and of answers that are not sent yet.
    private var transferBytes: Int {
        (backlog?.size ?? 0) + (unsent?.count ?? 0) + (owed.first?.stream?.pendingCount ?? 0)
    }

    /// True if the connection holds memory and transfers less than the minimum rate. False if the peer waits for the daemon.
    func isSlow(at now: UInt64, onlyUploads: Bool) -> Bool {
        guard transferBytes > Self.smallBytes else { return false }
        if let unsent { return !onlyUploads && unsent.rate.isMissed(at: now) }
        return backlog.map { $0.waiting == .bytes && $0.rate.isMissed(at: now) } ?? false
    }

    /// Ends a transfer that is too slow while memory is short. A request that is being received gets an answer, unless earlier answers are still to
    /// be sent.
    func endSlowTransfer(_ context: LoopContext) {
        guard phase == .open, unsent == nil, owed.isEmpty, let backlog else { return reset(context) }
        reject(.tooMuchMemory, backlog.parser.head, backlog.bytes.span, context)
        proceed(context)
    }

    private func reset(_ context: LoopContext) {
        socket.resetOnClose()
        close(context)
    }

    /// Closes at once. The handler gets a call for each answer that is owed.
    func close(_ context: LoopContext) {
        guard phase != .closed else { return }
        phase = .closed
        backlog = nil
        unsent = nil
        deadline = DeadlineWheel.never
        context.emptyOutput()
        context.connections.remove(self)
        context.closed.append(client)
        callOff(from: 0, context)
    }

    /// Drops the owed answers from a position on. The handler gets a call for each; their numbers are used again.
    func callOff(from position: Int, _ context: LoopContext) {
        let firstNumber = firstNumber
        let dropped = Array(owed[position...])
        owed.removeSubrange(position...)
        nextNumber = firstNumber &+ UInt32(position)
        for (offset, answer) in dropped.enumerated() where !answer.isComplete {
            context.handler.closed(ticket(nextNumber &+ UInt32(offset)))
        }
    }

    /// Tells the handler, once for each answer that is owed.
    func notePeerEnded(_ context: LoopContext) {
        guard !peerEnded else { return }
        peerEnded = true
        let firstNumber = firstNumber
        for (offset, answer) in owed.enumerated() where !answer.isComplete {
            context.handler.peerHalfClosed(ticket(firstNumber &+ UInt32(offset)))
        }
    }

    private func renewInterest(_ context: LoopContext) {
        var wanted: Epoll.Events = unsent == nil ? .none : .writable
        if phase == .lingering {
            wanted = .readable
        } else if !inputEnded, !isLast {
            if !peerEnded { wanted = wanted | .peerEnded }
            if hasRoom(context), backlog.map({ $0.waiting == .bytes }) ?? true { wanted = wanted | .readable }
        }
        guard wanted != interest else { return }
        interest = wanted
        context.epoll.change(socket.descriptor, wanted, name: name)
    }
}

// MARK: Deadlines

extension Connection {
    private func renewDeadline(_ context: LoopContext) {
        let limits = context.limits
        if unsent != nil {
            // Moved whenever something was sent: see `flush`.
            if deadlineKind != .send { setDeadline(.send, in: limits.sendTimeout, context) }
        } else if !owed.isEmpty {
            // The daemon causes the wait, or the request asked for it.
            deadlineKind = .idle
            deadline = DeadlineWheel.never
        } else if let backlog, backlog.parser.hasBegun {
            if !backlog.parser.headIsComplete {
                if deadlineKind != .head { setDeadline(.head, in: limits.headTime, context) }
            } else if deadlineKind != .body || backlog.bytes.count - progressMark >= limits.bodyProgress {
                progressMark = backlog.bytes.count
                setDeadline(.body, in: limits.bodyTime, context)
            }
        } else {
            setDeadline(.idle, in: limits.idleTime, context)
        }
    }

    func setDeadline(_ kind: Deadline, in time: UInt64, _ context: LoopContext) {
        deadlineKind = kind
        setDeadline(context.now &+ time, context)
    }

    private func setDeadline(_ time: UInt64, _ context: LoopContext) {
        deadline = time
        if time / context.deadlines.tick < filedTick {
            filedTick = context.deadlines.file(name, at: time, now: context.now)
        }
    }

    /// Acts on a deadline that the wheel has returned from the ring of `tick`.
    func checkDeadline(_ tick: UInt64, _ context: LoopContext) {
        // Filed again since, for an earlier time.
        guard tick == filedTick else { return }
        filedTick = DeadlineWheel.never
        guard deadline != DeadlineWheel.never else { return }
        guard deadline <= context.now else { return setDeadline(deadline, context) }
        switch deadlineKind {
        case .idle, .linger: close(context)
        case .send: reset(context)
        case .head, .body:
            let bytes = backlog?.bytes ?? []
            reject(backlog?.waiting == .memory ? .tooMuchMemory : .tooSlow, backlog?.parser.head, bytes.span, context)
            proceed(context)
        }
    }

    /// Sets when the handler is to be reminded of an answer that it owes.
    func setAlarm(_ ticket: Ticket, at time: UInt64, _ context: LoopContext) {
        guard let position = position(ticket, context), !owed[position].isComplete else { return }
        owed[position].alarm = time
        fileAlarm(time, context)
    }

    /// Files an alarm, unless the connection is filed for an earlier time already: it is filed again then.
    private func fileAlarm(_ time: UInt64, _ context: LoopContext) {
        guard time != DeadlineWheel.never, time / context.alarms.tick < filedAlarm else { return }
        filedAlarm = context.alarms.file(name, at: time, now: context.now)
    }

    /// Calls the handler for alarms whose time has come.
    func checkAlarms(_ tick: UInt64, _ context: LoopContext) {
        guard tick == filedAlarm else { return }
        filedAlarm = DeadlineWheel.never
        let firstNumber = firstNumber
        for position in owed.indices where owed[position].alarm <= context.now {
            owed[position].alarm = DeadlineWheel.never
            context.handler.alarm(ticket(firstNumber &+ UInt32(position)))
        }
        fileAlarm(owed.lazy.map(\.alarm).min() ?? DeadlineWheel.never, context)
    }
}
