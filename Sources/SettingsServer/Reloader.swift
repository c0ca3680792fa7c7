internal import Dispatch
internal import HTTPServer
internal import Platform
internal import SettingsAPI
internal import SettingsModel
internal import SettingsStorage
internal import SettingsWeb
internal import Synchronization

/// Reads the configuration again and applies it while the daemon serves requests. A reload applies all options that do
/// not need a restart, and then sets the schemas. If the configuration has an error, a reload applies nothing, but
/// still reads the current token file again, so that revoked tokens become invalid.
///
/// Thread-safe. Reloads run one at a time, on a dispatch queue of the reloader.
final class Reloader: Sendable {
    private let queue = DispatchQueue(label: "settingsd.reload", qos: .userInitiated)
    private let addresses: [ListenAddress]
    /// The number of file descriptors that the limit of open files leaves for connections.
    private let availableConnections: Int
    /// The current policies (access control and other rules for requests), which all event loops read.
    private let board: PolicyBoard
    private let schemaSetter: SchemaSetter
    private let manager: ServiceManager?
    private let audit: AuditLog?
    private let tokenUsage: TokenUsage
    private let log: Log
    /// Reads the configuration again.
    private let reread: @Sendable () throws(ConfigurationError) -> Configuration
    private let state: Mutex<State>
    private let lastReloadFailureFlag = Atomic(false)

    var lastReloadFailed: Bool { lastReloadFailureFlag.load(ordering: .relaxed) }

    private struct State {
        /// The configuration at the start of the daemon. An option that differs from it may need a restart.
        let startConfiguration: Configuration
        /// The server and the service; nil before ``Reloader/attach(_:_:)``.
        var parts: (server: HTTPServer, service: Service)?
        /// The configuration of the last reload; nil before the first reload.
        var reloaded: Configuration?
    }

    init(
        startConfiguration: Configuration, addresses: [ListenAddress], availableConnections: Int, board: PolicyBoard,
        schemaSetter: SchemaSetter, audit: AuditLog?, tokenUsage: TokenUsage, manager: ServiceManager?, log: Log,
        reread: @escaping @Sendable () throws(ConfigurationError) -> Configuration
    ) {
        self.addresses = addresses
        self.availableConnections = availableConnections
        self.board = board
        self.schemaSetter = schemaSetter
        self.manager = manager
        self.audit = audit
        self.tokenUsage = tokenUsage
        self.log = log
        self.reread = reread
        state = Mutex(State(startConfiguration: startConfiguration))
    }

    /// Sets the server and the service to which a reload applies. If a request has reloaded the configuration before,
    /// applies the limits of this configuration.
    func attach(_ server: HTTPServer, _ service: Service) {
        state.withLock { $0.parts = (server, service) }
        queue.async { self.applyLimits() }
    }

    /// Applies the limits of the last reload to the server and to the service. Runs on the queue of the reloader.
    private func applyLimits() {
        let state = state.withLock { $0 }
        guard let configuration = state.reloaded, let (server, service) = state.parts else { return }
        server.update(configuration.transport)
        service.watchers.setLimits(configuration.watchers)
        service.clients.forgetTime = configuration.clientForgetTime
        service.store.limits = configuration.writes
        service.budget.update(limit: configuration.bufferBytes)
    }

    /// Reloads the configuration on the queue of the reloader, then calls `completion`. See ``Daemon/reload(_:)``.
    func reload(_ completion: @escaping @Sendable (Result<ReloadReport, Problem>) -> Void) {
        queue.async {
            self.manager?.reportReloading()
            do throws(ConfigurationError) {
                let (restartOptions, schemaFiles) = try self.reload()
                self.lastReloadFailureFlag.store(false, ordering: .relaxed)
                let refused = self.schemaSetter.set(schemaFiles)
                self.manager?.reportReady(
                    on: self.addresses, failure: refused.isEmpty ? nil : "schemas were refused; see the log")
                completion(.success(ReloadReport(needsRestart: restartOptions, refusedSchemas: refused)))
            } catch {
                let consequence =
                    self.rereadTokens()
                    ? "the daemon read the tokens again and kept its other options" : "the daemon kept its options"
                let message = "cannot reload the configuration: \(error); \(consequence)"
                self.lastReloadFailureFlag.store(true, ordering: .relaxed)
                self.log.error(message)
                self.manager?.reportReady(on: self.addresses, failure: "the last reload failed: \(error)")
                completion(.failure(Problem(.invalidValue, message)))
            }
        }
    }

