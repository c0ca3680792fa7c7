internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel
internal import SettingsStorage

/// Reads. `request` and `head` contain ranges of `bytes`, the received bytes of the request. `shown` leaves out the
/// keys and the values that a caller may not read.
extension APIHandler {
    /// Answers a read that `plainSetting` and `plainSuite` do not answer.
    func read(
        _ request: APIRequest, _ bytes: Span<UInt8>, _ exchange: Exchange, on state: State
    ) throws(Problem) -> Handling {
        let ticket = exchange.ticket
        switch request.route.resource {
        case .setting, .suite:
            let isSetting = request.route.resource == .setting
            let reading = try isSetting ? Reading(setting: request, bytes) : Reading(suite: request, bytes)
            guard let moment = request.query.moment(.at) else {
                return try read(reading, request, bytes, exchange, on: state)
            }
            guard !request.query.has(.wait) else {
                throw Problem(
                    .badRequest, "at and wait cannot be combined, because the past does not change; remove one of them")
            }
            let past = try state.pastRendering(reading, at: moment, request, bytes, service.past)
            return renderAnswer(
                past, to: ticket, for: ClientKey(of: request.caller, exchange),
                as: request.backgroundKey(in: bytes, on: state), on: scheduler(for: request))
        case .observation, .observationOfSuites, .evaluationEvents:  // Evaluations are reads of flags for OpenFeature.
            return observe(request, bytes, exchange, on: state)
        case .clients: return try readClients(request, bytes, exchange, on: state)
        case .schema, .history, .difference, .keys, .suites, .pending, .pendingAction:
            let rendering: Rendering =
                switch request.route.resource {
                case .schema: try state.schema(request, bytes, service.past)
                case .history: try state.history(request, bytes, service.past, memoryBudget: service.budget.capacity)
                case .difference: try state.difference(request, bytes, service.past)
                case .keys: try state.keys(request, bytes, service.past)
                case .pending: try state.pendingActions(request)
                case .pendingAction: state.pendingAction(try request.pendingID(in: bytes), for: request.caller)
                default: state.suites(request, service.past)
                }
            return renderAnswer(
                rendering, to: ticket, for: ClientKey(of: request.caller, exchange),
                as: request.backgroundKey(in: bytes, on: state), on: scheduler(for: request))
        case .backup: return try backUp(request, exchange)
        case .caller: return .answer(service.caller(request.caller, exchange.user, at: state.cursor))
        case .cluster: return describePeers(ticket, for: request.caller)
        case .service: return .answer(service.description(at: state.cursor))
        // Health and readiness require no credential. `cursor(for:)` hides the cursor from a caller without grants.
        case .health: return .answer(service.health(at: cursor(for: request.caller)))
        case .ready: return .answer(service.readiness(at: cursor(for: request.caller)))
        case .metrics:
            collectMetrics(for: ticket, request.caller)
            return .later
        case .apiDescription: return .answer(service.apiDescription(at: state.cursor))
        case .undo, .restore, .undoInSuites, .transaction, .reload, .evaluation, .evaluationOfAll, .client:
            let methods = request.route.resource.methods.map(\.name).joined(separator: ", ")
            throw Problem(.methodNotAllowed, "this resource requires the method \(methods)")
        }
    }

    /// The scheduler for requests that may have to read past files: files with commits that were evicted from memory.
    /// Nil for other requests.
    private func scheduler(for request: APIRequest) -> WorkScheduler? {
        let isPast =
            [.history, .difference].contains(request.route.resource) || request.query.has(.at)
            || request.query.flag(.dropped)
        return isPast && service.past != nil ? service.fileReadScheduler : nil
    }

