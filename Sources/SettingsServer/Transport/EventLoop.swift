internal import Dispatch
package import HTTPWire
package import Platform
internal import Synchronization

/// A serial queue that serves connections. They are given to it and never leave it.
///
/// Dispatch watches one descriptor, that of epoll, which watches all connections. One wake of the queue handles what is
/// ready, in batches. From any thread: `run`, `adopt`, `stop`. On the loop: the methods by which handlers answer.
///
/// Unchecked because what it mutates (`context` and all that hangs on it, `armed`, the flags) is touched on `queue` only,
/// which every entry checks in debug builds; the rest is constant, or guarded by `inbox` and `load` themselves.
package final class EventLoop: @unchecked Sendable {
    package typealias Work = @Sendable () -> Void

    /// Batches in one wake of the queue, so that other work on the queue has its turn.
    private static let batchesPerWake = 64
    /// Few, so that the writer begins with what one batch handed over while the loop goes on with the next.
    private static let eventsPerBatch = 24
    /// The nanoseconds that connections which were put off have in a batch.
    private static let longTurn: UInt64 = 3_000_000
    /// How late the timer may be, beyond the tick of its deadline.
    private static let leeway = DispatchTimeInterval.milliseconds(2)

    /// Its position among the loops of its server.
    package let index: Int

    /// Connections given to it and not closed yet.
    private let load = Atomic<Int>(0)
    private let queue: DispatchQueue
    let clock: MonotonicClock
    private let epoll: Epoll
    private let inbox = Mutex<[Work]>([])
    private let readiness: any DispatchSourceRead
    private let timer: any DispatchSourceTimer

    /// Nil once the loop has stopped.
    private var context: LoopContext?
    /// The deadline that the timer is set to.
    private var armed = DeadlineWheel.never
    private var isInBatch = false
    private var isBatchEndScheduled = false
    private var stopped: [Work] = []

    /// Begins to serve. The loop retains itself until `stop`. The factory is called on the loop.
    package init(
        index: Int, limits: TransportLimits, budget: MemoryBudget, clock: MonotonicClock,
        makeHandler: @escaping @Sendable (EventLoop) -> any RequestHandler
    ) throws(SystemError) {
        self.index = index
        self.clock = clock
        epoll = try Epoll(capacity: Self.eventsPerBatch)
        queue = DispatchQueue(
            label: "loop-\(index)", qos: .userInitiated)
        readiness = DispatchSource.makeReadSource(fileDescriptor: epoll.descriptor, queue: queue)
        timer = DispatchSource.makeTimerSource(queue: queue)
        queue.sync {
            context = LoopContext(self, makeHandler(self), limits, budget, epoll, now: clock.now())
        }
        budget.add { [weak self] in
            if let self { run { self.relieve() } }
        }
        readiness.setEventHandler { self.wake() }
        // Epoll's descriptor must outlive what watches it.
        readiness.setCancelHandler { [epoll] in withExtendedLifetime(epoll) {} }
        timer.setEventHandler { self.batch { _ in self.armed = DeadlineWheel.never } }
        timer.activate()
        readiness.activate()
    }

    /// From any thread: connections given to it and not closed yet.
    var connectionCount: Int { load.load(ordering: .relaxed) }

    /// Runs work on the loop, in order. From any thread. On a loop that has stopped it still runs, without effect on
    /// answers.
    package func run(_ work: @escaping Work) {
        let isFirst = inbox.withLock { waiting in
            waiting.append(work)
            return waiting.count == 1
        }
        if isFirst { queue.async { self.batch { _ in } } }
    }

    /// Monotonic nanoseconds, constant within a batch. On the loop only.
    package var now: UInt64 {
        dispatchPrecondition(condition: .onQueue(queue))
        if isInBatch, let context { return context.now }
        return clock.now()
    }

    /// Serves these connections from now on. From any thread.
    func adopt(_ sockets: [AcceptedSocket]) {
        load.add(sockets.count, ordering: .relaxed)
        run {
            guard let context = self.context, !context.isStopping else {
                self.load.subtract(sockets.count, ordering: .relaxed)
                return
            }
            for accepted in sockets { self.open(accepted, context) }
        }
    }

    /// Closes idle connections, the others after their answers, and all of them after `bound` nanoseconds. Then calls
    /// `completion` on the loop. From any thread.
    package func stop(within bound: UInt64, completion: @escaping Work) {
        run {
            self.stopped.append(completion)
            guard let context = self.context, !context.isStopping else { return }
            context.isStopping = true
            context.handler.stopping()
            for connection in context.connections.all { connection.stop(context) }
            let deadline = DispatchTime.now() + .nanoseconds(Int(clamping: bound))
            self.queue.asyncAfter(deadline: deadline) {
                self.batch { context in context.connections.all.forEach { $0.close(context) } }
            }
        }
    }

    // MARK: On the loop

    /// Closes the connection that has held the most for the longest, for work that waits for memory.
    private func relieve() {
        context?.relieveOnce()
        scheduleBatchEnd()
    }

    func find(_ ticket: Ticket) -> (Connection, LoopContext)? {
        dispatchPrecondition(condition: .onQueue(queue))
        guard let context,
            let connection = context.connections.find(slot: ticket.slot, generation: ticket.generation)
        else { return nil }
        return (connection, context)
    }

    /// Ends a batch soon after answers that came outside of one.
    func scheduleBatchEnd() {
        guard !isInBatch, !isBatchEndScheduled else { return }
        isBatchEndScheduled = true
        queue.async { self.batch { _ in } }
    }

    private func wake() {
        batch { context in
            for _ in 0..<Self.batchesPerWake {
                let count = context.epoll.poll()
                guard count > 0 else { return }
                for position in 0..<count {
                    let event = context.epoll[position]
                    context.connections.find(event.name)?.ready(event.events, context)
                }
                self.endBatch(context)
                self.runInbox()
                self.startBatch(context)
            }
        }
    }

    /// Runs the inbox, then `work`, then the end of the batch.
    private func batch(_ work: (LoopContext) -> Void) {
        dispatchPrecondition(condition: .onQueue(queue))
        isInBatch = true
        isBatchEndScheduled = false
        if let context {
            startBatch(context)
            runInbox()
            work(context)
            endBatch(context)
            arm(context)
            if context.isStopping, context.connections.count == 0 { end() }
        } else {
            runInbox()
        }
        isInBatch = false
        if let context, !context.drained.isEmpty || !context.postponed.isEmpty || !context.unsettled.isEmpty {
            scheduleBatchEnd()
        }
        if context == nil {
            let completions = stopped
            stopped = []
            for completion in completions { completion() }
        }
    }

    private func startBatch(_ context: LoopContext) {
        context.renewTime(clock.now())
        while let (tick, names) = context.deadlines.due(now: context.now) {
            for name in names { context.connections.find(name)?.checkDeadline(tick, context) }
        }
        while let (tick, names) = context.alarms.due(now: context.now) {
            for name in names { context.connections.find(name)?.checkAlarms(tick, context) }
        }
        goOn(context)
    }

    /// Goes on with connections that were put off, for a while: the others have their turn after that.
    private func goOn(_ context: LoopContext) {
        guard !context.drained.isEmpty || !context.postponed.isEmpty else { return }
        let end = clock.now() &+ Self.longTurn
        // Those that are put off again come behind them.
        for _ in 0..<max(context.drained.count, context.postponed.count) {
            if let ticket = context.drained.popFirst() { find(ticket)?.0.callDrained(ticket, context) }
            if let connection = context.postponed.popFirst() { connection.resume(context) }
            guard clock.now() < end else { return }
        }
    }

    /// Runs what other threads have posted until now.
    private func runInbox() {
        let work = inbox.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for item in work { item() }
    }

    /// Sends answers, and lets the handler hand over what it has collected, until neither is left or others have their turn.
    private func endBatch(_ context: LoopContext) {
        let end = clock.now() &+ Self.longTurn
        repeat {
            settle(context, until: end)
            context.handler.batchEnded()
        } while !context.unsettled.isEmpty && clock.now() < end
        if context.budget.isExceeded { context.relieve() }
        let time = clock.now() &- context.now
        if time > context.limits.slowBatch { context.handler.wasSlow(nanoseconds: time) }
        guard !context.closed.isEmpty else { return }
        load.subtract(context.closed.count, ordering: .relaxed)
        context.closed.removeAll(keepingCapacity: true)
    }

    private func settle(_ context: LoopContext, until end: UInt64) {
        guard !context.unsettled.isEmpty else { return }
        let connections = context.unsettled
        context.unsettled = []
        if connections.count >= JointSending.least {
            // What is left is sent in each one's own turn.
            let joined = connections.filter { $0.join(&context.jointSending, context) }
            context.jointSending.send { index, rest in joined[index].haveSent(rest: rest, context) }
        }
        for (index, connection) in connections.enumerated() {
            connection.isUnsettled = false
            connection.proceed(context)
            guard clock.now() < end else {
                context.unsettled.insert(contentsOf: connections[(index + 1)...], at: 0)
                return
            }
        }
    }

    /// Sets the timer if there is a deadline before what it is set to.
    private func arm(_ context: LoopContext) {
        let time = min(context.deadlines.wakeTime, context.alarms.wakeTime)
        guard time < armed else { return }
        armed = time
        // Not the batch's time, which may have taken a while.
        let now = clock.now()
        let wait = Int(clamping: time > now ? time - now : 0)
        timer.schedule(deadline: .now() + .nanoseconds(wait), leeway: Self.leeway)
    }

    private func open(_ accepted: AcceptedSocket, _ context: LoopContext) {
        guard let socket = accepted.take() else { return }
        let connection = context.connections.insert(socket, accepted.peer)
        guard context.epoll.add(connection.socket.descriptor, connection.interest, name: connection.name) else {
            return connection.close(context)
        }
        if let limit = accepted.exceededLimit {
            connection.reject(.tooManyConnections(limit: limit), nil, Span(), context)
        }
        connection.proceed(context)
    }

    /// Ends the loop: releases its sources, and the handler, which may retain the loop.
    private func end() {
        readiness.cancel()
        timer.cancel()
        context = nil
    }
}

