internal import HTTPWire
internal import Platform

/// An HTTP/1.1 connection. It passes requests to the handler, and sends the answers in the order of the requests.
///
/// Owned by the event loop, which handles events and sends answers in iterations. Every method gets the `LoopContext`,
/// which is the state that all connections of the loop share. An idle connection has no buffers. This file implements
/// the lifetime and the deadlines; ConnectionInput, ConnectionOutput and ConnectionStream implement the other parts.
final class Connection {
    enum Phase {
        case open
        /// The last answer is sent. Received bytes are discarded, because closing the socket while bytes are unread
        /// would reset the connection before the peer has read the answer.
        case lingering
        case closed
    }

    /// The event that the connection waits for until its deadline. `TransportLimits` has a time limit for each kind.
    enum DeadlineKind {
        case idle, head, body, send, linger
    }

    // The order of the properties avoids padding, because there may be thousands of connections.
    let socket: Socket
    /// The index of the connection in `ConnectionTable`.
    let slot: UInt32
    /// The number of connections that used the slot before this connection.
    let generation: UInt32
    /// The number of the next request in its `Ticket`, which identifies an unanswered request on the event loop.
    var nextNumber: UInt32 = 0
    let peer: SocketAddress
    var phase = Phase.open
    /// The kind of `deadline`. The kind is also `idle` if the connection has no deadline, or if `updateDeadline` must
    /// set a new deadline.
    var deadlineKind = DeadlineKind.idle
    /// The events that the connection has requested from epoll.
    private(set) var interest = defaultInterest
    /// The events for a connection that can process requests and has no unsent bytes.
    private static var defaultInterest: Epoll.Events { .readable | .peerHalfClosed }
    /// True if the peer has shut down its sending side, and all received bytes were read.
    var inputEnded = false
    /// True if the peer has shut down its sending side. Received bytes may be unread.
    var peerHalfClosed = false
    /// False if the connection processes no further request, and closes after it has sent the pending answers.
    var acceptsRequests = true
    /// True if the loop will call `processPendingWork` at the end of the iteration (`LoopContext.scheduled`).
    var isScheduled = false
    /// True if the connection used up its processing time, so that its next requests wait in `LoopContext.postponed`.
    var isPostponed = false
    /// True if the loop reads this half-closed connection after all other connections (`LoopContext.deferredReads`).
    var isReadDeferred = false
    /// True if the peer possibly reads a stream too slowly. `processPendingWork` checks this after it has sent.
    var mustCheckLag = false
    /// True while the handler's `handle` runs for a request of this connection that is not in `pendingAnswers` yet.
    var isHandlingRequest = false
    /// The user at the other end of a Unix domain socket; nil for TCP.
    let user: PeerUser?
    /// The client whose number of connections includes this connection.
    let client: ClientCounts.Client
    /// The received bytes that were not passed to the handler yet; nil if there are none.
    var backlog: Backlog?
    /// The answers to all requests that are not completely answered. The oldest request is first.
    var pendingAnswers: Deque<PendingAnswer> = []
    /// The bytes that did not fit into the send buffer of the kernel; nil if there are none.
    var unsent: OutputQueue?
    /// `DeadlineWheel.never` if the connection has no deadline.
    var deadline = DeadlineWheel.never
    /// The tick at which the timer wheel `LoopContext.deadlines`, or `LoopContext.alarms`, returns the connection;
    /// `never` if the connection is not in the wheel.
    private var deadlineTick = DeadlineWheel.never
    private var alarmTick = DeadlineWheel.never
    /// The bytes of the backlog when the deadline of a body was last set; while lingering, the discarded bytes.
    private var progressCount = 0

    init(_ socket: consuming Socket, _ accepted: AcceptedSocket, slot: UInt32, generation: UInt32) {
        self.socket = socket
        peer = accepted.peer
        user = accepted.user
        client = accepted.client
        self.slot = slot
        self.generation = generation
    }

    /// Identifies the connection on its event loop.
    var identifier: UInt64 { UInt64(generation) << 32 | UInt64(slot) }

    func ticket(_ number: UInt32) -> Ticket {
        Ticket(slot: slot, generation: generation, number: number)
    }

