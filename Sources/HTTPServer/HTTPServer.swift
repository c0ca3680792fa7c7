// The target HTTPServer serves HTTP/1.1 connections. Acceptors accept connections from listeners and distribute them among
// event loops. An event loop is one thread that owns its connections: sockets, buffers, deadlines and backpressure.
//
// The target does not know settings, resources or callers. It passes each request to the `RequestHandler` of the event
// loop, and sends the response that the handler returns then or later.
//
// Read this file first, then RequestHandler.swift, EventLoop.swift and Connection.swift.

internal import Dispatch
package import Platform
internal import Synchronization

/// A server that accepts connections on listeners and serves them on event loops.
///
/// Retains itself from the moment that it is made until `stop`.
package final class HTTPServer: Sendable {
    package let loops: [EventLoop]
    private let acceptors: [Acceptor]
    /// The queue of all acceptors.
    private let accepting = DispatchQueue(label: "acceptor", qos: .userInitiated)

    /// Begins to serve. The factory is called once on each loop.
    package convenience init(
        listeners: [Listener], loopCount: Int? = nil, limits: TransportLimits = TransportLimits(),
        budget: MemoryBudget, clock: MonotonicClock = .system,
        log: @escaping @Sendable (TransportEvent) -> Void = { _ in },
        makeHandler: @escaping @Sendable (EventLoop) -> any RequestHandler
    ) throws(SystemError) {
        try self.init(
            listeners: listeners, loopCount: loopCount, limits: limits, budget: budget, clock: clock, log: log,
            accept: { $0.accept() }, names: UserNames(), makeHandler: makeHandler)
    }

    init(
        listeners: [Listener], loopCount: Int?, limits: TransportLimits, budget: MemoryBudget, clock: MonotonicClock,
        log: @escaping @Sendable (TransportEvent) -> Void, accept: @escaping Acceptor.Accept, names: UserNames,
        makeHandler: @escaping @Sendable (EventLoop) -> any RequestHandler
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
        acceptors = listeners.map { [accepting] listener in
            Acceptor(listener, loops, counts, names, limits: limits, queue: accepting, accept: accept, log: log)
        }
    }

    /// Calls the body in the acceptors' next turn. From any thread.
    package func inNextAcceptance(_ body: @escaping @Sendable () -> Void) {
        accepting.async(execute: body)
    }

    /// One for every other core: the rest is for the write path, and for clients on this machine. Measured on two cores with the load on one of them, one loop answers a third more requests than two.
    package static var defaultLoopCount: Int {
        min(mostLoops, max(1, Processors.onlineCount / 2))
    }

    /// Dispatch has 255 threads for queues that are busy for good, and other queues need some.
    private static let mostLoops = 128

    /// Counts the open connections, with those that are about to close.
    package var connectionCount: Int {
        loops.reduce(0) { $0 + $1.connectionCount }
    }

    /// Sets other limits for what comes from now on. From any thread.
    package func renew(_ limits: TransportLimits) {
        for acceptor in acceptors { acceptor.renew(limits) }
        for loop in loops { loop.renew(limits) }
    }

    /// Stops listening at once, closes idle connections, finishes owed answers, and closes everything after `bound`
    /// nanoseconds. Then calls `completion` on some loop. To be called once.
    package func stop(within bound: UInt64, completion: @escaping @Sendable () -> Void) {
        for acceptor in acceptors { acceptor.stop() }
        let running = LoopCountdown(loops.count)
        for loop in loops {
            loop.stop(within: bound) {
                if running.countDown() { completion() }
            }
        }
    }
}

/// A counter that finds the last of several loops.
private final class LoopCountdown: Sendable {
    private let left: Atomic<Int>

    init(_ count: Int) {
        left = Atomic(count)
    }

    func countDown() -> Bool {
        left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0
    }
}

/// An event that operators may want to know of.
package enum TransportEvent: Sendable {
    /// The system has no descriptor, or no memory, for another connection. Open ones go on.
    case acceptPaused(SystemError)
    case acceptResumed
}