    /// Answers a read of a setting or a suite. With `wait`, waits for an answer that the client does not have.
    private func read(
        _ reading: Reading, _ request: APIRequest, _ bytes: Span<UInt8>, _ exchange: Exchange, on state: State
    ) throws(Problem) -> Handling {
        let knownTags = try request.ifNoneMatch(in: bytes)
        let ifMatch = try request.ifMatch(in: bytes)
        let clientParameters = try ClientParameters(request.query)
        if clientParameters != nil, !request.query.has(.wait) {
            throw Problem(
                .badRequest, "the parameter client of a GET of a suite or a setting needs the parameter wait")
        }
        let seconds = request.query.count(.wait) ?? 0
        let mayWait = seconds > 0 && !isStopping
        // `readStateAndSubscribe` also subscribes to the publication of the next state. `restrictedGrants` are the
        // grants of a caller that may not read everything. Their digest in the cursor makes the cursor invalid with
        // other grants.
        let state =
            mayWait ? notifier.readStateAndSubscribe().withGrantsDigest(of: request.caller?.restrictedGrants) : state
        let clientWatch = try clientParameters.flatMap { parameters throws(Problem) in
            let received = ReceivedReport(parameters, of: request.caller, exchange, watching: reading.subject.filter)
            return try service.clients.watch(received, of: [reading.suite], on: state)
        }
        let result: ReadResult
        do throws(Problem) {
            result = try reading.result(on: state)
            if let ifMatch { try reading.check(ifMatch, result, on: state) }
        } catch {
            // The cursor must belong to the state that was read, not to a later state.
            return .answer(Response(error, cursor: state.cursor))
        }
        if mayWait, result.isKnown(by: knownTags) {
            return try notifier.wait(
                for: reading, of: request.caller, known: knownTags, clientWatch, seconds: seconds, on: state, exchange)
        }
        // `known` and `suiteExistedAtArrival` are only for requests that wait. `clientRevision`, the last commit that
        // the client knows, is zero: the answer does not depend on it.
        let answerKey = AnswerKey(reading.subject, .reading(reading, known: nil, suiteExistedAtArrival: false))
        let key = BackgroundAnswers.Key.answerKey(answerKey, clientRevision: .zero, revision: state.revision)
        return renderAnswer(
            result.answer(to: knownTags, state.cursor), to: exchange.ticket,
            for: ClientKey(of: request.caller, exchange), as: key)
    }

    private func observe(
        _ request: APIRequest, _ bytes: Span<UInt8>, _ exchange: Exchange, on state: State
    ) -> Handling {
        do throws(Problem) {
            let observation = try WatchRequest(request, bytes)
            // The answer to a HEAD of an event stream has only a head.
            guard observation.isStream, request.method == .head else { return notifier.observe(observation, exchange) }
            beginStreamedResponse(exchange.ticket, WatchNotifier.head(at: state.cursor))
            return .later
        } catch {
            return .answer(Response(toWatchRequest: error, of: request.route.resource, cursor: state.cursor))
        }
    }
}

extension APIRequest {
    /// The key under which requests with the same target and grants share an answer; nil for a request with conditions.
    fileprivate func backgroundKey(in bytes: Span<UInt8>, on state: State) -> BackgroundAnswers.Key? {
        guard !head.has(.ifNoneMatch), !head.has(.ifMatch) else { return nil }
        let target = bytes.extracting(head.target).withUnsafeBufferPointer { Array($0) }
        return .target(target, for: caller?.grants, revision: state.revision)
    }
}

/// Plain reads, without a query and without conditions. Most reads are plain, so they have a faster path.
extension APIHandler {
    /// Answers a plain GET or HEAD of a stored setting; nil for any other request. Compares the bytes of the path with
    /// names, without allocating. Also returns nil for a name with percent escapes, which is rare.
    func plainSetting(_ head: RequestHead, _ bytes: Span<UInt8>, for restrictedGrants: Grants?) -> Response? {
        guard head.method == .get || head.method == .head, head.isPlain, let route = Route(head.path, in: bytes),
            route.resource == .setting, let found = findPlain(route, bytes), let value = found.record.stored
        else { return nil }
        let record = found.record
        var setting = SettingState(
            suite: found.suite, key: record.key, value: value, source: .stored, revision: record.revision,
            modified: record.modified)
        // The caller and the note of the last commit.
        setting.origin = record.origin
        setting.isSecret = found.isSecret
        var tag = setting.tag(for: restrictedGrants)
        if let revert = found.pendingRevert {
            setting.pending = PendingDescription(revert.action)
            tag = tag.including(setting.pending)
        }
        if restrictedGrants != nil { setting = setting.shown(to: restrictedGrants) }
        var writer = JSONWriter(reservingCapacity: 192)
        // `setting.write(to:)` would be slower, because the compiler does not specialize it here.
        writer.beginObject()
        setting.writeMembers(to: &writer)
        writer.endObject()
        writer.endLine()
        var fields = cache.fields(at: found.cursor.withGrantsDigest(of: restrictedGrants), tag: tag)
        fields.append("Settings-Source", "stored")
        return Response(status: 200, contentType: .json, fields: fields, body: writer.bytes)
    }

