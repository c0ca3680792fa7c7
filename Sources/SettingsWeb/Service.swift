internal import COpenAPI
package import HTTPServer
internal import HTTPWire
internal import Platform
package import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
package import SettingsStorage

/// The parts of the daemon that the request handlers of all event loops share.
package struct Service: Sendable {
    package static let name = "settingsd"
    package static let version = ServiceDescription.programVersion
    /// The OpenAPI document, which the C target COpenAPI embeds in the program.
    static let openAPI = Array(String(cString: openapi_document()).utf8)

    package let store: Store
    /// Makes a reader of past files, which have older commits that were evicted from memory; nil without past files.
    let past: PastSource?
    /// The policies that a reload replaces, such as access control.
    let policyBoard: PolicyBoard
    let storage: StorageMetrics
    let started: Timestamp
    let clock: @Sendable () -> Timestamp
    package let accessLog: LineWriter
    /// Counts and limits the requests that wait: for changes, for a revision, or until clients have applied a state.
    package let watchers: WatcherCount
    /// The clients that report which states of suites they have applied.
    package let clients: ClientRegistry
    let rateLimiter = RequestRateLimiter()
    let audit: AuditLog?
    let backups = BackupMaker()
    /// The other daemons that share the commit log; nil if the log is not shared.
    let peers: Peers?
    /// Counts the pending actions that this daemon has carried out, and the refused and failed attempts.
    let pendingCounts: @Sendable () -> PendingActionRunner.Counts
    /// Reads the configuration again and applies it, on the queue of the reloader. Then calls the closure.
    let reload: @Sendable (@escaping @Sendable (Result<ReloadReport, Problem>) -> Void) -> Void
    let debug: @Sendable (String) -> Void
    let warn: @Sendable (String) -> Void
    /// Returns the condition of the schema files, such as `ok` or `off`, for `/readyz`.
    let schemas: @Sendable () -> String
    let lastReloadFailed: @Sendable () -> Bool
    /// Returns the reason why the daemon does not accept writes; nil if it accepts writes.
    let obstacle: @Sendable () -> Problem?
    /// The memory for requests and answers in transit.
    package let budget: MemoryBudget
    // Each scheduler has a separate thread, so that no work waits for work of a slower scheduler.
    /// Renders large answers, and searches the history in memory. An item takes tens of milliseconds.
    let renderingScheduler: WorkScheduler
    /// Parses large bodies. A megabyte takes 6 ms, and compiling a schema of 100,000 keys takes two seconds. If
    /// rendering and parsing shared a thread, a large GET would take 1.5 s instead of 40 ms during the compilation.
    let parsingScheduler: WorkScheduler
    /// Reads past files, which may take long on a slow disk.
    let fileReadScheduler: WorkScheduler

    /// The approximate memory for reading past files; 0 if the daemon has no past files.
    static func pastFileMemory(_ source: PastSource?) -> Int { source == nil ? 0 : 8 << 20 }

    package init(
        store: Store, policies policyBoard: PolicyBoard, storage: StorageMetrics = StorageMetrics(),
        watchers limits: WatcherLimits = WatcherLimits(),
        clientForgetTime: UInt64 = ClientRegistry.defaultForgetTime, budget: MemoryBudget,
        audit: AuditLog? = nil, past: PastSource? = nil,
        pendingCounts: @escaping @Sendable () -> PendingActionRunner.Counts = { PendingActionRunner.Counts() },
        peers: Peers? = nil,
        reload: @escaping @Sendable (@escaping @Sendable (Result<ReloadReport, Problem>) -> Void) -> Void = {
            $0(.success(ReloadReport()))
        },
        debug: @escaping @Sendable (String) -> Void = { _ in }, warn: @escaping @Sendable (String) -> Void = { _ in },
        clock: @escaping @Sendable () -> Timestamp, schemas: @escaping @Sendable () -> String = { "off" },
        lastReloadFailed: @escaping @Sendable () -> Bool = { false },
        obstacle: @escaping @Sendable () -> Problem?
    ) {
        (self.clock, started) = (clock, clock())
        watchers = WatcherCount(limits)
        clients = ClientRegistry(forgetTime: clientForgetTime, clock: .system, wallClock: clock)
        (self.store, self.policyBoard, self.storage, self.audit) = (store, policyBoard, storage, audit)
        (self.past, self.peers, self.reload, self.debug, self.warn) = (past, peers, reload, debug, warn)
        accessLog = LineWriter(to: .standardOutput, capacity: 8 << 20, delay: .milliseconds(20)) { count in
            warn(
                "dropped \(count) lines of the access log: standard output was full or failed; check "
                    + "the program that reads it")
            // The access log itself gets no line about the lost lines.
            return nil
        }
        (self.schemas, self.lastReloadFailed) = (schemas, lastReloadFailed)
        self.pendingCounts = pendingCounts
        (self.obstacle, self.budget) = (obstacle, budget)
        let timeout = store.limits.queueTimeout
        renderingScheduler = WorkScheduler(label: "settingsd.rendering", budget: budget, timeout: timeout)
        parsingScheduler = WorkScheduler(label: "settingsd.parsing", budget: budget, timeout: timeout)
        fileReadScheduler = WorkScheduler(label: "settingsd.file-reads", budget: budget, timeout: timeout)
    }
}

