internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// The part of a write request that its result needs. Owned by the event loop.
final class UnansweredWrite {
    /// The form that the client wants the answer in.
    let form: AnswerForm
    /// The client in whose name the write waits.
    let client: ClientKey
    /// The request for the audit file; nil without an audit file.
    let audited: AuditLog.Request?
    /// Set while a scheduler prepares the write; nil once the write is queued.
    var isWanted: WantedFlag?
    /// The memory of a costly write.
    var reservation: MemoryBudget.Reservation?
    /// True if earlier commits did a part of the request.
    var hasEarlierCommits = false

    init(_ request: APIRequest, _ bytes: Span<UInt8>, _ exchange: Exchange, isAudited: Bool) {
        form = AnswerForm(
            createdStatus: request.method == .put ? 201 : 200, isMinimal: request.prefersMinimal(in: bytes),
            caller: request.caller)
        client = ClientKey(of: request.caller, exchange)
        audited =
            isAudited
            ? AuditLog.Request(
                peer: exchange.peer.isUnix ? "unix" : exchange.peer.host,
                text: "\(request.method.name) \(bytes.text(in: request.head.target))")
            : nil
    }

    /// True if the write is completed although its connection has closed. A write that is not queued yet is dropped
    /// instead, unless a part of it is done.
    var takesEffectAfterClose: Bool { isWanted == nil || hasEarlierCommits }

    /// The form of an answer. It is separate because the answer may be rendered on another thread.
    struct AnswerForm: Sendable {
        /// The status if something is stored where nothing was.
        fileprivate let createdStatus: Int
        /// True if the caller wants no values.
        fileprivate let isMinimal: Bool
        /// Nil without access control.
        fileprivate let caller: Caller?

        fileprivate func status(of answer: WriteAnswer) -> Int { answer.created ? createdStatus : 200 }

        /// True if the caller wants the whole answer, and may see it.
        fileprivate var wantsAll: Bool { !isMinimal && caller?.reader == nil }
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

    /// True if an event loop may not render the answer, because of the cost.
    var exceedsLoopLimit: Bool { renderingCost(within: .loopLimit).exceeds(.loopLimit) }

    /// The part of the request that further commits must do.
    var remainder: WriteRequest? {
        if case .success(let answer) = answer { answer.remainder?.request } else { nil }
    }

    /// The result of a request that earlier commits have done in part. A failure must not report that nothing was done.
    var withUnknownOutcome: WriteResult {
        guard case .failure(var problem) = answer else { return self }
        var result = self
        problem.outcome = .unknown
        result.answer = .failure(problem)
        return result
    }

    func response(to write: UnansweredWrite.AnswerForm, on state: @autoclosure () -> State) -> Response {
        switch answer {
        case .success(let answer):
            Response(answer, to: write, on: state())
        case .failure(let problem):
            Response(
                write.caller?.problemToReport(for: problem) ?? problem, cursor: cursor.marked(for: write.caller?.reader))
        }
    }
}

extension Response {
    /// The answer to a write.
    fileprivate init(_ answer: WriteAnswer, to write: UnansweredWrite.AnswerForm, on state: @autoclosure () -> State) {
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

    private init(_ setting: consuming SettingState, in answer: WriteAnswer, to write: UnansweredWrite.AnswerForm) {
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
