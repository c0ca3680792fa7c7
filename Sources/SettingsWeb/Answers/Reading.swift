internal import HTTPWire
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// The parameters of a GET of a setting or a suite. A GET with `wait` repeats the read after each commit that may
/// change the result.
///
/// The value labelled `for` (`restrictedGrants`) has the grants of a caller that may not read everything; otherwise
/// nil. `isRaw` is true to answer with a value only, without its revision and its other metadata. `shown` leaves out
/// the keys and the values that the caller may not read.
enum Reading: Hashable, Sendable {
    case setting(SuiteName, KeyName, isRaw: Bool, for: Grants?)
    case suite(SuiteName, SuiteView, prefix: UTF8Text, isRaw: Bool, for: Grants?)

    init(setting request: APIRequest, _ bytes: Span<UInt8>) throws(Problem) {
        self = .setting(
            try request.suite(in: bytes), try request.key(in: bytes), isRaw: request.query.flag(.raw),
            for: request.caller?.restrictedGrants)
    }

    init(suite request: APIRequest, _ bytes: Span<UInt8>) throws(Problem) {
        self = .suite(
            try request.suite(in: bytes), request.query.text(.view).flatMap { SuiteView(rawValue: $0) } ?? .effective,
            prefix: UTF8Text(request.query.text(.prefix) ?? ""), isRaw: request.query.flag(.raw),
            for: request.caller?.restrictedGrants)
    }

    var suite: SuiteName {
        switch self {
        case .setting(let suite, _, _, _), .suite(let suite, _, _, _, _): suite
        }
    }

    private var restrictedGrants: Grants? {
        switch self {
        case .setting(_, _, _, let restrictedGrants), .suite(_, _, _, _, let restrictedGrants): restrictedGrants
        }
    }

    /// Selects the commits that may change the result.
    var subject: WatchSubject {
        switch self {
        case .setting(let suite, let key, _, let restrictedGrants):
            WatchSubject(suite, KeyFilter(keys: [key], prefixes: []), for: restrictedGrants)
        case .suite(let suite, _, _, _, let restrictedGrants): WatchSubject(suite, for: restrictedGrants)
        }
    }

    /// Reads from a state. If the suite or a value is missing, the result is an error. Then ``ReadResult/isKnown(by:)``
    /// decides whether a GET with `wait` waits.
    /// Throws an error that ends even a GET with `wait` at once: the key is unknown, or the request asks for the raw
    /// value of a secret that the caller may not read.
    func result(on state: State) throws(Problem) -> ReadResult {
        guard let found = state.suite(suite) else {
            let error = Response(state.unknownSuite(suite, for: restrictedGrants), cursor: state.cursor)
            return ReadResult(missing: Rendering(error), tag: nil)
        }
        return try result(of: found, at: state.cursor, published: state.cursor, pendingIn: state)
    }

    /// Reads from a present or past version of a suite.
    ///
    /// - Parameters:
    ///   - cursor: the position of the version in the history, for the body of the answer.
    ///   - published: the cursor of the published state, for the field `Settings-Cursor`.
    ///   - state: the state with the pending actions that the answer shows; nil for a past version.
    func result(
        of suite: Suite, at cursor: Cursor, published: Cursor, pendingIn state: State? = nil
    ) throws(Problem) -> ReadResult {
        switch self {
        case .setting(_, let key, let isRaw, let restrictedGrants):
            return try Self.setting(
                key, isRaw: isRaw, of: suite, for: restrictedGrants, published: published, pendingIn: state)
        case .suite(_, _, _, _, let restrictedGrants):
            let reading = self
            return ReadResult(tag: suite.tag(for: restrictedGrants), cost: { suite.renderingCost(within: $0) }) {
                reading.response(suite, at: cursor, published: published)
            }
        }
    }

    /// Throws 412 if the tag of the result does not match `If-Match`. Does not check a missing result: its answer is an
    /// error, or the GET waits.
    func check(_ ifMatch: WriteGuard, _ result: ReadResult, on state: State) throws(Problem) {
        guard let tag = result.tag, !result.isMissing else { return }
        switch self {
        case .setting(let suite, let key, _, _):
            let name = "\(key) of suite \(suite)"
            try ifMatch.check(name, revision: tag.revision, currentState: state.current(suite, key))
        case .suite(let suite, _, _, _, _): try ifMatch.check(suite: suite, revision: tag.revision)
        }
    }

