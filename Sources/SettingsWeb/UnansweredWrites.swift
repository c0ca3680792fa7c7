internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// A write on its way, with what its answer needs.
struct UnansweredWrite: Sendable {
    let ticket: Ticket
    /// The status if something is stored where nothing was.
    let createdStatus: Int
    /// True if the caller wants no values.
    let isMinimal: Bool
    /// Nil without access control.
    let caller: Caller?
    /// The caller in whose name the write waits.
    let client: ClientKey
    /// The request for the audit file; nil without an audit file.
    let audited: AuditLog.Request?
    /// The memory of a costly write.
    var reservation: MemoryBudget.Reservation?
    /// True if earlier commits did a part of the request.
    var hasEarlierCommits = false
}

extension UnansweredWrite {
    init(_ request: APIRequest, _ bytes: Span<UInt8>, _ exchange: Exchange, isAudited: Bool) {
        ticket = exchange.ticket
        createdStatus = request.method == .put ? 201 : 200
        isMinimal = request.prefersMinimal(in: bytes)
        caller = request.caller
        client = ClientKey(of: request.caller, exchange)
        audited =
            isAudited
            ? AuditLog.Request(
                peer: exchange.peer.isUnix ? "unix" : exchange.peer.host,
                text: "\(request.method.name) \(bytes.text(in: request.head.target))")
            : nil
    }

    fileprivate func status(of answer: WriteAnswer) -> Int { answer.created ? createdStatus : 200 }

    /// True if the caller wants the whole answer, and may see it.
    fileprivate var wantsAll: Bool { !isMinimal && caller?.reader == nil }
}

/// The unanswered writes of an event loop.
struct UnansweredWrites {
    private var writes: [UnansweredWrite?] = []
    private var free: [Int] = []

    /// Adds a write. Returns its name in the store, which another write gets after this write is removed.
    mutating func add(_ write: UnansweredWrite) -> Int {
        guard let id = free.popLast() else {
            writes.append(write)
            return writes.count - 1
        }
        writes[id] = write
        return id
    }

    mutating func remove(_ id: Int) -> UnansweredWrite? {
        guard writes.indices.contains(id), let write = writes[id].take() else { return nil }
        free.append(id)
        return write
    }
}

/// Rendering.
extension WriteResult {
    func renderingCost(within limit: Cost) -> Cost {
        switch answer {
        case .success(let answer): answer.renderingCost(within: limit)
        case .failure(let problem): .rendering(problem, within: limit)
        }
    }

    /// True if rendering the answer takes longer than an event loop may spend on one request.
    var exceedsLoopLimit: Bool { renderingCost(within: .loopLimit).exceeds(.loopLimit) }

    /// The part of the request that further commits must do.
    var remainder: WriteRequest? {
        if case .success(let answer) = answer { answer.remainder?.request } else { nil }
    }

    /// The result for a caller whose request was done in part by earlier commits: a failure does not say that nothing was done.
    var withUnknownOutcome: WriteResult {
        guard case .failure(var problem) = answer else { return self }
        var result = self
        problem.outcome = .unknown
        result.answer = .failure(problem)
        return result
    }

    func response(to write: UnansweredWrite, on state: @autoclosure () -> State) -> Response {
        switch answer {
        case .success(let answer):
            Response(answer, to: write, on: state())
        case .failure(let problem):
            Response(write.caller?.told(of: problem) ?? problem, cursor: cursor.marked(for: write.caller?.reader))
        }
    }
}

extension Response {
    /// The answer to a write.
    fileprivate init(_ answer: WriteAnswer, to write: UnansweredWrite, on state: @autoclosure () -> State) {
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

    private init(_ setting: consuming SettingState, in answer: WriteAnswer, to write: UnansweredWrite) {
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
