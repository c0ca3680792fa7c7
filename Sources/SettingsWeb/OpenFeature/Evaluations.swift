internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// OpenFeature's remote evaluation protocol (OFREP 0.3.0), with which SDKs read the settings of a suite as flags.
///
/// An evaluation is a read, although the client sends it with POST: it requires the right to read, waits for earlier
/// writes of its connection, and uses the caches. The context in the body has no effect: all users share the settings.
/// A parameter `restrictedGrants` is the grants of a caller that may not read everything; nil if it may read
/// everything.
extension APIHandler {
    /// Answers the most frequent kind of evaluation with little parsing: the request has no query and no preconditions,
    /// and `findPlain` finds a small stored value. Returns nil for any other request; `evaluate` then answers it.
    func plainEvaluation(
        _ head: RequestHead, _ bytes: Span<UInt8>, _ body: Span<UInt8>, for restrictedGrants: Grants?
    ) -> Response? {
        guard head.method == .post, head.isPlain, !head.has(.contentEncoding), body.count < APIRequest.largeBodySize,
            let route = Route(head.path, in: bytes), route.resource == .evaluation,
            let found = findPlain(route, bytes), !(restrictedGrants != nil && found.isSecret)
        else { return nil }
        // Most programs send the same body with each request, so the last valid body is not parsed again.
        if !body.hasSameBytes(as: lastValidEvaluationBody.span) {
            guard (try? EvaluationContext.check(body)) != nil else { return nil }
            lastValidEvaluationBody = body.withUnsafeBufferPointer { Array($0) }
        }
        let flag = Flag(found.suite, found.record, value: found.record.stored)
        // The cursor contains a digest of the grants, so that it is not valid for a caller with other grants.
        return Response(
            status: 200, contentType: .json,
            fields: cache.fields(at: found.cursor.withGrantsDigest(of: restrictedGrants)),
            body: flag.jsonBytes().asLine())
    }

    /// Evaluates a flag, or all flags of a suite. The cursor of `state` already contains the digest of the grants.
    func evaluate(
        _ request: APIRequest, _ bytes: Span<UInt8>, _ body: Span<UInt8>, _ exchange: Exchange, on state: State
    ) throws(Problem) -> Handling {
        try request.checkContentEncoding()
        guard body.count < APIRequest.largeBodySize, exchange.largeBody == nil else {
            var problem = Problem(.tooLarge, "the evaluation context is too large; send fewer attributes")
            problem.limit = Int64(APIRequest.largeBodySize)
            throw problem
        }
        try EvaluationContext.check(body)
        let (name, restrictedGrants) = (try request.suite(in: bytes), request.caller?.restrictedGrants)
        guard let suite = state.suite(name) else { throw state.unknownSuite(name, for: restrictedGrants) }
        let handling =
            if request.route.resource == .evaluation {
                renderAnswer(
                    try suite.flag(try request.key(in: bytes), for: restrictedGrants, at: state.cursor),
                    to: exchange.ticket,
                    for: ClientKey(of: request.caller, exchange))
            } else {
                try evaluateAll(of: suite, request, bytes, exchange, on: state)
            }
        // As for other reads, later requests of the connection wait until the answer is complete.
        if case .later = handling { return .laterBlockingNextRequest }
        return handling
    }

    /// Answers with all flags of a suite. The answer is cached until the suite changes.
    private func evaluateAll(
        of suite: Suite, _ request: APIRequest, _ bytes: Span<UInt8>, _ exchange: Exchange, on state: State
    ) throws(Problem) -> Handling {
        let (cursor, revision, restrictedGrants) = (state.cursor, suite.revision, request.caller?.restrictedGrants)
        let tag = suite.tag(for: restrictedGrants)
        try request.ifMatch(in: bytes)?.check(suite: suite.id, revision: revision)
        if try request.ifNoneMatch(in: bytes)?.matches(tag) ?? false {
            return .answer(Response(notModified: tag, cursor: cursor))
        }
        // Requests with the same answer key (the suite, the grants, and the kind of answer) share the answer.
        let answerKey = AnswerKey(WatchSubject(suite.id, for: restrictedGrants), .flags)
        if let cached = cache.entry(for: answerKey, at: revision) {
            return .answer(Response(verbatim: cached.response.body, cursor: cursor, tag: tag))
        }
        // An estimate for flags with default values: eight units for each key. A unit is about one JSON value.
        let costOfDefaults = 8 * (suite.schema?.schema.keys.count ?? 0) * Cost.renderedUnit
        let rendering = Rendering(cost: { limit in costOfDefaults + suite.renderingCost(within: limit) }) {
            Response(json: FlagList(suite, for: restrictedGrants).jsonBytes(), cursor: cursor, tag: tag)
        }
        guard !rendering.exceedsLoopLimit else {
            // `clientRevision`, the last commit that a watcher knows, is zero: the answer does not depend on it.
            return renderAnswer(
                rendering, to: exchange.ticket, for: ClientKey(of: request.caller, exchange),
                as: .answerKey(answerKey, clientRevision: .zero, revision: state.revision))
        }
        let response = rendering.make()
        cache.insert(ResponseCache.Entry(revision: revision, cursor: cursor, response: response), for: answerKey)
        return .answer(response)
    }
}

extension Suite {
    /// Evaluates a key. Throws if the key is unknown or hidden from the caller, or if the stored value is invalid.
    fileprivate func flag(_ key: KeyName, for restrictedGrants: Grants?, at cursor: Cursor) throws(Problem) -> Rendering
    {
        let record = record(key)
        guard schemaAllows(key) || record.stored != nil, !isHidden(record, from: restrictedGrants) else {
            // An error of the protocol has no member for similar keys.
            throw unknownKey(key, for: restrictedGrants, suggestsSimilarKeys: false)
        }
        guard record.valueSource != .invalid else { throw invalidStored(record) }
        let value = effectiveValue(of: record)
        return Rendering(cost: { limit in .rendering(value, within: limit) }) {
            Response(json: Flag(self.id, record, value: value).jsonBytes(), cursor: cursor)
        }
    }
}

/// The evaluation context that a client sends: a JSON object whose members the daemon ignores.
private enum EvaluationContext {
    /// Throws 400 unless the body has an object `context`. Later versions of the protocol may add other members.
    static func check(_ body: Span<UInt8>) throws(Problem) {
        let document: JSONValue
        do {
            document = try JSONValue(parsing: body)
        } catch {
            throw Problem(error)
        }
        guard document["context"]?.object == nil else { return }
        var problem = Problem(
            .badRequest, "the body must contain an object named context, as in {\"context\":{\"targetingKey\":\"me\"}}")
        // `EvaluationFailure` recognizes an invalid context by this pointer.
        problem.pointer = EvaluationFailure.context
        throw problem
    }
}
