internal import Dispatch
package import HTTPWire
package import Platform
internal import Synchronization

/// A thread that serves connections. A connection stays on its event loop until it closes.
///
/// The thread runs one block of a serial queue. In each iteration, the loop waits for events, handles them, runs the
/// work that other threads have submitted, and sends answers. A connection with work for the end of the iteration, such
/// as an answer to send, is scheduled. A connection that has used up its time in an iteration is postponed: the loop
/// processes its next requests in a later iteration.
///
/// The methods that are marked "Thread-safe" may be called from any thread. All other methods run on the event loop
/// thread.
///
/// `@unchecked`, because only code on `queue` uses `context` and `stopCompletions`.
package final class EventLoop: @unchecked Sendable {
    package typealias Work = @Sendable () -> Void

    /// The maximum number of events that one call of `epoll_wait` returns.
    private static let eventsPerWait = 64
    /// The nanoseconds that one iteration may spend on each of these phases: resuming postponed connections, handling
    /// events, and processing scheduled connections. With this limit, no phase delays the other phases for long.
    private static let phaseTime: UInt64 = 3_000_000
    /// The nanoseconds that one iteration may spend on connections whose peers have shut down their sending side.
    private static let deferredReadTime: UInt64 = 1_000_000

    /// The index of the loop in `HTTPServer.loops`.
    package let index: Int

    /// The number of connections that were accepted for the loop and are not closed.
    private let connectionCounter = Atomic<Int>(0)
    /// The number of connections that were passed to `adopt`, and that the loop has not begun to serve.
    private let arrivalCounter = Atomic<Int>(0)
    /// The numbers of connections of each client, on all loops.
    private let counts: ClientCounts
    private let queue: DispatchQueue
    package let clock: MonotonicClock
    private let epoll: Epoll
    private let inbox = Mutex(Inbox())

    /// Nil once the loop has stopped.
    private var context: LoopContext?
    private var stopCompletions: [Work] = []

    /// The work that other threads have submitted to the loop.
    private struct Inbox {
        var work: [Work] = []
        /// True while the loop waits for events, until a thread submits work. This thread must wake the loop.
        var isAsleep = false
        /// True if the loop has ended, and runs no more work of the inbox.
        var hasEnded = false
    }

    /// Starts the loop, which retains itself until it has stopped. Calls `makeHandler` on the event loop thread.
    init(
        index: Int, _ counts: ClientCounts, limits: TransportLimits, budget: MemoryBudget, uploads: UploadQueue,
        clock: MonotonicClock, makeHandler: @escaping @Sendable (EventLoop) -> any RequestHandler
    ) throws(SystemError) {
        self.index = index
        self.counts = counts
        self.clock = clock
        epoll = try Epoll(capacity: Self.eventsPerWait)
        queue = DispatchQueue(label: "loop-\(index)", qos: .userInitiated)
        queue.sync {
            context = LoopContext(self, makeHandler(self), limits, budget, uploads, epoll, now: clock.now())
        }
        queue.async { self.serve() }
    }

    /// The value of `connectionCounter`. Thread-safe.
    var connectionCount: Int { connectionCounter.load(ordering: .relaxed) }

    /// The value of `arrivalCounter`. Thread-safe.
    var arrivalCount: Int { arrivalCounter.load(ordering: .relaxed) }

    /// Runs work on the event loop thread, in the order of the calls, even after the loop has stopped. Thread-safe.
    package func run(_ work: @escaping Work) {
        let (mustWake, hasEnded) = inbox.withLock { inbox in
            guard !inbox.hasEnded else { return (false, true) }
            inbox.work.append(work)
            defer { inbox.isAsleep = false }
            return (inbox.isAsleep, false)
        }
        if mustWake { epoll.wake() }
        if hasEnded { queue.async(execute: work) }
    }

    /// The time of `clock` at the beginning of the current iteration. Runs on the event loop thread.
    package var now: UInt64 {
        dispatchPrecondition(condition: .onQueue(queue))
        return context?.now ?? clock.now()
    }

    /// Counts a connection that will be passed to `adopt`. Thread-safe.
    func expectConnection() { connectionCounter.add(1, ordering: .relaxed) }

    /// Serves connections. `expectConnection` must have been called for each of them. Thread-safe.
    func adopt(_ sockets: [AcceptedSocket]) {
        arrivalCounter.add(sockets.count, ordering: .relaxed)
        run {
            self.arrivalCounter.subtract(sockets.count, ordering: .relaxed)
            guard let context = self.context, !context.isStopping else {
                return self.subtractConnections(of: sockets.lazy.map(\.client))
            }
            for accepted in sockets { self.open(accepted, context) }
        }
    }

    /// Replaces the limits. Thread-safe.
    func update(_ limits: TransportLimits) {
        run { self.context?.update(limits) }
    }

    /// Stops the loop. Closes idle connections at once, and other connections after their pending answers, but at the
    /// latest after `timeout` nanoseconds. Then calls `completion` on the event loop thread. Thread-safe.
    package func stop(within timeout: UInt64, completion: @escaping Work) {
        run {
            guard let context = self.context else { return completion() }
            self.stopCompletions.append(completion)
            guard !context.isStopping else { return }
            let (end, hasOverflow) = context.now.addingReportingOverflow(timeout)
            context.stopDeadline = hasOverflow ? DeadlineWheel.never : end
            context.handler.stopping()
            for connection in context.connections.all { connection.stop(context) }
        }
    }

    func find(_ ticket: Ticket) -> (Connection, LoopContext)? {
        dispatchPrecondition(condition: .onQueue(queue))
        guard let context,
            let connection = context.connections.find(slot: ticket.slot, generation: ticket.generation)
        else { return nil }
        return (connection, context)
    }

    private func serve() {
        var now = clock.now()
        while let context {
            let (events, work) = wait(context, now: now)
            now = runIteration(events: events, work, context)
            if context.isStopping, context.connections.count == 0 { end() }
        }
    }

    /// Waits for events, submitted work or the next deadline. Returns the number of events, and the submitted work.
    private func wait(_ context: LoopContext, now: UInt64) -> (events: Int, work: [Work]) {
        var wait = context.timeToWait(now: now)
        inbox.withLock { inbox in
            if !inbox.work.isEmpty { wait = 0 }
            inbox.isAsleep = wait != 0
        }
        let events = epoll.wait(milliseconds: wait)
        return inbox.withLock { inbox in
            inbox.isAsleep = false
            defer { inbox.work = [] }
            return (events, inbox.work)
        }
    }

    /// Runs one iteration. Returns the time at its end.
    private func runIteration(events: Int, _ work: consuming [Work], _ context: LoopContext) -> UInt64 {
        context.beginIteration(clock.now())
        while let (tick, identifiers) = context.deadlines.removeExpired(now: context.now) {
            for identifier in identifiers { context.connections.find(identifier)?.checkDeadline(tick, context) }
        }
        while let (tick, identifiers) = context.alarms.removeExpired(now: context.now) {
            for identifier in identifiers { context.connections.find(identifier)?.checkAlarms(tick, context) }
        }
        if let end = context.stopDeadline, context.now >= end { context.connections.all.forEach { $0.close(context) } }
        resumePostponed(context)
        context.resumeAdmittedUploads()
        for item in work { item() }
        handle(events, context)
        performDeferredReads(context)
        return endIteration(context)
    }

    /// Handles events. If the wait returned the maximum number of events, handles further events for a limited time,
    /// because thousands of ready connections would need many iterations.
    private func handle(_ events: Int, _ context: LoopContext) {
        var events = events
        let end = clock.now() &+ Self.phaseTime
        // A connection that has processed a request at or after `postponingStart` is postponed. If connections are
        // postponed already, other connections process at most one request each, because the requests of the postponed
        // connections arrived earlier.
        context.postponingStart = context.postponed.isEmpty ? end : 0
        while true {
            for position in 0..<events {
                let event = epoll[position]
                context.connections.find(event.token)?.handle(event.events, context)
            }
            guard events == Self.eventsPerWait, clock.now() < end else { return }
            context.handler.submitCollectedWork()
            events = epoll.wait(milliseconds: 0)
        }
    }

    /// Continues with postponed connections, and calls the handler's `drained` for streams of which all bytes are sent.
    /// Stops after a limited time.
    private func resumePostponed(_ context: LoopContext) {
        guard !context.drainedStreams.isEmpty || !context.postponed.isEmpty else { return }
        let end = clock.now() &+ Self.phaseTime
        // Here, only the time limit of a connection itself postpones it again, so each connection makes progress.
        context.postponingStart = .max
        // Handle only the entries that are in the queues now. The queues may grow during the loop.
        for _ in 0..<max(context.drainedStreams.count, context.postponed.count) {
            if let ticket = context.drainedStreams.popFirst() {
                find(ticket)?.0.deliverDrainNotification(ticket, context)
            }
            if let identifier = context.postponed.popFirst() {
                context.connections.find(identifier)?.resumeAfterPostponement(context)
            }
            guard clock.now() < end else { return }
        }
    }

    /// Reads the unread bytes of half-closed connections last, because most of their peers have disconnected.
    private func performDeferredReads(_ context: LoopContext) {
        guard !context.deferredReads.isEmpty else { return }
        let end = clock.now() &+ Self.deferredReadTime
        while let identifier = context.deferredReads.popFirst() {
            context.connections.find(identifier)?.performDeferredRead(context)
            guard clock.now() < end else { return }
        }
    }

    /// Sends answers, and lets the handler submit the work that it has collected, such as writes. Repeats this while
    /// the handler provides further answers, for a limited time. Returns the time at the end.
    private func endIteration(_ context: LoopContext) -> UInt64 {
        if context.scheduled.isEmpty { context.handler.submitCollectedWork() }
        if !context.scheduled.isEmpty {
            let end = clock.now() &+ Self.phaseTime
            repeat {
                processScheduled(context, until: end)
                context.handler.submitCollectedWork()
            } while !context.scheduled.isEmpty && clock.now() < end
        }
        context.endSlowTransfersIfMemoryIsShort()
        let now = clock.now()
        let time = now &- context.now
        if time > context.limits.slowIteration { context.handler.iterationWasSlow(nanoseconds: time) }
        if !context.closedClients.isEmpty {
            subtractConnections(of: context.closedClients)
            context.closedClients.removeAll(keepingCapacity: true)
        }
        return now
    }

    /// Subtracts closed connections from the counters. The collection has the client of each closed connection.
    private func subtractConnections(of clients: some Collection<ClientCounts.Client>) {
        connectionCounter.subtract(clients.count, ordering: .relaxed)
        for client in clients { counts.remove(client) }
    }

    private func processScheduled(_ context: LoopContext, until end: UInt64) {
        guard !context.scheduled.isEmpty else { return }
        let identifiers = context.scheduled
        context.scheduled = []
        processScheduled(identifiers.compactMap(context.connections.find), context, until: end)
    }

    private func processScheduled(_ connections: [Connection], _ context: LoopContext, until end: UInt64) {
        if connections.count >= ParallelSend.minimumConnections {
            // `addAnswer` returns true if it has added the only pending answer of a connection, or the unsent part of
            // this answer if it is a stream. The answer or the part must be small. `processPendingWork` below sends
            // all other answers, and the bytes that the sockets did not accept.
            let senders = connections.filter { $0.addAnswer(to: &context.parallelSend, context) }
            context.parallelSend.send { senders[$0].parallelSendCompleted(unsentPart: $1, context) }
        }
        for (index, connection) in connections.enumerated() {
            connection.isScheduled = false
            connection.processPendingWork(context)
            guard clock.now() < end else {
                context.scheduled.insert(contentsOf: connections[(index + 1)...].lazy.map(\.identifier), at: 0)
                return
            }
        }
    }

    private func open(_ accepted: AcceptedSocket, _ context: LoopContext) {
        guard let socket = accepted.removeSocket() else { return }
        let connection = context.connections.insert(socket, accepted)
        // The peer may have reset the connection while the connection waited for the loop.
        guard !connection.socket.hasFailed,
            context.epoll.add(connection.socket.descriptor, connection.interest, token: connection.identifier)
        else { return connection.close(context) }
        if let refusal = accepted.refusal { connection.reject(refusal, nil, Span(), context) }
        connection.processPendingWork(context)
    }

    /// Ends the loop: releases the handler, which may retain the loop, and runs the remaining work.
    private func end() {
        context = nil
        let work = inbox.withLock { inbox in
            inbox.hasEnded = true
            defer { inbox.work = [] }
            return inbox.work
        }
        for item in work { item() }
        let completions = stopCompletions
        stopCompletions = []
        for completion in completions { completion() }
    }
}