// MARK: Answers. All of it on the loop, and ignored if the answer is complete or its connection gone.

extension EventLoop {
    /// Answers a request that was to be answered `.later`, when the batch ends and all requests before it are answered.
    package func respond(_ ticket: Ticket, _ response: Response) {
        guard let (connection, context) = find(ticket) else { return }
        _ = connection.respond(ticket, response, isStream: false, context)
        scheduleBatchEnd()
    }

    /// Answers with the beginning of a body. The rest comes with `push`.
    ///
    /// - Returns: false if there is nothing to push: HEAD is answered with this, or the peer is gone.
    @discardableResult
    package func begin(_ ticket: Ticket, _ response: Response) -> Bool {
        guard let (connection, context) = find(ticket) else { return false }
        defer { scheduleBatchEnd() }
        return connection.respond(ticket, response, isStream: true, context)
    }

    /// Adds to a body that has begun, and ends it if `isLast`.
    ///
    /// A peer that does not keep up is reset, and the handler's `closed` is called: one with more than
    /// `TransportLimits.streamBytes` waiting for `streamTime`, or with more than `mostStreamBytes`. What comes while
    /// nothing waits, or in the same batch as that, does not count.
    ///
    /// - Returns: the bytes of the stream that the kernel has not taken, with this piece, which is sent when the batch
    ///   ends. An empty piece sends nothing.
    @discardableResult
    package func push(
        _ ticket: Ticket, _ piece: [UInt8], owner: (any AnyObject & Sendable)? = nil, isLast: Bool = false
    ) -> Int {
        guard let (connection, context) = find(ticket) else { return 0 }
        defer { scheduleBatchEnd() }
        return connection.push(ticket, piece, owner: owner, isLast: isLast, context)
    }

