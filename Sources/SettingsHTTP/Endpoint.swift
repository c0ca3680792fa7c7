package import HTTPWire
public import SettingsAPI

/// A request to a daemon, with the function that reads the answer.
///
/// A program sends an endpoint with `try await client.send(.suite(name))`, or with
/// `try client.blocking.send(.suite(name))`, which blocks the calling thread.
public struct Endpoint<Output: Sendable>: Sendable {
    /// The result of reading one response.
    enum Step {
        case answer(Output)
        /// The output needs another request, for example for the next page. The associated value is this request.
        case next(Endpoint)
    }

    package var request: Request
    package var isWrite: Bool { request.isWrite }
    /// The longest time for which the daemon waits before it answers. The client adds this time to its timeout.
    private(set) var wait = Duration.zero
    /// True if the status 304 (Not Modified) is an answer; false if it is an error.
    private var allowsNotModified = false
    private let readStep: @Sendable (Reply) throws(SettingsError) -> Step

    private init(request: Request, readStep: @escaping @Sendable (Reply) throws(SettingsError) -> Step) {
        self.request = request
        self.readStep = readStep
    }

    init(
        _ request: Request, wait: Duration = .zero, allowsNotModified: Bool = false,
        _ read: @escaping @Sendable (Reply) throws(SettingsError) -> Output
    ) {
        self.init(request: request) { reply throws(SettingsError) in .answer(try read(reply)) }
        self.wait = wait
        self.allowsNotModified = allowsNotModified
    }

    /// Creates an endpoint whose output is the body of the answer.
    init(_ request: Request, wait: Duration = .zero) where Output: JSONReadable {
        self.init(request, wait: wait) { reply throws(SettingsError) in try reply.body() }
    }

    /// Reads an answer. Throws the error that the daemon has sent.
    func step(_ reply: Reply) throws(SettingsError) -> Step {
        guard (200..<300).contains(reply.status) || allowsNotModified && reply.status == 304 else {
            throw reply.refusal
        }
        return try readStep(reply)
    }

    /// Reads the answer of an endpoint that needs only one request. Throws the error that the daemon has sent.
    package func read(_ reply: Reply) throws(SettingsError) -> Output {
        guard case .answer(let output) = try step(reply) else {
            throw reply.malformed("the response has further pages")
        }
        return output
    }

    /// Returns an endpoint with a converted output. The endpoint must need only one request.
    package func map<Other>(_ transform: @escaping @Sendable (Output) -> Other) -> Endpoint<Other> {
        Endpoint<Other>(request, wait: wait, allowsNotModified: allowsNotModified) { reply throws(SettingsError) in
            transform(try read(reply))
        }
    }
}

extension Endpoint {
    /// Returns a GET that waits until the resource has another revision than the given revision. The output is nil if
    /// the resource still has the given revision when the wait is over.
    ///
    /// If an answer depends on the grants of the caller, its entity tag also contains a digest of the grants. The
    /// program knows only the revision, so the daemon answers the first request at once. Then the client sends the
    /// request again with the tag of the answer.
    static func waitingForChange<Body>(
        from revision: Revision, tag: EntityTag? = nil, _ request: Request, wait: Duration?,
        _ body: @escaping @Sendable (Reply) throws(SettingsError) -> Body
    ) -> Endpoint where Output == Body? {
        var conditional = request
        conditional.fields.append("If-None-Match", text: (tag ?? EntityTag(revision)).description)
        var endpoint = Endpoint(request: conditional) { reply throws(SettingsError) in
            if reply.status == 304 { return .answer(nil) }
            if tag == nil, let tag = reply.entityTag, tag.revision == revision, tag != EntityTag(revision) {
                return .next(.waitingForChange(from: revision, tag: tag, request, wait: wait, body))
            }
            return .answer(try body(reply))
        }
        endpoint.wait = wait ?? .zero
        endpoint.allowsNotModified = true
        return endpoint
    }

    /// Returns an endpoint whose output is all entries of a listing. The client sends a request for each page.
    ///
    /// - Parameters:
    ///   - name: the name after which this page begins; nil for the first page.
    ///   - earlierPages: the entries of the pages before this page.
    ///   - page: returns the endpoint of the page after a name, or of the first page for nil.
    ///   - content: returns the entries of a page, and the name after which the next page begins.
    static func all<Page, Entry, Name: Comparable & Sendable>(
        after name: Name? = nil, _ earlierPages: [[Entry]] = [], page: @escaping @Sendable (Name?) -> Endpoint<Page>,
        content: @escaping @Sendable (Page) -> ([Entry], next: Name?)
    ) -> Endpoint where Output == [Entry] {
        let endpoint = page(name)
        return Endpoint(request: endpoint.request) { reply throws(SettingsError) in
            let (entries, next) = content(try endpoint.read(reply))
            let pages = earlierPages + [entries]
            guard let next else { return .answer(Array(pages.joined())) }
            // The names are in ascending order. Without this check, a wrong answer could cause endless requests.
            if let name, next <= name {
                throw reply.malformed(
                    "the page after \(name) says that the next page begins after \(next), which is not a later name")
            }
            return .next(.all(after: next, pages, page: page, content: content))
        }
    }
}

