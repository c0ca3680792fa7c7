// The target HTTPServer serves HTTP/1.1 connections. Acceptors accept connections from listeners and distribute them
// among event loops. An event loop is one thread that owns its connections and their buffers and deadlines.
//
// The target does not know settings or credentials. It passes each request to the `RequestHandler` of the event loop,
// and sends the response, which the handler returns at once or provides later.
//
// Read this file first, then RequestHandler.swift, EventLoop.swift and Connection.swift.

internal import Dispatch
package import Platform
internal import Synchronization

/// A server that accepts connections on listeners and serves them on event loops.
///
/// The loops and acceptors run until `stop` is called, even if nothing retains the server. Thread-safe.
package final class HTTPServer: Sendable {
    package let loops: [EventLoop]
    private let acceptors: [Acceptor]
    private let acceptorQueue = DispatchQueue(label: "acceptor", qos: .userInitiated)

    /// Starts the event loops (`defaultLoopCount` if `loopCount` is nil), then the acceptors. Calls `makeHandler` on
    /// each loop, and `log` on the acceptor queue.
    package convenience init(
        listeners: [Listener], loopCount: Int? = nil, limits: TransportLimits = TransportLimits(),
        budget: MemoryBudget, clock: MonotonicClock = .system,
        log: @escaping @Sendable (TransportEvent) -> Void = { _ in },
        makeHandler: @escaping @Sendable (EventLoop) -> any RequestHandler
    ) throws(SystemError) {
        try self.init(
            listeners: listeners, loopCount: loopCount, limits: limits, budget: budget, clock: clock, log: log,
            accept: { $0.accept() }, userNames: UserNames(), makeHandler: makeHandler)
    }

    init(
        listeners: [Listener], loopCount: Int?, limits: TransportLimits, budget: MemoryBudget, clock: MonotonicClock,
        log: @escaping @Sendable (TransportEvent) -> Void, accept: @escaping Acceptor.Accept,
        userNames: UserNames, makeHandler: @escaping @Sendable (EventLoop) -> any RequestHandler
    ) throws(SystemError) {
        var loops: [EventLoop] = []
        let counts = ClientCounts()
        let uploads = UploadQueue(budget)
        for index in 0..<max(1, loopCount ?? Self.defaultLoopCount) {
            do throws(SystemError) {
                loops.append(
                    try EventLoop(
                        index: index, counts, limits: limits, budget: budget, uploads: uploads, clock: clock,
                        makeHandler: makeHandler))
            } catch {
                for loop in loops { loop.stop(within: 0) {} }
                throw error
            }
        }
        self.loops = loops
        acceptors = listeners.map { [acceptorQueue] listener in
            Acceptor(
                listener, loops, counts, userNames, limits: limits, queue: acceptorQueue, accept: accept, log: log)
        }
    }

    /// Calls the body on the queue of the acceptors. A watchdog detects by this call that the queue is blocked.
    package func runOnAcceptorQueue(_ body: @escaping @Sendable () -> Void) {
        acceptorQueue.async(execute: body)
    }

    /// The default number of event loops: half the number of processors, because other threads and local clients need
    /// processors. On a machine with two processors that also runs the clients, one loop answers a third more requests
    /// than two loops.
    package static var defaultLoopCount: Int {
        min(maximumLoopCount, max(1, Processors.onlineCount / 2))
    }

    /// Each loop occupies a thread of libdispatch. libdispatch has at most 255 threads, and other queues need threads,
    /// too.
    private static let maximumLoopCount = 128

    package var connectionCount: Int {
        loops.reduce(0) { $0 + $1.connectionCount }
    }

    /// Replaces the limits. They apply to later connections and requests.
    package func update(_ limits: TransportLimits) {
        for acceptor in acceptors { acceptor.update(limits) }
        for loop in loops { loop.update(limits) }
    }

    /// Stops listening and closes idle connections. Closes all other connections after their pending answers, at the
    /// latest after `timeout` nanoseconds. Then calls `completion` on one of the loops. Call this method only once.
    package func stop(within timeout: UInt64, completion: @escaping @Sendable () -> Void) {
        for acceptor in acceptors { acceptor.stop() }
        let runningLoops = LoopCountdown(loops.count)
        for loop in loops {
            loop.stop(within: timeout) {
                if runningLoops.countDown() { completion() }
            }
        }
    }
}

/// Counts the loops that have not stopped. Thread-safe.
private final class LoopCountdown: Sendable {
    private let remaining: Atomic<Int>

    init(_ count: Int) {
        remaining = Atomic(count)
    }

    /// Subtracts one loop from the count. Returns true if no loop remains.
    func countDown() -> Bool {
        remaining.subtract(1, ordering: .acquiringAndReleasing).newValue == 0
    }
}

/// An event that operators may want to know about.
package enum TransportEvent: Sendable {
    /// The system has no file descriptor or no memory for another connection. Open connections are still served.
    case acceptPaused(SystemError)
    case acceptResumed
}