    /// The number of the first request in `pendingAnswers`.
    var firstNumber: UInt32 { nextNumber &- UInt32(pendingAnswers.count) }

    func mayProcessRequest(_ context: LoopContext) -> Bool {
        phase == .open && acceptsRequests && unsent == nil && pendingAnswers.count < context.limits.maxPipelinedRequests
    }

    func handle(_ events: Epoll.Events, _ context: LoopContext) {
        guard phase == .open else { return discardInput(context) }
        // If the peer of a Unix domain socket closes, epoll reports a hang-up even while received bytes are unread.
        let hasUnreadBytes = events.contains(.readable) && !inputEnded
        guard !events.contains(.failed), !events.contains(.hungUp) || hasUnreadBytes else { return close(context) }
        if events.contains(.readable), events.contains(.peerHalfClosed), !inputEnded {
            context.deferRead(of: self)
        } else if events.contains(.readable) {
            receive(context)
        } else if events.contains(.peerHalfClosed) {
            notePeerHalfClosed(context)
        }
        guard !removeDeadlineIfAwaitingHandler(context) else { return }
        processPendingWork(context)
    }

    /// If the connection only waits until the handler provides one answer, removes the deadline and returns true. This
    /// shortcut avoids `processPendingWork` after most requests that the handler answers later. The conditions exclude
    /// every case in which `processPendingWork` has something else to do.
    private func removeDeadlineIfAwaitingHandler(_ context: LoopContext) -> Bool {
        guard phase == .open, pendingAnswers.count == 1, !isScheduled, unsent == nil, backlog == nil, acceptsRequests,
            !peerHalfClosed, !isReadDeferred, interest == Self.defaultInterest, context.output.isEmpty,
            context.limits.maxPipelinedRequests > 1
        else { return false }
        deadlineKind = .idle
        deadline = DeadlineWheel.never
        return true
    }

    /// Reads the bytes that the peer sent before it shut down its sending side. The loop calls this method after it has
    /// handled the events of all other connections.
    func performDeferredRead(_ context: LoopContext) {
        guard isReadDeferred else { return }
        isReadDeferred = false
        guard phase == .open else { return }
        receive(context)
        processPendingWork(context)
    }

    /// Sends complete answers and processes requests of the backlog, as far as possible. Then begins to close the
    /// connection if it will process no further request; otherwise sets the events and the deadline to wait for.
    func processPendingWork(_ context: LoopContext) {
        // Send the unsent bytes first, because no answer can be rendered while there are unsent bytes.
        if unsent != nil { flush(context) }
        repeat {
            renderReadyAnswers(context)
            if !context.output.isEmpty { flush(context) }
            guard phase == .open else { return }
        } while processBacklog(context)
        guard !hasFinished(context) else { return beginLingering(context) }
        guard !checkForLaggingStream(context) else { return reset(context) }
        sendContinue(context)
        guard phase == .open else { return }
        scheduleStreamDrainNotification(context)
        updateInterest(context)
        updateDeadline(context)
    }

    /// Returns true if all answers are sent, and the connection will process no further request.
    private func hasFinished(_ context: LoopContext) -> Bool {
        guard unsent == nil, pendingAnswers.isEmpty else { return false }
        guard acceptsRequests, let backlog else { return !acceptsRequests || inputEnded || context.isStopping }
        // During a stop, the connection waits for the rest of a request of which a byte has arrived (`hasBegun`).
        return backlog.waitReason == .bytes && (inputEnded || context.isStopping && !backlog.parser.hasBegun)
    }

    /// Shuts down the sending side. The connection closes when the peer has shut down its sending side, after
    /// `lingerTime`, or after `lingerBytes` discarded bytes.
    private func beginLingering(_ context: LoopContext) {
        guard !inputEnded else { return close(context) }
        socket.endSending()
        phase = .lingering
        backlog = nil
        progressCount = 0
        setDeadline(.linger, in: context.limits.lingerTime, context)
        updateInterest(context)
    }

    private func discardInput(_ context: LoopContext) {
        guard phase == .lingering else { return }
        switch socket.receive(into: context.readBuffer) {
        case .nothing: return
        case .bytes(let count):
            progressCount += count
            if progressCount > context.limits.lingerBytes { close(context) }
        case .end, .failed: close(context)
        }
    }

