internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// A write that is with the writer, and the answer that its caller wants. An object, as it is handed on several times.
final class OwedWrite: Sendable {
    let ticket: Ticket
    /// The status if something is stored where nothing was.
    let createdStatus: Int
    /// True if the caller wants no values.
    let isMinimal: Bool
    /// Nil without access control.
    let caller: Caller?
    /// The client whose queue a long write waits in; nil for a plain write, which is never long.
    let client: ClientKey?
    /// The request as the audit file has it; nil without one.
    let audited: AuditLog.Request?
    /// The charge for the memory of a long write.
    let charge: MemoryBudget.Reservation?
    /// What is known of the request of a plain write; nil for any other, of which `underWay` has that and the texts.
    let plainRequest: RequestLookedAt?
    /// The texts of a plain write.
    let plain: PlainWrite?
    /// True if a part of the write is done already.
    let hasEarlierCommits: Bool

    init(_ request: APIRequest, _ bytes: Span<UInt8>, _ exchange: Exchange, isAudited: Bool) {
        ticket = exchange.ticket
        audited =
            isAudited
            ? AuditLog.Request(
                peer: exchange.peer.isUnix ? "unix" : exchange.peer.host,
                text: "\(request.method.name) \(bytes.text(in: request.head.target))")
            : nil
        createdStatus = request.method == .put ? 201 : 200
        isMinimal = request.prefersMinimal(in: bytes)
        caller = request.caller
        client = ClientKey(of: request.caller, exchange)
        (charge, plainRequest, plain, hasEarlierCommits) = (nil, nil, nil, false)
    }

    init(_ plain: PlainWrite, _ request: RequestLookedAt, _ ticket: Ticket) {
        (self.ticket, plainRequest, self.plain) = (ticket, request, plain)
        (createdStatus, isMinimal, caller, client) = (201, false, nil, nil)
        (audited, charge, hasEarlierCommits) = (nil, nil, false)
    }

    /// The same write with the charge for its memory.
    init(_ write: OwedWrite, charge: MemoryBudget.Reservation?, hasEarlierCommits: Bool) {
        (ticket, createdStatus, isMinimal) = (write.ticket, write.createdStatus, write.isMinimal)
        (caller, client, audited) = (write.caller, write.client, write.audited)
        (plainRequest, plain) = (write.plainRequest, write.plain)
        (self.charge, self.hasEarlierCommits) = (charge, hasEarlierCommits)
    }

    /// The texts of a plain write for the logs.
    func text(number: (loop: Int, count: Int)) -> LoggedRequest? {
        nil
    }
}

/// A table of the writes of a loop that the writer has.
struct OwedWrites {
    private var slots: [OwedWrite?] = []
    private var free: [Int] = []
    /// The answers that were rendered before the outcomes came. Nil, or none, for a write whose answer is rendered then.
    private var prepared: [Response?] = []

    /// Adds a write. Returns its identifier, which another gets once it is removed.
    mutating func add(_ write: OwedWrite) -> Int {
        guard let slot = free.popLast() else {
            slots.append(write)
            return slots.count - 1
        }
        slots[slot] = write
        return slot
    }

    subscript(id: Int) -> OwedWrite? { slots[id] }

    /// Keeps the answer that a write gets if it becomes durable.
    mutating func prepare(_ id: Int, _ answer: Response) {
        while prepared.count <= id { prepared.append(nil) }
        prepared[id] = answer
    }

    /// Removes a write, and returns it with its answer if that was prepared.
    mutating func remove(_ id: Int) -> (write: OwedWrite, prepared: Response?)? {
        guard slots.indices.contains(id), let write = slots[id].take() else { return nil }
        free.append(id)
        return (write, id < prepared.count ? prepared[id].take() : nil)
    }
}