// These methods run on the event loop thread. A ticket identifies an unanswered request. A call is ignored if the
// connection of the request is closed or, except for `abort`, if the answer is complete.

extension EventLoop {
    /// Answers a request for which the handler returned `Handling.later`. The loop sends the answer at the end of the
    /// iteration, after all earlier answers of the connection. Returns false if the connection is closed.
    @discardableResult
    package func respond(_ ticket: Ticket, _ response: Response) -> Bool {
        guard let (connection, context) = find(ticket) else { return false }
        _ = connection.respond(ticket, response, isStream: false, context)
        return true
    }

    /// Begins a streamed answer with the head and the first part of the body. `push` adds the other parts.
    ///
    /// - Returns: false if the handler must not push: the method is HEAD, or the connection is closed.
    @discardableResult
    package func beginStream(_ ticket: Ticket, _ response: Response) -> Bool {
        guard let (connection, context) = find(ticket) else { return false }
        return connection.respond(ticket, response, isStream: true, context)
    }

    /// Adds a piece, which may be empty, to the body of a streamed answer. Then ends the body if `isLast` is true.
    ///
    /// If the peer reads too slowly, the loop resets the connection and calls the handler's `closed`. The peer is too
    /// slow if more than `TransportLimits.streamBytes` are unsent for `streamTime`, or if more than
    /// `maximumStreamBytes` are unsent. If the stream has no unsent bytes at the beginning of an iteration, the pieces
    /// of this iteration do not count until the loop has tried to send them.
    ///
    /// - Parameter owner: the object that holds the memory reservation of the piece. The loop retains the object until
    ///   the piece is sent. If nil, a piece that must wait is charged to the memory budget.
    /// - Returns: the number of unsent bytes of the stream. It includes this piece, because the loop sends the piece at
    ///   the end of the iteration.
    @discardableResult
    package func push(
        _ ticket: Ticket, _ piece: [UInt8], owner: (any AnyObject & Sendable)? = nil, isLast: Bool = false
    ) -> Int {
        guard let (connection, context) = find(ticket) else { return 0 }
        return connection.push(ticket, piece, owner: owner, isLast: isLast, context)
    }

