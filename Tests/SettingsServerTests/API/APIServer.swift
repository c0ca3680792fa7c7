import Dispatch
import HTTPServer
import Platform
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsStorage
import TestSupport

@testable import SettingsWeb

/// A server of the HTTP API over a store without files, with one event loop. The test can block the parsing of large
/// bodies and the event loop. A `ScriptedLog` is a commit log in memory that the test controls. `patientWait` waits at
/// most `Deadline.patience` seconds, and then ends the tests.
final class APIServer {
    let store: Store
    private let server: HTTPServer
    private let port: UInt16
    private let watchers: WatcherCount
    let policies = PolicyBoard()
    private let parsingScheduler: WorkScheduler
    let renderingScheduler: WorkScheduler
    private let parsingGate = DispatchSemaphore(value: 0)
    private var isParsingBlocked = false
    private var isStopped = false

    /// - Parameters:
    ///   - peers: the other daemons of a cluster; nil for a single daemon.
    ///   - warn: receives the warnings of the server, such as refused credentials.
    init(
        log: ScriptedLog = ScriptedLog(), clock: MonotonicClock = .system, peers: Peers? = nil,
        history limits: History.Limits = History.Limits(), warn: @escaping @Sendable (String) -> Void = { _ in }
    ) throws {
        let listeners = try Listener.open(.tcp(host: "127.0.0.1", port: 0))
        guard case .tcp(_, let port)? = listeners.first?.address else { throw RawClient.Failure.malformed("no port") }
        self.port = port
        let epoch = Epoch("e0")
        guard let epoch else { throw RawClient.Failure.malformed("no epoch") }
        var writeLimits = WriteLimits()
        // On a busy machine, the large bodies of one test may take longer than the default of 10 seconds.
        writeLimits.queueTimeout = UInt64(Deadline.patience) * 1_000_000_000
        store = Store(
            State(epoch: epoch, limits: limits), log: log, limits: writeLimits,
            clock: { Timestamp(milliseconds: 1) })
        let budget = MemoryBudget(limit: 256 << 20)
        // No obstacle prevents writes.
        let service = Service(
            store: store, policies: policies,
            budget: budget, peers: peers, warn: warn, clock: { Timestamp(milliseconds: 1) }, obstacle: { nil })
        watchers = service.watchers
        parsingScheduler = service.parsingScheduler
        renderingScheduler = service.renderingScheduler
        server = try HTTPServer(
            listeners: listeners, loopCount: 1, budget: budget, clock: clock,
            makeHandler: { APIHandler(service, on: $0) })
    }

    deinit {
        unblockParsing()
        if !isStopped { server.stop(within: 0) {} }
    }

    /// Waits until exactly this number of background jobs are queued. Running jobs do not count.
    func awaitQueuedJobs(_ count: Int) throws {
        try eventually {
            // Gives the event loop time to handle the requests that queue the jobs.
            awaitPublication()
            return parsingScheduler.count + renderingScheduler.count == count
        }
    }

    var watcherCount: Int { watchers.total }

    /// Waits until there is this number of watchers.
    func awaitWatchers(_ count: Int) throws {
        try eventually {
            awaitPublication()
            return watcherCount == count
        }
    }

    /// Makes the event loop check its deadlines now, because the clock of a test does not wake the event loop.
    func checkDeadlines() {
        server.checkDeadlines()
    }

    func connect() throws -> RawClient {
        try RawClient(port: port)
    }

    /// Blocks the parsing of large bodies from now on.
    func blockParsing() {
        let isRunning = DispatchSemaphore(value: 0)
        parsingScheduler.submit(
            WorkScheduler.Work { [parsingGate] _ in
                isRunning.signal()
                parsingGate.patientWait()
            })
        isRunning.patientWait()
        isParsingBlocked = true
    }

    /// Continues the parsing of large bodies. Does nothing if the parsing is not blocked.
    func unblockParsing() {
        guard isParsingBlocked else { return }
        isParsingBlocked = false
        parsingGate.signal()
    }

    /// Begins to stop the server, with a time limit in seconds. Calls `completion` when the server has stopped.
    func stop(within seconds: UInt64, completion: @escaping @Sendable () -> Void) {
        isStopped = true
        server.stop(within: seconds * TransportLimits.second, completion: completion)
    }

    /// Runs the body while the event loop is blocked.
    func whileLoopIsBlocked(_ body: () throws -> Void) rethrows {
        let (isBlocked, mayContinue) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        for loop in server.loops {
            loop.run {
                isBlocked.signal()
                mayContinue.patientWait()
            }
        }
        isBlocked.patientWait()
        defer { mayContinue.signal() }
        try body()
    }

    /// Waits until all earlier commits are published, and the event loops have handled the publication.
    func awaitPublication() {
        let isIdle = DispatchSemaphore(value: 0)
        store.whenIdle { _ in isIdle.signal() }
        isIdle.patientWait()
        server.awaitLoops()
    }
}
