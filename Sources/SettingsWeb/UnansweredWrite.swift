internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// A write request that is not answered yet: the data for the answer, and the progress. Owned by the event loop.
final class UnansweredWrite {
    let answerOptions: AnswerOptions
    /// The client whose limit of queued writes includes this write.
    let client: ClientKey
    /// The request as the audit file shows it; nil without an audit file.
    let auditedRequest: AuditLog.Request?
    /// Clearing this flag cancels the background work that prepares a costly write for the queue, such as parsing.
    /// Nil if no background work prepares the write, because the write is cheap or already queued.
    var preparationFlag: WantedFlag?
    /// The reservation of the memory of a costly write; nil for a cheap write.
    var reservation: MemoryBudget.Reservation?
    /// True if earlier commits have completed a part of the request. A large write is split into several commits.
    var hasEarlierCommits = false

    init(_ request: APIRequest, _ bytes: Span<UInt8>, _ exchange: Exchange, isAudited: Bool) {
        answerOptions = AnswerOptions(
            createdStatus: request.method == .put ? 201 : 200,
            isScheduled: request.head.has(.settingsEffective), isMinimal: request.prefersMinimal(in: bytes),
            caller: request.caller)
        client = ClientKey(of: request.caller, exchange)
        auditedRequest =
            isAudited
            ? AuditLog.Request(
                peer: exchange.peer.isUnix ? "unix" : exchange.peer.host,
                description: "\(request.method.name) \(bytes.text(in: request.head.target))")
            : nil
    }

    /// True if the write is completed even if its connection closes. Otherwise a close cancels the write.
    var takesEffectAfterClose: Bool { preparationFlag == nil || hasEarlierCommits }

    /// How to render the answer. Separate from `UnansweredWrite`, because another thread may render the answer.
    struct AnswerOptions: Sendable {
        /// The status of an answer whose property `created` is true: 201 for PUT, otherwise 200.
        fileprivate let createdStatus: Int
        /// True if the request has the field `Settings-Effective`.
        fileprivate let isScheduled: Bool
        /// True if the client asked for an answer without values (`Prefer: return=minimal`).
        fileprivate let isMinimal: Bool
        /// The sender of the request; nil without access control. Its `restrictedGrants` are nil if it may read
        /// everything.
        fileprivate let caller: Caller?

        fileprivate func status(of answer: WriteAnswer) -> Int {
            isScheduled && answer.pending != nil ? 202 : answer.created ? createdStatus : 200
        }

        /// True if the client asked for the whole answer, and may read all of it.
        fileprivate var showsAll: Bool { !isMinimal && caller?.restrictedGrants == nil }
    }
}

extension WriteResult {
    /// The cost of rendering the answer. Stops estimating when the cost exceeds the limit.
    func renderingCost(within limit: Cost) -> Cost {
        switch answer {
        case .success(let answer): answer.renderingCost(within: limit)
        case .failure(let problem): .rendering(problem, within: limit)
        }
    }

    /// True if the answer is too costly to render on an event loop.
    var exceedsLoopLimit: Bool { renderingCost(within: .loopLimit).exceeds(.loopLimit) }

    /// The part of a write that further commits must carry out; nil if the write is complete.
    var remainder: WriteRequest? {
        if case .success(let answer) = answer { answer.remainder?.request } else { nil }
    }

    /// The result of a write that earlier commits completed in part. A failure gets the outcome `unknown`, because it
    /// must not report that nothing was done. A success is returned unchanged.
    var withUnknownOutcomeIfFailed: WriteResult {
        guard case .failure(var problem) = answer else { return self }
        var result = self
        problem.outcome = .unknown
        result.answer = .failure(problem)
        return result
    }

    /// Renders the answer. The published state shows which values are secret, so that the answer contains only what the
    /// grants of the caller allow. A caller for whose credential no grants are configured gets 401 instead of 403. If a
    /// caller may not read everything, the cursor contains a digest of its grants and is valid only for these grants.
    func response(with options: UnansweredWrite.AnswerOptions, on state: @autoclosure () -> State) -> Response {
        switch answer {
        case .success(let answer):
            Response(answer, with: options, on: state())
        case .failure(let problem):
            Response(
                options.caller?.unauthorizedIfForbidden(problem) ?? problem,
                cursor: cursor.withGrantsDigest(of: options.caller?.restrictedGrants))
        }
    }
}

extension Response {
    /// Renders the answer to a successful write. The answer to a write of one setting is a setting. `change`: the
    /// setting after the only change of the commit. `setting`: the setting after a dry run, a write that changes
    /// nothing or a repeated request. The answer to any other write, and to a scheduled write, is a list of changes
    /// (`summary`). `shown` leaves out the keys and the values that the caller may not read.
    fileprivate init(
        _ answer: WriteAnswer, with options: UnansweredWrite.AnswerOptions, on state: @autoclosure () -> State
    ) {
        switch answer.body {
        case .setting(let setting): self.init(setting, in: answer, with: options)
        case .change(let changes) where options.showsAll && answer.pending == nil:
            // The commit has one change. Passing the array `changes` avoids a copy of the change.
            let bytes = Change.settingBytes(afterFirstChangeOf: changes)
            let changes = changes.span
            self.init(
                json: bytes, status: options.status(of: answer), cursor: answer.cursor,
                tag: EntityTag(changes[0].revision))
            fields.append(source: changes[0].source)
        case .change(let changes): self.init(changes[0].settingAfter, in: answer, with: options)
        case .summary(var summary):
            let restrictedGrants = options.caller?.restrictedGrants
            // The tag of an existing suite contains a digest of the grants. The tag of a schema does not, and neither
            // does the tag of a dropped suite, which is zero.
            let tagDependsOnGrants = summary.schemaRevision == nil && answer.tag != .zero
            if let restrictedGrants { summary.changes = state().shown(summary.changes, to: restrictedGrants) }
            summary.pending = answer.pending?.description.shown(to: restrictedGrants)
            let body = options.isMinimal ? summary.withoutChanges().jsonBytes() : summary.jsonBytes()
            self.init(
                json: body, status: options.status(of: answer),
                cursor: answer.cursor.withGrantsDigest(of: restrictedGrants),
                tag: answer.tag.map { EntityTag($0, digest: tagDependsOnGrants ? restrictedGrants?.digest : nil) })
        }
        if options.isMinimal { fields.append("Preference-Applied", "return=minimal") }
    }

    private init(_ setting: consuming SettingState, in answer: WriteAnswer, with options: UnansweredWrite.AnswerOptions)
    {
        let restrictedGrants = options.caller?.restrictedGrants
        setting.pending = answer.pending?.description
        let tag = setting.tag(for: restrictedGrants).including(setting.pending)
        if restrictedGrants != nil { setting = setting.shown(to: restrictedGrants) }
        if options.isMinimal { setting = setting.withoutValues() }
        self.init(
            json: setting.jsonBytes(), status: options.status(of: answer),
            cursor: answer.cursor.withGrantsDigest(of: restrictedGrants), tag: tag)
        fields.append(source: setting.source)
    }
}