/// The resources that describe the daemon.
extension Service {
    /// Answers `/v1` with the name, the version, the cursor (epoch and revision) and links.
    func description(at cursor: Cursor) -> Response {
        let links: [(name: String, target: String)] = [
            ("suites", Resource.suites.rawValue), ("suite", Resource.suite.rawValue), ("keys", Resource.keys.rawValue),
            ("setting", Resource.setting.rawValue), ("schema", Resource.schema.rawValue),
            ("observe", Resource.observation.rawValue), ("clients", Resource.clients.rawValue),
            ("observeSeveral", "\(Resource.observationOfSuites.rawValue)?suite={suite}"),
            ("transaction", Resource.transaction.rawValue), ("pending", Resource.pending.rawValue),
            ("caller", Resource.caller.rawValue),
            ("description", Resource.apiDescription.rawValue),
            ("health", Resource.health.rawValue), ("ready", Resource.ready.rawValue),
            ("metrics", Resource.metrics.rawValue),
        ]
        let description = ServiceDescription(
            name: Self.name, version: Self.version, cursor: cursor,
            links: links.map { ServiceDescription.Link(name: $0.name, target: $0.target) })
        return Response(json: description.jsonBytes(), cursor: cursor)
    }

    /// Answers `/v1/caller` with the name and the grants of the caller. Without access control, `caller` is nil, and
    /// the answer has the user of the Unix domain socket, if the connection has one, and all rights.
    func caller(_ caller: Caller?, _ user: PeerUser?, at cursor: Cursor) -> Response {
        let state =
            caller?.state
            ?? CallerState(name: user?.callerName ?? "anonymous", grants: [Grant.everything.description])
        return Response(json: state.jsonBytes(), cursor: cursor)
    }

    func health(at cursor: Cursor?) -> Response {
        status("ok", at: cursor)
    }

    /// Answers `/readyz`: 200 if the daemon accepts writes, otherwise the reason. Both answers contain all conditions,
    /// but only `running` and `storage` can prevent writes.
    func readiness(at cursor: Cursor?) -> Response {
        let obstacle = obstacle()
        let conditions: JSONObject = [
            "running": .string(obstacle?.code == .shuttingDown ? "stopping" : "ok"),
            "storage": .string(obstacle?.code == .storageFailed ? "failing" : "ok"),
            "files": .string(storage.contents.damagedFiles > 0 ? "damaged" : "ok"),
            "audit": .string(audit?.condition ?? "off"),
            "schemas": .string(schemas()),
            "reload": .string(lastReloadFailed() ? "failed" : "ok"),
        ]
        guard let obstacle else { return status("ready", conditions, at: cursor) }
        var response = Response(obstacle, cursor: cursor)
        // The body is a JSON object and a newline. Replaces the closing brace to add a member.
        response.body.removeLast(2)
        response.body += Array(",\"conditions\":\(JSONValue.object(conditions).text())}\n".utf8)
        return response
    }

    /// Answers `/openapi.json`.
    func apiDescription(at cursor: Cursor) -> Response {
        Response(verbatim: Self.openAPI, cursor: cursor)
    }

    private func status(_ word: String, _ conditions: JSONObject? = nil, at cursor: Cursor?) -> Response {
        var body: JSONObject = ["status": .string(word)]
        body["conditions"] = conditions.map { .object($0) }
        return Response(json: JSONValue.object(body).bytes(), cursor: cursor)
    }
}
