// The target SettingsServer composes the daemon from the other targets: it reads the configuration and command line,
// starts and stops the parts, handles signals and reloads, and reports to the service manager.
// The target does not implement requests, writes or connections.
//
// Read this file first, then Configuration/Option.swift, Program/Program.swift and Reloader.swift.

package import HTTPServer
package import Platform
package import SettingsAPI
internal import SettingsCluster
internal import SettingsEngine
internal import SettingsModel
package import SettingsStorage
package import SettingsWeb
internal import Synchronization

/// The daemon. Its initializer is the only code that constructs the parts of the daemon and connects them.
///
/// The daemon serves requests from its initialization until ``stop(_:)``.
package final class Daemon: Sendable {
    /// The addresses on which the daemon listens: numeric addresses with their actual ports, and socket paths.
    package let addresses: [ListenAddress]
    /// The path of the data directory.
    package let directory: String
    private let server: HTTPServer
    /// Decides writes, and publishes states to readers.
    private let store: Store
    /// The commit log: the journal in local files, or the log in etcd that several daemons share.
    private let commitLog: any StorageLog
    /// The log of messages for operators.
    private let log: Log
    /// The maximum time for which a stop waits for the requests of open connections, in nanoseconds. After this wait,
    /// the optional work of the commit log, such as a last snapshot, gets the same maximum time again.
    private let stopTimeout: UInt64
    private let isStopping: StopFlag
    private let maintenanceTimer: RepeatingTimer
    /// Returns freed memory to the operating system.
    private let trimTimer: RepeatingTimer
    private let watchdogTimer: RepeatingTimer?
    private let tokenExpiryTimer: RepeatingTimer
    private let tokenUsageTimer: RepeatingTimer
    /// The times at which tokens were last used.
    private let tokenUsage: TokenUsage
    /// Distributes policies, such as the access control, to the request handlers of all event loops. A reload replaces
    /// the policies. With etcd, the board also distributes the time for which etcd has not answered.
    private let policyBoard: PolicyBoard
    private let manager: ServiceManager?
    /// Reads the stored files periodically to detect damage, such as a journal that lacks published commits.
    private let scrub: Scrub
    private let scrubTimer: RepeatingTimer?
    private let reloader: Reloader
    private let audit: AuditLog?
    private let accessLog: LineWriter
    /// Carries out reverts and scheduled writes at their deadlines.
    private let pendingActions: PendingActionRunner
    /// The text in the audit lines of pending actions instead of an address, because no client sent a request.
    private static let deadlinePeer = "deadline"
    /// The maximum seconds that a start waits for the pending actions whose deadlines have passed.
    private static let dueActionsSeconds = 60

    /// Recovers the data from the data directory and starts to serve requests.
    ///
    /// - Parameters:
    ///   - sockets: sockets from the service manager, which replace the addresses of the configuration; may be empty.
    ///   - manager: the service manager, which gets reports of the state of the daemon; nil if there is none.
    ///   - reread: reads the configuration again, for a reload. Without it, a reload uses the same configuration.
    package init(
        _ configuration: Configuration, directory path: String, log: Log, sockets: [Listener] = [],
        manager: ServiceManager? = nil,
        reread: (@Sendable () throws(ConfigurationError) -> Configuration)? = nil
    ) throws(StartError) {
        FreedMemory.configureAllocator()
        let startConfiguration = configuration
        var configuration = configuration
        let (policies, schemaFiles) = try Self.prepare(configuration, listens: sockets.isEmpty)
        let budget = MemoryBudget(limit: configuration.bufferBytes)
        let (state, commitLog) = try Self.open(path, configuration, budget, log)
        let store = Store(state, log: commitLog, limits: configuration.writes, clock: { .now() })
        let listeners =
            sockets.isEmpty ? try Self.listen(configuration.listen, configuration.socketMode) : sockets
        if !sockets.isEmpty { log.info("the sockets of the service manager replace the option listen") }
        addresses = listeners.map { ListenAddress($0.address) }
        do throws(ConfigurationError) {
            try policies.checkExposure(of: addresses, configuration)
        } catch {
            throw .configuration(error)
        }
        let loopCount = configuration.loops ?? HTTPServer.defaultLoopCount
        let availableConnections: Int
        do {
            availableConnections = try OpenFileLimit.availableConnections(loopCount: loopCount)
        } catch {
            throw .system(error.description)
        }
        for change in configuration.lowerLimits(toFit: availableConnections) { log.info(change) }
        let isStopping = StopFlag()
        let policyBoard = PolicyBoard(policies)
        // The audit log adds the lines that its file lacks for commits in `state`. If the history is shared, the file
        // lacks the lines of commits that other daemons made, so the audit log does not report missing lines as lost.
        let audit = configuration.auditFile.map {
            AuditLog($0, in: DataDirectory(path), initialState: state, isHistoryShared: commitLog is EtcdLog, log)
        }
        let schemaSetter = SchemaSetter(store, audit, log)
        let tokenUsage = TokenUsage(in: DataDirectory(path), log: log)
        (self.tokenUsage, self.policyBoard) = (tokenUsage, policyBoard)
        // `past` makes a reader of older states. The reader also uses past files, whose commits are not in memory.
        let past = (commitLog as? LocalLog)?.pastFiles.map { files in
            { @Sendable (state: State) -> any PastReading in PastView(files, state) }
        }
        let pendingActions = PendingActionRunner(store, past: past, log: log, clock: { .now() }) { commit, text in
            let request = AuditLog.Request(peer: Self.deadlinePeer, description: text)
            audit?.add(commit, from: request, publishedState: { store.state })
        }
        self.pendingActions = pendingActions
        // Clients should not see a setting whose revert was due while the daemon was not running. If the reverts take
        // longer than `dueActionsSeconds`, the daemon serves requests before the reverts are carried out.
        pendingActions.start(waitingAtMostSeconds: Self.dueActionsSeconds)
        // The daemon also starts if a schema is refused. The setter logs this.
        _ = schemaSetter.set(schemaFiles)
        let reloader = Reloader(
            startConfiguration: startConfiguration, addresses: addresses, availableConnections: availableConnections,
            board: policyBoard, schemaSetter: schemaSetter, audit: audit, tokenUsage: tokenUsage, manager: manager,
            log: log, reread: reread ?? { startConfiguration })
        let etcdLog = commitLog as? EtcdLog
        let service = Service(
            store: store, policies: policyBoard, storage: commitLog.metrics, watchers: configuration.watchers,
            clientForgetTime: configuration.clientForgetTime, budget: budget, audit: audit, past: past,
            pendingCounts: { pendingActions.counts },
            peers: etcdLog.map { etcdLog in
                let queries = etcdLog.queries
                // A request with `Settings-Fresh` waits until this daemon has all commits up to the end of the log.
                return Peers(
                    findEndOfLog: queries.fetchEnd, describe: queries.describeDaemons,
                    metrics: { etcdLog.currentMetrics })
            },
            reload: { reloader.reload($0) }, debug: { log.debug($0) }, warn: { log.warning($0) }, clock: { .now() },
            schemas: { schemaSetter.lastResult.rawValue }, lastReloadFailed: { reloader.lastReloadFailed },
            obstacle: { isStopping.isSet ? .shuttingDown : commitLog.writeFailureReason.map { Problem(obstacle: $0) } })
        do {
            // The seconds since the daemon last read the end of the log from etcd; nil if the time is below
            // `EtcdLog.stalenessLimit`, or without etcd. If etcd does not answer at the start, the daemon serves the
            // copy of the state in the data directory, and all responses contain these seconds in `Settings-Stale`.
            // `maintenanceTimer` sends later values to the handlers.
            var staleSeconds: Int?
            etcdLog?.reportStalenessIfChanged { staleSeconds = $0 }
            // The server accepts connections at once, so the parts that requests use were constructed before it. If a
            // request reloads the configuration before `attach`, `attach` applies the limits of this configuration.
            server = try HTTPServer(
                listeners: listeners, loopCount: loopCount, limits: configuration.transport, budget: budget,
                log: { log.record($0) },
                makeHandler: { [staleSeconds] loop in
                    let handler = APIHandler(service, on: loop)
                    handler.setStale(staleSeconds)
                    return handler
                })
        } catch {
            throw StartError.system("\(error)")
        }
        reloader.attach(server, service)
        self.reloader = reloader
        self.audit = audit
        accessLog = service.accessLog
        directory = path
        self.store = store
        self.commitLog = commitLog
        self.log = log
        self.isStopping = isStopping
        stopTimeout = UInt64(max(0, configuration.stopSeconds)) * 1_000_000_000
        do throws(SystemError) {
            // `announcing` is the address of this daemon in the list of daemons that operators see. When etcd has
            // commits of other daemons, the commit stage publishes them as a part of its maintenance.
            try etcdLog?.start(announcing: addresses.first?.location) { store.performMaintenance() }
            // Every daemon lists the clients of all daemons. If a daemon announces nothing for the
            // time `retention`, the other daemons drop its records.
            etcdLog?.exchange(
                retention: { .nanoseconds(Int64(service.clients.forgetTime)) },
                records: { service.clients.records(on: store.state) },
                receive: { peers in
                    let records = peers.map { ($0.daemon, $0.records, age: ContinuousClock.now - $0.readTime) }
                    service.clients.receive(records, on: store.state)
                })
        } catch {
            throw .system(error.description)
        }
        // Maintenance of the commit log: the sync with durability `interval`, snapshots, recovery after a failed write.
        // It runs every second, or more often if the interval of the sync is shorter.
        maintenanceTimer = RepeatingTimer(every: max(1, min(1000, configuration.syncInterval))) {
            store.performMaintenance()
            etcdLog?.reportStalenessIfChanged { policyBoard.setStale($0) }
        }
        // The scrub reads the stored files slowly, so that it does not delay the writes.
        let pace = ReadPace(bytesPerSecond: 4 << 20)
        let scrub = Scrub(
            DataDirectory(path, in: POSIXFileSystem(pace: pace)), pace: pace, commitLog.metrics, log,
            publishedRevision: { store.read { $0.revision } })
        self.scrub = scrub
        let scrubSeconds = configuration.scrubInterval
        scrubTimer = scrubSeconds > 0 ? RepeatingTimer(every: scrubSeconds * 1000) { scrub.begin() } : nil
        trimTimer = RepeatingTimer(every: FreedMemory.trimInterval * 1000) { FreedMemory.trim() }
        tokenExpiryTimer = RepeatingTimer(every: 86_400_000) { policyBoard.policies.warnOfExpiry(log) }
        tokenUsageTimer = RepeatingTimer(every: TokenUsage.interval * 1000) {
            tokenUsage.collect(from: policyBoard.policies.access)
        }
        self.manager = manager
        watchdogTimer = Self.startWatchdog(manager, server, store, log)
        policies.logAccessControl(to: log)
        for address in addresses { log.info("listening on \(address.location)") }
        for address in addresses where !address.isLocal {
            if policies.access == nil {
                log.warning(
                    "\(address) is open to the network: there is no access control, so every caller may read "
                        + "and write everything; start with --access.tokens FILE instead of --open-to-network")
            } else {
                log.info("\(address) has no TLS: the network can read tokens; use a TLS proxy for this address")
            }
        }
        manager?.reportReady(on: addresses)
    }

    /// Reads the files that a configuration names, and checks the addresses of the option `listen` without binding
    /// them. Used by a start and by `--check-config`.
    ///
    /// - Parameter listens: false if sockets of the service manager replace the option `listen`.
    static func prepare(
        _ configuration: Configuration, listens: Bool = true
    ) throws(StartError) -> (policies: Policies, schemas: [SchemaFile]?) {
        do {
            let policies = try Policies(configuration)
            let schemas = try SchemaFile.all(of: configuration)
            for address in listens ? configuration.listen : [] {
                try policies.checkExposure(of: try resolve(address), configuration)
            }
            return (policies, schemas)
        } catch let error as ConfigurationError {
            throw .configuration(error)
        } catch let error as ListenError {
            throw .listen(error)
        } catch {
            throw .system("\(error)")
        }
    }

    /// Returns the numeric addresses of a host, or the path of a socket. Throws if the host has no addresses, or if the
    /// directory of the socket does not permit new files.
    private static func resolve(_ address: ListenAddress) throws(ListenError) -> [ListenAddress] {
        switch address {
        case .tcp(let host, let port):
            return try Listener.addresses(of: host, port: port).map { ListenAddress($0) }
        case .unix(let path):
            do throws(SystemError) {
                try POSIXFileSystem.checkFileCreation(in: path.parentDirectory ?? ".")
            } catch {
                let bindError = SystemError(call: "bind", code: error.code)
                throw ListenError(address: address.description, reason: .refused(.system(bindError)))
            }
            return [address]
        }
    }

    /// Starts to report to the watchdog of the service manager. Returns nil if the service manager has no watchdog.
    private static func startWatchdog(
        _ manager: ServiceManager?, _ server: HTTPServer, _ store: Store, _ log: Log
    ) -> RepeatingTimer? {
        guard let manager, let interval = manager.watchdogInterval else { return nil }
        var parts = server.loops.map { loop in Watchdog.Part("event loop \(loop.index)") { loop.run($0) } }
        // The decide stage computes the commits of a slice of the queue. The commit stage makes a batch durable.
        parts.append(Watchdog.Part("the decide stage") { store.runAfterDecideSlice($0) })
        parts.append(Watchdog.Part("the commit stage") { store.runAfterCommitBatches($0) })
        parts.append(Watchdog.Part("the acceptor") { server.runOnAcceptorQueue($0) })
        let watchdog = Watchdog(parts, log) { manager.feedWatchdog() }
        // Four checks per watchdog interval, which is in nanoseconds.
        return RepeatingTimer(every: Int(clamping: max(1, interval / 4_000_000))) { watchdog.checkProgress() }
    }

    /// Reads the configuration again and applies it (see ``Reloader``). Calls `completion` with a report of the options
    /// that need a restart and of the refused schemas, or with the error.
    package func reload(_ completion: @escaping @Sendable (Result<ReloadReport, Problem>) -> Void = { _ in }) {
        reloader.reload(completion)
    }

    /// Stops the daemon: accepts no more connections, answers the accepted requests, makes all commits durable, and
    /// unlocks the data directory. Then calls `completion`, with an error if not everything could be made durable. Must
    /// be called only once.
    package func stop(_ completion: @escaping @Sendable (FileError?) -> Void) {
        isStopping.set()
        log.info("stopping")
        watchdogTimer?.stop()
        tokenExpiryTimer.stop()
        tokenUsageTimer.stop()
        manager?.reportStopping()
        pendingActions.stop()
        // A write that is estimated at more than a millisecond may take seconds, which would delay the stop.
        store.refuseCostlyWrites()
        scrubTimer?.stop()
        scrub.stop()
        // The maintenance of the commit log continues until every accepted write has its result.
        server.stop(within: stopTimeout) {
            [store, commitLog, audit, accessLog, maintenanceTimer, trimTimer, stopTimeout, tokenUsage, policyBoard] in
            store.whenIdle { _ in
                tokenUsage.collect(from: policyBoard.policies.access)
                audit?.flush()
                maintenanceTimer.stop()
                trimTimer.stop()
                var failure: FileError?
                do throws(FileError) {
                    try commitLog.close(within: stopTimeout)
                } catch {
                    failure = error
                }
                accessLog.flush()
                completion(failure)
            }
        }
    }

    /// Opens the data directory, or the log in etcd if the configuration names members of etcd.
    private static func open(
        _ path: String, _ configuration: Configuration, _ budget: MemoryBudget, _ log: Log
    ) throws(StartError) -> (State, any StorageLog) {
        guard configuration.etcd.endpoints.isEmpty else { return try openShared(path, configuration, log) }
        var options = LocalLog.Options(durability: configuration.durability)
        options.syncInterval = UInt64(max(1, configuration.syncInterval)) * 1_000_000
        options.snapshotJournalBytes = configuration.snapshotJournalBytes
        options.snapshotInterval = UInt64(max(1, configuration.snapshotInterval)) * 1_000_000_000
        // Three uses of memory count against the budget: large values that writes replaced but a snapshot in progress
        // still needs, a line of a snapshot, and evicted commits that are not in a past file yet.
        let replacedCharge = budget.charge()
        options.chargeReplaced = { replacedCharge.resize(to: $0) }
        let lineCharge = budget.charge()
        options.chargeSnapshotLine = { lineCharge.resize(to: $0) }
        let pastCharge = budget.charge()
        options.chargePast = { pastCharge.resize(to: $0) }
        log.info("data in \(path), durability \(configuration.durability.rawValue)")
        do {
            let (recovered, commitLog) = try LocalLog.open(
                DataDirectory(path), options: options, limits: configuration.history, log: log, newEpoch: Epoch.random,
                clock: MonotonicClock.system.now)
            let state = recovered.state
            log.info("epoch \(state.epoch), revision \(state.revision), suites: \(state.suites.count)")
            return (state, commitLog)
        } catch {
            throw .recovery(error)
        }
    }

    /// Opens the log in etcd. The data directory contains a copy of the data in etcd.
    private static func openShared(
        _ path: String, _ configuration: Configuration, _ log: Log
    ) throws(StartError) -> (State, any StorageLog) {
        var options = EtcdLog.Options(configuration.etcd)
        options.copyInterval = UInt64(max(1, configuration.snapshotInterval)) * 1_000_000_000
        options.snapshotLogBytes = configuration.snapshotJournalBytes
        let members = configuration.etcd.endpoints.map(\.description).joined(separator: ", ")
        log.info("data in etcd at \(members) under \(configuration.etcd.prefix), with a copy in \(path)")
        do {
            let (state, etcdLog) = try EtcdLog.open(
                DataDirectory(path), options: options, limits: configuration.history, log: log,
                clock: MonotonicClock.system.now)
            log.info("epoch \(state.epoch), revision \(state.revision), suites: \(state.suites.count)")
            return (state, etcdLog)
        } catch {
            throw .recovery(error)
        }
    }

    private static func listen(_ addresses: [ListenAddress], _ mode: UInt32) throws(StartError) -> [Listener] {
        do {
            var listeners: [Listener] = []
            for address in addresses { listeners += try Listener.open(address, socketMode: mode) }
            return listeners
        } catch {
            throw .listen(error)
        }
    }
}

/// The reason why the daemon cannot start.
package enum StartError: Error, CustomStringConvertible {
    /// The data directory cannot be used.
    case recovery(RecoveryError)
    /// The configuration is not safe, or a file, user or group that it names does not exist or is not valid.
    case configuration(ConfigurationError)
    case listen(ListenError)
    /// The operating system refuses a resource that every daemon needs. The string is the error message.
    case system(String)

    package var description: String {
        switch self {
        case .recovery(let error): error.description
        case .configuration(let error): error.description
        case .listen(let error): error.description
        case .system(let reason): reason
        }
    }
}

/// A flag that the daemon sets when it stops. Thread-safe.
private final class StopFlag: Sendable {
    private let flag = Atomic(false)

    var isSet: Bool { flag.load(ordering: .acquiring) }

    func set() { flag.store(true, ordering: .releasing) }
}

extension Problem {
    /// Makes the error for a write that the daemon cannot accept at present. `obstacle` is the reason.
    fileprivate init(obstacle: String) {
        self.init(
            .storageFailed, outcome: .notDone, retryAfterMs: 1000,
            "the daemon cannot accept writes at present: \(obstacle)")
    }
}
