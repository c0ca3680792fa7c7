internal import HTTPWire
internal import SettingsModel

/// Writes, there and back: from requests to the writer, and with its answers to the callers.
extension APIHandler {
    func write(
        _ incoming: Incoming, _ bytes: Span<UInt8>, _ body: Span<UInt8>, _ exchange: Exchange, on state: State
    ) throws(Problem) -> Handling {
        guard body.count < LargeBodies.least else {
            return exchange.isBehind ? .notYet : try readBeside(incoming, bytes, body, exchange.ticket, on: state)
        }
        if !reading.isEmpty, reading.contains(exchange.ticket.connection) { return .notYet }
        collect(try incoming.write(bytes, body: body, on: state), incoming.method, exchange.ticket)
        return .later
    }

    /// Has a large body read beside the loop. Nothing of its connection is before it, and nothing gets past it.
    private func readBeside(
        _ incoming: Incoming, _ bytes: Span<UInt8>, _ body: Span<UInt8>, _ ticket: Ticket, on state: State
    ) throws(Problem) -> Handling {
        let head = bytes.extracting(..<incoming.head.length).withUnsafeBufferPointer { Array($0) }
        let body = body.withUnsafeBufferPointer { Array($0) }
        let (loop, replies) = (loop, replies)
        let isTaken = service.largeBodies.read(body.count) {
            let request = Result { () throws(Problem) in
                try incoming.write(head.span, body: body.span, on: state)
            }
            loop.run { replies.handler?.haveRead(request, incoming.method, for: ticket, at: state.cursor) }
        }
        guard isTaken else { throw Self.overloaded }
        reading.insert(ticket.connection)
        return .later
    }

    private func haveRead(
        _ request: Result<WriteRequest, Problem>, _ method: Method, for ticket: Ticket, at cursor: Cursor
    ) {
        reading.remove(ticket.connection)
        switch request {
        case .success(let request): collect(request, method, ticket)
        case .failure(let problem):
            loop.respond(ticket, counted(Response(problem, cursor: cursor)))
        }
    }

    private func collect(_ request: WriteRequest, _ method: Method, _ ticket: Ticket) {
        lastID += 1
        owed[lastID] = OwedWrite(ticket: ticket, createdStatus: method == .put ? 201 : 200)
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
                let status = write.createdStatus
                if case .summary(let summary) = answer.body, summary.changes.count > Rendering.mostOnLoop {
                    owed[outcome.id] = nil
                    _ = give(
                        Rendering(weight: summary.changes.count) { Response(answer, createdStatus: status) },
                        to: write.ticket, isOwed: true)
                } else {
                    self.answer(outcome.id, Response(answer, createdStatus: status))
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