    /// Asks for one call of `RequestHandler.drained` in a later batch, when the kernel has taken all of a stream that
    /// was pushed until then. Asking again before that changes nothing. A stream that has ended gets no call.
    package func whenDrained(_ ticket: Ticket) {
        guard let (connection, context) = find(ticket) else { return }
        connection.whenDrained(ticket, context)
        scheduleBatchEnd()
    }

    /// Asks for one call of `RequestHandler.alarm` at a time of `now`. An answer has one alarm: a later call moves it,
    /// `UInt64.max` removes it. A stream keeps its alarm until it ends.
    package func setAlarm(_ ticket: Ticket, at deadline: UInt64) {
        guard let (connection, context) = find(ticket) else { return }
        connection.setAlarm(ticket, at: deadline, context)
        scheduleBatchEnd()
    }

    /// Returns the state of the peer of an answer that is owed.
    package func peer(of ticket: Ticket) -> PeerStanding {
        guard let (connection, context) = find(ticket), connection.position(ticket, context) != nil else {
            return .gone
        }
        return connection.peerEnded ? .ended : .there
    }
}

/// The state of a peer.
package enum PeerStanding: Hashable, Sendable {
    case there
    /// The peer sends nothing more, but may still read.
    case ended
    /// The peer is gone, or has its answer.
    case gone
}
