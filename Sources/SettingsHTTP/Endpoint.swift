package import HTTPWire
public import SettingsAPI

/// A request to a daemon with the way its answer is read.
///
/// Both forms of a client send the same values: `try await client.send(.suite(name))` for tasks, and
/// `try client.blocking.send(.suite(name))` on the calling thread.
public struct Endpoint<Output: Sendable>: Sendable {
    enum Step {
        case answer(Output)
        /// The answer goes on with another request.
        case next(Endpoint)
    }

    package var request: Request
    package var isWrite: Bool { request.isWrite }
    /// How long the daemon may take on purpose, beyond what any request may take.
    private(set) var wait = Duration.zero
    private var allowsNotModified = false
    private let reading: @Sendable (Reply) throws(SettingsError) -> Step

    private init(steps request: Request, _ reading: @escaping @Sendable (Reply) throws(SettingsError) -> Step) {
        self.request = request
        self.reading = reading
    }

    init(
        _ request: Request, wait: Duration = .zero, allowsNotModified: Bool = false,
        _ reading: @escaping @Sendable (Reply) throws(SettingsError) -> Output
    ) {
        self.init(steps: request) { reply throws(SettingsError) in .answer(try reading(reply)) }
        self.wait = wait
        self.allowsNotModified = allowsNotModified
    }

    /// An endpoint that answers with a body of its own.
    init(_ request: Request, wait: Duration = .zero) where Output: JSONReadable {
        self.init(request, wait: wait) { reply throws(SettingsError) in try reply.body() }
    }

    /// Reads the answer. Throws the refusal if it is one.
    func step(_ reply: Reply) throws(SettingsError) -> Step {
        guard (200..<300).contains(reply.status) || allowsNotModified && reply.status == 304 else {
            throw reply.refusal
        }
        return try reading(reply)
    }

    /// Reads the answer of an endpoint that is asked with one request. Throws the refusal if it is one.
    package func read(_ reply: Reply) throws(SettingsError) -> Output {
        guard case .answer(let output) = try step(reply) else { throw reply.malformed("the answer has more pages") }
        return output
    }

    /// An endpoint that is asked with one request, with another form of its answer.
    package func map<Other>(_ transform: @escaping @Sendable (Output) -> Other) -> Endpoint<Other> {
        Endpoint<Other>(request, wait: wait, allowsNotModified: allowsNotModified) { reply throws(SettingsError) in
            transform(try read(reply))
        }
    }
}

extension Endpoint {
    /// The answer to a GET once it is at another revision than one; nil if it still is after the wait.
    ///
    /// If the daemon hides something from the caller, its tag has more than the revision. The daemon does not take the bare
    /// revision for that tag, and answers at once. The request is then sent again with the tag of the answer.
    static func unlessAt<Body>(
        _ revision: Revision, tag: EntityTag? = nil, _ request: Request, wait: Duration?,
        _ body: @escaping @Sendable (Reply) throws(SettingsError) -> Body
    ) -> Endpoint where Output == Body? {
        var conditional = request
        conditional.fields.append("If-None-Match", text: (tag ?? EntityTag(revision)).description)
        var endpoint = Endpoint(steps: conditional) { reply throws(SettingsError) in
            if reply.status == 304 { return .answer(nil) }
            if tag == nil, let tag = reply.entityTag, tag.revision == revision, tag != EntityTag(revision) {
                return .next(.unlessAt(revision, tag: tag, request, wait: wait, body))
            }
            return .answer(try body(reply))
        }
        endpoint.wait = wait ?? .zero
        endpoint.allowsNotModified = true
        return endpoint
    }