/// PUT, PATCH, DELETE and POST: from the request to the writer, and from its outcome to the answer.
extension APIHandler {
    /// Takes in a write. It is handed over when the batch of events ends.
    func write(
        _ request: APIRequest, _ target: WriteTarget, _ bytes: Span<UInt8>, _ body: Span<UInt8>, _ exchange: Exchange,
        on state: State
    ) throws(Problem) -> Handling {
        if let body = exchange.longBody {
            guard !exchange.isBehind else { return .notYet }
            try parseBeside(request, target, bytes, body, exchange, on: state)
            return .laterAlone
        }
        // Requests of a connection are taken one at a time while the writer has much to do.
        if exchange.isBehind, service.store.isBusy { return .notYet }
        var write = try request.write(target, bytes, body: body, on: state)
        // The estimate includes a search of the history, so it can exceed the memory that the write takes.
        let room = service.budget.capacity
        let owed = OwedWrite(request, bytes, exchange, isAudited: service.audit != nil)
        if let past = service.past, state.lacksPast(for: write.command) {
            guard !exchange.isBehind else { return .notYet }
            let long = write
            decideBeside(
                owed, at: state.baseCursor,
                bytes: {
                    min(room, Service.memory(ofPast: past) + state.cost(of: long, within: .unlimited).cost.bytes)
                },
                on: service.fileReads
            ) {
                () throws(Problem) in
                try long.completed(with: past(state))
            }
            return .laterAlone
        }
        let cost = state.cost(of: write, within: .loopLimit)
        guard write.isLong || cost.cost.exceeds(.loopLimit) else {
            // One that may turn out to be long is alone, so that the writer may decide it after others.
            write.isAlone = cost.checksValues || write.command.mayTakeSeveralCommits
            if write.isAlone, exchange.isBehind { return .notYet }
            write.steps = WriteRequest.stepsOfShort
            if case .setting = write.command {
                write.isQuick = body.count <= Self.quickBody && !cost.cost.exceeds(Self.quickWrite)
            }
            collect(write, owed)
            return write.isAlone ? .laterAlone : .later
        }
        guard !exchange.isBehind else { return .notYet }
        let long = write
        decideBeside(
            owed, at: state.baseCursor, bytes: { min(room, state.cost(of: long, within: .unlimited).cost.bytes) }
        ) {
            () throws(Problem) in long
        }
        return .laterAlone
    }

    /// The sizes up to which a write of one key is quick.
    static let quickBody = 4 << 10
    static let quickWrite = 256 * Cost.decidedUnit

    /// Parses a large body beside the loop. Its connection has no request before it, and sends none until it is answered.
    private func parseBeside(
        _ request: APIRequest, _ target: WriteTarget, _ bytes: Span<UInt8>, _ body: LongBody, _ exchange: Exchange,
        on state: State
    ) throws(Problem) {
        let owed = OwedWrite(request, bytes, exchange, isAudited: service.audit != nil)
        guard !service.scheduler.isFull(for: owed.client) else { throw Problem.tooManyWrites }
        let head = bytes.extracting(..<request.head.length).withUnsafeBufferPointer { Array($0) }
        decideBeside(owed, at: state.baseCursor, bytes: { body.memoryOfWrite }, input: body.charge) {
            [past = service.past] () throws(Problem) in
            let write = try request.write(target, head.span, body: body.bytes.span.extracting(body.range), on: state)
            guard let past, state.lacksPast(for: write.command) else { return write }
            return try write.completed(with: past(state))
        }
    }

