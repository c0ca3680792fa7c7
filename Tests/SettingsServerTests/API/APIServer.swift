import Dispatch
import HTTPServer
import Platform
import SettingsAPI
import SettingsEngine
import SettingsModel
import SettingsStorage
import TestSupport

@testable import SettingsWeb

/// The interface over a store that forgets everything, with one loop, and with schedulers for work in the background that the
/// test can block.
final class APIServer {
    let store: Store
    private let server: HTTPServer
    private let port: UInt16
    private let watchers: WatcherCount
    let policies = PolicyBoard()
    private let parsing: WorkScheduler
    let rendering: WorkScheduler
    private let gate = DispatchSemaphore(value: 0)
    private var isBlocked = false
    private var isStopped = false

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
        // Large bodies of one test may take longer than 10 s together on a busy machine.
        writeLimits.queueTimeout = UInt64(Deadline.patience) * 1_000_000_000
        store = Store(
            State(epoch: epoch, limits: limits), log: log, limits: writeLimits,
            clock: { Timestamp(milliseconds: 1) })
        let budget = MemoryBudget(limit: 256 << 20)
        let service = Service(
            store: store, policies: policies,
            budget: budget, peers: peers, warn: warn, clock: { Timestamp(milliseconds: 1) }, obstacle: { nil })
        watchers = service.watchers
        parsing = service.parsingScheduler
        rendering = service.renderingScheduler
        server = try HTTPServer(
            listeners: listeners, loopCount: 1, budget: budget, clock: clock,
            makeHandler: { APIHandler(service, on: $0) })
    }

    deinit {
        letGo()
        if !isStopped { server.stop(within: 0) {} }
    }

    /// Returns once so much work waits. Work that runs does not count.
    func awaitWork(_ count: Int) throws {
        try eventually {
            settle()
            return parsing.count + rendering.count == count
        }
    }

    /// How many wait for something to happen.
    var watcherCount: Int { watchers.total }

    /// Returns once so many wait.
    func awaitWatchers(_ count: Int) throws {
        try eventually {
            settle()
            return watcherCount == count
        }
    }

    func checkDeadlines() {
        server.checkDeadlines()
    }

    func connect() throws -> RawClient {
        try RawClient(port: port)
    }

    /// From now on large bodies wait to be parsed.
    func blockParsing() {
        let isRunning = DispatchSemaphore(value: 0)
        parsing.submit(
            WorkScheduler.Work { [gate] _ in
                isRunning.signal()
                gate.patientWait()
            })
        isRunning.patientWait()
        isBlocked = true
    }

    func letGo() {
        guard isBlocked else { return }
        isBlocked = false
        gate.signal()
    }

    /// Begins to stop, within so many seconds; calls `completion` in the end.
    func stop(within seconds: UInt64, completion: @escaping @Sendable () -> Void) {
        isStopped = true
        server.stop(within: seconds * TransportLimits.second, completion: completion)
    }

    /// Runs the body while the loop does nothing else.
    func whileLoopIsBlocked(_ body: () throws -> Void) rethrows {
        let (isBlocked, letGo) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        for loop in server.loops {
            loop.run {
                isBlocked.signal()
                letGo.patientWait()
            }
        }
        isBlocked.patientWait()
        defer { letGo.signal() }
        try body()
    }

    /// Returns once what was committed before is published, and the loops have processed it.
    func settle() {
        let isIdle = DispatchSemaphore(value: 0)
        store.whenIdle { _ in isIdle.signal() }
        isIdle.patientWait()
        server.settle()
    }
}