    /// Closes the connection if it is idle, because the loop stops. First reads once. If a part of a request has
    /// arrived, the connection stays open until the request is answered or its deadline passes.
    func stop(_ context: LoopContext) {
        guard isIdle else { return }
        receive(context)
        if isIdle, context.output.isEmpty { close(context) } else { processPendingWork(context) }
    }

    /// True if the connection has no request and no answer in progress.
    private var isIdle: Bool {
        guard phase == .open, pendingAnswers.isEmpty, unsent == nil else { return false }
        return backlog.map { $0.waitReason == .bytes && !$0.parser.hasBegun } ?? true
    }

    /// When memory is short, a connection is not closed if its `transferBytes` are at most this number, because the
    /// close would free little memory.
    private static let smallTransferBytes = 64 * 1024

    /// The memory in bytes of unprocessed requests and of unsent answers.
    private var transferBytes: Int {
        (backlog?.chargedBytes ?? 0) + (unsent?.count ?? 0) + (pendingAnswers.first?.stream?.pendingCount ?? 0)
    }

    /// Returns true if the connection uses more than `smallTransferBytes`, and receives a request or sends an answer
    /// more slowly than `MinimumRate`. With `onlyUploads`, ignores answers. A connection that waits for the handler or
    /// for memory is not slow.
    func isSlow(at now: UInt64, onlyUploads: Bool) -> Bool {
        guard transferBytes > Self.smallTransferBytes else { return false }
        if let unsent { return !onlyUploads && unsent.rate.isTooSlow(at: now) }
        return backlog.map { $0.waitReason == .bytes && $0.rate.isTooSlow(at: now) } ?? false
    }

    /// Ends the transfer of a connection for which `isSlow` is true, because memory is short. Rejects the incomplete
    /// request; or resets the connection if an answer is not completely sent.
    func endSlowTransfer(_ context: LoopContext) {
        guard phase == .open, unsent == nil, pendingAnswers.isEmpty, let backlog else { return reset(context) }
        reject(.tooMuchMemory, backlog.parser.head, backlog.bytes.span, context)
        processPendingWork(context)
    }

    /// Closes the connection with a TCP reset, which discards bytes that the peer has not received.
    private func reset(_ context: LoopContext) {
        socket.resetOnClose()
        close(context)
    }

    /// Closes the connection at once. Calls the handler's `closed` for each incomplete answer.
    func close(_ context: LoopContext) {
        guard phase != .closed else { return }
        phase = .closed
        backlog = nil
        unsent = nil
        deadline = DeadlineWheel.never
        // The output buffer of the loop contains only answers of this connection.
        context.emptyOutput()
        context.connections.remove(self)
        context.closedClients.append(client)
        dropAnswers(from: 0, context)
    }

    /// Removes the pending answers from the index `position` on, and calls the handler's `closed` for each incomplete
    /// answer. Reduces `nextNumber` by the number of removed answers, because `firstNumber` is computed from
    /// `nextNumber`.
    func dropAnswers(from position: Int, _ context: LoopContext) {
        let firstNumber = firstNumber
        let dropped = Array(pendingAnswers[position...])
        pendingAnswers.removeSubrange(position...)
        nextNumber = firstNumber &+ UInt32(position)
        for (offset, answer) in dropped.enumerated() where !answer.isComplete {
            context.handler.closed(ticket(nextNumber &+ UInt32(offset)))
        }
    }

    /// Records that the peer has shut down its sending side. The first call also calls the handler's `peerHalfClosed`
    /// for each incomplete answer.
    func notePeerHalfClosed(_ context: LoopContext) {
        guard !peerHalfClosed else { return }
        peerHalfClosed = true
        let firstNumber = firstNumber
        for (offset, answer) in pendingAnswers.enumerated() where !answer.isComplete {
            context.handler.peerHalfClosed(ticket(firstNumber &+ UInt32(offset)))
        }
    }

