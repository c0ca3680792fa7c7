internal import COpenAPI
package import HTTPServer
internal import HTTPWire
internal import Platform
package import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
package import SettingsStorage

/// A service that the handlers of all loops share: the store, the limits, and what the daemon says of itself.
package struct Service: Sendable {
    /// The name of the program.
    package static let name = "settingsd"
    /// The version of the program.
    package static let version = ServiceDescription.versionOfThis
    /// The OpenAPI document of the interface.
    static let openAPI = Array(String(cString: openapi_document()).utf8)

    package let store: Store
    /// Makes a reader of the past that reaches further back than a state; nil if nothing does.
    let past: PastSource?
    let policies: PolicyBoard
    let storage: StorageFigures
    let started: Timestamp
    /// The time of day.
    let clock: @Sendable () -> Timestamp
    package let accessLog: LineWriter
    package let watchers: WatcherCount
    let meter = RequestMeter()
    let audit: AuditLog?
    let backups = BackupMaker()
    /// Nil for a daemon that is alone.
    let peers: Peers?
    /// Reads the configuration again, all or nothing, on a queue of its own.
    let reload: @Sendable (@escaping @Sendable (Result<ReloadReport, Problem>) -> Void) -> Void
    /// Logs what helps to find a defect.
    let debug: @Sendable (String) -> Void
    /// Logs a warning.
    let warn: @Sendable (String) -> Void
    /// The state of the schemas from files, a word.
    let schemas: @Sendable () -> String
    /// True if the last reload failed.
    let lastReloadFailed: @Sendable () -> Bool
    /// The problem that keeps the daemon from taking writes; nil if it takes them.
    let obstacle: @Sendable () -> Problem?
    /// The memory for what is on its way.
    package let budget: MemoryBudget
    // Each scheduler has a thread of its own, so that no work waits for work of a slower kind.
    /// Renders large answers, and searches the history in memory: some tens of milliseconds each.
    let rendering: WorkScheduler
    /// Parses large bodies. A megabyte takes 6 ms, and compiling a schema of 100,000 keys takes two seconds. With a
    /// shared thread, a large GET would take 1.5 s instead of 40 ms meanwhile.
    let parsing: WorkScheduler
    /// Reads past files, which takes as long as the disk takes.
    let fileReads: WorkScheduler

    /// About the memory that it takes to read from past files, if there are any.
    static func memory(ofPast source: PastSource?) -> Int { source == nil ? 0 : 8 << 20 }

    package init(
        store: Store, policies: PolicyBoard, storage: StorageFigures = StorageFigures(),
        watchers limits: WatcherLimits = WatcherLimits(), budget: MemoryBudget,
        audit: AuditLog? = nil, past: PastSource? = nil, peers: Peers? = nil,
        reload: @escaping @Sendable (@escaping @Sendable (Result<ReloadReport, Problem>) -> Void) -> Void = {
            $0(.success(ReloadReport()))
        },
        debug: @escaping @Sendable (String) -> Void = { _ in }, warn: @escaping @Sendable (String) -> Void = { _ in },
        clock: @escaping @Sendable () -> Timestamp, schemas: @escaping @Sendable () -> String = { "off" },
        lastReloadFailed: @escaping @Sendable () -> Bool = { false },
        obstacle: @escaping @Sendable () -> Problem?
    ) {
        self.clock = clock
        started = clock()
        watchers = WatcherCount(limits)
        self.store = store
        self.policies = policies
        self.storage = storage
        self.audit = audit
        self.past = past
        self.peers = peers
        self.reload = reload
        self.debug = debug
        self.warn = warn
        accessLog = LineWriter(to: .standardOutput, capacity: 8 << 20) { count in
            warn(
                "cannot write \(count) lines of the access log: standard output was full or failed; check "
                    + "the program that reads it")
            return nil
        }
        self.schemas = schemas
        self.lastReloadFailed = lastReloadFailed
        self.obstacle = obstacle
        self.budget = budget
        let timeout = store.limits.queueTimeout
        rendering = WorkScheduler(label: "settingsd.rendering", budget: budget, timeout: timeout)
        parsing = WorkScheduler(label: "settingsd.parsing", budget: budget, timeout: timeout)
        fileReads = WorkScheduler(label: "settingsd.file-reads", budget: budget, timeout: timeout)
    }
}

/// The resources that tell of the service itself.
extension Service {
    /// Answers `/v1`: name, version, place in history and links.
    func description(at cursor: Cursor) -> Response {
        let links: [(name: String, target: String)] = [
            ("suites", Resource.suites.rawValue), ("suite", Resource.suite.rawValue), ("keys", Resource.keys.rawValue),
            ("setting", Resource.setting.rawValue), ("schema", Resource.schema.rawValue),
            ("observe", Resource.observation.rawValue),
            ("observeSeveral", "\(Resource.observationOfSeveral.rawValue)?suite={suite}"),
            ("transaction", Resource.transaction.rawValue), ("caller", Resource.caller.rawValue),
            ("description", Resource.description.rawValue),
            ("health", Resource.health.rawValue), ("ready", Resource.ready.rawValue),
            ("metrics", Resource.metrics.rawValue),
        ]
        let description = ServiceDescription(
            name: Self.name, version: Self.version, cursor: cursor,
            links: links.map { ServiceDescription.Link(name: $0.name, target: $0.target) })
        return Response(json: description.jsonBytes(), cursor: cursor)
    }

    /// Answers `/v1/caller`. Without access control every caller may do everything.
    func caller(_ caller: Caller?, at cursor: Cursor) -> Response {
        let state = caller?.state ?? CallerState(name: "anonymous", grants: [Grant.everything.description])
        return Response(json: state.jsonBytes(), cursor: cursor)
    }

    /// Answers `/healthz`.
    func health(at cursor: Cursor?) -> Response {
        status("ok", at: cursor)
    }

    /// Answers `/readyz`: 200 if writes are taken, else why not, with each condition. Only `running` and `storage` keep
    /// writes back.
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
        // The problem is an object; its last byte closes it.
        response.body.removeLast()
        response.body += Array(",\"conditions\":".utf8) + JSONValue.object(conditions).bytes() + [UInt8(ascii: "}")]
        return response
    }

    /// Answers `/openapi.json`.
    func document(at cursor: Cursor) -> Response {
        Response(json: Self.openAPI, cursor: cursor)
    }

    private func status(_ word: String, _ conditions: JSONObject? = nil, at cursor: Cursor?) -> Response {
        var body: JSONObject = ["status": .string(word)]
        body["conditions"] = conditions.map { .object($0) }
        return Response(json: JSONValue.object(body).bytes(), cursor: cursor)
    }
}
