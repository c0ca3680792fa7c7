internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// Writes (PUT, PATCH, DELETE and POST): passes requests to the store, and answers them with the results. The store
/// decides a write: it checks the write against the staged state (which includes commits that are not durable yet), and
/// computes its commit or its refusal. `request` contains ranges of `bytes`, the received bytes of the request.
/// `target` is the suite and the key in the path.
extension APIHandler {
    /// Handles a write request. A write that would take the event loop too long is first prepared in the background.
    /// The handler collects all other writes, and queues them together, at the latest at the end of the loop iteration.
    func write(
        _ request: APIRequest, _ target: WriteTarget, _ bytes: Span<UInt8>, _ body: Span<UInt8>, _ exchange: Exchange,
        on state: State
    ) throws(Problem) -> Handling {
        if let body = exchange.largeBody {
            guard !exchange.hasEarlierRequests else { return .afterEarlierRequests }
            try parse(request, target, bytes, body, exchange, on: state)
            return .laterBlockingNextRequest
        }
        // While the queued writes take long to decide, each connection has at most one write in the queue.
        if exchange.hasEarlierRequests, service.store.isBusy { return .afterEarlierRequests }
        let (write, isValidationCostly) = try request.write(target, bytes, body: body, on: state)
        if let past = service.past, state.mayNeedPastFiles(for: write.command) {
            guard !exchange.hasEarlierRequests else { return .afterEarlierRequests }
            prepare(
                unansweredWrite(request, bytes, exchange), exchange.ticket, at: state.baseCursor,
                bytes: { [capacity = service.budget.capacity] in
                    min(capacity / 4, Service.pastFileMemory(past) + write.memory(on: state))
                }, on: service.fileReadScheduler
            ) {
                () throws(Problem) in
                try write.completed(with: past(state))
            }
            return .laterBlockingNextRequest
        }
        let cost = state.cost(of: write, within: .loopLimit)
        let time = write.estimatedTime(cost, isValidationCostly: isValidationCostly)
        // The store may decide later writes before a costly write, or between the commits of a split write. So the
        // connection processes no other request until this write is answered, which keeps its writes in order.
        let isExclusive = time >= PendingWrite.costlyThreshold || write.mayTakeSeveralCommits
        if isExclusive, exchange.hasEarlierRequests { return .afterEarlierRequests }
        let unanswered = unansweredWrite(request, bytes, exchange)
        if cost.cost.exceeds(.loopLimit) {
            prepare(
                unanswered, exchange.ticket, at: state.baseCursor,
                bytes: { [capacity = service.budget.capacity] in min(capacity, write.memory(on: state)) }
            ) {
                () throws(Problem) in write
            }
        } else {
            setWaiting(exchange.ticket, for: .write(unanswered))
            collect(write, exchange.ticket, of: unanswered.client, estimatedTime: time)
        }
        return isExclusive ? .laterBlockingNextRequest : .later
    }

    private func unansweredWrite(_ request: APIRequest, _ bytes: Span<UInt8>, _ exchange: Exchange) -> UnansweredWrite {
        UnansweredWrite(request, bytes, exchange, isAudited: service.audit != nil)
    }

    /// Parses a large body in the background, then queues the write.
    private func parse(
        _ request: APIRequest, _ target: WriteTarget, _ bytes: Span<UInt8>, _ body: LargeBody, _ exchange: Exchange,
        on state: State
    ) throws(Problem) {
        let unanswered = unansweredWrite(request, bytes, exchange)
        guard !service.parsingScheduler.isFull(for: unanswered.client) else { throw Problem.tooManyWrites }
        let head = bytes.extracting(..<request.head.length).withUnsafeBufferPointer { Array($0) }
        prepare(
            unanswered, exchange.ticket, at: state.baseCursor, bytes: { body.estimatedWriteMemory }, input: body.charge
        ) {
            [past = service.past] () throws(Problem) in
            let bytes = body.bytes.span.extracting(body.range)
            let (write, _) = try request.write(target, head.span, body: bytes, on: state)
            guard let past, state.mayNeedPastFiles(for: write.command) else { return write }
            return try write.completed(with: past(state))
        }
    }