    /// Requests from epoll the events that the connection waits for now.
    private func updateInterest(_ context: LoopContext) {
        var events: Epoll.Events = unsent == nil ? .none : .writable
        if phase == .lingering {
            events = .readable
        } else if !inputEnded, !isReadDeferred {
            if !peerHalfClosed { events = events | .peerHalfClosed }
            if mayProcessRequest(context), backlog.map({ $0.waitReason == .bytes }) ?? true {
                events = events | .readable
            }
        }
        guard events != interest else { return }
        interest = events
        context.epoll.modify(socket.descriptor, events, token: identifier)
    }
}

// MARK: Deadlines

extension Connection {
    private func updateDeadline(_ context: LoopContext) {
        let limits = context.limits
        if unsent != nil {
            // `flush` sets a new deadline after each successful send.
            if deadlineKind != .send { setDeadline(.send, in: limits.sendTimeout, context) }
        } else if !pendingAnswers.isEmpty {
            // No deadline, because the peer waits for the handler.
            deadlineKind = .idle
            deadline = DeadlineWheel.never
        } else if let backlog, backlog.parser.hasBegun {
            if !backlog.parser.headIsComplete {
                if deadlineKind != .head { setDeadline(.head, in: limits.headTime, context) }
            } else if deadlineKind != .body || backlog.bytes.count - progressCount >= limits.bodyProgressBytes {
                progressCount = backlog.bytes.count
                setDeadline(.body, in: limits.bodyTime, context)
            }
        } else {
            setDeadline(.idle, in: limits.idleTime, context)
        }
    }

    func setDeadline(_ kind: DeadlineKind, in time: UInt64, _ context: LoopContext) {
        deadlineKind = kind
        setDeadline(context.now &+ time, context)
    }

    private func setDeadline(_ time: UInt64, _ context: LoopContext) {
        deadline = time
        if time / context.deadlines.tickLength < deadlineTick {
            deadlineTick = context.deadlines.insert(identifier, at: time, now: context.now)
        }
    }

    /// Handles the deadline if it has passed. The loop calls this method when it removes the connection from a tick of
    /// `LoopContext.deadlines`. If the deadline has been changed to a later time, inserts the connection again.
    func checkDeadline(_ tick: UInt64, _ context: LoopContext) {
        // Ignore an outdated entry: the connection was inserted again, for another tick.
        guard tick == deadlineTick else { return }
        deadlineTick = DeadlineWheel.never
        guard deadline != DeadlineWheel.never else { return }
        guard deadline <= context.now else { return setDeadline(deadline, context) }
        switch deadlineKind {
        case .idle, .linger: close(context)
        case .send: reset(context)
        case .head, .body:
            let bytes = backlog?.bytes ?? []
            reject(
                backlog?.waitReason == .memory ? .tooMuchMemory : .tooSlow, backlog?.parser.head, bytes.span, context)
            processPendingWork(context)
        }
    }

    /// Sets the time at which the loop calls the handler's `alarm` for an incomplete answer, for example to end a wait.
    func setAlarm(_ ticket: Ticket, at time: UInt64, _ context: LoopContext) {
        guard let position = position(ticket, context), !pendingAnswers[position].isComplete else { return }
        pendingAnswers[position].alarm = time
        insertAlarm(time, context)
    }

    /// Inserts the connection into `LoopContext.alarms`, unless the connection is already there for an earlier alarm.
    /// After an earlier alarm, `checkAlarms` inserts the connection for the next alarm.
    private func insertAlarm(_ time: UInt64, _ context: LoopContext) {
        guard time != DeadlineWheel.never, time / context.alarms.tickLength < alarmTick else { return }
        alarmTick = context.alarms.insert(identifier, at: time, now: context.now)
    }

    /// Calls the handler's `alarm` for each answer whose alarm time has passed.
    func checkAlarms(_ tick: UInt64, _ context: LoopContext) {
        // Ignore an outdated entry: the connection was inserted again, for another tick.
        guard tick == alarmTick else { return }
        alarmTick = DeadlineWheel.never
        let firstNumber = firstNumber
        for position in pendingAnswers.indices where pendingAnswers[position].alarm <= context.now {
            pendingAnswers[position].alarm = DeadlineWheel.never
            context.handler.alarm(ticket(firstNumber &+ UInt32(position)))
        }
        insertAlarm(pendingAnswers.lazy.map(\.alarm).min() ?? DeadlineWheel.never, context)
    }
}