    private static func setting(
        _ key: KeyName, isRaw: Bool, of suite: Suite, for restrictedGrants: Grants?, published: Cursor,
        pendingIn state: State?
    ) throws(Problem) -> ReadResult {
        let record = suite.record(key)
        guard suite.schemaAllows(key) || record.stored != nil else {
            throw suite.unknownKey(key, for: restrictedGrants)
        }
        if isRaw, suite.isHidden(record, from: restrictedGrants) {
            throw Problem(secret: key, of: suite.id, to: "read the raw value of")
        }
        // Each answer from here on, also an error, has the source in the field `Settings-Source`. The errors above do
        // not have the field.
        let source = record.valueSource.source
        let pending = isRaw ? nil : state?.pendingRevert(of: record)
        // The tag also changes if the pending action ends or gets another deadline.
        let tag = suite.tag(of: record, for: restrictedGrants).including(pending)
        switch record.valueSource {
        case .stored, .default:
            let value = suite.effectiveValue(of: record) ?? .null
            return ReadResult(tag: tag, source: source, cost: { .rendering(value, within: $0) }) {
                var setting = suite.setting(record).shown(to: restrictedGrants)
                setting.pending = pending
                var response =
                    isRaw
                    ? Response(raw: setting.value ?? .null, cursor: published, tag: tag)
                    : Response(json: setting.jsonBytes(), cursor: published, tag: tag)
                response.fields.append(source: source)
                return response
            }
        case .unset, .invalid:
            let error = Rendering(cost: { suite.renderingCost(of: record, within: $0) }) {
                let problem = record.valueSource == .unset ? suite.notSet(key) : suite.invalidStored(record)
                var response = Response(problem, cursor: published, tag: tag)
                response.fields.append(source: source)
                return response
            }
            return ReadResult(missing: error, tag: tag)
        }
    }

    /// Renders the answer to a read of a suite. Must not be called for a setting.
    private func response(_ suite: Suite, at cursor: Cursor, published: Cursor) -> Response {
        guard case .suite(_, let view, let prefix, let isRaw, let restrictedGrants) = self else {
            return Response(status: 404)
        }
        let contents = suite.shown(suite.contents(view: view, prefix: prefix.string), to: restrictedGrants)
        let tag = suite.tag(for: restrictedGrants)
        guard !isRaw else { return Response(verbatim: contents.values.jsonBytes(), cursor: published, tag: tag) }
        let state = SuiteState(contents: contents, revision: suite.revision, cursor: cursor)
        return Response(json: state.jsonBytes(), cursor: published, tag: tag)
    }
}

/// The result of a read from one state: a response that is not rendered yet, and the entity tag of the result.
struct ReadResult: Sendable {
    /// Nil if the suite does not exist.
    let tag: EntityTag?
    /// The field `Settings-Source` of a 304 answer for a setting; nil for a suite, and if `isMissing` is true.
    private let source: Source?
    /// True if the response is an error, because there is no suite, no valid value, or (for GET of a schema) no schema.
    let isMissing: Bool
    let rendering: Rendering

    init(
        tag: EntityTag, source: Source? = nil, cost: @escaping @Sendable (_ limit: Cost) -> Cost,
        _ make: @escaping @Sendable () -> Response
    ) {
        (self.tag, self.source, isMissing) = (tag, source, false)
        rendering = Rendering(cost: cost, make: make)
    }

    init(missing error: Rendering, tag: EntityTag?) {
        (self.tag, source, isMissing, rendering) = (tag, nil, true, error)
    }

    /// True if a GET with `wait` and these tags in `If-None-Match` must wait, because the client knows this result.
    /// Without tags, a GET waits only if the result is missing.
    func isKnown(by tags: TagList?) -> Bool {
        guard let tags else { return isMissing }
        guard let tag else { return true }
        return tags.matches(tag)
    }

    /// Returns the answer to a client that sends these tags in `If-None-Match`: 304 if a tag matches the result, unless
    /// the result is missing.
    func answer(to tags: TagList?, _ cursor: Cursor) -> Rendering {
        guard !isMissing, let tag, tags?.matches(tag) ?? false else { return rendering }
        var response = Response(notModified: tag, cursor: cursor)
        if let source { response.fields.append(source: source) }
        return Rendering(response)
    }
}

extension [SuiteContents.Entry] {
    /// Renders an object with the values only.
    fileprivate func jsonBytes() -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        for entry in self {
            writer.name(entry.key.text)
            writer.write(entry.value)
        }
        writer.endObject()
        return writer.bytes
    }
}