    /// Prepares a write in the background, where the write may have to wait for memory, and then queues the write.
    ///
    /// - Parameters:
    ///   - cursor: the cursor (epoch and revision) for a refusal, without the digest of grants that the answer adds.
    ///   - bytes: estimates the memory that the write takes.
    ///   - input: the reservation of the memory of the input; nil if there is none.
    ///   - scheduler: runs `makeRequest`; nil for `service.parsingScheduler`.
    private func prepare(
        _ write: UnansweredWrite, _ id: Ticket, at cursor: Cursor, bytes: @escaping @Sendable () -> Int,
        input: MemoryBudget.Reservation? = nil, on scheduler: WorkScheduler? = nil,
        _ makeRequest: @escaping @Sendable () throws(Problem) -> WriteRequest
    ) {
        let (mailbox, store, hasEarlierCommits) = (mailbox, service.store, write.hasEarlierCommits)
        let isWanted = WantedFlag()
        setWaiting(id, for: .write(write))
        write.preparationFlag = isWanted
        let refuse = { @Sendable (problem: Problem) in
            mailbox.run { $0.handleResult(.refusal(of: WriteID(id), because: problem, at: cursor)) }
        }
        var work = WorkScheduler.Work(client: write.client, bytes: bytes, input: input) { reservation in
            do throws(Problem) {
                let request = try makeRequest()
                let cost = store.state.cost(of: request, within: WriteRequest.maximumCost)
                // A prepared write always counts as costly. Its estimate exceeds the threshold, because the store of a
                // stopping daemon refuses only writes above the threshold, so that the daemon can stop soon.
                let time = max(request.estimatedTime(cost, isValidationCostly: false), PendingWrite.costlyThreshold + 1)
                mailbox.run { $0.enqueuePrepared(request, id, reservation, estimatedTime: time) }
            } catch {
                refuse(error)
            }
        }
        // The scheduler drops the write if its connection has closed, unless earlier commits completed a part of it.
        work.isWanted = { isWanted.isSet || hasEarlierCommits }
        work.refuse = { refusal in
            var problem = Problem(refusal, ifTimedOut: .tooManyWrites)
            problem.outcome = .notDone
            refuse(problem)
        }
        (scheduler ?? service.parsingScheduler).submit(work)
    }

    /// Collects a prepared write, unless its request is no longer in the table of unfinished requests.
    private func enqueuePrepared(
        _ request: WriteRequest, _ id: Ticket, _ reservation: MemoryBudget.Reservation, estimatedTime: UInt64
    ) {
        guard case .write(let write)? = requests[id] else { return }
        write.preparationFlag = nil
        write.reservation = reservation
        collect(request, id, of: write.client, estimatedTime: estimatedTime)
    }

    private func collect(_ request: consuming WriteRequest, _ id: Ticket, of client: ClientKey, estimatedTime: UInt64) {
        collectedWrites.append(
            service.store.makeWrite(
                WriteID(id), request, for: mailbox, client: client, estimatedTime: estimatedTime))
    }

    /// Queues the collected writes. Answers the writes that the store refuses at once.
    func enqueueCollectedWrites() {
        guard !collectedWrites.isEmpty else { return }
        let writes = collectedWrites
        collectedWrites.removeAll(keepingCapacity: true)
        handleResults(service.store.enqueue(writes))
    }

    func handleResults(_ results: [WriteResult]) {
        let results = results.span
        for index in results.indices { handleResult(results[index]) }
    }

    private func handleResult(_ result: WriteResult) {
        let id = Ticket(result.id)
        guard let entry = requests.entry(id), case .write(let write) = entry.request else { return }
        if let commit = result.commit, let request = write.auditedRequest {
            // The audit log omits the values of keys that the schemas in the published state declare secret.
            service.audit?.add(commit, from: request, publishedState: { [store = service.store] in store.state })
        }
        // A part of a split write is committed. Prepares the remaining part.
        if let remainder = result.remainder {
            (write.reservation, write.hasEarlierCommits) = (nil, true)
            let (state, capacity) = (service.store.state, service.budget.capacity)
            return prepare(write, id, at: state.cursor, bytes: { min(capacity, remainder.memory(on: state)) }) {
                () throws(Problem) in remainder
            }
        }
        let result = write.hasEarlierCommits ? result.withUnknownOutcomeIfFailed : result
        // The log line of a slow request shows the durations of its steps.
        if let times = result.times { entry.logCopy?.times = times }
        let options = write.answerOptions
        guard entry.isConnected, result.exceedsLoopLimit else {
            return answer(id, result.response(with: options, on: service.store.state))
        }
        let state = service.store.state
        let rendering = Rendering(cost: { result.renderingCost(within: $0) }) {
            result.response(with: options, on: state)
        }
        _ = renderAnswer(rendering, to: id, for: write.client, mustAnswer: true, input: write.reservation)
    }
}

