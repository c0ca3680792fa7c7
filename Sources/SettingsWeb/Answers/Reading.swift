internal import HTTPWire
internal import SettingsAPI
internal import SettingsEngine
internal import SettingsModel

/// A read of a setting or a suite, as a GET asks for it. It can be repeated whenever something has changed.
enum Reading: Hashable, Sendable {
    case setting(SuiteName, KeyName, isRaw: Bool, for: Grants?)
    case suite(SuiteName, SuiteView, prefix: UTF8Text, isRaw: Bool, for: Grants?)

    init(setting request: APIRequest, _ bytes: Span<UInt8>) throws(Problem) {
        self = .setting(
            try request.suite(in: bytes), try request.key(in: bytes), isRaw: request.query.flag(.raw),
            for: request.caller?.reader)
    }

    init(suite request: APIRequest, _ bytes: Span<UInt8>) throws(Problem) {
        self = .suite(
            try request.suite(in: bytes), request.query.text(.view).flatMap { SuiteView(rawValue: $0) } ?? .effective,
            prefix: UTF8Text(request.query.text(.prefix) ?? ""), isRaw: request.query.flag(.raw),
            for: request.caller?.reader)
    }

    var suite: SuiteName {
        switch self {
        case .setting(let suite, _, _, _), .suite(let suite, _, _, _, _): suite
        }
    }

    /// The grants of a reader that may not see everything.
    private var reader: Grants? {
        switch self {
        case .setting(_, _, _, let reader), .suite(_, _, _, _, let reader): reader
        }
    }

    /// The commits that may change the result.
    var subject: WatchSubject {
        switch self {
        case .setting(let suite, let key, _, let reader):
            WatchSubject(suite, KeyFilter(keys: [key], prefixes: []), for: reader)
        case .suite(let suite, _, _, _, let reader): WatchSubject(suite, for: reader)
        }
    }

    /// Reads. Throws if no later state can have a result.
    func result(on state: State) throws(Problem) -> ReadResult {
        guard let found = state.suite(suite) else {
            let refusal = Response(state.unknownSuite(suite, for: reader), cursor: state.cursor)
            return ReadResult(refusal: Rendering(refusal), tag: nil)
        }
        return try result(of: found, at: state.cursor, now: state.cursor)
    }

    /// Reads a suite as it is, or was, at a place in history.
    func result(of suite: Suite, at place: Cursor, now: Cursor) throws(Problem) -> ReadResult {
        switch self {
        case .setting(_, let key, let isRaw, let reader):
            return try Self.setting(key, isRaw: isRaw, of: suite, for: reader, at: now)
        case .suite(_, _, _, _, let reader):
            let reading = self
            return ReadResult(tag: suite.tag(for: reader), cost: { suite.renderingCost(within: $0) }) {
                reading.response(suite, at: place, now: now)
            }
        }
    }

    /// Throws 412 unless the result is what the guard demands.
    func check(_ guarding: WriteRequest.Guard, _ result: ReadResult, on state: State) throws(Problem) {
        guard let tag = result.tag, !result.isRefusal else { return }
        switch self {
        case .setting(let suite, let key, _, _):
            try guarding.check("\(key) of suite \(suite)", at: tag.revision, current: state.current(suite, key))
        case .suite(let suite, _, _, _, _): try guarding.check(suite: suite, at: tag.revision)
        }
    }

    private static func setting(
        _ key: KeyName, isRaw: Bool, of suite: Suite, for reader: Grants?, at cursor: Cursor
    ) throws(Problem) -> ReadResult {
        let record = suite.record(key)
        guard suite.admits(key) || record.stored != nil else { throw suite.unknownKey(key, for: reader) }
        if isRaw, suite.isHidden(record, from: reader) {
            throw Problem(secret: key, of: suite.id, to: "read the bare value of")
        }
        let source = record.standing.source
        let tag = suite.tag(of: record, for: reader)
        switch record.standing {
        case .stored, .default:
            let value = suite.effectiveValue(of: record) ?? .null
            return ReadResult(tag: tag, source: source, cost: { .rendering(value, within: $0) }) {
                let setting = suite.setting(record).shown(to: reader)
                var response =
                    isRaw
                    ? Response(raw: setting.value ?? .null, cursor: cursor, tag: tag)
                    : Response(json: setting.jsonBytes(), cursor: cursor, tag: tag)
                response.fields.append(source: source)
                return response
            }
        case .unset, .invalid:
            let refusal = Rendering(cost: { suite.renderingCost(of: record, within: $0) }) {
                let problem = record.standing == .unset ? suite.notSet(key) : suite.invalidStored(record)
                var refusal = Response(problem, cursor: cursor, tag: tag)
                refusal.fields.append(source: source)
                return refusal
            }
            return ReadResult(refusal: refusal, tag: tag)
        }
    }

    private func response(_ suite: Suite, at place: Cursor, now: Cursor) -> Response {
        guard case .suite(_, let view, let prefix, let isRaw, let reader) = self else { return Response(status: 404) }
        let contents = suite.shown(suite.contents(view: view, prefix: prefix.string), to: reader)
        let body =
            isRaw
            ? contents.values.jsonBytes()
            : SuiteState(contents: contents, revision: suite.revision, cursor: place).jsonBytes()
        return Response(json: body, cursor: now, tag: suite.tag(for: reader))
    }
}

/// A result of a read at one state: a response still to be rendered, with the tag of what it shows.
struct ReadResult: Sendable {
    /// Nil if the suite does not exist.
    let tag: EntityTag?
    private let source: Source?
    /// True if there is nothing to show, so that the response is an error.
    let isRefusal: Bool
    let rendering: Rendering

    init(
        tag: EntityTag, source: Source? = nil, cost: @escaping @Sendable (Cost) -> Cost,
        _ make: @escaping @Sendable () -> Response
    ) {
        self.tag = tag
        self.source = source
        isRefusal = false
        rendering = Rendering(cost: cost, make: make)
    }

    init(refusal: Rendering, tag: EntityTag?) {
        self.tag = tag
        source = nil
        isRefusal = true
        rendering = refusal
    }

    /// True if a caller with these tags knows this result, and may wait for another. Without tags a refusal is known.
    func isKnown(by tags: TagList?) -> Bool {
        guard let tags else { return isRefusal }
        guard let tag else { return true }
        return tags.matches(tag)
    }

    /// Returns the answer for a caller with these tags: 304 if it knows the result. A refusal is repeated, never 304.
    func answer(to tags: TagList?, _ cursor: Cursor) -> Rendering {
        guard !isRefusal, let tag, tags?.matches(tag) ?? false else { return rendering }
        var response = Response(notModified: tag, cursor: cursor)
        if let source { response.fields.append(source: source) }
        return Rendering(response)
    }
}

extension [SuiteContents.Entry] {
    /// The bare map.
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