    /// Replaces the policies. Saves when each token of the old policy was last used, unless the token was removed.
    private func replacePolicies(_ policies: Policies) {
        let replaced = board.policies.access
        board.replacePolicies(with: policies)
        tokenUsage.collect(from: replaced, keepingTokensOf: policies.access)
    }

    /// Reads the current token file again. Returns false if there is no token file. If the file cannot be read or is
    /// not valid, logs the error, keeps the old tokens, and returns false.
    private func rereadTokens() -> Bool {
        var policies = board.policies
        guard let access = policies.access, access.hasTokenFile else { return false }
        do throws(ConfigurationError) {
            policies.access = try AccessPolicy(rereadingTokensOf: access)
        } catch {
            log.warning("cannot read the token file again, so revoked tokens stay valid: \(error)")
            return false
        }
        replacePolicies(policies)
        policies.logAccessControl(to: log)
        return true
    }

    /// Reloads everything except the schemas. Returns the options that need a restart, and the schemas to set; nil if
    /// no folder with schemas is configured.
    private func reload() throws(ConfigurationError) -> (restartOptions: [String], schemas: [SchemaFile]?) {
        var configuration = try reread()
        let policies = try Policies(configuration)
        guard policies.access != nil || board.policies.access == nil else {
            throw ConfigurationError(
                "cannot turn off access control while the daemon runs: the new configuration has no member \"access\"",
                remedy: "restart the daemon to turn it off, or restore the member")
        }
        let schemaFiles = try SchemaFile.all(of: configuration)
        try policies.checkExposure(of: addresses, configuration)
        let startConfiguration = state.withLock { $0.startConfiguration }
        let restartOptions = Option.all.filter { option in
            !option.isReloadable && option.write(configuration) != option.write(startConfiguration)
        }.map(\.name)
        for change in configuration.lowerLimits(toFit: availableConnections) { log.info(change) }
        log.setLevel(configuration.logLevel)
        state.withLock { [configuration] in $0.reloaded = configuration }
        applyLimits()
        replacePolicies(policies)
        // A log rotation renames the audit file, and then asks for a reload.
        audit?.reopen()
        let restartText =
            restartOptions.isEmpty ? "" : "; these options need a restart: \(restartOptions.joined(separator: ", "))"
        log.info("the configuration was reloaded\(restartText)")
        policies.logAccessControl(to: log)
        return (restartOptions, schemaFiles)
    }
}

extension Policies {
    /// Creates the policies of a configuration. Reads the token file, and looks up users and groups.
    init(_ configuration: Configuration) throws(ConfigurationError) {
        self.init()
        hosts = HostPolicy(hosts: configuration.hosts, origins: configuration.origins)
        proxies = configuration.proxies
        logging = configuration.logging
        servesWebPage = configuration.servesWebPage
        rate = configuration.rate.perSecond > 0 ? configuration.rate : nil
        let options = configuration.access
        if options.isConfigured { access = try AccessPolicy(options, clock: { Timestamp.now() }) }
    }

    /// Logs whether access control is on, and which tokens expire soon.
    func logAccessControl(to log: Log) {
        log.info("access control: \(access.map { "on, \($0.summary)" } ?? "OFF")")
        if access?.grantsNothing ?? false {
            log.warning(
                "no caller has any rights: the member \"access\" of the configuration has no tokens, no users, no "
                    + "grants for anonymous callers; add some, or remove the member and restart the daemon")
        }
        warnOfExpiry(log)
    }

    /// Logs a warning if tokens expire soon.
    func warnOfExpiry(_ log: Log) {
        if let warning = access?.expiryWarning { log.warning(warning) }
    }

    /// Throws if the network can reach an address without access control, unless the configuration permits this.
    func checkExposure(of addresses: [ListenAddress], _ configuration: Configuration) throws(ConfigurationError) {
        guard access == nil, !configuration.isOpenToNetwork, let address = addresses.first(where: { !$0.isLocal })
        else { return }
        throw ConfigurationError(
            "\(address) is open to the network, and without access control every caller may read and write everything",
            remedy:
                "create a token with settingsd token create NAME --grant '*:read,write' --access.tokens FILE and start "
                + "with --access.tokens FILE, or permit this with --open-to-network")
    }
}