extension WriteID {
    /// The identifier of the write of a request. A request has at most one write in the store at a time.
    fileprivate init(_ id: Ticket) {
        self.init(high: id.connection, low: id.number)
    }
}

extension Ticket {
    fileprivate init(_ id: WriteID) {
        self.init(connection: id.high, number: id.low)
    }
}

extension WriteRequest {
    /// The estimate stops at this cost. Cheap writes go before a costly write for twenty times its estimate, but for at
    /// most a second. An estimate of 50,000 microseconds reaches this second, so a higher estimate changes nothing.
    fileprivate static let maximumCost = Cost(microseconds: 65_536, bytes: .max)
    /// The time per byte to render the journal line and the answer.
    private static let nanosecondsPerByte: UInt64 = 16
    /// The assumed nanoseconds for a validation that takes more steps than an event loop may spend.
    private static let assumedValidationTime: UInt64 = 100_000_000

    /// The nanoseconds that deciding the write is estimated to take.
    ///
    /// - Parameter isValidationCostly: true if the validation of the value against its schema may take long.
    fileprivate func estimatedTime(_ cost: WriteCost, isValidationCostly: Bool) -> UInt64 {
        let time =
            PendingWrite.minimumTime + UInt64(cost.cost.microseconds * 1000) + UInt64(size) * Self.nanosecondsPerByte
        if isValidationCostly { return max(time, Self.assumedValidationTime) }
        // The number of validation steps is unknown before the validation, so the estimate assumes a costly write.
        return cost.checksValues ? max(time, PendingWrite.costlyThreshold) : time
    }

    /// The approximate bytes of memory that deciding the write takes.
    fileprivate func memory(on state: State) -> Int { state.cost(of: self, within: .unlimited).cost.bytes }

    /// Adds the data from past files that an undo or a restore needs. Throws if the daemon no longer has the data.
    fileprivate func completed(with reader: any PastReading) throws(Problem) -> WriteRequest {
        var write = self
        do throws(Problem) {
            try reader.readPast(for: &write)
        } catch {
            // The store decides two kinds of writes without the data. A write with a request key (`Idempotency-Key`)
            // may repeat an answered write. An undo in all suites by a caller that may not read everything must not
            // fail here, because the error would reveal that a commit exists that the caller may not see.
            var undoesAllSuites = false
            if case .undo(_, of: nil, onConflict: _) = command { undoesAllSuites = true }
            guard requestKey != nil || undoesAllSuites && grants?.restrictedGrants != nil else { throw error }
        }
        return write
    }
}

extension LargeBody {
    /// The approximate memory of a write with this body: the text, the journal line, and the value. The numbers of
    /// bytes for each element, member, array and object were measured.
    fileprivate var estimatedWriteMemory: Int {
        let text = bytes.span.extracting(range)
        var memory = 4 * text.count
        var isInString = false
        var position = 0
        while position < text.count {
            switch text[position] {
            case UInt8(ascii: "\""): isInString.toggle()
            case UInt8(ascii: "\\"): position += 1
            case _ where isInString: break
            case UInt8(ascii: ","), UInt8(ascii: ":"): memory += 48
            case UInt8(ascii: "["): memory += 64
            case UInt8(ascii: "{"): memory += 112
            // An empty array or object does not allocate memory.
            case UInt8(ascii: "]") where text[max(0, position - 1)] == UInt8(ascii: "["): memory -= 64
            case UInt8(ascii: "}") where text[max(0, position - 1)] == UInt8(ascii: "{"): memory -= 112
            default: break
            }
            position += 1
        }
        return memory
    }
}
