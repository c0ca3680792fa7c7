internal import HTTPWire
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// A write that is with the writer, and the answer that its caller wants.
struct OwedWrite: Sendable {
    let ticket: Ticket
    /// The status if something is stored where nothing was.
    let createdStatus: Int
    /// True if the caller wants no values.
    let isMinimal: Bool

    init(_ request: APIRequest, _ bytes: Span<UInt8>, ticket: Ticket) {
        self.ticket = ticket
        createdStatus = request.method == .put ? 201 : 200
        isMinimal = request.prefersMinimal(in: bytes)
    }
}

/// PUT, PATCH, DELETE and POST: from the request to the writer, and from its outcome to the answer.
extension APIHandler {
    /// From this size on a body is parsed beside the loop: it takes half a millisecond, to compile it as a schema some twenty.
    static let largeBody = 64 << 10

    /// Takes in a write. It is handed over when the batch of events ends.
    func write(
        _ request: APIRequest, _ bytes: Span<UInt8>, _ body: Span<UInt8>, _ exchange: Exchange, on state: State
    ) throws(Problem) -> Handling {
        guard body.count < Self.largeBody else {
            return exchange.isBehind ? .notYet : try parseBeside(request, bytes, body, exchange.ticket, on: state)
        }
        if !parsing.isEmpty, parsing.contains(exchange.ticket.connection) { return .notYet }
        collect(try request.write(bytes, body: body, on: state), OwedWrite(request, bytes, ticket: exchange.ticket))
        return .later
    }

    /// Parses a large body beside the loop. Its connection has no request before it, and none is taken until it is parsed.
    private func parseBeside(
        _ request: APIRequest, _ bytes: Span<UInt8>, _ body: Span<UInt8>, _ ticket: Ticket, on state: State
    ) throws(Problem) -> Handling {
        let head = bytes.extracting(..<request.head.length).withUnsafeBufferPointer { Array($0) }
        let body = body.withUnsafeBufferPointer { Array($0) }
        let owed = OwedWrite(request, bytes, ticket: ticket)
        let mailbox = mailbox
        let hasRoom = service.parser.tryRun(cost: body.count) {
            let write = Result { () throws(Problem) in try request.write(head.span, body: body.span, on: state) }
            mailbox.run { $0.parsed(write, owed, at: state.cursor) }
        }
        guard hasRoom else { throw Problem.tooManyWrites }
        parsing.insert(ticket.connection)
        return .later
    }

    private func parsed(_ request: Result<WriteRequest, Problem>, _ write: OwedWrite, at cursor: Cursor) {
        parsing.remove(write.ticket.connection)
        switch request {
        case .success(let request): collect(request, write)
        case .failure(let problem): loop.respond(write.ticket, counted(Response(problem, cursor: cursor)))
        }
    }

    private func collect(_ request: WriteRequest, _ write: OwedWrite) {
        lastID += 1
        owed[lastID] = write
        collected.append(PendingWrite(id: lastID, request: request))
    }

    /// Hands the writes of a batch over to the writer.
    func handOver() {
        guard !collected.isEmpty else { return }
        let writes = collected
        collected.removeAll(keepingCapacity: true)
        let taken = service.store.submit(writes, replies: mailbox)
        guard taken < writes.count else { return }
        let cursor = service.store.state.cursor
        for write in writes[taken...] { answer(write.id, Response(Problem.tooManyWrites, cursor: cursor)) }
    }

    /// Answers writes with their outcomes.
    func finish(_ outcomes: [WriteOutcome]) {
        for outcome in outcomes {
            guard let write = owed[outcome.id] else { continue }
            switch outcome.result {
            case .success(let answer):
                guard case .summary(let summary) = answer.body, summary.changes.count > Rendering.mostOnLoop else {
                    self.answer(outcome.id, Response(answer, to: write))
                    continue
                }
                owed[outcome.id] = nil
                let rendering = Rendering(weight: summary.changes.count) { Response(answer, to: write) }
                _ = give(rendering, to: write.ticket, isOwed: true)
            case .failure(let problem): answer(outcome.id, Response(problem, cursor: outcome.cursor))
            }
        }
    }

    private func answer(_ id: UInt64, _ response: Response) {
        guard let write = owed.removeValue(forKey: id) else { return }
        loop.respond(write.ticket, counted(response))
    }
}