    /// Decides a long write beside the loop if it needs no commit; if it does, it goes to the writer after that.
    private func decideBeside(
        _ owed: OwedWrite, at cursor: Cursor, bytes: @escaping @Sendable () -> Int,
        input: MemoryBudget.Reservation? = nil, on scheduler: WorkScheduler? = nil,
        _ read: @escaping @Sendable () throws(Problem) -> WriteRequest
    ) {
        let (mailbox, service, key) = (mailbox, service, LongAnswers.Key.caller(owed.ticket))
        // A write of a connection that is gone before it was read is not done.
        guard let isWanted = longAnswers.add(owed.ticket, to: key) else { return }
        let give = { @Sendable (work: @escaping @Sendable (APIHandler) -> Void) in
            mailbox.run { handler in
                _ = handler.longAnswers.finish(key)
                work(handler)
            }
        }
        var job = WorkScheduler.Work(client: owed.client, bytes: bytes, input: input) { charge in
            let owed = OwedWrite(owed, charge: charge, hasEarlierCommits: owed.hasEarlierCommits)
            do throws(Problem) {
                var write = try read()
                write.becomeLong()
                let outcome = service.obstacle() == nil ? service.store.decideBeside(&write) : nil
                if let outcome {
                    // Does not capture the write: a loop would need a tenth of a second to free a value of a million pieces.
                    give { [owed] in $0.answer(owed, outcome) }
                } else {
                    give { [owed, write] in $0.collect(write, owed) }
                }
            } catch {
                give { [owed] in $0.answer(owed, WriteOutcome(id: 0, result: .failure(error), cursor: cursor)) }
            }
        }
        job.isWanted = { isWanted.isSet || owed.hasEarlierCommits }
        job.refuse = { refusal in
            var problem = Problem(refusal, orTimeout: .tooManyWrites)
            problem.outcome = .notDone
            give { [problem] in $0.answer(owed, WriteOutcome(id: 0, result: .failure(problem), cursor: cursor)) }
        }
        (scheduler ?? service.scheduler).submit(job)
    }

    func collect(_ request: consuming WriteRequest, _ write: OwedWrite) {
        let client = request.isLong || request.isAlone ? write.client : nil
        collected.append(PendingWrite(id: owed.add(write), request: request, client: client))
    }

    /// Hands the writes of a batch over to the writer.
    func handOver() {
        guard !collected.isEmpty else { return }
        let writes = collected
        collected.removeAll(keepingCapacity: true)
        let before = service.store.state
        let outcomes = service.store.submit(writes, replies: mailbox) { prepare($0) }
        if !outcomes.isEmpty { replaced = before }
        finish(outcomes)
    }

    /// Renders the answers of plain writes while the disk syncs: the loop has little else to do then, and what the answers
    /// show is in its processor's cache.
    private func prepare(_ outcomes: [WriteOutcome]) {
        for outcome in outcomes where outcome.isAnswer {
            guard let write = owed[outcome.id], write.plainRequest != nil, !outcome.isLong else { continue }
            owed.prepare(outcome.id, outcome.response(to: write, on: service.store.state))
        }
    }

    /// Answers writes with their outcomes.
    func finish(_ outcomes: [WriteOutcome]) {
        let outcomes = outcomes.span
        for index in outcomes.indices {
            guard let (write, prepared) = owed.remove(outcomes[index].id) else { continue }
            if let prepared, let request = write.plainRequest, outcomes[index].isAnswer {
                answer(write, request, prepared, times: outcomes[index].times)
            } else {
                finish(write, outcomes[index])
            }
        }
    }

    private func finish(_ write: OwedWrite, _ outcome: WriteOutcome) {
        guard let request = write.plainRequest else { return answer(write, outcome) }
        // What it replaces may have become long since the write was taken in.
        guard !outcome.isLong else {
            underWay[write.ticket] = RequestUnderWay(request: request, text: write.text(number: nextNumber()))
            return answer(write, outcome)
        }
        let response = outcome.response(to: write, on: service.store.state)
        answer(write, request, response, times: outcome.times)
    }

    private func answer(_ write: OwedWrite, _ outcome: WriteOutcome) {
        if let commit = outcome.commit, let request = write.audited {
            service.audit?.add(commit, from: request) { [store = service.store] in store.state }
        }
        if let remainder = outcome.remainder {
            let (state, room) = (service.store.state, service.budget.capacity)
            let write = OwedWrite(write, charge: nil, hasEarlierCommits: true)
            return decideBeside(
                write, at: state.cursor, bytes: { min(room, state.cost(of: remainder, within: .unlimited).cost.bytes) }
            ) { () throws(Problem) in remainder }
        }
        let outcome = write.hasEarlierCommits ? outcome.withUnknownOutcome : outcome
        if let times = outcome.times { underWay[write.ticket]?.text?.times = times }
        guard outcome.isLong else {
            return answer(write.ticket, outcome.response(to: write, on: service.store.state))
        }
        let state = service.store.state
        let rendering = Rendering(cost: { outcome.renderingCost(within: $0) }) {
            outcome.response(to: write, on: state)
        }
        _ = give(rendering, to: write.ticket, for: write.client, isOwed: true, input: write.charge)
    }
}