    /// Finds the setting of a path. Returns nil if no valid value is stored, if the value is too long to render on the
    /// event loop, or if the key has percent escapes.
    func findPlain(_ route: Route, _ bytes: Span<UInt8>) -> FoundSetting? {
        guard let suite = route.suite, let key = route.key else { return nil }
        let (suiteName, keyName) = (bytes.extracting(suite), bytes.extracting(key))
        for index in keyName.indices where keyName[index] == UInt8(ascii: "%") { return nil }
        guard let found = service.store.read({ $0.find(suiteName, keyName) }), found.record.valueSource == .stored,
            let value = found.record.stored, !Cost.rendering(value, within: .loopLimit).exceeds(.loopLimit)
        else { return nil }
        return found
    }

    /// Answers a plain GET of a suite, if possible from the cache; nil for any other request, and for a suite that is
    /// too large to render on the event loop.
    func plainSuite(
        _ route: Route, _ head: RequestHead, _ bytes: Span<UInt8>, for restrictedGrants: Grants?, on state: State
    ) -> Response? {
        guard route.resource == .suite, head.method == .get, head.isPlain, let name = route.suite,
            let suite = state.suite(bytes.extracting(name))
        else { return nil }
        // `isRaw` (the parameter `raw`) would omit the revision and the cursor from the body.
        let reading = Reading.suite(suite.id, .effective, prefix: UTF8Text(""), isRaw: false, for: restrictedGrants)
        // `known` and `suiteExistedAtArrival` are only for requests that wait.
        let answerKey = AnswerKey(reading.subject, .reading(reading, known: nil, suiteExistedAtArrival: false))
        let (cursor, revision) = (state.cursor, suite.revision)
        // Only answers that this function cached have a prefix: the part of the body with the cursor, which can be
        // replaced. The answer to a GET with `wait` and without `If-None-Match` has the same key, but no prefix.
        let cached = cache.entry(for: answerKey, at: revision).flatMap { $0.prefixLength > 0 ? $0 : nil }
        if let cached, cached.cursor == cursor { return cached.response }
        guard cached != nil || !suite.renderingCost(within: .loopLimit).exceeds(.loopLimit) else { return nil }
        let contents = SuiteContents(suite: suite.id, schemaRevision: suite.schemaRevision, values: [])
        let prefix = SuiteState(contents: contents, revision: revision, cursor: cursor).headBytes()
        let tag = suite.tag(for: restrictedGrants)
        let response: Response
        if let cached {
            let body = prefix + cached.response.body[cached.prefixLength...]
            response = Response(verbatim: body, cursor: cursor, tag: tag)
        } else {
            let shown = suite.shown(suite.contents(), to: restrictedGrants)
            let body = SuiteState(contents: shown, revision: revision, cursor: cursor).jsonBytes()
            response = Response(json: body, cursor: cursor, tag: tag)
        }
        cache.insert(
            ResponseCache.Entry(revision: revision, cursor: cursor, response: response, prefixLength: prefix.count),
            for: answerKey)
        return response
    }
}

extension RequestHead {
    /// True if the request has no query, no conditions, and demands neither a minimum revision nor the latest state.
    var isPlain: Bool {
        query == nil && !has(.ifNoneMatch) && !has(.ifMatch) && !has(.settingsAtLeast) && !has(.settingsFresh)
    }
}
