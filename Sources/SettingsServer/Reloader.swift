internal import Dispatch
internal import HTTPServer
internal import Platform
internal import SettingsAPI
internal import SettingsModel
internal import SettingsStorage
internal import SettingsWeb
internal import Synchronization

/// A reloader that reads the configuration again and puts it in force while the daemon serves: all of it, or nothing.
///
/// Exception: a failed reload still reads the token file in force again, so that a revoked token ends.
///
/// On a queue of its own, one reload at a time.
final class Reloader: Sendable {
    private let queue = DispatchQueue(label: "settingsd.reload", qos: .userInitiated)
    private let addresses: [ListenAddress]
    /// How many files may be open for connections.
    private let room: Int
    private let board: PolicyBoard
    private let schemas: SchemaSetter
    private let manager: ServiceManager?
    private let audit: AuditLog?
    private let tokenUsage: TokenUsage
    private let log: Log
    private let reread: @Sendable () throws(ConfigurationError) -> Configuration
    private let state: Mutex<State>
    private let hasFailed = Atomic(false)

    /// True if the last reload failed.
    var lastFailed: Bool { hasFailed.load(ordering: .relaxed) }

    private struct State {
        /// As the daemon was started: what needs a restart is compared with it.
        let started: Configuration
        var server: HTTPServer?
        var service: Service?
    }

    init(
        started: Configuration, addresses: [ListenAddress], room: Int, board: PolicyBoard, schemas: SchemaSetter,
        audit: AuditLog?, tokenUsage: TokenUsage, manager: ServiceManager?, log: Log,
        reread: @escaping @Sendable () throws(ConfigurationError) -> Configuration
    ) {
        self.addresses = addresses
        self.room = room
        self.board = board
        self.schemas = schemas
        self.manager = manager
        self.audit = audit
        self.tokenUsage = tokenUsage
        self.log = log
        self.reread = reread
        state = Mutex(State(started: started))
    }

    /// Names what serves, before the first reload.
    func serve(_ server: HTTPServer, _ service: Service) {
        state.withLock { ($0.server, $0.service) = (server, service) }
    }

    func reload(_ completion: @escaping @Sendable (Result<ReloadReport, Problem>) -> Void) {
        queue.async {
            self.manager?.reloading()
            do throws(ConfigurationError) {
                let (changed, files) = try self.reload()
                self.hasFailed.store(false, ordering: .relaxed)
                let refused = self.schemas.set(files)
                self.manager?.ready(
                    on: self.addresses, trouble: refused.isEmpty ? nil : "schemas were refused, see the log")
                completion(.success(ReloadReport(needsRestart: changed, refusedSchemas: refused)))
            } catch {
                let rest =
                    self.rereadTokens()
                    ? "the daemon read the tokens again and kept all other settings" : "the daemon kept all settings"
                let message = "cannot reload the configuration: \(error); \(rest)"
                self.hasFailed.store(true, ordering: .relaxed)
                self.log.error(message)
                self.manager?.ready(on: self.addresses, trouble: "the last reload failed: \(error)")
                completion(.failure(Problem(.invalidValue, message)))
            }
        }
    }

    /// Puts policies in force. The marks of used tokens are on the policy that they replace.
    private func post(_ policies: Policies) {
        let replaced = board.policies.access
        board.post(policies)
        tokenUsage.collect(from: replaced, keepingTokensOf: policies.access)
    }

    /// Reads the token file in force again. Returns false if there is none, or it cannot be read.
    private func rereadTokens() -> Bool {
        var policies = board.policies
        guard let access = policies.access, access.hasTokenFile,
            let renewed = try? AccessPolicy(rereadingTokensOf: access)
        else { return false }
        policies.access = renewed
        post(policies)
        policies.report(to: log)
        return true
    }

    /// Returns the options that need a restart, and the schemas to set.
    private func reload() throws(ConfigurationError) -> (changed: [String], files: [SchemaFile]?) {
        var configuration = try reread()
        let policies = try Policies(configuration)
        guard policies.access != nil || board.policies.access == nil else {
            throw ConfigurationError(
                "cannot turn access control off while the daemon runs: the new configuration has no member access",
                remedy: "restart the daemon to turn it off, or restore the member")
        }
        let files = try SchemaFile.all(of: configuration)
        try policies.checkExposure(of: addresses, configuration)
        let (started, server, service) = state.withLock { ($0.started, $0.server, $0.service) }
        let changed = Option.all.filter { !$0.isReloaded && $0.write(configuration) != $0.write(started) }.map(\.name)
        for lowered in configuration.fit(into: room) { log.info(lowered) }
        log.setLevel(configuration.logLevel)
        server?.update(configuration.transport)
        service?.watchers.renew(configuration.watchers)
        service?.store.limits = configuration.writes
        service?.budget.update(limit: configuration.bufferBytes)
        post(policies)
        audit?.reopen()
        let rest = changed.isEmpty ? "" : "; these count after a restart: \(changed.joined(separator: ", "))"
        log.info("configuration reloaded\(rest)")
        policies.report(to: log)
        return (changed, files)
    }
}

extension Policies {
    /// Makes the policies that a configuration names. Reads the token file, and looks up users and groups.
    init(_ configuration: Configuration) throws(ConfigurationError) {
        self.init()
        hosts = HostPolicy(hosts: configuration.hosts, origins: configuration.origins)
        proxies = configuration.proxies
        logging = configuration.logging
        servesPage = configuration.servesPage
        rate = configuration.rate.perSecond > 0 ? configuration.rate : nil
        let options = configuration.access
        if options.isConfigured { access = try AccessPolicy(options, clock: { Timestamp.now() }) }
    }

    /// Logs whether access control is on, and which tokens expire soon.
    func report(to log: Log) {
        log.info("access control: \(access.map { "on, \($0.summary)" } ?? "OFF")")
        if access?.grantsNothing ?? false {
            log.warning(
                "no caller has a right: the configuration has the member access without tokens, users and grants for "
                    + "anonymous; add some, or remove the member and restart the daemon")
        }
        warnOfExpiry(log)
    }

    func warnOfExpiry(_ log: Log) {
        if let warning = access?.expiryWarning { log.warning(warning) }
    }

    /// Throws if the network could reach a daemon without access control.
    func checkExposure(of addresses: [ListenAddress], _ configuration: Configuration) throws(ConfigurationError) {
        guard access == nil, !configuration.isOpenToNetwork, let address = addresses.first(where: { !$0.isLocal })
        else {
            return
        }
        throw ConfigurationError(
            "\(address) is open to the network, and without access control every caller may read and write everything",
            remedy:
                "make a token with settingsd token create NAME --grant '*:read,write' --access.tokens FILE and start "
                + "with --access.tokens FILE, or say --open-to-network")
    }
}
