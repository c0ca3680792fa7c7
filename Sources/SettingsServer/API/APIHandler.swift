internal import Dispatch
internal import HTTPWire
internal import Platform
internal import SettingsModel

/// The interface as one loop serves it: from requests to the store and back.
///
/// Reads are answered at once from the published state. Writes are collected while a batch of events lasts and handed over
/// together; their answers come back together, too.
final class APIHandler: RequestHandler {
    let service: Service
    unowned let loop: EventLoop
    let replies: LoopReplies
    private var hosts: AcceptedHosts
    private let origins: CrossOrigin
    private var quick: QuickSetting
    /// Writes that were taken in since the batch began.
    var collected: [PendingWrite] = []
    /// Where the answers to writes go that the writer has.
    var owed: [UInt64: OwedWrite] = [:]
    var lastID: UInt64 = 0
    /// Connections of which a large body is being read: what they write after it must not overtake it.
    var reading: Set<UInt64> = []
    /// Those for whom long answers are made.
    private var wishes: [Ticket: LongAnswers.Wish] = [:]
    /// Answers by the class of their status, not yet told to the metrics.
    private var counts = [0, 0, 0, 0, 0]
    /// Suites that were asked for whole.
    private var suites = RenderedSuites()
    private let listener: ListenerID
    /// Those who wait for something to happen.
    private(set) lazy var watchers = Watchers(service, on: loop, for: self, listener)

    init(_ service: Service, on loop: EventLoop) {
        self.service = service
        self.loop = loop
        hosts = AcceptedHosts(service.hosts)
        origins = CrossOrigin(service.hosts)
        quick = QuickSetting(service.store)
        replies = LoopReplies(loop)
        listener = service.store.addListener(replies)
        replies.handler = self
    }

    deinit {
        service.store.removeListener(listener)
    }

    var moreFields: [FieldBlock] { origins.fields }

    func fields(for head: RequestHead, _ bytes: Span<UInt8>) -> Int {
        origins.place(of: head, bytes)
    }

    func handle(
        _ head: RequestHead, _ bytes: Span<UInt8>, body: Span<UInt8>, _ exchange: Exchange
    ) -> Handling {
        // What this connection wrote before must be there to be read.
        if exchange.isBehind, head.method == .get || head.method == .head || head.method == .options { return .notYet }
        do throws(Problem) {
            try hosts.check(head, bytes, from: exchange.peer)
        } catch {
            return refuse(error, at: service.store.state.cursor, exchange)
        }
        if let preflight = origins.preflight(head, bytes, service.store.state.cursor) {
            return .answer(counted(preflight))
        }
        if let setting = quick.answer(head, bytes) { return .answer(counted(setting)) }
        // A refusal is told with the place in history at which it was due, not with a later one.
        let state = service.store.state
        do throws(Problem) {
            return try serve(head, bytes, body, exchange, on: state)
        } catch {
            return refuse(error, at: state.cursor, exchange)
        }
    }

    private func refuse(_ problem: Problem, at cursor: Cursor, _ exchange: Exchange) -> Handling {
        // What this connection wrote before may have lifted the lock, or moved the place in history that is told.
        exchange.isBehind ? .notYet : .answer(counted(Response(problem, cursor: cursor)))
    }

    func rejected(
        _ rejection: Rejection, _ head: RequestHead?, _ bytes: Span<UInt8>, from peer: PeerAddress
    ) -> Response {
        let problem = head.flatMap { refusal(before: rejection, $0, bytes, from: peer) } ?? Problem(rejection)
        return counted(Response(problem, cursor: service.store.state.cursor))
    }

    /// Why a request whose body is too large would be refused whatever its body: who may not ask at all is told that.
    private func refusal(
        before rejection: Rejection, _ head: RequestHead, _ bytes: Span<UInt8>, from peer: PeerAddress
    ) -> Problem? {
        guard case .request(.bodyTooLarge) = rejection, !head.isServerWide else { return nil }
        do throws(Problem) {
            try hosts.check(head, bytes, from: peer)
            let incoming = try Incoming(head, Route(head, in: bytes), in: bytes)
            if !head.method.isSafe { try incoming.checkLock(bytes, on: service.store.state) }
            return nil
        } catch {
            return error
        }
    }

