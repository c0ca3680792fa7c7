internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// PUT, PATCH, DELETE and POST: from the request to the store, and from the result to the answer.
extension APIHandler {
    /// Takes in a write. The handler queues the writes of an events batch together when the batch ends.
    func write(
        _ request: APIRequest, _ target: WriteTarget, _ bytes: Span<UInt8>, _ body: Span<UInt8>, _ exchange: Exchange,
        on state: State
    ) throws(Problem) -> Handling {
        if let body = exchange.largeBody {
            guard !exchange.hasEarlierRequests else { return .afterEarlierRequests }
            try parse(request, target, bytes, body, exchange, on: state)
            return .laterExclusive
        }
        if exchange.hasEarlierRequests, service.store.isBusy { return .afterEarlierRequests }
        let (write, isCheckCostly) = try request.write(target, bytes, body: body, on: state)
        if let past = service.past, state.lacksPast(for: write.command) {
            guard !exchange.hasEarlierRequests else { return .afterEarlierRequests }
            prepare(
                unansweredWrite(request, bytes, exchange), exchange.ticket, at: state.baseCursor,
                bytes: { [capacity = service.budget.capacity] in
                    min(capacity / 4, Service.memory(ofPast: past) + write.memory(on: state))
                }, on: service.fileReads
            ) {
                () throws(Problem) in
                try write.completed(with: past(state))
            }
            return .laterExclusive
        }
        let cost = state.cost(of: write, within: .loopLimit)
        let time = write.estimatedTime(cost, isCheckCostly: isCheckCostly)
        // Other writes may be decided before a costly write, so its connection sends no other request until the answer.
        let isAlone = time >= PendingWrite.costlyTime || write.command.mayTakeSeveralCommits
        if isAlone, exchange.hasEarlierRequests { return .afterEarlierRequests }
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
        return isAlone ? .laterExclusive : .later
    }

    private func unansweredWrite(
        _ request: APIRequest, _ bytes: Span<UInt8>, _ exchange: Exchange
    ) -> UnansweredWrite {
        UnansweredWrite(request, bytes, exchange, isAudited: service.audit != nil)
    }

    /// Parses a large body in the background. Its connection has no request before it, and sends none until it is answered.
    private func parse(
        _ request: APIRequest, _ target: WriteTarget, _ bytes: Span<UInt8>, _ body: LargeBody, _ exchange: Exchange,
        on state: State
    ) throws(Problem) {
        let unanswered = unansweredWrite(request, bytes, exchange)
        guard !service.parsing.isFull(for: unanswered.client) else { throw Problem.tooManyWrites }
        let head = bytes.extracting(..<request.head.length).withUnsafeBufferPointer { Array($0) }
        prepare(
            unanswered, exchange.ticket, at: state.baseCursor, bytes: { body.memoryOfWrite }, input: body.charge
        ) {
            [past = service.past] () throws(Problem) in
            let bytes = body.bytes.span.extracting(body.range)
            let (write, _) = try request.write(target, head.span, body: bytes, on: state)
            guard let past, state.lacksPast(for: write.command) else { return write }
            return try write.completed(with: past(state))
        }
    }

    /// Prepares a costly write in the background, where it waits for memory, and queues it.
    ///
    /// - Parameters:
    ///   - cursor: the cursor for a refusal.
    ///   - bytes: measures the memory that the write takes.
    ///   - input: the memory that the input takes while the write waits.
    ///   - scheduler: runs `read`, unless it is the usual scheduler.
    ///   - read: returns the write.
    private func prepare(
        _ write: UnansweredWrite, _ id: Ticket, at cursor: Cursor, bytes: @escaping @Sendable () -> Int,
        input: MemoryBudget.Reservation? = nil, on scheduler: WorkScheduler? = nil,
        _ read: @escaping @Sendable () throws(Problem) -> WriteRequest
    ) {
        let (mailbox, store, hasEarlierCommits) = (mailbox, service.store, write.hasEarlierCommits)
        let isWanted = WantedFlag()
        setWaiting(id, for: .write(write))
        write.isWanted = isWanted
        let refuse = { @Sendable (problem: Problem) in
            mailbox.run { $0.finish(.refusal(of: WriteID(id), because: problem, at: cursor)) }
        }
        var work = WorkScheduler.Work(client: write.client, bytes: bytes, input: input) { reservation in
            do throws(Problem) {
                let request = try read()
                let cost = store.state.cost(of: request, within: WriteRequest.maximumCost)
                let time = max(request.estimatedTime(cost, isCheckCostly: false), PendingWrite.costlyTime + 1)
                mailbox.run { $0.enqueuePrepared(request, id, reservation, estimatedTime: time) }
            } catch {
                refuse(error)
            }
        }
        // The scheduler drops the write of a closed connection.
        work.isWanted = { isWanted.isSet || hasEarlierCommits }
        work.refuse = { refusal in
            var problem = Problem(refusal, orTimeout: .tooManyWrites)
            problem.outcome = .notDone
            refuse(problem)
        }
        (scheduler ?? service.parsing).submit(work)
    }

