internal import Dispatch
package import HTTPWire
package import Platform
internal import Synchronization

/// A thread that serves connections. They are given to it and never leave it.
///
/// The thread runs one block of a serial queue. In each iteration, the loop waits for events, handles them, runs the work that
/// other threads have submitted, and sends answers. Thread-safe: `run`, `adopt`, `stop`.
/// On the loop: the methods by which handlers answer.
///
/// Unchecked because `context`, its contents and `stopped` are used on `queue` only, which every
/// entry checks in debug builds; the rest is constant, or guarded by `inbox` and `load` themselves.
package final class EventLoop: @unchecked Sendable {
    package typealias Work = @Sendable () -> Void

    /// The events that the loop receives at once.
    private static let eventsPerBatch = 64
    /// The nanoseconds of a loop iteration for postponed connections.
    private static let timeForPostponed: UInt64 = 3_000_000
    /// The nanoseconds of a loop iteration for connections whose peers have shut down their sending side.
    private static let timeForEnded: UInt64 = 1_000_000

    /// Its position among the loops of its server.
    package let index: Int

    /// Connections that were accepted for it and are not closed yet.
    private let load = Atomic<Int>(0)
    /// Those of them that were given to it and that it has not begun to serve.
    private let arrivals = Atomic<Int>(0)
    /// The connections of all loops by their peers.
    private let counts: ClientCounts
    private let queue: DispatchQueue
    package let clock: MonotonicClock
    private let epoll: Epoll
    private let inbox = Mutex(Inbox())

    /// Nil once the loop has stopped.
    private var context: LoopContext?
    private var stopped: [Work] = []

    /// What other threads have for the loop.
    private struct Inbox {
        var work: [Work] = []
        /// True while the loop waits for events, so that it has to be woken.
        var isAsleep = false
        /// True once the loop has ended, and looks at this no more.
        var hasEnded = false
    }

    /// Begins to serve. The loop retains itself until `stop`. The factory is called on the loop.
    init(
        index: Int, _ counts: ClientCounts, limits: TransportLimits, budget: MemoryBudget, uploads: UploadQueue,
        clock: MonotonicClock,
        makeHandler: @escaping @Sendable (EventLoop) -> any RequestHandler
    ) throws(SystemError) {
        self.index = index
        self.counts = counts
        self.clock = clock
        epoll = try Epoll(capacity: Self.eventsPerBatch)
        queue = DispatchQueue(label: "loop-\(index)", qos: .userInitiated)
        queue.sync {
            context = LoopContext(self, makeHandler(self), limits, budget, uploads, epoll, now: clock.now())
        }
        queue.async { self.serve() }
    }

    /// From any thread: connections that were accepted for it and are not closed yet.
    var connectionCount: Int { load.load(ordering: .relaxed) }

    /// From any thread: connections that it was given and has not begun to serve.
    var arrivalCount: Int { arrivals.load(ordering: .relaxed) }

    /// Runs work on the loop, in order. From any thread. On a loop that has stopped it still runs, without effect on
    /// answers.
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

    /// Monotonic nanoseconds, constant within a loop iteration. Runs on the loop.
    package var now: UInt64 {
        dispatchPrecondition(condition: .onQueue(queue))
        return context?.now ?? clock.now()
    }

    /// Counts a connection that is about to be adopted. From any thread.
    func expectConnection() { load.add(1, ordering: .relaxed) }

    /// Serves these connections, which it expects, from now on. From any thread.
    func adopt(_ sockets: [AcceptedSocket]) {
        arrivals.add(sockets.count, ordering: .relaxed)
        run {
            self.arrivals.subtract(sockets.count, ordering: .relaxed)
            guard let context = self.context, !context.isStopping else {
                return self.forget(sockets.lazy.map(\.client))
            }
            for accepted in sockets { self.open(accepted, context) }
        }
    }

    /// Sets other limits. From any thread.
    func renew(_ limits: TransportLimits) {
        run { self.context?.renew(limits) }
    }

    /// Closes idle connections, the others after their answers, and all of them after `bound` nanoseconds. Then calls
    /// `completion` on the loop. From any thread.
    package func stop(within bound: UInt64, completion: @escaping Work) {
        run {
            guard let context = self.context else { return completion() }
            self.stopped.append(completion)
            guard !context.isStopping else { return }
            let (end, isBeyond) = context.now.addingReportingOverflow(bound)
            context.stopDeadline = isBeyond ? DeadlineWheel.never : end
            context.handler.stopping()
            for connection in context.connections.all { connection.stop(context) }
        }
    }

    // MARK: On the loop

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

    /// Waits until there is something to do. Returns the number of events, and the work that other threads have submitted.
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

    /// Returns the time at the end of the iteration.
    private func runIteration(events: Int, _ work: consuming [Work], _ context: LoopContext) -> UInt64 {
        context.renewTime(clock.now())
        while let (tick, names) = context.deadlines.due(now: context.now) {
            for name in names { context.connections.find(name)?.checkDeadline(tick, context) }
        }
        while let (tick, names) = context.alarms.due(now: context.now) {
            for name in names { context.connections.find(name)?.checkAlarms(tick, context) }
        }
        if let end = context.stopDeadline, context.now >= end { context.connections.all.forEach { $0.close(context) } }
        resumePostponed(context)
        context.resumeAdmittedUploads()
        for item in work { item() }
        serve(events, context)
        readEnded(context)
        return endIteration(context)
    }

    /// Handles events. If there were as many events as the loop receives at once, it handles further events for a limited
    /// time: otherwise thousands of ready connections would wait for many iterations.
    private func serve(_ events: Int, _ context: LoopContext) {
        var events = events
        let end = clock.now() &+ Self.timeForPostponed
        // Postponed connections are served before large requests.
        context.longRequestsEnd = context.postponed.isEmpty ? end : 0
        while true {
            for position in 0..<events {
                let event = epoll[position]
                context.connections.find(event.name)?.ready(event.events, context)
            }
            guard events == Self.eventsPerBatch, clock.now() < end else { return }
            context.handler.batchEnded()
            events = epoll.wait(milliseconds: 0)
        }
    }

    /// Continues with postponed connections, for a limited time.
    private func resumePostponed(_ context: LoopContext) {
        guard !context.drained.isEmpty || !context.postponed.isEmpty else { return }
        let end = clock.now() &+ Self.timeForPostponed
        context.longRequestsEnd = .max
        // Connections that are postponed again are appended to the queue, and not resumed in this iteration.
        for _ in 0..<max(context.drained.count, context.postponed.count) {
            if let ticket = context.drained.popFirst() { find(ticket)?.0.callDrained(ticket, context) }
            if let name = context.postponed.popFirst() { context.connections.find(name)?.resume(context) }
            guard clock.now() < end else { return }
        }
    }

    /// Reads connections whose peers have shut down their sending side, for a limited time.
    private func readEnded(_ context: LoopContext) {
        guard !context.ended.isEmpty else { return }
        let end = clock.now() &+ Self.timeForEnded
        while let name = context.ended.popFirst() {
            context.connections.find(name)?.readLast(context)
            guard clock.now() < end else { return }
        }
    }

    /// Sends answers and lets the handler submit its collected writes, until there are no more answers or for a limited time.
    /// Returns the time at the end.
    private func endIteration(_ context: LoopContext) -> UInt64 {
        if context.unsettled.isEmpty { context.handler.batchEnded() }
        if !context.unsettled.isEmpty {
            let end = clock.now() &+ Self.timeForPostponed
            repeat {
                settle(context, until: end)
                context.handler.batchEnded()
            } while !context.unsettled.isEmpty && clock.now() < end
        }
        context.closeSlowTransfers()
        let now = clock.now()
        let time = now &- context.now
        if time > context.limits.slowBatch { context.handler.wasSlow(nanoseconds: time) }
        if !context.closed.isEmpty {
            forget(context.closed)
            context.closed.removeAll(keepingCapacity: true)
        }
        return now
    }

    /// Counts connections no more.
    private func forget(_ clients: some Collection<ClientCounts.Client>) {
        load.subtract(clients.count, ordering: .relaxed)
        for client in clients { counts.remove(client) }
    }

    private func settle(_ context: LoopContext, until end: UInt64) {
        guard !context.unsettled.isEmpty else { return }
        let names = context.unsettled
        context.unsettled = []
        settle(names.compactMap(context.connections.find), context, until: end)
    }

    private func settle(_ connections: [Connection], _ context: LoopContext, until end: UInt64) {
        if connections.count >= JointSending.least {
            // Bytes that the sockets do not accept are sent below, for each connection.
            let joined = connections.filter { $0.join(&context.jointSending, context) }
            context.jointSending.send { index, rest in joined[index].haveSent(rest: rest, context) }
        }
        for (index, connection) in connections.enumerated() {
            connection.isUnsettled = false
            connection.proceed(context)
            guard clock.now() < end else {
                context.unsettled.insert(contentsOf: connections[(index + 1)...].lazy.map(\.name), at: 0)
                return
            }
        }
    }

    private func open(_ accepted: AcceptedSocket, _ context: LoopContext) {
        guard let socket = accepted.take() else { return }
        let connection = context.connections.insert(socket, accepted)
        // It may have been reset while it waited for the loop.
        guard !connection.socket.hasFailed,
            context.epoll.add(connection.socket.descriptor, connection.interest, name: connection.name)
        else { return connection.close(context) }
        if let refusal = accepted.refusal { connection.reject(refusal, nil, Span(), context) }
        connection.proceed(context)
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
        let completions = stopped
        stopped = []
        for completion in completions { completion() }
    }
}

