internal import COpenAPI
internal import HTTPWire
package import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import Synchronization

/// A service that the handlers of all loops share: the store, the limits, and what the daemon says of itself.
package struct Service: Sendable {
    /// The name of the program.
    package static let name = "settingsd"
    /// The version of the program.
    package static let version = "0.3.0"
    /// The OpenAPI document of the interface.
    static let openAPI = Array(String(cString: openapi_document()).utf8)

    let store: Store
    let policies: PolicyBoard
    let metrics: ServiceMetrics
    let watchers: WatcherCount
    let audit: AuditLog?
    let backups: BackupMaker
    /// Reads the configuration again, all or nothing, on a queue of its own.
    let reload: @Sendable (@escaping @Sendable (Result<ReloadReport, Problem>) -> Void) -> Void
    /// Logs what helps to find a defect.
    let debug: @Sendable (String) -> Void
    /// The problem that keeps the daemon from taking writes; nil if it takes them.
    let obstacle: @Sendable () -> Problem?
    /// The memory for what is on its way.
    let budget: MemoryBudget
    /// Renders long answers. Each takes some tens of milliseconds or more, so a caller behind a thousand others had better ask again.
    let renderer: BackgroundQueue
    /// Parses large bodies. A megabyte takes 6 ms, and to compile a schema of 100,000 keys takes two seconds.
    let parser: BackgroundQueue

    package init(
        store: Store, policies: PolicyBoard, metrics: ServiceMetrics, watchers limits: WatcherLimits = WatcherLimits(),
        budget: MemoryBudget, backups: BackupMaker, audit: AuditLog? = nil,
        reload: @escaping @Sendable (@escaping @Sendable (Result<ReloadReport, Problem>) -> Void) -> Void = {
            $0(.success(ReloadReport()))
        },
        debug: @escaping @Sendable (String) -> Void = { _ in },
        obstacle: @escaping @Sendable () -> Problem?
    ) {
        watchers = WatcherCount(limits)
        self.store = store
        self.policies = policies
        self.metrics = metrics
        self.audit = audit
        self.backups = backups
        self.reload = reload
        self.debug = debug
        self.obstacle = obstacle
        self.budget = budget
        renderer = BackgroundQueue("settingsd.renderer", budget, mostJobs: 1024)
        parser = BackgroundQueue("settingsd.parser", budget, mostJobs: 1024, mostHeld: budget.room / 4)
    }
}

/// The resources that tell of the service itself.
extension Service {
    /// Answers `/v1`: name, version, place in history and links.
    func description() -> Response {
        let cursor = store.state.cursor
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
    func caller(_ caller: Caller?) -> Response {
        let state = caller?.state ?? CallerState(name: "anonymous", grants: [.everything])
        return Response(json: state.jsonBytes(), cursor: store.state.cursor)
    }

    /// Answers `/healthz`.
    func health() -> Response {
        status("ok")
    }

    /// Answers `/readyz`: 200 if writes are taken, else why not. That the audit file cannot be written keeps no write back.
    func readiness() -> Response {
        if let obstacle = obstacle() { return Response(obstacle, cursor: store.state.cursor) }
        return status("ready", audit: audit?.isFailing ?? false ? "failing" : nil)
    }

    /// Answers `/metrics`.
    func metricsText() -> Response {
        let state = store.state
        let text = metrics.text(
            state, watchers: watchers.total, budget: budget, lostLines: audit?.lostLines ?? 0,
            isReady: obstacle() == nil)
        return Response(
            status: 200, contentType: .prometheus, fields: FieldBlock(cursor: state.cursor, tag: nil),
            body: Array(text.utf8))
    }

    /// Answers `/openapi.json`.
    func document() -> Response {
        Response(json: Self.openAPI, cursor: store.state.cursor)
    }

    private func status(_ word: String, audit: String? = nil) -> Response {
        var body: JSONObject = ["status": .string(word)]
        body["audit"] = audit.map { .string($0) }
        return Response(json: JSONValue.object(body).bytes(), cursor: store.state.cursor)
    }
}

/// A set of counters that `/metrics` shows.
package final class ServiceMetrics: Sendable {
    private let answered: Mutex<[Int]> = Mutex([0, 0, 0, 0, 0])
    private let slowBatches = Atomic(0)
    private let started: Timestamp

    package init(started: Timestamp) {
        self.started = started
    }

    /// Adds answers by the class of their status. Each loop counts its own and adds them once in a batch of events.
    func add(_ counts: [Int]) {
        answered.withLock { answered in
            for index in answered.indices { answered[index] += counts[index] }
        }
    }

    /// Counts a batch of events that took longer than any should.
    func addSlowBatch() {
        slowBatches.add(1, ordering: .relaxed)
    }

    /// Writes all metrics in the text form of Prometheus.
    func text(
        _ state: State, watchers: Int, budget: MemoryBudget, lostLines: Int, isReady: Bool
    ) -> String {
        var settings = 0
        state.suites.forEach { suite in
            settings += suite.keyCount
            return true
        }
        var text = ""
        func metric(_ name: String, _ kind: String, _ help: String, _ samples: [(labels: String, value: String)]) {
            text += "# HELP settingsd_\(name) \(help)\n# TYPE settingsd_\(name) \(kind)\n"
            for sample in samples { text += "settingsd_\(name)\(sample.labels) \(sample.value)\n" }
        }
        let classes = answered.withLock { $0 }.enumerated().map { index, count in
            (labels: "{status=\"\(index + 1)xx\"}", value: String(count))
        }
        metric("info", "gauge", "The version that runs.", [("{version=\"\(Service.version)\"}", "1")])
        metric("requests_total", "counter", "Requests answered, by the class of their status.", classes)
        metric("revision", "counter", "The revision of the last commit.", [("", "\(state.revision)")])
        metric("suites", "gauge", "Suites.", [("", "\(state.suites.count)")])
        metric("keys", "gauge", "Keys with a value or listed by a schema, in all suites.", [("", "\(settings)")])
        metric("history_commits", "gauge", "Recent commits that are kept.", [("", "\(state.history.count)")])
        metric(
            "history_bytes", "gauge", "Bytes of memory that the commits that are kept take, about.",
            [("", "\(state.history.size)")])
        metric("watchers", "gauge", "Requests that wait for something to happen.", [("", "\(watchers)")])
        metric(
            "buffer_bytes", "gauge", "Bytes of requests and answers that are on their way.", [("", "\(budget.used)")])
        metric(
            "slow_batches_total", "counter", "Batches of events that took an event loop over 20 milliseconds.",
            [("", "\(slowBatches.load(ordering: .relaxed))")])
        metric(
            "audit_lost_lines_total", "counter", "Lines of the audit file that could not be written.",
            [("", "\(lostLines)")])
        metric("ready", "gauge", "1 while writes are taken.", [("", isReady ? "1" : "0")])
        metric(
            "start_time_seconds", "gauge", "When the daemon started, in seconds since 1970.",
            [("", "\(started.milliseconds / 1000)")])
        return text
    }
}