    /// Requests one call of `RequestHandler.drained`, in a later iteration, when the kernel has accepted all pushed
    /// bytes of a stream. Repeating the request before `drained` is called has no effect. If the stream has ended, the
    /// loop does not call `drained`.
    package func notifyWhenDrained(_ ticket: Ticket) {
        guard let (connection, context) = find(ticket) else { return }
        connection.notifyWhenDrained(ticket, context)
    }

    /// Closes the connection of a request whose answer the handler cannot complete.
    package func abort(_ ticket: Ticket) {
        guard let (connection, context) = find(ticket) else { return }
        connection.close(context)
    }

    /// Reads the handler's array `additionalFields` again. The handler may only append to the array, because pending
    /// answers refer to its elements by index.
    package func reloadFieldBlocks() {
        dispatchPrecondition(condition: .onQueue(queue))
        if let context { context.additionalFields = context.handler.additionalFields }
    }

    /// Requests one call of `RequestHandler.alarm` when `now` reaches the deadline. An answer has at most one alarm: a
    /// second call of this method replaces the alarm, and the deadline `UInt64.max` removes the alarm. A stream keeps
    /// its alarm until the stream ends.
    package func setAlarm(_ ticket: Ticket, at deadline: UInt64) {
        guard let (connection, context) = find(ticket) else { return }
        connection.setAlarm(ticket, at: deadline, context)
    }

    /// Returns the state of the peer that waits for an answer.
    package func peerState(of ticket: Ticket) -> PeerState {
        guard let (connection, context) = find(ticket), connection.position(ticket, context) != nil
        else { return .gone }
        return connection.peerHalfClosed ? .halfClosed : .connected
    }
}

/// The state of a peer that waits for an answer.
package enum PeerState: Hashable, Sendable {
    case connected
    /// The peer has shut down its sending side, but may still read.
    case halfClosed
    /// The connection is closed, or the answer is complete.
    case gone
}
