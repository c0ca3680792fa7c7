// The target SettingsWeb answers HTTP requests from the store. It contains the resources and their parameters, access
// control, watchers, the evaluation of flags for OpenFeature, and the web page.
//
// The target does not know sockets, journals, or the protocol of etcd.
//
// Read this file first, then Admission.swift, Serving.swift, Reads.swift and Writes.swift. A request that is not answered at once
// is in UnfinishedRequests.swift. Watching/ contains watchers, Access/ contains callers, tokens and the audit file.

package import HTTPServer
package import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// A request handler that answers the requests of one loop from the store.
///
/// The handler answers most reads at once from the published state. It collects the writes of a batch of events and queues them
/// together. A request that is not answered at once is in `requests` until its answer. Runs on its loop.
package final class APIHandler: RequestHandler {
    let service: Service
    let loop: EventLoop
    let mailbox: LoopMailbox
    private(set) var policies: Policies
    var hosts: HostCheck
    private(set) var origins: CrossOrigin
    var cache = ResponseCache()
    /// The request that the handler is processing, or has processed last.
    var current = CurrentRequest(arrival: 0)
    var requests = UnfinishedRequests()
    var backgroundAnswers = BackgroundAnswers()
    var revisionQueue = RevisionQueue()
    /// The writes of the present batch of events.
    var collectedWrites: [PendingWrite] = []
    /// True if the daemon stops, and no request may wait for an event any more.
    var isStopping = false
    var figures = LoopFigures()
    var accessLog = AccessLog()
    /// The last body of an evaluation that was found to have a context.
    var knownContext: [UInt8] = Array("{\"context\":{}}".utf8)
    /// The number of refused credentials since the last line about one, and the earliest time of the next line.
    var refusedCredentials = (unlogged: 0, nextLine: UInt64(0))
    var recentTokens = RecentTokens()
    private var requestCount = 0
    private let listener: ListenerID
    /// The field that every answer has while the daemon is behind the others; nil while it is not.
    private var staleness: FieldBlock?
    private(set) lazy var notifier = WatchNotifier(service, on: loop, for: self, listener)

    package init(_ service: Service, on loop: EventLoop) {
        self.service = service
        self.loop = loop
        mailbox = LoopMailbox(loop)
        policies = service.policies.join(mailbox)
        hosts = HostCheck(policies.hosts)
        origins = CrossOrigin(policies.hosts)
        listener = service.store.addListener(mailbox)
        mailbox.handler = self
    }

    /// Applies the policies of a reload. Ends the requests that wait for an event and whose credentials are revoked.
    func apply(_ policies: Policies) {
        self.policies = policies
        recentTokens = RecentTokens()
        hosts = HostCheck(policies.hosts)
        origins = CrossOrigin(policies.hosts, after: origins)
        loop.reloadFieldBlocks()
        endRevokedRequests()
    }

    /// Has every answer say since how many seconds the daemon has not heard of the end of the history; nil for no longer.
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
        service.policies.leave(mailbox)
    }

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
        return origins.fields.map { fields in
            var fields = fields
            fields.append(common)
            return fields
        }
    }

    package func fieldBlockIndex(for head: RequestHead, _ bytes: Span<UInt8>) -> Int {
        origins.position(of: head, bytes)
    }

    package func handle(
        _ head: RequestHead, _ bytes: Span<UInt8>, body: Span<UInt8>, _ exchange: Exchange
    ) -> Handling {
        let id = exchange.ticket
        current = CurrentRequest(id: id, arrival: exchange.arrived)
        defer { current.finish() }
        let handling = decide(head, bytes, body, exchange)
        switch handling {
        case .answer(var response):
            note(response, current.timing) { text(of: head, bytes, exchange) }
            guard current.forbidsStorage else { break }
            response.forbidStorage()
            return .answer(response)
        case .later, .laterExclusive:
            if let response = current.response {
                note(response, current.timing) { text(of: head, bytes, exchange) }
            } else if policies.logging.mayLog(current.timing) {
                let logCopy = text(of: head, bytes, exchange)
                requests.update(id) { $0.logCopy = logCopy }
            }
        case .afterEarlierRequests: break
        }
        return handling
    }

    private func text(of head: RequestHead, _ bytes: Span<UInt8>, _ exchange: Exchange) -> LoggedRequest {
        LoggedRequest(
            head, bytes, from: exchange.peer, by: current.caller?.name, number: nextNumber())
    }

    /// Returns a number that no other request has.
    func nextNumber() -> (loop: Int, count: Int) {
        requestCount += 1
        return (loop.index, requestCount)
    }

    package func submitCollectedWork() {
        enqueueCollectedWrites()
        guard !accessLog.lines.isEmpty else { return }
        service.accessLog.append(accessLog.takeLines())
    }

    package func iterationWasSlow(nanoseconds: UInt64) {
        figures.slowBatches += 1
        let last = current.timing.route.map { "; the last request was \($0.method.name) \($0.resource.rawValue)" } ?? ""
        service.debug("loop \(loop.index) was busy for \(nanoseconds / 1_000_000) ms\(last)")
    }

    /// The cursor for an answer to a caller; nil for a stranger.
    func cursor(for caller: Caller?) -> Cursor? {
        isStranger(caller) ? nil : service.store.state.cursor.marked(for: caller?.reader)
    }

    /// True for a caller without any grant, and for a caller that was not asked for a credential. A stranger gets no cursor,
    /// because cursors show how often something is written.
    func isStranger(_ caller: Caller?) -> Bool {
        policies.access != nil && caller?.grants.list.isEmpty ?? true
    }

    /// Runs work in a later iteration of the loop.
    func runLater(_ work: @escaping @Sendable (APIHandler) -> Void) {
        mailbox.run(work)
    }
}
