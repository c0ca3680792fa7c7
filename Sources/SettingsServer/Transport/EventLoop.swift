import Dispatch
package import Platform
import Synchronization

/// A serial queue that serves connections: they are given to it and never leave it.
///
/// Dispatch watches one descriptor for it, that of epoll, which watches all of its connections; one wake of the queue
/// handles whatever is ready, in batches. From any thread: `run`, `adopt`, `stop`. On the loop: what handlers do about
/// answers (`LoopAnswers.swift`).
///
/// Unchecked because what it mutates (`context` and all that hangs on it, `armed`, the flags) is touched on `queue` only,
/// which every entry checks in debug builds; the rest is constant, or guarded by `inbox` and `load` themselves.
package final class EventLoop: @unchecked Sendable {
    package typealias Work = @Sendable () -> Void

    /// Batches in one wake of the queue: a bound, so that whatever else waits on the queue has its turn.
    private static let batchesPerWake = 64
    /// Few, so that the writer begins with what one batch handed over while the loop goes on with the next.
    private static let eventsPerBatch = 24
    /// How late the timer may be, beyond the tick of what it is set to.
    private static let leeway = DispatchTimeInterval.milliseconds(2)

    /// Its position among the loops of its server.
    package let index: Int

    /// Connections given to it and not closed yet.
    private let load = Atomic<Int>(0)
    private let queue: DispatchQueue
    private let clock: MonotonicClock
    private let epoll: Epoll
    private let inbox = Mutex<[Work]>([])
    private let readiness: any DispatchSourceRead
    private let timer: any DispatchSourceTimer

    /// Nil once the loop has stopped.
    private var context: LoopContext?
    /// What the timer is set to.
    private var armed = DeadlineWheel.never
    private var isInBatch = false
    private var isBatchEndScheduled = false
    private var stopped: [Work] = []

    /// The loop serves until it is stopped, whoever holds it. The factory is called on the loop.
    package init(
        index: Int, limits: TransportLimits, clock: MonotonicClock,
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
            context = LoopContext(self, makeHandler(self), limits, epoll, now: clock.now())
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

    /// From any thread; in order. What is run on a loop that has stopped still runs, but `respond` does nothing then.
    package func run(_ work: @escaping Work) {
        let isFirst = inbox.withLock { waiting in
            waiting.append(work)
            return waiting.count == 1
        }
        if isFirst { queue.async { self.batch { _ in } } }
    }

    /// On the loop: monotonic nanoseconds; within a batch the time that it began at.
    package var now: UInt64 {
        dispatchPrecondition(condition: .onQueue(queue))
        if isInBatch, let context { return context.now }
        return clock.now()
    }

    /// From any thread: looks at the deadlines now, for whoever moves the clock by hand.
    package func checkDeadlines() {
        run {}
    }

    /// From any thread: serves these from now on.
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

    /// From any thread: tells the handler, closes idle connections, the others after what they are owed, all of them
    /// after `bound` nanoseconds. Then calls `completion`, on the loop.
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

    func find(_ ticket: Ticket) -> (Connection, LoopContext)? {
        dispatchPrecondition(condition: .onQueue(queue))
        guard let context,
            let connection = context.connections.find(slot: ticket.slot, generation: ticket.generation)
        else { return nil }
        return (connection, context)
    }

    /// Answers may come outside of a batch, from work that was put on the queue by other ways.
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

    /// Does what waits in the inbox, then `work`, then what ends every batch.
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
        if context?.drained.isEmpty == false { scheduleBatchEnd() }
        if context == nil {
            let completions = stopped
            stopped = []
            for completion in completions { completion() }
        }
    }

    private func startBatch(_ context: LoopContext) {
        context.renewTime(clock.now())
        while let (tick, names) = context.wheel.due(now: context.now) {
            for name in names { context.connections.find(name)?.check(tick, context) }
        }
        while let (tick, names) = context.alarms.due(now: context.now) {
            for name in names { context.connections.find(name)?.checkAlarms(tick, context) }
        }
        guard !context.drained.isEmpty else { return }
        let drained = context.drained
        context.drained = []
        for ticket in drained { find(ticket)?.0.tellDrained(ticket, context) }
    }

    /// What other threads have sent; at most what is there now.
    private func runInbox() {
        let work = inbox.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for item in work { item() }
    }

    /// Sends what has been answered, and lets the handler hand over what it has collected, until there is neither.
    private func endBatch(_ context: LoopContext) {
        repeat {
            settle(context)
            context.handler.batchEnded()
        } while !context.unsettled.isEmpty
        guard !context.doomed.isEmpty else { return }
        load.subtract(context.doomed.count, ordering: .relaxed)
        context.doomed.removeAll(keepingCapacity: true)
    }

    private func settle(_ context: LoopContext) {
        guard !context.unsettled.isEmpty else { return }
        let connections = context.unsettled
        context.unsettled = []
        if connections.count >= JointSending.least { sendJointly(connections, context) }
        for connection in connections {
            connection.isUnsettled = false
            connection.proceed(context)
        }
    }

    /// Sets the timer if there is a deadline before what it is set to.
    private func arm(_ context: LoopContext) {
        let time = min(context.wheel.wakeTime, context.alarms.wakeTime)
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

    /// The loop is over: lets go of its sources, and of the handler, which may hold the loop.
    private func end() {
        readiness.cancel()
        timer.cancel()
        context = nil
    }
}
