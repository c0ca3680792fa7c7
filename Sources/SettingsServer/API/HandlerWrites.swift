internal import HTTPWire
internal import SettingsModel

/// A request whose write is with the writer.
struct OwedWrite: Sendable {
    let ticket: Ticket
    /// The status if something is stored where nothing was.
    let createdStatus: Int
    /// Whether the caller wants no values back.
    let isMinimal: Bool

    init(_ incoming: Incoming, _ bytes: Span<UInt8>, ticket: Ticket) {
        self.ticket = ticket
        createdStatus = incoming.method == .put ? 201 : 200
        isMinimal = incoming.prefersMinimal(in: bytes)
    }
}

/// Writes, there and back: from requests to the writer, and with its answers to the callers.
extension APIHandler {
    func write(
        _ incoming: Incoming, _ bytes: Span<UInt8>, _ body: Span<UInt8>, _ exchange: Exchange, on state: State
    ) throws(Problem) -> Handling {
        guard body.count < LargeBodies.least else {
            return exchange.isBehind ? .notYet : try readBeside(incoming, bytes, body, exchange.ticket, on: state)
        }
        if !reading.isEmpty, reading.contains(exchange.ticket.connection) { return .notYet }
        collect(
            try incoming.write(bytes, body: body, on: state), OwedWrite(incoming, bytes, ticket: exchange.ticket))
        return .later
    }

    /// Has a large body read beside the loop. Nothing of its connection is before it, and nothing gets past it.
    private func readBeside(
        _ incoming: Incoming, _ bytes: Span<UInt8>, _ body: Span<UInt8>, _ ticket: Ticket, on state: State
    ) throws(Problem) -> Handling {
        let head = bytes.extracting(..<incoming.head.length).withUnsafeBufferPointer { Array($0) }
        let body = body.withUnsafeBufferPointer { Array($0) }
        let (loop, replies) = (loop, replies)
        let owed = OwedWrite(incoming, bytes, ticket: ticket)
        let isTaken = service.largeBodies.read(body.count) {
            let request = Result { () throws(Problem) in
                try incoming.write(head.span, body: body.span, on: state)
            }
            loop.run { replies.handler?.haveRead(request, owed, at: state.cursor) }
        }
        guard isTaken else { throw Self.overloaded }
        reading.insert(ticket.connection)
        return .later
    }

    private func haveRead(_ request: Result<WriteRequest, Problem>, _ write: OwedWrite, at cursor: Cursor) {
        reading.remove(write.ticket.connection)
        switch request {
        case .success(let request): collect(request, write)
        case .failure(let problem):
            loop.respond(write.ticket, counted(Response(problem, cursor: cursor)))
        }
    }

    private func collect(_ request: WriteRequest, _ write: OwedWrite) {
        lastID += 1
        owed[lastID] = write
        collected.append(PendingWrite(id: lastID, request: request))
    }

    func handOver() {
        guard !collected.isEmpty else { return }
        let writes = collected
        collected.removeAll(keepingCapacity: true)
        let taken = service.store.submit(writes, replies: replies)
        guard taken < writes.count else { return }
        let cursor = service.store.state.cursor
        for write in writes[taken...] { answer(write.id, Response(Self.overloaded, cursor: cursor)) }
    }

    private static var overloaded: Problem {
        var problem = Problem(.overloaded, "too many writes are waiting; try again in a moment")
        problem.outcome = .notDone
        problem.retryAfterMs = 1000
        return problem
    }

    /// Sends the answers to writes. On the loop.
    func finish(_ outcomes: [WriteOutcome]) {
        for outcome in outcomes {
            guard let write = owed[outcome.id] else { continue }
            switch outcome.result {
            case .success(let answer):
                if case .summary(let summary) = answer.body, summary.changes.count > Rendering.mostOnLoop {
                    owed[outcome.id] = nil
                    _ = give(
                        Rendering(weight: summary.changes.count) { Response(answer, to: write) },
                        to: write.ticket, isOwed: true)
                } else {
                    self.answer(outcome.id, Response(answer, to: write))
                }
            case .failure(let problem): answer(outcome.id, Response(problem, cursor: outcome.cursor))
            }
        }
    }

    private func answer(_ id: UInt64, _ response: Response) {
        guard let write = owed.removeValue(forKey: id) else { return }
        loop.respond(write.ticket, counted(response))
    }
}
