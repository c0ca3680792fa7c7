internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// OpenFeature's remote evaluation (OFREP 0.3.0), by which its SDKs read a suite: each key is a flag.
///
/// An evaluation is a read, though POST brings it: it has the rights, the place among the requests of its connection, and
/// the caches of one. The context in its body is not used, since settings are the same for all.
extension APIHandler {
    /// Answers the plain evaluation of a short stored value; nil for any other request, which takes the general way.
    func plainEvaluation(
        _ head: RequestHead, _ bytes: Span<UInt8>, _ body: Span<UInt8>, for reader: Grants?
    ) -> Response? {
        guard head.method == .post, head.isPlain, !head.has(.contentEncoding), body.count < APIRequest.largeBody,
            let route = Route(head.path, in: bytes), route.resource == .evaluation,
            let found = findPlain(route, bytes), !(reader != nil && found.isSecret)
        else { return nil }
        // A program mostly sends the same context again. It is not parsed again then.
        if !body.hasSameBytes(as: knownContext.span) {
            guard (try? EvaluationContext.check(body)) != nil else { return nil }
            knownContext = body.withUnsafeBufferPointer { Array($0) }
        }
        let flag = Flag(found.suite, found.record, value: found.record.stored)
        return Response(
            status: 200, contentType: .json, fields: cache.fields(at: found.cursor.marked(for: reader)),
            body: flag.jsonBytes())
    }

    /// Evaluates a flag, or all flags of a suite.
    func evaluate(
        _ request: APIRequest, _ bytes: Span<UInt8>, _ body: Span<UInt8>, _ exchange: Exchange, on state: State
    ) throws(Problem) -> Handling {
        try request.checkEncoding()
        guard body.count < APIRequest.largeBody, exchange.largeBody == nil else {
            var problem = Problem(
                .tooLarge, "the context is too large; send the few attributes that tell callers apart")
            problem.limit = Int64(APIRequest.largeBody)
            throw problem
        }
        try EvaluationContext.check(body)
        let (name, reader) = (try request.suite(in: bytes), request.caller?.reader)
        guard let suite = state.suite(name) else { throw state.unknownSuite(name, for: reader) }
        let handling =
            if request.route.resource == .evaluation {
                give(
                    try suite.flag(try request.key(in: bytes), for: reader, at: state.cursor), to: exchange.ticket,
                    for: ClientKey(of: request.caller, exchange))
            } else {
                try evaluateAll(of: suite, request, bytes, exchange, on: state)
            }
        // Requests that the connection sends after this one must not change its answer.
        if case .later = handling { return .laterExclusive }
        return handling
    }

    /// Answers with all flags of a suite, from the cache until the suite changes.
    private func evaluateAll(
        of suite: Suite, _ request: APIRequest, _ bytes: Span<UInt8>, _ exchange: Exchange, on state: State
    ) throws(Problem) -> Handling {
        let (cursor, revision, reader) = (state.cursor, suite.revision, request.caller?.reader)
        let tag = suite.tag(for: reader)
        try request.ifMatch(in: bytes)?.check(suite: suite.id, at: revision)
        if try request.knownTags(in: bytes)?.matches(tag) ?? false {
            return .answer(Response(notModified: tag, cursor: cursor))
        }
        let question = Question(WatchSubject(suite.id, for: reader), .flags)
        if let kept = cache.entry(for: question, at: revision) {
            return .answer(Response(json: kept.response.body, cursor: cursor, tag: tag))
        }
        let listed = 8 * (suite.schema?.schema.keys.count ?? 0) * Cost.renderedUnit
        let rendering = Rendering(cost: { listed + suite.renderingCost(within: $0) }) {
            Response(json: FlagList(suite, for: reader).jsonBytes(), cursor: cursor, tag: tag)
        }
        guard !rendering.exceedsLoopLimit else {
            return give(
                rendering, to: exchange.ticket, for: ClientKey(of: request.caller, exchange),
                as: .question(question, place: .zero, revision: state.revision))
        }
        let response = rendering.make()
        cache.keep(ResponseCache.Entry(revision: revision, cursor: cursor, response: response), for: question)
        return .answer(response)
    }
}

extension Suite {
    /// Evaluates a key. Throws if there is none for this reader, or if what is stored does not fit the schema.
    fileprivate func flag(_ key: KeyName, for reader: Grants?, at cursor: Cursor) throws(Problem) -> Rendering {
        let record = record(key)
        guard admits(key) || record.stored != nil, !isHidden(record, from: reader) else {
            throw unknownKey(key, for: reader, suggests: false)
        }
        guard record.standing != .invalid else { throw invalidStored(record) }
        let value = effectiveValue(of: record)
        return Rendering(cost: { .rendering(value, within: $0) }) {
            Response(json: Flag(self.id, record, value: value).jsonBytes(), cursor: cursor)
        }
    }
}

/// The context of an evaluation: an object, whatever is in it.
private enum EvaluationContext {
    /// Throws unless a body has a context. Other members are ignored, as those of later versions of the protocol.
    static func check(_ body: Span<UInt8>) throws(Problem) {
        let document: JSONValue
        do {
            document = try JSONValue(parsing: body)
        } catch {
            throw Problem(error)
        }
        guard document["context"]?.object == nil else { return }
        var problem = Problem(
            .badRequest, "the body must have a context, an object, as in {\"context\":{\"targetingKey\":\"me\"}}")
        problem.pointer = EvaluationFailure.context
        throw problem
    }
}