extension WriteRequest {
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

extension Response {
    /// The answer to a write.
    fileprivate init(_ answer: WriteAnswer, to write: OwedWrite, on state: @autoclosure () -> State) {
        switch answer.body {
        case .setting(let setting): self.init(setting, in: answer, to: write)
        case .change(let changes) where write.wantsAll:
            let bytes = Change.settingBytes(afterFirstOf: changes)
            let changes = changes.span
            self.init(
                json: bytes, status: write.status(of: answer), cursor: answer.cursor,
                tag: EntityTag(changes[0].revision))
            fields.append(source: changes[0].source)
        case .change(let changes): self.init(changes[0].settingAfter, in: answer, to: write)
        case .summary(var summary):
            let reader = write.caller?.reader
            let isOfValues = summary.schemaRevision == nil && answer.tag != .zero
            if let reader { summary.changes = state().shown(summary.changes, to: reader) }
            let body = write.isMinimal ? summary.withoutChanges().jsonBytes() : summary.jsonBytes()
            self.init(
                json: body, status: write.status(of: answer), cursor: answer.cursor.marked(for: reader),
                tag: answer.tag.map { EntityTag($0, digest: isOfValues ? reader?.digest : nil) })
        }
        if write.isMinimal { fields.append("Preference-Applied", "return=minimal") }
    }

    private init(_ setting: consuming SettingState, in answer: WriteAnswer, to write: OwedWrite) {
        let reader = write.caller?.reader
        let tag = setting.tag(for: reader)
        if reader != nil { setting = setting.shown(to: reader) }
        if write.isMinimal { setting = setting.withoutValues() }
        self.init(
            json: setting.jsonBytes(), status: write.status(of: answer), cursor: answer.cursor.marked(for: reader),
            tag: tag)
        fields.append(source: setting.source)
    }
}

extension OwedWrite {
    fileprivate func status(of answer: WriteAnswer) -> Int { answer.created ? createdStatus : 200 }

    /// True if the caller wants all that there is to say, and may see it.
    fileprivate var wantsAll: Bool { !isMinimal && caller?.reader == nil }
}

extension WriteOutcome {
    /// The cost of rendering the answer.
    fileprivate func renderingCost(within limit: Cost) -> Cost {
        switch result {
        case .success(let answer): answer.renderingCost(within: limit)
        case .failure(let problem): .rendering(problem, within: limit)
        }
    }

    /// The part of the write that further commits have to do.
    fileprivate var remainder: WriteRequest? {
        if case .success(let answer) = result { answer.remainder?.request } else { nil }
    }

    /// The outcome for a caller some of whose request was done by earlier commits: a failure does not say that nothing was done.
    fileprivate var withUnknownOutcome: WriteOutcome {
        guard case .failure(var problem) = result else { return self }
        var outcome = self
        problem.outcome = .unknown
        outcome.result = .failure(problem)
        return outcome
    }

    /// True if the answer is not rendered on the loop.
    fileprivate var isLong: Bool { renderingCost(within: .loopLimit).exceeds(.loopLimit) }

    func response(to write: OwedWrite, on state: @autoclosure () -> State) -> Response {
        switch result {
        case .success(let answer):
            Response(answer, to: write, on: state())
        case .failure(let problem):
            Response(write.caller?.told(of: problem) ?? problem, cursor: cursor.marked(for: write.caller?.reader))
        }
    }
}

extension LongBody {
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