/// The HTTP response to a request of an endpoint, with methods that decode the response.
package struct Reply: Equatable, Sendable {
    package let response: Response
    let isWrite: Bool
    /// True if this is the response to a repeated write, and the daemon may have done the write at an earlier attempt,
    /// which got no answer.
    let followsUnansweredWrite: Bool

    package var status: Int { response.status }

    package var cursor: Cursor? { response.fields.value(of: "settings-cursor").flatMap { Cursor($0) } }

    /// True if the response is from a gateway that cannot reach the daemon. All errors of the daemon have a code.
    package var isFromGateway: Bool {
        guard (502...504).contains(status), cursor == nil else { return false }
        return Problem(status: status, body: try? value()).codeName.isEmpty
    }

    /// The error that the response describes.
    var refusal: SettingsError {
        var problem = Problem(status: status, body: try? value())
        // All errors of the daemon have a code.
        if problem.codeName.isEmpty {
            problem.detail = detailOfForeignResponse
            if isWrite, status >= 500 { problem.outcome = .unknown }
        }
        if problem.retryAfterMs == nil,
            let seconds = response.fields.value(of: "retry-after").flatMap({ Int32($0) }), seconds >= 0
        {
            problem.retryAfterMs = Int64(seconds) * 1000
        }
        if followsUnansweredWrite { problem = problem.afterUnansweredAttempt }
        return .problem(problem, revision: taggedRevision)
    }

    /// The detail for a response that is not from a daemon. It does not contain the body, which may be an HTML page.
    private var detailOfForeignResponse: String {
        let detail = "the response is not from a settings daemon"
        guard (300..<400).contains(status), let location = response.fields.value(of: "location") else { return detail }
        return "\(detail); it redirects to \(location.prefix(200))"
    }

    /// The body as JSON. Throws `malformedAnswer` for other bodies.
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
        guard let cursor else { throw malformed("the field Settings-Cursor is missing") }
        return Answer(body: try body(), cursor: cursor, isCreated: status == 201)
    }

    /// The revision in the entity tag.
    var taggedRevision: Revision? { entityTag?.revision }

    /// The entity tag, also if a proxy has made it weak.
    var entityTag: EntityTag? { response.fields.value(of: "etag").flatMap { EntityTag(weakOrStrong: $0) } }

    func malformed(_ reason: String) -> SettingsError {
        .malformedAnswer("HTTP status \(status), \(reason)", outcome: isWrite ? .unknown : .notDone)
    }

    /// Parses the body. The body may be nested a few levels deeper than a value, because it contains values.
    private func value() throws(JSONParseError) -> JSONValue {
        try JSONValue(parsing: response.body, maximumDepth: JSONValue.maximumDepthAroundValues)
    }
}

extension Problem {
    /// This problem as the answer to a repeated write, if the daemon may have done the write at an earlier attempt,
    /// which got no answer. The outcome of a temporary refusal is then unknown, because the daemon sends such a
    /// refusal before it checks whether it has already done a write with the same request key.
    package var afterUnansweredAttempt: Problem {
        guard isTransient || self.codeName.isEmpty else { return self }
        var problem = self
        problem.outcome = .unknown
        return problem
    }
}

/// An answer of the daemon with its cursor.
///
/// The properties of the body are also properties of the answer: `answer.value`, `answer.isReplayed`.
@dynamicMemberLookup
public struct Answer<Body: Sendable>: Sendable {
    /// The body of the answer.
    public let body: Body
    /// The cursor of the state that the answer describes. To get all later changes, observe the suite since this
    /// cursor.
    public let cursor: Cursor
    /// True if the write stored a value for a key without a stored value, or a schema for a suite without a schema.
    public let isCreated: Bool

    init(body: Body, cursor: Cursor, isCreated: Bool) {
        self.body = body
        self.cursor = cursor
        self.isCreated = isCreated
    }

    /// A property of the body.
    public subscript<Value>(dynamicMember path: KeyPath<Body, Value>) -> Value {
        body[keyPath: path]
    }
}

extension Answer: Equatable where Body: Equatable {}