    func batchEnded() {
        handOver()
        if counts.contains(where: { $0 != 0 }) {
            service.metrics.add(counts)
            for index in counts.indices { counts[index] = 0 }
        }
    }

    func closed(_ ticket: Ticket) {
        // A write that was handed over is done all the same; its answer goes nowhere.
        watchers.closed(ticket)
        if !wishes.isEmpty { wishes.removeValue(forKey: ticket)?.end() }
    }

    func peerHalfClosed(_ ticket: Ticket) {
        watchers.peerHalfClosed(ticket)
    }

    func alarm(_ ticket: Ticket) {
        watchers.alarm(ticket)
    }

    func drained(_ ticket: Ticket) {
        watchers.drained(ticket)
    }

    func stopping() {
        watchers.stopping()
    }

    private func serve(
        _ head: RequestHead, _ bytes: Span<UInt8>, _ body: Span<UInt8>, _ exchange: Exchange, on state: State
    ) throws(Problem) -> Handling {
        if head.isServerWide {
            return .answer(counted(Response(allowing: Resource.allowedSomewhere, state.cursor)))
        }
        let route = try Route(head, in: bytes)
        if head.method == .options {
            _ = try Incoming(head, route, in: bytes)
            return .answer(counted(Response(allowing: route.resource.allowed, state.cursor)))
        }
        if let suite = shown(route, head, bytes, on: state) { return .answer(counted(suite)) }
        let incoming = try Incoming(head, route, in: bytes)
        guard head.method.isSafe else {
            // A request that names itself may repeat one from before the lock, which the writer knows.
            if !head.has(.idempotencyKey) { try incoming.checkLock(bytes, on: state) }
            return try write(incoming, bytes, body, exchange, on: state)
        }
        let handling = try read(incoming, bytes, exchange, on: state)
        // Requests that the connection sent after this one must not change its answer.
        if case .later = handling { return .laterAlone }
        return handling
    }

    private func read(
        _ incoming: Incoming, _ bytes: Span<UInt8>, _ exchange: Exchange, on state: State
    ) throws(Problem) -> Handling {
        let ticket = exchange.ticket
        let response: Response
        switch incoming.route.resource {
        case .setting:
            return try show(.setting(try SettingEndpoint(incoming, bytes)), incoming, bytes, exchange, on: state)
        case .suite:
            if let moment = incoming.query.revision(.at) {
                guard !incoming.query.has(.wait) else {
                    throw Problem(.badRequest, "the past does not change: leave out wait, or at")
                }
                return give(try SuiteEndpoint(state: state).past(incoming, at: moment, bytes), to: ticket)
            }
            return try show(.suite(try SuiteReading(incoming, bytes)), incoming, bytes, exchange, on: state)
        case .observation, .observationOfSeveral:
            return observe(incoming, bytes, exchange, on: state)
        case .schema: return give(try SchemaEndpoint(state: state).get(incoming, bytes), to: ticket)
        case .keys: return give(try SuiteEndpoint(state: state).keys(incoming, bytes), to: ticket)
        case .suites: return give(SuiteEndpoint(state: state).list(incoming), to: ticket)
        case .service: response = ServiceEndpoint(service: service).get()
        case .health: response = ServiceEndpoint(service: service).health()
        case .ready: response = ServiceEndpoint(service: service).ready()
        case .metrics: response = ServiceEndpoint(service: service).metrics()
        case .description: response = ServiceEndpoint(service: service).description()
        case .transaction: throw Problem(.methodNotAllowed, "a transaction is sent with POST")
        }
        return .answer(counted(response))
    }

    private func observe(
        _ incoming: Incoming, _ bytes: Span<UInt8>, _ exchange: Exchange, on state: State
    ) -> Handling {
        do throws(Problem) {
            let question = try WatchQuestion(incoming, bytes)
            guard question.form == .stream, incoming.method == .head else {
                return watchers.observe(question, exchange)
            }
            loop.begin(exchange.ticket, counted(Watchers.head(at: state.cursor)))
            return .later
        } catch {
            return .answer(counted(Response(toObserver: error, cursor: state.cursor)))
        }
    }

