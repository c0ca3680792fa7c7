internal import HTTPServer
internal import HTTPWire
internal import Platform
internal import SettingsAPI
internal import SettingsModel

/// Errors of the HTTP protocol, of schemas and of limits. A problem is the JSON body of an error answer.
extension Problem {
    /// The error for a request or connection that the HTTP server rejects before a handler gets a request.
    init(_ rejection: Rejection) {
        switch rejection {
        case .request(let error): self.init(error)
        case .tooSlow: self.init(.timeout, "the request did not arrive in time; send it again without pauses")
        case .tooManyConnections(let limit):
            self.init(
                .tooManyConnections, retryAfterMs: 1000,
                "the server already has the maximum of \(limit) connections; try again in a moment")
        case .tooManyConnectionsOfAddress(let limit):
            self.init(
                .tooManyConnections, retryAfterMs: 1000,
                "this address already has the maximum of \(limit) connections; reuse them, or close some of them")
        case .tooMuchMemory:
            self.init(
                .overloaded, outcome: .notDone, retryAfterMs: Int64.random(in: 1000...3000),
                "the server is out of memory for request bodies: this request waited too long for memory, or its body "
                    + "arrived at less than 64 KiB a second; try again, or send the body faster")
        }
    }

    private init(_ error: MessageError) {
        switch error {
        case .badRequest, .expectationFailed: self.init(.badRequest, error.reason)
        case .bodyTooLarge, .targetTooLong, .headTooLarge, .tooManyFields:
            self.init(.tooLarge, status: error.status, error.reason)
            self.limit = error.limit.map { Int64($0) }
        case .codingNotImplemented: self.init(.notImplemented, error.reason)
        case .versionNotSupported: self.init(.httpVersion, error.reason)
        }
    }

    /// The error for a method that a resource does not support.
    init(methodOf head: RequestHead, _ bytes: Span<UInt8>, at resource: Resource) {
        let (method, allowed) = (bytes.text(in: head.methodName), resource.allowed)
        self.init(
            .methodNotAllowed, "this path does not support \(method); it supports \(allowed.joined(separator: ", "))")
        self.allow = allowed
    }

    /// The error for a document that is not a valid schema, with all faults of the document.
    init(_ error: SchemaError) {
        let violations = error.problems.map { problem in
            Violation(pointer: problem.pointer, keyword: problem.keyword, detail: problem.detail)
        }
        let more = violations.count > 1 ? " (and \(violations.count - 1) more)" : ""
        self.init(.invalidSchema, (error.problems.first?.description ?? "the schema is not valid") + more)
        self.errors = violations
    }

    /// The error for a request that takes more memory than all requests and answers together may take.
    ///
    /// - Parameter allowed: the maximum memory of one request in bytes.
    init(memoryOfRequest bytes: Int, allowed: Int) {
        self.init(
            .tooLarge,
            "cannot process the request: the request and its answer take about \(bytes) bytes of memory, and "
                + "limits.bufferBytes allows \(allowed) bytes; split the request, or raise limits.bufferBytes")
        self.limit = Int64(allowed)
    }

    /// The error for a request whose background work was refused by its scheduler.
    ///
    /// - Parameter timeout: the error to use if the work waited too long.
    init(_ refusal: WorkScheduler.Refusal, orTimeout timeout: Problem) {
        switch refusal {
        case .timedOut: self = timeout
        case .tooLarge(let bytes, let capacity): self.init(memoryOfRequest: bytes, allowed: capacity)
        }
    }

    static var tooManyNames: Problem {
        Problem(
            .overloaded, retryAfterMs: 1000,
            "clients observe too many names and prefixes; try again in a moment, or observe fewer of them")
    }

    static var tooMuchBackgroundWork: Problem {
        Problem(.overloaded, retryAfterMs: 1000, "too much background work is waiting; try again in a moment")
    }
}