    /// Returns all entries of a listing, whose pages are requested one after the other.
    ///
    /// - Parameters:
    ///   - page: returns the endpoint of the page after a name; for nil, of the first page.
    ///   - content: returns the entries of a page, and the name after which the next page begins.
    static func all<Page, Entry, Name: Comparable & Sendable>(
        after name: Name? = nil, _ before: [[Entry]] = [], page: @escaping @Sendable (Name?) -> Endpoint<Page>,
        content: @escaping @Sendable (Page) -> ([Entry], next: Name?)
    ) -> Endpoint where Output == [Entry] {
        let endpoint = page(name)
        return Endpoint(steps: endpoint.request) { reply throws(SettingsError) in
            let (entries, next) = content(try endpoint.read(reply))
            let pages = before + [entries]
            guard let next else { return .answer(Array(pages.joined())) }
            // Pages are in the order of the names. Without this check, a page that refers back would cause an endless loop.
            if let name, next <= name { throw reply.malformed("the page after \(name) leads to \(next)") }
            return .next(.all(after: next, pages, page: page, content: content))
        }
    }
}

/// An answer as it came over the wire, with the means to read it.
package struct Reply: Equatable, Sendable {
    package let response: Response
    let isWrite: Bool
    /// True if an earlier attempt of the same write may have been done.
    let followsLostWrite: Bool

    package var status: Int { response.status }

    /// The cursor that the answer contains; nil if the answer contains no cursor.
    package var cursor: Cursor? { response.fields.value(of: "settings-cursor").flatMap { Cursor($0) } }

    /// True if a gateway answered instead of the daemon, because the gateway cannot reach the daemon.
    package var isFromGateway: Bool {
        guard (502...504).contains(status), cursor == nil else { return false }
        return Problem(status: status, body: try? value()).codeName.isEmpty
    }

    /// The error that says what was refused, and why.
    var refusal: SettingsError {
        var problem = Problem(status: status, body: try? value())
        if problem.codeName.isEmpty {
            problem.detail = foreignDetail
            if isWrite, status >= 500 { problem.outcome = .unknown }
        }
        if problem.retryAfterMs == nil,
            let seconds = response.fields.value(of: "retry-after").flatMap({ Int32($0) }), seconds >= 0
        {
            problem.retryAfterMs = Int64(seconds) * 1000
        }
        if followsLostWrite { problem = problem.afterAttemptThatMayBeDone }
        return .problem(problem, revision: tag)
    }

    /// The detail for an answer that no daemon gives: its body is a page at best.
    private var foreignDetail: String {
        let detail = "the response is not from a settings daemon"
        guard (300..<400).contains(status), let location = response.fields.value(of: "location") else { return detail }
        return "\(detail); it redirects to \(location.prefix(200))"
    }

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

    /// The revision that the answer is tagged with.
    var tag: Revision? { entityTag?.revision }

    var entityTag: EntityTag? { response.fields.value(of: "etag").flatMap { EntityTag(weakOrStrong: $0) } }

    func malformed(_ reason: String) -> SettingsError {
        .malformedAnswer("HTTP status \(status), \(reason)", outcome: isWrite ? .unknown : .notDone)
    }

    /// The body as JSON. A value of the greatest depth stands some levels down in it.
    private func value() throws(JSONParseError) -> JSONValue {
        try JSONValue(parsing: response.body, maximumDepth: JSONValue.maximumDepthAroundValues)
    }
}

extension Problem {
    /// The refusal of a repeat whose first attempt may have been done. Only a daemon that looks at the write knows of the
    /// first attempt; a refusal at the door does not.
    package var afterAttemptThatMayBeDone: Problem {
        guard isTransient || self.codeName.isEmpty else { return self }
        var problem = self
        problem.outcome = .unknown
        return problem
    }
}

/// An answer of the daemon, with the cursor of the state that it describes.
///
/// The members of the body can be asked for directly: `answer.value`, `answer.isReplayed`.
@dynamicMemberLookup
public struct Answer<Body: Sendable>: Sendable {
    /// The body of the answer.
    public let body: Body
    /// The cursor of the state that the answer describes. An observer can resume from this cursor.
    public let cursor: Cursor
    /// In the answer to storing one value: whether nothing was stored before.
    public let isCreated: Bool

    init(body: Body, cursor: Cursor, isCreated: Bool) {
        self.body = body
        self.cursor = cursor
        self.isCreated = isCreated
    }

    /// A member of the body.
    public subscript<Value>(dynamicMember path: KeyPath<Body, Value>) -> Value {
        body[keyPath: path]
    }
}

extension Answer: Equatable where Body: Equatable {}
