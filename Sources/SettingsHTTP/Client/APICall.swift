package import SettingsAPI
internal import SettingsModel

/// One thing that can be asked of a daemon: what is sent, and how the answer is read. Blocking and asynchronous forms send
/// the same calls.
package struct APICall<Output: Sendable>: Sendable {
    package var request: WireRequest
    /// How long the daemon may take on purpose, beyond what any request may take.
    var wait = Duration.zero
    /// Whether 304 is an answer.
    var isConditional = false
    private let reading: @Sendable (ReplyReader) throws(SettingsError) -> Output

    init(
        _ request: WireRequest, wait: Duration = .zero, isConditional: Bool = false,
        _ reading: @escaping @Sendable (ReplyReader) throws(SettingsError) -> Output
    ) {
        self.request = request
        self.wait = wait
        self.isConditional = isConditional
        self.reading = reading
    }

    /// Reads the answer: what is asked for, or why not.
    package func read(_ reply: WireReply) throws(SettingsError) -> Output {
        let reader = ReplyReader(reply: reply, isWrite: request.isWrite)
        guard (200..<300).contains(reply.status) || isConditional && reply.status == 304 else { throw reader.refusal }
        return try reading(reader)
    }
}

extension APICall {
    /// One that is answered with a body of its own.
    init(_ request: WireRequest, wait: Duration = .zero) where Output: JSONReadable {
        self.init(request, wait: wait) { reply throws(SettingsError) in try reply.body() }
    }
}

extension Problem {
    /// What a refusal says when an attempt before it may have been done. A daemon that looks at the write would give the
    /// answer to that attempt again; whoever turns it away before, says nothing of it.
    package var afterAttemptThatMayBeDone: Problem {
        guard isTransient || codeName.isEmpty else { return self }
        var problem = self
        problem.outcome = .unknown
        return problem
    }
}

/// An answer with the means to read it.
struct ReplyReader {
    let reply: WireReply
    let isWrite: Bool

    /// What was refused, and why.
    var refusal: SettingsError {
        var problem = Problem(status: reply.status, body: try? value())
        if problem.codeName.isEmpty { problem.detail = foreignDetail }
        if problem.retryAfterMs == nil, let seconds = reply.field("retry-after").flatMap({ Int32($0) }), seconds >= 0 {
            problem.retryAfterMs = Int64(seconds) * 1000
        }
        if reply.isToRepeat { problem = problem.afterAttemptThatMayBeDone }
        return .problem(problem, revision: tag)
    }

    /// What to say of an answer that no daemon gives: its body is a page at best.
    private var foreignDetail: String {
        let detail = "not an answer of a settings daemon"
        guard (300..<400).contains(reply.status), let place = reply.field("location") else { return detail }
        return "\(detail), but one that leads to \(place.prefix(200))"
    }

    /// The body as it is. A value of the greatest depth stands some levels down in it.
    func json() throws(SettingsError) -> JSONValue {
        do {
            return try value()
        } catch {
            throw malformed("\(error)")
        }
    }

    func body<Body: JSONReadable>() throws(SettingsError) -> Body {
        let json = try json()
        do {
            return try Body(json: json)
        } catch {
            throw malformed(error.description)
        }
    }

    func answer<Body: JSONReadable>() throws(SettingsError) -> Answer<Body> {
        guard let cursor = reply.field("settings-cursor").flatMap({ Cursor($0) }) else {
            throw malformed("there is no Settings-Cursor")
        }
        return Answer(body: try body(), cursor: cursor, isCreated: reply.status == 201)
    }

    /// The same, or nil for an answer that says that nothing has changed.
    func answerUnlessNotModified<Body: JSONReadable>() throws(SettingsError) -> Answer<Body>? {
        reply.status == 304 ? nil : try answer()
    }

    func text() -> String {
        String(decoding: reply.body, as: UTF8.self)
    }

    /// The revision that the answer is tagged with.
    var tag: Revision? {
        reply.field("etag").flatMap { EntityTag(weakOrStrong: $0)?.revision }
    }

    func malformed(_ reason: String) -> SettingsError {
        .malformedAnswer(reason, outcome: isWrite ? .unknown : .notDone)
    }

    private func value() throws(JSONParseError) -> JSONValue {
        try JSONValue(parsing: reply.body, maximumDepth: JSONValue.maximumDepthAroundValues)
    }
}