    /// Queues a write that was prepared, unless its connection has closed.
    private func enqueuePrepared(
        _ request: WriteRequest, _ id: Ticket, _ reservation: MemoryBudget.Reservation, estimatedTime: UInt64
    ) {
        guard case .write(let write)? = requests[id] else { return }
        write.isWanted = nil
        write.reservation = reservation
        collect(request, id, of: write.client, estimatedTime: estimatedTime)
    }

    private func collect(
        _ request: consuming WriteRequest, _ id: Ticket, of client: ClientKey, estimatedTime: UInt64
    ) {
        collectedWrites.append(
            service.store.makeWrite(
                WriteID(id), request, for: mailbox, caller: client, estimatedTime: estimatedTime))
    }

    /// Queues the writes of an events batch.
    func enqueueCollectedWrites() {
        guard !collectedWrites.isEmpty else { return }
        let writes = collectedWrites
        collectedWrites.removeAll(keepingCapacity: true)
        finish(service.store.enqueue(writes))
    }

    /// Answers writes with their results.
    func finish(_ results: [WriteResult]) {
        let results = results.span
        for index in results.indices { finish(results[index]) }
    }

    private func finish(_ result: WriteResult) {
        let id = Ticket(result.id)
        guard let entry = requests.entry(id), case .write(let write) = entry.request else { return }
        if let commit = result.commit, let request = write.audited {
            service.audit?.add(commit, from: request) { [store = service.store] in store.state }
        }
        if let remainder = result.remainder {
            (write.reservation, write.hasEarlierCommits) = (nil, true)
            let (state, capacity) = (service.store.state, service.budget.capacity)
            return prepare(write, id, at: state.cursor, bytes: { min(capacity, remainder.memory(on: state)) }) {
                () throws(Problem) in remainder
            }
        }
        let result = write.hasEarlierCommits ? result.withUnknownOutcome : result
        if let times = result.times { entry.logCopy?.times = times }
        let form = write.form
        guard entry.isConnected, result.exceedsLoopLimit else {
            return answer(id, result.response(to: form, on: service.store.state))
        }
        let state = service.store.state
        let rendering = Rendering(cost: { result.renderingCost(within: $0) }) { result.response(to: form, on: state) }
        _ = give(rendering, to: id, for: write.client, isOwed: true, input: write.reservation)
    }
}

extension WriteID {
    /// The identifier of the write of a request. An event loop has one write at most for each request.
    fileprivate init(_ id: Ticket) {
        self.init(high: id.connection, low: id.number)
    }
}

extension Ticket {
    fileprivate init(_ id: WriteID) {
        self.init(connection: id.high, number: id.low)
    }
}

/// Estimates.
extension WriteRequest {
    /// The cost up to which the estimate counts: cheap writes go before a write of this cost for the longest time.
    fileprivate static let maximumCost = Cost(microseconds: 65_536, bytes: .max)
    /// The time to render the line of the journal and the answer.
    private static let nanosecondsPerByte: UInt64 = 16
    /// The time to check a value for which the steps of an event loop were not enough.
    private static let costlyCheckTime: UInt64 = 100_000_000

    /// The nanoseconds that deciding the write is estimated to take.
    ///
    /// - Parameter isCheckCostly: true if checking its value takes more steps than an event loop may spend.
    fileprivate func estimatedTime(_ cost: WriteCost, isCheckCostly: Bool) -> UInt64 {
        let time =
            PendingWrite.leastTime + UInt64(cost.cost.microseconds * 1000) + UInt64(size) * Self.nanosecondsPerByte
        if isCheckCostly { return max(time, Self.costlyCheckTime) }
        // The steps of a check are not known before it.
        return cost.checksValues ? max(time, PendingWrite.costlyTime) : time
    }

    /// About the bytes of memory that deciding the write takes.
    fileprivate func memory(on state: State) -> Int { state.cost(of: self, within: .unlimited).cost.bytes }

    /// The write with what it needs of the past. Throws if that is not kept.
    fileprivate func completed(with view: any PastReading) throws(Problem) -> WriteRequest {
        var write = self
        do throws(Problem) {
            try view.complete(&write)
        } catch {
            // A repeat has its answer, whether what it was about is still kept or not. And of all suites, a writer that does not
            // see them all cannot tell a hidden commit from none.
            var isOfAll = false
            if case .undo(_, of: nil, onConflict: _) = command { isOfAll = true }
            guard requestKey != nil || isOfAll && grants?.reader != nil else { throw error }
        }
        return write
    }
}

extension LargeBody {
    /// About how much memory a write with this body takes: the text, the line of the journal, and the value. Counts the
    /// memory of each element, member, array and object, as measured.
    fileprivate var memoryOfWrite: Int {
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
            case UInt8(ascii: "]") where text[max(0, position - 1)] == UInt8(ascii: "["): memory -= 64
            case UInt8(ascii: "}") where text[max(0, position - 1)] == UInt8(ascii: "{"): memory -= 112
            default: break
            }
            position += 1
        }
        return memory
    }
}