    /// Answers a reading, at once or when there is something else to read than the caller has.
    private func show(
        _ reading: Reading, _ incoming: Incoming, _ bytes: Span<UInt8>, _ exchange: Exchange, on state: State
    ) throws(Problem) -> Handling {
        let known = try incoming.knownTags(in: bytes)
        let wanted = try incoming.ifMatch(in: bytes)
        let seconds = incoming.query.count(.wait) ?? 0
        let mayWait = seconds > 0 && !watchers.isStopping
        let state = mayWait ? watchers.watchedState() : state
        let shown: Shown
        do throws(Problem) {
            shown = try reading.shown(on: state)
            if let wanted, let tag = shown.tag, !shown.isRefusal {
                try wanted.check(reading.description, at: tag, current: reading.current(on: state))
            }
        } catch {
            // With the cursor of what was looked at, not a later one.
            return .answer(counted(Response(error, cursor: state.cursor)))
        }
        if mayWait, shown.isKnown(by: known) {
            return try watchers.wait(for: reading, known: known, seconds: seconds, on: state, exchange)
        }
        return give(shown.answer(to: known, state.cursor), to: exchange.ticket)
    }

    /// Makes an answer here if it is a small one, else beside the loop, which has others to serve.
    ///
    /// - Parameter isOwed: whether it may not be refused, as that to a write that was done.
    func give(_ rendering: Rendering, to ticket: Ticket, isOwed: Bool = false) -> Handling {
        guard rendering.weight > Rendering.mostOnLoop else { return .answer(counted(rendering.make())) }
        guard isOwed || !service.longAnswers.isFull else {
            return .answer(counted(Response(Self.tooManyLongAnswers, cursor: service.store.state.cursor)))
        }
        let wish = LongAnswers.Wish()
        wishes[ticket] = wish
        beside(wish) {
            let response = rendering.make()
            return { $0.haveMade(response, for: ticket) }
        }
        return .later
    }

    private func haveMade(_ response: Response, for ticket: Ticket) {
        wishes[ticket] = nil
        loop.respond(ticket, counted(response))
    }

    static var tooManyLongAnswers: Problem {
        var problem = Problem(.overloaded, "too many long answers are being made; try again in a moment")
        problem.retryAfterMs = 1000
        return problem
    }

    /// Does something long beside the loop, and what that returns then on the loop.
    ///
    /// - Parameter wish: who wants it; if that ends before it is begun it is not done.
    func beside(_ wish: LongAnswers.Wish? = nil, _ work: @escaping @Sendable () -> @Sendable (APIHandler) -> Void) {
        let replies = replies
        service.longAnswers.make(wish) {
            let end = work()
            replies.run(end)
        }
    }

    /// Does something on the loop when others had their turn.
    func later(_ work: @escaping @Sendable (APIHandler) -> Void) {
        replies.run(work)
    }

    func counted(_ response: Response) -> Response {
        counts[min(max(response.status / 100, 1), 5) - 1] += 1
        return response
    }
}

/// Whole suites, which are kept as they were shown last.
extension APIHandler {
    /// A suite as a plain request for it is answered; nil for any other request.
    private func shown(_ route: Route, _ head: RequestHead, _ bytes: Span<UInt8>, on state: State) -> Response? {
        guard route.resource == .suite, head.method == .get, head.query == nil, head.field(.ifNoneMatch) == nil,
            head.field(.ifMatch) == nil, let name = route.suite
        else { return nil }
        guard let suite = state.suites.find(bytes.extracting(name)), suite.records.count <= Rendering.mostOnLoop else {
            return nil
        }
        if let body = suites.body(of: suite, at: state.cursor) {
            return Response(json: body, cursor: state.cursor, tag: suite.revision)
        }
        let contents = SuiteState(contents: suite.contents(), revision: suite.revision, cursor: state.cursor)
        let body = contents.jsonBytes()
        suites.keep(body, of: suite, at: state.cursor)
        return Response(json: body, cursor: state.cursor, tag: suite.revision)
    }
}
