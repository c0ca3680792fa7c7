// The target SettingsServer composes the daemon from the other targets: it reads the configuration and the command line,
// starts and stops the parts, handles signals and reloads, and reports to the service manager.
//
// The target contains no logic of requests, writes or connections.
//
// Read this file first, then Configuration/Option.swift, Program/Program.swift and Reloader.swift.

internal import Dispatch
package import HTTPServer
package import Platform
package import SettingsAPI
internal import SettingsCluster
internal import SettingsEngine
internal import SettingsModel
package import SettingsStorage
package import SettingsWeb
internal import Synchronization

/// The daemon: the only place that constructs the parts and wires them.
///
/// It serves from the moment it is made until ``stop(_:)``.
package final class Daemon: Sendable {
    /// Where it listens: every address in figures, with the ports that were chosen.
    package let addresses: [ListenAddress]
    /// Where its data is.
    package let directory: String
    private let server: HTTPServer
    private let store: Store
    private let persistence: any StorageLog
    private let log: Log
    private let bound: UInt64
    private let isStopping: StopFlag
    private let ticker: Ticker
    private let memoryTicker: Ticker
    private let watchdogTicker: Ticker?
    private let expiryTicker: Ticker
    private let usageTicker: Ticker
    private let tokenUsage: TokenUsage
    private let board: PolicyBoard
    private let manager: ServiceManager?
    private let scrub: Scrub
    private let scrubTicker: Ticker?
    private let reloader: Reloader
    private let audit: AuditLog?
    private let accessLog: LineWriter

    /// Recovers what is in the data directory and begins to serve it.
    ///
    /// - Parameters:
    ///   - sockets: take the place of those that the configuration names.
    ///   - manager: gets reports of how the daemon is.
    ///   - reread: reads the configuration again, for a reload.
    package init(
        _ configuration: Configuration, directory path: String, log: Log, sockets: [Listener] = [],
        manager: ServiceManager? = nil,
        reread: (@Sendable () throws(ConfigurationError) -> Configuration)? = nil
    ) throws(StartError) {
        FreedMemory.returnLargeBlocks()
        let given = configuration
        var configuration = configuration
        let (policies, files) = try Self.prepare(configuration, listens: sockets.isEmpty)
        let budget = MemoryBudget(limit: configuration.bufferBytes)
        let (state, persistence) = try Self.open(path, configuration, budget, log)
        let store = Store(
            state, log: persistence, limits: configuration.writes, clock: { .now() })
        let listeners =
            sockets.isEmpty ? try Self.listen(configuration.listen, configuration.socketMode) : sockets
        if !sockets.isEmpty { log.info("sockets of the service manager take the place of the option listen") }
        addresses = listeners.map { ListenAddress($0.address) }
        do throws(ConfigurationError) {
            try policies.checkExposure(of: addresses, configuration)
        } catch {
            throw .configuration(error)
        }
        let loopCount = configuration.loops ?? HTTPServer.defaultLoopCount
        let room: Int
        do {
            room = try OpenFileLimit.availableConnections(loopCount: loopCount)
        } catch {
            throw .system(error.description)
        }
        for lowered in configuration.fit(into: room) { log.info(lowered) }
        let isStopping = StopFlag()
        let board = PolicyBoard(policies)
        let audit = configuration.auditFile.map {
            AuditLog($0, in: DataDirectory(path), on: state, isShared: persistence is EtcdLog, log)
        }
        let schemas = SchemaSetter(store, audit, log)
        let tokenUsage = TokenUsage(in: DataDirectory(path), log: log)
        (self.tokenUsage, self.board) = (tokenUsage, board)
        _ = schemas.set(files)
        let reloader = Reloader(
            started: given, addresses: addresses, room: room, board: board, schemas: schemas, audit: audit,
            tokenUsage: tokenUsage, manager: manager, log: log, reread: reread ?? { given })
        let etcdLog = persistence as? EtcdLog
        let past = (persistence as? LocalLog)?.pastFiles.map { files in
            { @Sendable (state: State) -> any PastReading in PastView(files, state) }
        }
        let service = Service(
            store: store, policies: board,
            storage: persistence.figures, watchers: configuration.watchers,
            budget: budget,
            audit: audit,
            past: past,
            peers: etcdLog.map { log in
                let questions = log.questions
                return Peers(findEnd: questions.confirmEnd, describe: questions.describe, figures: { log.contents })
            },
            reload: { reloader.reload($0) }, debug: { log.debug($0) }, warn: { log.warning($0) }, clock: { .now() },
            schemas: { schemas.condition.rawValue }, lastReloadFailed: { reloader.lastFailed },
            obstacle: { isStopping.isSet ? .shuttingDown : persistence.health.map { Problem(obstacle: $0) } })
        do {
            // Listens last, so that each connection is served.
            var silence: Int?
            etcdLog?.reportSilence { silence = $0 }
            server = try HTTPServer(
                listeners: listeners, loopCount: loopCount, limits: configuration.transport, budget: budget,
                log: { log.add($0) },
                makeHandler: { [silence] loop in
                    let handler = APIHandler(service, on: loop)
                    handler.setStale(silence)
                    return handler
                })
        } catch {
            throw StartError.system("\(error)")
        }
        reloader.serve(server, service)
        self.reloader = reloader
        self.audit = audit
        accessLog = service.accessLog
        directory = path
        self.store = store
        self.persistence = persistence
        self.log = log
        self.isStopping = isStopping
        bound = UInt64(max(0, configuration.stopBound)) * 1_000_000_000
        do throws(SystemError) {
            try etcdLog?.start(at: addresses.first?.location) { store.tend() }
        } catch {
            throw .system(error.description)
        }
        ticker = Ticker(every: max(1, min(1000, configuration.syncInterval))) {
            store.tend()
            etcdLog?.reportSilence { board.setStale($0) }
        }
        let pace = ReadPace(bytesPerSecond: 4 << 20)
        let scrub = Scrub(
            DataDirectory(path, in: POSIXFileSystem(pace: pace)), pace: pace, persistence.figures, log
        ) { store.read { $0.revision } }
        self.scrub = scrub
        let scrubs = configuration.scrubInterval
        scrubTicker = scrubs > 0 ? Ticker(every: scrubs * 1000) { scrub.begin() } : nil
        memoryTicker = Ticker(every: FreedMemory.trimInterval * 1000) { FreedMemory.trim() }
        expiryTicker = Ticker(every: 86_400_000) { board.policies.warnOfExpiry(log) }
        usageTicker = Ticker(every: TokenUsage.interval * 1000) { tokenUsage.collect(from: board.policies.access) }
        self.manager = manager
        watchdogTicker = Self.watchdog(manager, server, store, log)
        policies.report(to: log)
        for address in addresses { log.info("listening on \(address.location)") }
        for address in addresses where !address.isLocal {
            if policies.access == nil {
                log.warning(
                    "\(address) is open to the network: there is no access control, so every caller may read and write "
                        + "everything; start with --access.tokens FILE instead of --open-to-network")
            } else {
                log.info("\(address) has no TLS: tokens travel in the clear unless a proxy stands before it")
            }
        }
        manager?.ready(on: addresses)
    }

    /// Reads the files that a configuration names, and checks where the daemon would listen, without binding an address. A start
    /// and `--check-config` share this code.
    ///
    /// - Parameter listens: false if sockets of the service manager take the place of the option `listen`.
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

    /// Returns the addresses of a host in figures, or the path of a socket whose directory the process can write to.
    private static func resolve(_ address: ListenAddress) throws(ListenError) -> [ListenAddress] {
        switch address {
        case .tcp(let host, let port):
            return try Listener.addresses(of: host, port: port).map { ListenAddress($0) }
        case .unix(let path):
            do throws(SystemError) {
                try POSIXFileSystem.checkFileCreation(in: path.parentDirectory ?? ".")
            } catch {
                let refusal = SystemError(call: "bind", code: error.code)
                throw ListenError(address: address.description, reason: .refused(.system(refusal)))
            }
            return [address]
        }
    }

    /// Begins to feed the watchdog of the service manager, if it has one.
    private static func watchdog(
        _ manager: ServiceManager?, _ server: HTTPServer, _ store: Store, _ log: Log
    ) -> Ticker? {
        guard let manager, let interval = manager.watchdogInterval else { return nil }
        var parts = server.loops.map { loop in Watchdog.Part("event loop \(loop.index)") { loop.run($0) } }
        parts.append(Watchdog.Part("the decide stage") { store.passThroughDecideStage($0) })
        parts.append(Watchdog.Part("the commit stage") { store.passThroughCommitStage($0) })
        parts.append(Watchdog.Part("the acceptor") { server.runOnAcceptorQueue($0) })
        let watchdog = Watchdog(parts, log) { manager.feedWatchdog() }
        return Ticker(every: Int(clamping: max(1, interval / 4_000_000))) { watchdog.tick() }
    }

    /// Reads the configuration again, all or nothing. Calls `completion` with what needs a restart, or with the error.
    package func reload(_ completion: @escaping @Sendable (Result<ReloadReport, Problem>) -> Void = { _ in }) {
        reloader.reload(completion)
    }

    /// Stops: takes no more connections, answers what was asked, makes everything durable, and releases the
    /// directory. Then calls `completion` with what could not be done, if anything. To be called once.
    package func stop(_ completion: @escaping @Sendable (FileError?) -> Void) {
        isStopping.set()
        log.info("stopping")
        watchdogTicker?.stop()
        expiryTicker.stop()
        usageTicker.stop()
        manager?.stopping()
        store.stopping()
        scrubTicker?.stop()
        scrub.stop()
        server.stop(within: bound) {
            [store, persistence, audit, accessLog, ticker, memoryTicker, bound, tokenUsage, board] in
            store.whenIdle { _ in
                tokenUsage.collect(from: board.policies.access)
                audit?.finish()
                ticker.stop()
                memoryTicker.stop()
                var failure: FileError?
                do throws(FileError) {
                    try persistence.close(within: bound)
                } catch {
                    failure = error
                }
                accessLog.flush()
                completion(failure)
            }
        }
    }

    private static func open(
        _ path: String, _ configuration: Configuration, _ budget: MemoryBudget, _ log: Log
    ) throws(StartError) -> (State, any StorageLog) {
        guard configuration.etcd.endpoints.isEmpty else { return try openShared(path, configuration, log) }
        var options = LocalLog.Options(durability: configuration.durability)
        options.syncInterval = UInt64(max(1, configuration.syncInterval)) * 1_000_000
        options.snapshotJournalBytes = configuration.snapshotJournalBytes
        options.snapshotInterval = UInt64(max(1, configuration.snapshotInterval)) * 1_000_000_000
        let replaced = budget.charge()
        options.chargeReplaced = { replaced.resize(to: $0) }
        let line = budget.charge()
        options.chargeSnapshotLine = { line.resize(to: $0) }
        let past = budget.charge()
        options.chargePast = { past.resize(to: $0) }
        log.info("data in \(path), durability \(configuration.durability.rawValue)")
        do {
            let (recovered, persistence) = try LocalLog.open(
                DataDirectory(path), options: options, limits: configuration.history, log: log, newEpoch: Epoch.random,
                clock: MonotonicClock.system.now)
            let state = recovered.state
            log.info("epoch \(state.epoch), revision \(state.revision), suites: \(state.suites.count)")
            return (state, persistence)
        } catch {
            throw .recovery(error)
        }
    }

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

/// The error of a daemon that could not start.
package enum StartError: Error, CustomStringConvertible {
    /// The data directory cannot be used.
    case recovery(RecoveryError)
    /// The configuration names what is not there, or what is not safe.
    case configuration(ConfigurationError)
    /// It cannot listen.
    case listen(ListenError)
    /// The system refuses something that every daemon needs.
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

/// A timer that calls a closure at intervals until it is stopped.
///
/// Unchecked because its one member is a dispatch source that never changes, and those may be cancelled from any thread.
private final class Ticker: @unchecked Sendable {
    private let timer: any DispatchSourceTimer

    init(every milliseconds: Int, _ body: @escaping @Sendable () -> Void) {
        timer = DispatchSource.makeTimerSource(queue: .global(qos: .utility))
        timer.schedule(
            deadline: .now() + .milliseconds(milliseconds), repeating: .milliseconds(milliseconds),
            leeway: .milliseconds(milliseconds / 4))
        timer.setEventHandler(handler: body)
        timer.activate()
    }

    func stop() {
        timer.cancel()
    }
}

/// A flag that the daemon sets when it stops.
private final class StopFlag: Sendable {
    private let flag = Atomic(false)

    var isSet: Bool { flag.load(ordering: .acquiring) }

    func set() { flag.store(true, ordering: .releasing) }
}

extension Problem {
    /// The problem of writes while they fail.
    fileprivate init(obstacle: String) {
        self.init(
            .storageFailed, outcome: .notDone, retryAfterMs: 1000, "writes are not taken at present: \(obstacle)")
    }
}
