import Dispatch
import Glibc
import Platform
import Synchronization
import TestSupport
import Testing

@testable import HTTPServer

/// A server for a test, by default on a port that the kernel chooses, and with one event loop. The server stops at the
/// end of the test.
final class TestServer {
    let script = Script()
    let address: RawAddress
    let server: HTTPServer
    private var isStopped = false

    /// - Parameters:
    ///   - sendBuffer: the size in bytes of the send buffer of each connection; nil for the default of the kernel.
    ///   - accept: accepts a connection. A test can return errors of the kernel.
    ///   - names: finds the names of the users that connect to a Unix domain socket.
    init(
        at listenAddress: ListenAddress = .tcp(host: "127.0.0.1", port: 0), loops: Int = 1,
        limits: TransportLimits = .patient, budget: MemoryBudget = MemoryBudget(limit: 256 << 20),
        clock: MonotonicClock = .system, sendBuffer: Int32? = nil, accept: @escaping Acceptor.Accept = { $0.accept() },
        names: UserNames = UserNames()
    ) throws {
        let listeners = try Listener.open(listenAddress)
        let listener = try #require(listeners.first)
        address = if case .unix(let path) = listenAddress { .unix(path) } else { .ipv4(listener.address.port) }
        // Accepted connections inherit the options of the listener.
        if var size = sendBuffer {
            setsockopt(listener.descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        server = try HTTPServer(
            listeners: listeners, loopCount: loops, limits: limits, budget: budget, clock: clock,
            log: { [log = script.log] event in
                switch event {
                case .acceptPaused: log.add("paused")
                case .acceptResumed: log.add("resumed")
                }
            },
            accept: accept, userNames: names,
            makeHandler: { [script] loop in ScriptedHandler(script, loop) })
    }

    deinit {
        if !isStopped { server.stop(within: 0) {} }
    }

    func connect(receiveBuffer: Int32? = nil) throws -> RawClient {
        try RawClient(address, receiveBuffer: receiveBuffer)
    }

    /// Waits until all work that was passed to the loops is done.
    func awaitLoops() {
        server.awaitLoops()
    }

    /// Blocks the first loop until the returned semaphore is signalled. Returns when the loop is blocked. After the
    /// signal, one iteration handles everything that has arrived meanwhile.
    func blockLoop() -> DispatchSemaphore {
        let isBlocked = DispatchSemaphore(value: 0)
        let gate = DispatchSemaphore(value: 0)
        server.loops[0].run {
            isBlocked.signal()
            gate.patientWait()
        }
        isBlocked.patientWait()
        return gate
    }

    /// Calls the closure on the loop of the request. Waits for its result.
    func onLoop<Result: Sendable>(
        _ exchange: Exchange, _ work: @escaping @Sendable (EventLoop, Ticket) -> Result
    ) throws -> Result {
        let result = Mutex<Result?>(nil)
        let done = DispatchSemaphore(value: 0)
        exchange.loop.run {
            let value = work(exchange.loop, exchange.ticket)
            result.withLock { $0 = value }
            done.signal()
        }
        done.patientWait()
        return try #require(result.withLock { $0 })
    }

    /// Makes the loops check their deadlines, because the clock of a test does not wake them.
    func checkDeadlines() {
        server.checkDeadlines()
    }

    func stop(withinSeconds seconds: Double) {
        isStopped = true
        server.stop(within: UInt64(seconds * Double(TransportLimits.second))) { [log = script.log] in
            log.add("stopped")
        }
    }
}

extension HTTPServer {
    /// Waits until all work that was passed to the loops is done, and the iterations with this work have ended.
    func awaitLoops() {
        for loop in loops + loops {
            let done = DispatchSemaphore(value: 0)
            loop.run { done.signal() }
            done.patientWait()
        }
    }

    /// Makes the loops check their deadlines: a loop does this in each iteration.
    func checkDeadlines() {
        for loop in loops { loop.run {} }
    }
}

/// A request without a body.
func get(_ path: String, _ fields: String...) -> String {
    "GET \(path) HTTP/1.1\r\nHost: localhost\r\n\(fields.map { $0 + "\r\n" }.joined())\r\n"
}

/// A request with a body.
func post(_ path: String, _ body: String, _ fields: String...) -> String {
    "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.utf8.count)\r\n"
        + "\(fields.map { $0 + "\r\n" }.joined())\r\n\(body)"
}

extension TransportLimits {
    /// Limits under which a client on a slow machine is not disconnected for reading a stream too slowly.
    static var patient: TransportLimits {
        var limits = TransportLimits()
        limits.streamTime = 600 * second
        return limits
    }
}
