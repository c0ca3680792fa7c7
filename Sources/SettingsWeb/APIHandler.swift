// The target SettingsWeb answers HTTP requests with the settings in the store. It contains the resources and their
// parameters, access control, watchers, the evaluation of flags for OpenFeature, and the web page. It does not use
// sockets, journal files, or the protocol of etcd.
//
// Read this file first, then Admission.swift, Serving.swift, Reads.swift and Writes.swift. UnfinishedRequests.swift
// has the table of the requests that are not answered at once. Watching/ contains watchers, which are requests that
// wait for changes. Access/ contains callers, tokens and the audit file.

package import HTTPServer
package import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// The request handler of one event loop. It answers requests with the settings in the store.
///
/// The handler answers most reads at once from the published state, which contains all durable commits. It collects
/// writes, and queues the collected writes together, at the latest at the end of the event loop iteration. A request
/// that is not answered at once is in `requests` until it is answered. Owned by the event loop.
package final class APIHandler: RequestHandler {
    let service: Service
    let loop: EventLoop
    /// Runs the work that other threads pass to the handler on the event loop.
    let mailbox: LoopMailbox
    private(set) var policies: Policies
    /// Checks the host name and the origin that requests name.
    var hosts: HostCheck
    /// Makes the fields of answers to web pages of the configured origins (CORS), and answers preflight requests.
    private(set) var origins: CrossOrigin
    var cache = ResponseCache()
    /// The request that the handler is processing, otherwise the last processed request.
    var current = CurrentRequest(arrival: 0)
    var requests = UnfinishedRequests()
    /// The answers that background threads are rendering, and the requests that share each answer.
    var backgroundAnswers = BackgroundAnswers()
    /// The requests that wait until a revision is published.
    var revisionQueue = RevisionQueue()
    /// The earliest time of the next evaluation of a ``ConvergenceWait``, which is a request that waits until clients
    /// have applied a state. In nanoseconds of the clock of the event loop.
    var nextConvergenceEvaluation: UInt64 = 0
    /// The writes that arrived since `submitCollectedWork()` was last called.
    var collectedWrites: [PendingWrite] = []
    /// True if the daemon is stopping. From then on, no request may wait for an event.
    var isStopping = false
    var metrics = LoopMetrics()
    var accessLog = AccessLog()
    /// The body of the last OpenFeature evaluation that was valid; initially the shortest valid body. An equal body is
    /// not parsed again.
    var lastValidEvaluationBody: [UInt8] = Array("{\"context\":{}}".utf8)
    /// The number of refused credentials since the last log line about a refused credential, and the earliest time of
    /// the next line, in nanoseconds of the clock of the event loop.
    var refusedCredentials = (unlogged: 0, nextLine: UInt64(0))
    /// The callers of recently used tokens. A reload discards them, because it may change tokens and grants.
    var recentTokens = RecentTokens()
    private var requestCount = 0
    /// Identifies `mailbox` as a listener of the store, which reports publications to the mailbox.
    private let listener: ListenerID
    /// The field `Settings-Stale` of all answers; nil while the daemon can read the log in etcd, and without etcd.
    private var staleness: FieldBlock?
    /// Answers the watchers, which are requests that wait for changes, when a commit matches them.
    private(set) lazy var notifier = WatchNotifier(service, on: loop, for: self, listener)

    package init(_ service: Service, on loop: EventLoop) {
        self.service = service
        self.loop = loop
        mailbox = LoopMailbox(loop)
        policies = service.policyBoard.join(mailbox)
        hosts = HostCheck(policies.hosts)
        origins = CrossOrigin(policies.hosts)
        listener = service.store.addListener(mailbox)
        mailbox.handler = self
    }

    /// Applies the policies of a reload. Ends each waiting request whose credential is no longer valid.
    func apply(_ policies: Policies) {
        self.policies = policies
        recentTokens = RecentTokens()
        hosts = HostCheck(policies.hosts)
        // The new value keeps the indices of the field blocks, because unanswered requests have stored indices.
        origins = CrossOrigin(policies.hosts, replacing: origins)
        loop.reloadFieldBlocks()
        endRevokedRequests()
    }

    /// Sets `Settings-Stale`: the seconds since the daemon last read the commit log in etcd. Nil removes the field.
    package func setStale(_ seconds: Int?) {
        staleness = seconds.map { seconds in
            var fields = FieldBlock()
            fields.append("Settings-Stale", integer: seconds)
            return fields
        }
        loop.reloadFieldBlocks()
    }

    deinit {
        service.store.removeListener(listener)
        service.policyBoard.leave(mailbox)
    }

    /// The fields that the event loop adds to answers: the first block for requests without a configured origin, then a
    /// block for each origin. `fieldBlockIndex` selects a block.
    package var additionalFields: [FieldBlock] {
        var common = FieldBlock()
        if policies.access == nil {
            common.append("Cache-Control", "no-cache")
        } else {
            common.append("Cache-Control", "private, no-cache")
            common.append("Vary", "Authorization, X-API-Key")
        }
        common.append("X-Content-Type-Options", "nosniff")
        if let staleness { common.append(staleness) }
        return origins.fieldBlocks.map { block in
            var fields = block
            fields.append(common)
            return fields
        }
    }

    package func fieldBlockIndex(for head: RequestHead, _ bytes: Span<UInt8>) -> Int {
        origins.blockIndex(for: head, bytes)
    }

    package func handle(
        _ head: RequestHead, _ bytes: Span<UInt8>, body: Span<UInt8>, _ exchange: Exchange
    ) -> Handling {
        let id = exchange.ticket
        current = CurrentRequest(id: id, arrival: exchange.arrived)
        defer { current.endProcessing() }
        let handling = checkAndServe(head, bytes, body, exchange)
        switch handling {
        case .answer(var response):
            recordAnswer(response, current.timing) { loggedRequest(head, bytes, exchange) }
            guard current.forbidsCaching else { break }
            response.forbidCaching()
            return .answer(response)
        case .later, .laterBlockingNextRequest:
            // If the response was sent during the call, for example the head of an event stream, record it now.
            if let response = current.response {
                recordAnswer(response, current.timing) { loggedRequest(head, bytes, exchange) }
            } else if policies.logging.mayLog(current.timing) {
                // The copy is logged when the request is answered.
                let logCopy = loggedRequest(head, bytes, exchange)
                requests.update(id) { $0.logCopy = logCopy }
            }
        case .afterEarlierRequests: break  // The connection passes the request to this method again later.
        }
        return handling
    }

    private func loggedRequest(_ head: RequestHead, _ bytes: Span<UInt8>, _ exchange: Exchange) -> LoggedRequest {
        LoggedRequest(head, bytes, from: exchange.peer, by: current.caller?.name, number: nextRequestNumber())
    }

    /// Returns the index of the loop and a count: together, they are unique among the requests of all event loops.
    func nextRequestNumber() -> (loop: Int, count: Int) {
        requestCount += 1
        return (loop.index, requestCount)
    }

    package func submitCollectedWork() {
        enqueueCollectedWrites()
        guard !accessLog.lines.isEmpty else { return }
        service.accessLog.append(accessLog.removeLines())
    }

    package func iterationWasSlow(nanoseconds: UInt64) {
        metrics.slowIterations += 1
        let last = current.timing.route.map { "; the last request was \($0.method.name) \($0.resource.rawValue)" } ?? ""
        service.debug("event loop \(loop.index) was busy for \(nanoseconds / 1_000_000) ms\(last)")
    }

    /// The cursor of the published state (the epoch, which names a history, and the revision, which is the number of a
    /// commit), for an answer to a caller (the sender of a request). If the caller may not read everything, the cursor
    /// contains a digest of the grants, so that other grants invalidate it. Nil if the caller must not see a cursor.
    func cursor(for caller: Caller?) -> Cursor? {
        hidesCursor(from: caller) ? nil : service.store.state.cursor.withGrantsDigest(of: caller?.restrictedGrants)
    }

    /// True if an answer must not contain a cursor, because a cursor shows the number of commits. With access control,
    /// this applies to a caller without grants, and to nil: a request whose credential was not checked.
    func hidesCursor(from caller: Caller?) -> Bool {
        policies.access != nil && caller?.grants.list.isEmpty ?? true
    }

    /// Runs work on the event loop in a later iteration.
    func runLater(_ work: @escaping @Sendable (APIHandler) -> Void) {
        mailbox.run(work)
    }
}