// MARK: Answers. All of it on the loop, and ignored if the answer is complete or its connection gone.

extension EventLoop {
    /// Answers a request that was to be answered `.later`, at the end of the batch and after all earlier requests. Returns
    /// false if its connection is gone.
    @discardableResult
    package func respond(_ ticket: Ticket, _ response: Response) -> Bool {
        guard let (connection, context) = find(ticket) else { return false }
        _ = connection.respond(ticket, response, isStream: false, context)
        return true
    }

    /// Answers with the beginning of a body. The rest comes with `push`.
    ///
    /// - Returns: false if there is nothing to push: HEAD is answered with this, or the peer is gone.
    @discardableResult
    package func begin(_ ticket: Ticket, _ response: Response) -> Bool {
        guard let (connection, context) = find(ticket) else { return false }
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
        return connection.push(ticket, piece, owner: owner, isLast: isLast, context)
    }

    /// Asks for one call of `RequestHandler.drained` in a later batch, when the kernel has taken all of a stream that
    /// was pushed until then. Asking again before that changes nothing. A stream that has ended gets no call.
    package func whenDrained(_ ticket: Ticket) {
        guard let (connection, context) = find(ticket) else { return }
        connection.whenDrained(ticket, context)
    }

    /// Closes the connection of an answer that cannot be finished.
    package func abort(_ ticket: Ticket) {
        guard let (connection, context) = find(ticket) else { return }
        connection.close(context)
    }

    /// Reads the handler's `moreFields` again. Those that owed answers have must keep their places.
    package func renewFields() {
        dispatchPrecondition(condition: .onQueue(queue))
        if let context { context.moreFields = context.handler.moreFields }
    }

    /// Asks for one call of `RequestHandler.alarm` at a time of `now`. An answer has one alarm: a later call moves it,
    /// `UInt64.max` removes it. A stream keeps its alarm until it ends.
    package func setAlarm(_ ticket: Ticket, at deadline: UInt64) {
        guard let (connection, context) = find(ticket) else { return }
        connection.setAlarm(ticket, at: deadline, context)
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
